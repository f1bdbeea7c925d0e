"""Questions about the upper half of PyTorch 2.6.0: Python names, bindings, the import, what is round about an operator.

The answers (names and ``path:line``) were read in the sources. ``PYTORCH_SRC`` names a 2.6.0 checkout.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main

pytestmark = pytest.mark.real

#: id -> (question in a few words, command, what the answer holds, what it must not hold)
CASES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "P1": (
        "F.huber_loss: which binding and operator",
        "api torch.nn.functional.huber_loss",
        ["torch/nn/functional.py:3696", ":3749", "aten::huber_loss", "aten::broadcast_tensors"],
        [],
    ),
    "P2": (
        "nn.GRUCell to its operator",
        "api torch.nn.GRUCell",
        ["torch/nn/modules/rnn.py", ":1813", "aten::gru_cell"],
        [],
    ),
    "P3": (
        "a method by the public name of its class",
        "api torch.nn.LSTM.forward",
        ["torch.nn.modules.rnn.LSTM.forward", ":1124", "aten::lstm.input"],
        [],
    ),
    "P4": (
        "an inherited method by the public name",
        "api torch.nn.LSTM.flatten_parameters",
        ["torch/nn/modules/rnn.py:224", "aten::_cudnn_rnn_flatten_weight"],
        [],
    ),
    "P5": (
        "nn.Module.to",
        "api torch.nn.Module.to",
        ["torch.nn.modules.module.Module.to", "torch/nn/modules/module.py:900"],
        [],
    ),
    "P6": (
        "optim.Adagrad.step",
        "api torch.optim.Adagrad.step",
        ["torch/optim/adagrad.py:382", "aten::_foreach_addcdiv_", "aten::_fused_adagrad_"],
        [],
    ),
    "P7": (
        "distributions: rsample",
        "api torch.distributions.Normal.rsample",
        ["torch/distributions/normal.py:75", "torch/distributions/utils.py:58", "aten::normal_", "aten::mul.Tensor"],
        [],
    ),
    "P8": (
        "torch.vmap does not call what it registers for",
        "api torch.vmap",
        ["torch/_functorch/apis.py:32", "aten::cat"],
        ["aten::mse_loss_backward"],
    ),
    "P9": (
        "torch.cond is a higher-order operator",
        "api torch.cond",
        ["torch/_higher_order_ops/cond.py:70", "higher_order::cond"],
        [],
    ),
    "P10": (
        "zero_grad: over the parameters",
        "api torch.nn.Module.zero_grad",
        [":2913", "aten::zero_", "aten::detach_"],
        [],
    ),
    "P11": (
        "train: no operator",
        "api torch.nn.Module.train",
        ["Pure Python"],
        ["aten::"],
    ),
    "P12": (
        "a property under another name",
        "api torch.Tensor.T",
        ["aten::numpy_T"],
        [],
    ),
    "P13": (
        "reflected power",
        "api torch.Tensor.__rpow__",
        ["torch/_tensor.py:1101", "aten::pow.Scalar"],
        [],
    ),
    "P14": (
        "stft pads",
        "api torch.stft",
        ["torch/functional.py:542", "aten::stft", "aten::pad"],
        [],
    ),
    "P15": (
        "sparse.mm",
        "api torch.sparse.mm",
        ["aten::_sparse_mm"],
        [],
    ),
    "P16": (
        "amp.GradScaler.unscale_",
        "api torch.amp.GradScaler.unscale_",
        ["torch/amp/grad_scaler.py", ":279", "aten::_amp_foreach_non_finite_check_and_unscale_"],
        [],
    ),
    "P17": (
        "quantized Linear",
        "api torch.ao.nn.quantized.Linear.forward",
        ["quantized::linear", "torch/ao/nn/quantized/modules/linear.py"],
        [],
    ),
    "P18": (
        "orthogonal_",
        "api torch.nn.init.orthogonal_",
        ["torch/nn/init.py:574", "aten::linalg_qr"],
        [],
    ),
    "P19": (
        "fast path of attention",
        "api torch.nn.MultiheadAttention",
        ["aten::_native_multi_head_attention", "torch/nn/functional.py:5996"],
        [],
    ),
    "P20": (
        "PixelShuffle",
        "api torch.nn.PixelShuffle",
        ["aten::pixel_shuffle"],
        [],
    ),
    "B1": (
        "a generated binding of nn",
        "binding torch._C._nn.scaled_dot_product_attention",
        [
            "tools/autograd/templates/python_nn_functions.cpp",
            "aten/src/ATen/native/native_functions.yaml:14828",
            "torch.nn.functional.scaled_dot_product_attention",
        ],
        [],
    ),
    "B2": (
        "a property by hand",
        "binding torch._C.TensorBase.data",
        ["torch/csrc/autograd/python_variable.cpp", "THPVariable_set_data"],
        [],
    ),
    "B3": (
        "a method table of CUDA",
        "binding torch._C._cuda_getDeviceCount",
        ["THCPModule_getDeviceCount_wrap", "torch/csrc/cuda/Module.cpp:162", "USE_CUDA"],
        [],
    ),
    "B4": (
        "a method table of a module that an initialiser returns",
        "binding torch._C._dynamo.guards.check_type_id",
        ["torch/csrc/dynamo/guards.cpp:874", "torch/csrc/dynamo/guards.cpp:643", "torch_c_dynamo_guards_init"],
        [],
    ),
    "B5": (
        "pybind11 behind a long comment",
        "binding torch._C._dynamo.guards.GuardManager.get_source",
        ["torch/csrc/dynamo/guards.cpp:4990"],
        ["torch._C.get_source"],
    ),
    "I1": (
        "dynamo's part of the import",
        "init",
        ["torch_c_dynamo_eval_frame_init", "torch_c_dynamo_guards_init", "torch::jit::initScriptDictBindings", "56"],
        ["in torch._C: get_source"],
    ),
    "R1": (
        "meta, reference, batching rule of group_norm",
        "op native_group_norm --all",
        ["torch/_refs/__init__.py:3185", "aten/src/ATen/functorch/BatchRulesNorm.cpp:289", "NativeGroupNormBackward0"],
        [],
    ),
    "R2": (
        "decomposition of unfold_backward, no batching rule",
        "op unfold_backward --all",
        ["torch/_decomp/decompositions.py:1096", "no batching rule"],
        [],
    ),
    "R3": (
        "index_add: Inductor's own decomposition",
        "op index_add --all",
        [
            "torch/_inductor/decomposition.py:180",
            "aten/src/ATen/functorch/BatchRulesScatterOps.cpp:1029",
            "torch/onnx/symbolic_opset9.py",
        ],
        [],
    ),
    "R4": (
        "prelu: autocast",
        "op prelu --all",
        [
            "AutocastCUDA",
            "lower_precision_fp",
            "torch/_refs/nn/functional/__init__.py:1116",
            "torch/testing/_internal/common_modules.py:4231",
        ],
        [],
    ),
    "R5": (
        "cdist: fp32",
        "op cdist --all",
        ["fp32", "names pass through", "torch/testing/_internal/common_methods_invocations.py:12675"],
        [],
    ),
    "R6": (
        "bucketize: lowering, docs",
        "op bucketize --all",
        ["torch/_inductor/lowering.py:2252", "torch/_meta_registrations.py:6278", "torch/_torch_docs.py"],
        [],
    ),
    "R7": (
        "ctc: Meta kernel in C++, forward mode",
        "op _ctc_loss --all",
        ["aten/src/ATen/native/LossCTC.cpp:407", "its formulas are for backward only"],
        [],
    ),
    "R8": (
        "upsample_bicubic2d: structured meta",
        "op upsample_bicubic2d --all",
        ["aten/src/ATen/native/UpSampleBicubic2d.cpp:25", "torch/_decomp/decompositions.py:4607", "EXISTING_BDIM"],
        [],
    ),
    "R9": (
        "gelu: benchmark with its line",
        "op gelu --all",
        ["benchmarks/operator_benchmark/pt/gelu_test.py:20"],
        [],
    ),
    "A1": (
        "a Python autograd.Function",
        "backward CheckpointFunction",
        ["torch/utils/checkpoint.py:268", "torch.autograd.backward"],
        [],
    ),
    "A2": (
        "SyncBatchNorm's own backward",
        "backward torch.nn.modules._functions.SyncBatchNorm",
        ["torch/nn/modules/_functions.py:126", "aten::batch_norm_backward_reduce", "aten::batch_norm_backward_elemt"],
        [],
    ),
    "A3": (
        "a node by its name",
        "backward CtcLossBackward0",
        ["tools/autograd/derivatives.yaml:544", "aten::_ctc_loss_backward"],
        [],
    ),
    "A4": (
        "prelu: the formula of its kernel",
        "backward prelu",
        ["aten::_prelu_kernel", "PreluKernelBackward0"],
        [],
    ),
    "C1": (
        "a functional of the C++ frontend",
        "api torch::nn::functional::grid_sample",
        ["aten::grid_sampler", "torch/csrc/api/include/torch/nn/functional/vision.h"],
        [],
    ),
    "C2": (
        "the C++ frontend's Transformer",
        "api torch::nn::Transformer",
        [
            "torch::nn::TransformerEncoderImpl::forward",
            "aten::layer_norm",
            "torch/csrc/api/src/nn/modules/transformer.cpp",
        ],
        [],
    ),
    "C3": (
        "an optimizer of the C++ frontend",
        "api torch::optim::AdamW",
        ["torch::optim::AdamW::step", "torch/csrc/api/src/optim/adamw.cpp:72"],
        [],
    ),
}


@pytest.fixture(scope="module")
def tree() -> str:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC is not set")
    from pytrace.index import refresh

    refresh(Path(os.environ["PYTORCH_SRC"]), quiet=True)
    return os.environ["PYTORCH_SRC"]


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, tree: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, command, answer, wrong = CASES[case]
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(main, [*shlex.split(command), "--root", tree, "--no-refresh"])
    assert [text for text in answer if text not in result.output] == [], f"{command}\n{result.output}"
    assert [text for text in wrong if text in result.output] == [], f"{command}\n{result.output}"
