"""What stands round about an operator, its backward, the import of ``torch._C``, the C++ frontend: in PyTorch 2.6.0.

The first table holds questions that people asked in public (their letters and numbers), with the places that answer
them; each text must stand somewhere in what the command prints. ``|`` between texts: any of them. Texts that must not
stand there follow in a list of their own.
"""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main

pytestmark = pytest.mark.real

N = "aten/src/ATen/native/"
NF = N + "native_functions.yaml:"
D = "tools/autograd/derivatives.yaml:"
MANUAL = "torch/csrc/autograd/FunctionsManual.cpp:"
FT = "aten/src/ATen/functorch/"
TESTS = "torch/testing/_internal/common_methods_invocations.py:"

#: id -> (question in a few words, command, what the answer holds, what it must not hold)
CASES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "C1": (
        "where are forward and backward of F.conv2d",
        "backward F.conv2d",
        ["CompositeImplicitAutograd", "aten::convolution  ConvolutionBackward0", D + "2379"],
        ["Conv2DBackward0"],
    ),
    "C1-double": (
        "the derivative of convolution, and that one's derivative",
        "backward convolution",
        ["convolution_backward_symint", N + "Convolution.cpp:1981", "ConvolutionBackwardBackward0", D + "2390"],
        [],
    ),
    "C2": (
        "the backward of the backward of convolution",
        "backward convolution_backward",
        [D + "2390", "_convolution_double_backward_symint"],
        [],
    ),
    "C3": (
        "derivative for aten::heaviside is not implemented",
        "backward 'derivative for aten::heaviside is not implemented'",
        ["no entry in derivatives.yaml", "torch/csrc/autograd/autograd_not_implemented_fallback.cpp:", "basic_ops.h:"],
        [D],
    ),
    "C3-op": (
        "heaviside runs all the same",
        "op heaviside",
        [NF + "6964", NF + "6972", N + "BinaryOps.cpp:1539", N + "cuda/StepKernel.cu:", N + "cpu/BinaryOpsKernel.cpp:"],
        [],
    ),
    "C4": (
        "an error in NextafterBackward0",
        "backward NextafterBackward0",
        ["aten::nextafter", D + "1298", D + "1299", D + "1300", 'not_implemented("nextafter")', MANUAL + "110"],
        ["no entry"],
    ),
    "C5": (
        "what does max_pool2d_with_indices save",
        "backward max_pool2d_with_indices",
        [D + "2359", "saves self,", "result1", f"{N}cuda/DilatedMaxPool2d.cu:417"]
        + [f"{N}cuda/DilatedMaxPool2d.cu:{line}" for line in (177, 210)]
        + ["aten::max_pool2d_with_indices_backward  MaxPool2DWithIndicesBackwardBackward0", D + "2530"],
        [],
    ),
    "C6": (
        "is the overload grad_input dead",
        "op max_pool2d_with_indices_backward",
        ["structured", NF + "12368", NF + "12376", "max_pool2d_with_indices_backward (delegated)"],
        [],
    ),
    "C7": (
        "the message of a derivative that an entry refuses",
        "backward \"derivative for 'cudnn_batch_norm_backward save_mean' is not implemented\"",
        ["aten::cudnn_batch_norm_backward", D + "2740", D + "2741", D + "2743", 'cudnn_batch_norm_backward save_mean"'],
        [],
    ),
    "C7-forward": ("the entry of cudnn_batch_norm", "backward cudnn_batch_norm", [D + "2733"], []),
    "C7-im2col": (
        "im2col has col2im as its derivative",
        "backward im2col",
        [D + "2433", "col2im_symint(", "aten::col2im"],
        [],
    ),
    "C7-col2im": (
        "and the other way round; it is the operator, not the Metal function of this name",
        "backward col2im",
        [D + "2429", "aten::im2col"],
        [".metal:"],
    ),
    "C10": (
        "higher derivatives of layer_norm",
        "backward native_layer_norm_backward",
        [
            D + "1259",
            "layer_norm_double_backward",
            MANUAL + "4771",
            D + "1262",
            D + "1263",
            'not_implemented("native_layer_norm_backward mean")',
            'not_implemented("native_layer_norm_backward rstd")',
        ],
        [],
    ),
    "C11": (
        "lstm has no formula, its parts have",
        "backward lstm",
        ["CompositeImplicitAutograd"]
        + [f"aten::{name}" for name in ("_cudnn_rnn ", "mkldnn_rnn_layer", "_thnn_fused_lstm_cell", "_lstm_mps")]
        + [D + str(line) for line in (2763, 2807, 2930, 2753)],
        ["lstm_backward_cudnn", "LstmBackward0"],
    ),
    "C11-cell": (
        "from the cell's node to the kernel of the backward",
        "backward ThnnFusedLstmCellBackward0",
        ["aten::_thnn_fused_lstm_cell_backward", N + "RNN.cpp:1171", N + "cuda/RNN.cu:187", D + "2930"],
        [],
    ),
    "F2": (
        "is there a meta function of _local_scalar_dense",
        "op _local_scalar_dense --all",
        [
            NF + "7801",
            "data_dependent_output",
            "torch/_meta_registrations.py:6583",
            "torch/_subclasses/fake_impls.py:390",
        ],
        ["no Meta kernel"],
    ),
    "F3": (
        "_sample_dirichlet has no meta kernel",
        "op _sample_dirichlet --all",
        [NF + "6619", N + "Distributions.cpp:498", N + "cuda/Distributions.cpp:51", "None: no Meta kernel"],
        [],
    ),
    "F6": (
        "who says that adaptive_avg_pool2d_backward_cuda is not deterministic",
        "kernel 'adaptive_avg_pool2d_backward_cuda does not have a deterministic implementation'",
        [f"{N}cuda/AdaptiveAveragePooling.cu:{line}" for line in (808, 802, 169)],
        [],
    ),
    "F6-op": (
        "and for which operator",
        "op _adaptive_avg_pool2d_backward --all",
        [NF + "12141", 'alert "adaptive_avg_pool2d_backward_cuda"', N + "cuda/AdaptiveAveragePooling.cu:808"],
        [],
    ),
    "F6-bincount": (
        "_bincount_cuda",
        "kernel '_bincount_cuda does not have a deterministic implementation' --up",
        [f"{N}cuda/SummaryOps.cu:{line}" for line in (375, 364)] + [NF + "1186"],
        [],
    ),
    "F7": (
        "an alert that is gone",
        "kernel 'index_add_cuda_ does not have a deterministic implementation'",
        [
            "No kernel of this tree alerts",
            f"{N}cuda/Indexing.cu:1063",
            f"{N}cuda/Indexing.cu:1121",
            f"{N}cuda/Indexing.cu:984",
        ],
        ["alertNotDeterministic("],
    ),
    "F7-branch": (
        "the deterministic branch of index_add on CUDA",
        "op index_add --all",
        ["index_add_cuda_impl", "has a deterministic way", f"{N}cuda/Indexing.cu:100"],
        ['alert "'],
    ),
    "F9": (
        "is there a batching rule of native_dropout_backward",
        "op native_dropout_backward --all",
        [FT + "BatchRulesRandomness.cpp:470", FT + "BatchRulesRandomness.cpp:216"],
        ["None: no batching rule"],
    ),
    "F9-none": (
        "and of _thnn_fused_lstm_cell_backward",
        "op _thnn_fused_lstm_cell_backward --all",
        ["None: no batching rule", NF + "7837", N + "RNN.cpp:1171"],
        [FT + "BatchRules"],
    ),
    "F10": (
        "mse_loss_backward has none in C++",
        "op mse_loss_backward --all",
        ["None: no batching rule"],
        [FT + "BatchRules"],
    ),
    "F10-sdpa": (
        "scaled dot product attention is decomposed",
        "op _scaled_dot_product_attention_math --all",
        [FT + "BatchRulesDecompositions.cpp:27", FT + "BatchRulesDecompositions.cpp:393", "decomposed"],
        ["None: no batching rule"],
    ),
    "H2": (
        "which OpInfo tests mse_loss",
        "op mse_loss --all",
        [NF + "11555", TESTS + "20840", TESTS + "22991"],
        [],
    ),
}

#: the same, for what the issue asks that nobody asked in public
MORE: dict[str, tuple[str, list[str], list[str]]] = {
    "op-all": (
        "op add.Tensor --all",
        [
            N + "BinaryOps.cpp:",
            "torch._refs.add",
            "BinaryPointwiseBatchRuleHelper",
            "names pass through",
            "SparseCsrCPU",
            "torch.onnx.symbolic_opset9.add",
            "torch/_torch_docs.py:",
            "torch/_tensor_docs.py:",
            "BinaryUfuncInfo",
            "aten::add.out",
        ],
        [],
    ),
    "autocast": ("op softmax --all", ["AutocastCUDA  fp32_set_opt_dtype", "aten/src/ATen/autocast_mode.cpp:"], []),
    "flops": ("op mm --all", ["flop formula", "torch.utils.flop_counter.mm_flop"], []),
    "shape": ("op adaptive_avg_pool2d --all", ["shape function", "torch/jit/_shape_functions.py:1233"], []),
    "module-tests": ("op lstm --all", ["ModuleInfo", "torch/testing/_internal/common_modules.py:"], []),
    "views": ("op select.int --all", ["becomes aten::select_copy.int", "copy of the view"], []),
    "manual": (
        "backward copy_",
        [
            "torch/csrc/autograd/VariableTypeManual.cpp:192",
            "CopyBackwards::apply",
            "torch/csrc/autograd/functions/tensor.cpp:44",
        ],
        ["no entry"],
    ),
    "manual-node": (
        "backward CopyBackwards",
        ["VariableType::copy_", "torch/csrc/autograd/functions/tensor.cpp:44"],
        [],
    ),
    "manual-python": (
        "backward torch.utils.checkpoint.CheckpointFunction",
        ["torch.utils.checkpoint.CheckpointFunction.backward", "torch/utils/checkpoint.py:268"],
        [],
    ),
    "not-differentiable": ("backward argmax", ["Not differentiable"], ["is not implemented"]),
    "non-differentiable": ("backward gather", ["no gradient for index", "GatherBackward0"], []),
    "init": (
        "init --limit 0",
        [
            "torch/__init__.py:405",
            "torch/csrc/stub.c:12",
            "torch/csrc/Module.cpp:1722",
            ":1780 THPVariable_initModule",
            ":2391 torch::autograd::initTorchFunctions",
            ":1788 torch::jit::initJITBindings",
            "torch._C.TensorBase",
            "torch._C._VariableFunctions",
            "#ifdef USE_CUDA",
            "torch._C._initExtension",
        ],
        [],
    ),
    "binding": (
        "binding THPVariable_Wrap",
        ["torch/csrc/autograd/python_variable.cpp:257", "Not bound", "torch::autograd::THPVariable_apply_"],
        [],
    ),
    "binding-in-leaves": (
        "binding THPVariable_Wrap --limit 0",
        [
            "torch/csrc/jit/python/python_arg_flatten.cpp:176",
            *("torch::dynamo::_empty_strided_device, :817, :823", "torch/csrc/dynamo/guards.cpp:812"),
            "torch/csrc/dynamo/guards.cpp:3832",
        ],
        [],
    ),
    "binding-python": (
        "binding torch._C._nn.gelu",
        ["tools/autograd/templates/python_nn_functions.cpp", "aten::gelu", "torch::autograd::initNNFunctions"],
        [],
    ),
    "binding-table": ("binding torch._C._initExtension", ["THPModule_initExtension", "torch/csrc/Module.cpp:1735"], []),
    "cpp-linear": (
        "api torch::nn::Linear",
        [
            "torch/csrc/api/include/torch/nn/modules/linear.h:83",
            "torch::nn::LinearImpl::forward",
            "torch::nn::functional::linear",
            "aten::addmm",
            "aten::matmul",
        ],
        [],
    ),
    "cpp-functional": (
        "api F::conv2d",
        ["torch::nn::functional::detail::conv2d", "aten::conv2d", "aten::conv2d.padding"],
        [],
    ),
    "cpp-optim": ("api torch::optim::SGD", ["torch::optim::SGD::step", "aten::add_.Tensor"], []),
    "cpp-nested": (
        "api torch::nn::TransformerEncoderLayer --limit 0",
        ["torch::nn::MultiheadAttentionImpl::forward", "torch::nn::functional::gelu", "aten::layer_norm", "aten::bmm"],
        [],
    ),
}


def _check(command: str, tree: str, holds: list[str], lacks: list[str]) -> None:
    result = CliRunner().invoke(main, [*shlex.split(command), "--root", tree, "--no-refresh"], env={"COLUMNS": "300"})
    missing = [text for text in holds if not any(way in result.output for way in text.split("|"))]
    wrong = [text for text in lacks if text in result.output]
    assert (missing, wrong) == ([], []), f"{command}\n{result.output}"


@pytest.mark.usefixtures("real_index")
@pytest.mark.parametrize("case", CASES)
def test_case(case: str, real_tree: str) -> None:
    _, command, holds, lacks = CASES[case]
    _check(command, real_tree, holds, lacks)


@pytest.mark.usefixtures("real_index")
@pytest.mark.parametrize("case", MORE)
def test_more(case: str, real_tree: str) -> None:
    _check(MORE[case][0], real_tree, *MORE[case][1:])
