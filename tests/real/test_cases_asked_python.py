"""What people ask about the Python side of PyTorch 2.6.0, put as a user would put it; answers read in the sources.

Where a Tensor method, a ``torch.cuda`` function or a class of ``torch.distributed`` ends, what an optimizer or a
distribution calls, which C++ a binding stands for, what the backward of an operator is, what is round about it.
``PYTORCH_SRC`` names a 2.6.0 checkout.
"""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main

pytestmark = pytest.mark.real

#: (command, what the answer holds, what it must not hold)
CASES: tuple[tuple[str, list[str], list[str]], ...] = (
    # -- methods, properties, operators of Tensor
    ("api torch.Tensor.backward", ["torch/_tensor.py:570", ":626", "torch.autograd.backward"], []),
    ("api torch.Tensor.__add__", ["torch._C.TensorBase.add", "aten::add.Tensor"], ["aten::add.Scalar"]),
    ("api Tensor.requires_grad_", ["torch._C.TensorBase.requires_grad_", "ends in C++"], ["aten::"]),
    ("api torch.Tensor.grad", ["torch._C.TensorBase.grad", "ends in C++"], ["aten::"]),
    ("api torch.Tensor.register_hook", ["torch/_tensor.py:630", "Pure Python"], ["aten::"]),
    ("api x.sum", ["torch.Tensor.sum", "aten::sum.dim_IntList", "aten::sum.dim_DimnameList"], []),
    ("api torch.Tensor.H", ["aten::matrix_H"], []),
    ("api torch.Tensor.__bool__", ["aten::is_nonzero"], []),
    ("api torch.Tensor.tolist", ["aten::resolve_conj", "aten::resolve_neg"], []),
    ("api torch.Tensor.__array__", ["torch/_tensor.py:1190", ":1194", "torch._C.TensorBase.numpy"], []),
    ("binding Tensor.numpy", ["THPVariable_numpy", "python_variable_methods.cpp:792", "aten::detach"], []),
    (
        "binding torch._C.TensorBase.requires_grad",
        ["THPVariable_get_requires_grad", "THPVariable_set_requires_grad"],
        [],
    ),
    ("binding torch._C.TensorBase.__len__", ["THPVariable_length", "python_variable_indexing.cpp:37"], []),
    # -- torch and its parts
    ("api torch.from_numpy", ["torch._C._VariableFunctions.from_numpy", "aten::lift_fresh"], []),
    ("api torch.einsum", ["torch/functional.py:210", "aten::einsum", "len(operands) <= 2"], []),
    ("api torch.unique", ["aten::unique_dim", "aten::_unique2"], []),
    ("backward torch.unique", ["UniqueDimBackward0", 'not_implemented("unique_dim")', "Unique2Backward0"], []),
    ("api torch.no_grad", ["torch/autograd/grad_mode.py:21", "__enter__", "torch._C._set_grad_enabled"], ["aten::"]),
    ("api torch.linalg.lstsq", ["torch._C._linalg.linalg_lstsq", "aten::linalg_lstsq"], []),
    ("api torch.fft.rfft2", ["torch._C._fft.fft_rfft2", "aten::fft_rfft2"], []),
    ("api torch.special.logsumexp", ["aten::special_logsumexp"], []),
    ("api torch.sparse.sum", ["aten::_sparse_sum.dim_dtype", "aten::_sparse_sum"], []),
    ("api torch.nested.to_padded_tensor", ["torch._C._nested.nested_to_padded_tensor"], []),
    ("api torch.ops.aten.add.Tensor", ["It is an operator", "pytrace op torch.ops.aten.add.Tensor"], []),
    # -- modules and functional
    ("api F.relu", ["torch/nn/functional.py:1693", "aten::relu_", "if inplace"], []),
    ("api torch.nn.CrossEntropyLoss", ["torch/nn/modules/loss.py:1294", ":3494", "aten::cross_entropy_loss"], []),
    ("api torch.nn.BatchNorm2d.forward", ["torch/nn/modules/batchnorm.py:159", ":193", "aten::batch_norm"], []),
    ("api torch.nn.utils.weight_norm", ["torch/nn/utils/weight_norm.py:36", "aten::_weight_norm"], []),
    ("api torch.nn.utils.clip_grad_norm_", ["aten::_foreach_norm.Scalar", "aten::_foreach_mul_.Tensor"], []),
    # -- optimizers: parameter groups hold Tensors, isinstance says what a value is
    (
        "api torch.optim.LBFGS.step --depth 4",
        ["torch.optim.lbfgs.LBFGS._add_grad", "aten::add_.Tensor", "aten::view_as", "aten::copy_", "aten::clone"],
        [],
    ),
    ("api torch.optim.optimizer._get_value", ["torch/optim/optimizer.py:101", ":106", "aten::item"], []),
    # -- distributions: what a constructor unpacks into attributes
    ("api torch.distributions.Normal.log_prob", ["torch/distributions/normal.py:80", "aten::log", "aten::pow"], []),
    # -- cuda: the C++ class behind super()
    ("api torch.cuda.synchronize", ["torch/cuda/__init__.py:975", "torch._C._cuda_synchronize"], ["aten::"]),
    ("api torch.cuda.Event.record", ["torch/cuda/streams.py:176", "torch._C._CudaEventBase.record"], ["aten::"]),
    ("binding torch._C._cuda_synchronize", ["THCPModule_cudaSynchronize", "torch/csrc/cuda/Module.cpp:462"], []),
    ("binding torch._C._cuda_getDeviceCount", ["torch/csrc/cuda/Module.cpp:162", "torch.cuda.device_count"], []),
    ("binding torch._C._EngineBase.run_backward", ["THPEngine_run_backward", "python_engine.cpp:184"], []),
    # -- distributed: pybind11, the dispatcher looked up by name, the backend that overrides a default
    (
        "api torch.distributed.all_reduce",
        ["torch/distributed/distributed_c10d.py:2734", "ProcessGroup.allreduce", "c10d::allreduce_"],
        [],
    ),
    (
        "binding torch._C._distributed_c10d.ProcessGroup.allreduce",
        ["torch/csrc/distributed/c10d/init.cpp:1966", "ProcessGroup.hpp:208", "c10d::allreduce_"],
        [],
    ),
    (
        "op c10d::allreduce_",
        ["c10d::ProcessGroupNCCL::allreduce", "one of", "ncclAllReduce", "torch.distributed.all_reduce"],
        [],
    ),
    ("op c10d::broadcast_", ["c10d::ProcessGroupNCCL::broadcast", "ncclBcast"], []),
    ("kernel ncclAllReduce --up", ["c10d::allreduce_"], []),
    ("binding torch._C._get_tracing_state", ["torch::jit::tracer::getTracingState", "tracer.cpp:921"], []),
    # -- C++ frontend
    ("api torch::nn::Conv2d", ["torch/csrc/api/src/nn/modules/conv.cpp:119", "aten::conv2d"], []),
    ("api torch::optim::Adam::step", ["torch/csrc/api/src/optim/adam.cpp:72", "aten::addcdiv_", "aten::max.out"], []),
    ("api torch::nn::functional::relu", ["torch/csrc/api/include/torch/nn/functional/activation.h:427"], []),
    # -- backward
    ("backward SoftmaxBackward0", ["tools/autograd/derivatives.yaml:2196", "saves self_scalar_type, dim, result"], []),
    ("backward AddmmBackward0", ["derivatives.yaml:256", "mm_mat1_backward", "FunctionsManual.cpp:1434"], []),
    ("backward sigmoid_backward", ["SigmoidBackwardBackward0", "derivatives.yaml:2694"], []),
    ("backward index_put_", ["accumulate ? grad", "derivatives.yaml:886", "values: grad.index(indices)"], []),
    ("backward argmax", ["Not differentiable"], ["Backward0"]),
    ("backward AccumulateGrad", ["functions/accumulate_grad.cpp:24", "torch::autograd::impl::grad_accumulator"], []),
    ("backward CopySlices", ["torch/csrc/autograd/functions/tensor.cpp:218", "rebase_history"], []),
    ("backward torch.linalg.eigh", ["CompositeImplicitAutograd", "LinalgEighBackward0"], []),
    # -- what only the forward-mode formula calls is no part of the backward pass
    (
        "backward trace",
        [
            "derivatives.yaml:1760",
            "derivatives.yaml:1761",
            "forward mode also calls aten::trace",
            "aten::trace_backward  composite: autograd records what it calls",
            "aten::trace  TraceBackward0  in forward mode",
        ],
        ["trace_cuda"],
    ),
    (
        "backward MaxPool2DWithIndicesBackward0",
        ["forward mode also calls aten::gather", "MaxPool2DWithIndicesBackwardBackward0", "derivatives.yaml:2530"],
        ["gather_stub"],
    ),
    ("backward poisson", ["derivatives.yaml:1371", "forward mode also calls at::Tensor::conj"], ["conj_physical"]),
    ("backward grid_sampler_2d", ["derivatives.yaml:769", "its backward is not implemented and raises"], []),
    ("backward SqueezeBackward1", ["AutogradNestedTensor", "derivatives.yaml:1626", "unsqueeze_to"], []),
    ("backward cdist", ["EuclideanDistBackward0", "CdistBackward0"], []),
    ("backward bincount", ["derivative for aten::bincount is not implemented"], []),
    ("kernel trace_cuda --up", ["TraceBackward0 (forward mode)"], []),
    # -- round about: an entry is told for all overloads that have it
    ("op triu --all", ["TORCH_IMPL_FUNC(triu_mps_out)", "BatchRulesViews.cpp:559"], ["(triu_mps_out)  for triu_"]),
    ("op cumprod --all", ["(cumprod_out_mps)  for cumprod, cumprod_, cumprod.out", "UnaryOps.mm:483"], []),
    (
        "op histc --all",
        ["_histc_cuda", "SummaryOps.cu:396", "no batching rule", "torch/_meta_registrations.py:6286"],
        [],
    ),
    (
        "op as_strided --all",
        ["LegacyBatchingRegistrations.cpp:753", "copy of the view", "torch/_inductor/lowering.py:1131"],
        [],
    ),
    # -- where autograd enters the engine: a type under another name, a module behind a function of its name
    (
        "api torch.autograd.grad",
        ["torch/autograd/__init__.py:358", "C++ without an operator", "torch._C._EngineBase.run_backward"],
        [],
    ),
    (
        "binding torch._C._ImperativeEngine.run_backward",
        ["THPEngine_run_backward", "python_engine.cpp:451", "torch/autograd/graph.py:823"],
        [],
    ),
    ("binding torch._C._functions.AccumulateGrad", ["torch/csrc/autograd/functions/init.cpp:124"], []),
    (
        "init",
        ["module torch._C._functions  9 members", "defined(USE_C10D), #ifndef _WIN32"],
        ["defined(USE_C10D) && #ifndef"],
    ),
    # -- a default that says what a parameter is; operators of private namespaces; bases of pybind11's classes
    (
        "api torch.distributed.all_to_all_single",
        ["torch/distributed/distributed_c10d.py:4272", ":4388", "c10d::alltoall_base_", "aten::view_as_real"],
        [],
    ),
    (
        "api torch.distributed._functional_collectives.all_gather_tensor",
        [":205", "_c10d_functional::all_gather_into_tensor", "_c10d_functional::wait_tensor", "aten::cat"],
        [],
    ),
    ("op _c10d_functional::all_gather_into_tensor", ["_functional_collectives.all_gather_tensor"], ["No Python name"]),
    ("api torch.distributed.TCPStore.get", ["torch._C._distributed_c10d.Store.get", "init.cpp:1245"], ["Pure Python"]),
    ("binding torch.distributed.ProcessGroupNCCL.allreduce", ["Backend.allreduce", "init.cpp:2476"], []),
    ("binding torch._C.ScriptModule._get_method", ["torch._C.ScriptObject._get_method", "script_init.cpp:752"], []),
    # -- a registry: which function runs is decided by the arguments
    (
        "api torch.distributions.kl_divergence",
        ["torch/distributions/kl.py:164", ":186", "torch/distributions/kl.py:113", "registered with @register_kl"],
        ["Pure Python"],
    ),
    ("api torch.distributions.kl._kl_gamma_gamma", ["aten::lgamma", "aten::digamma"], []),
    # -- what a function is given and calls: its operators are the caller's
    ("api torch.utils.checkpoint.checkpoint", [":491", "calls what it is given: function"], ["aten::ne"]),
    ("api torch.vmap", ["torch/_functorch/vmap.py:472", "calls what it is given: func"], []),
    ("api torch.nn.Module.apply", ["torch/nn/modules/module.py:995", "it calls what it is given"], ["Pure Python"]),
    # -- what is not read is not called C++, and comparing classes is no operator
    (
        "api torch.compile",
        ["torch/__init__.py:2422", "Not followed", "torch._dynamo.eval_frame.optimize"],
        ["ends in C++", "Pure Python"],
    ),
    ("op torch.compile", ["No operator was found behind torch.compile", "torch._dynamo.eval_frame.optimize"], []),
    ("api torch.export.export", ["torch/export/__init__.py:263", "Not followed"], ["Pure Python"]),
    ("api torch.utils._python_dispatch.is_traceable_wrapper_subclass", ["Pure Python"], ["aten::ne"]),
    (
        "api torch.Tensor.contiguous",
        ["TensorBase.contiguous → aten::contiguous"],
        ["aten::contiguous, aten::contiguous"],
    ),
    ("api torch.Tensor.__reduce_ex__ --limit 0", ["torch/_tensor.py:242", ":257"], ["TODO"]),
    # -- isinstance of an element; optimizers, schedulers, modules, distributions, windows
    (
        "api torch.optim.lr_scheduler.OneCycleLR.step",
        ["torch/optim/lr_scheduler.py:211", ":252", "aten::fill_.Scalar"],
        ["Pure Python"],
    ),
    (
        "api torch.cuda.amp.GradScaler.step",
        ["torch/amp/grad_scaler.py:355", ":451", "aten::_amp_foreach_non_finite_check_and_unscale_"],
        [],
    ),
    (
        "api torch.distributions.MultivariateNormal.log_prob",
        ["torch/distributions/multivariate_normal.py:247", ":65", "aten::linalg_solve_triangular"],
        [],
    ),
    ("api torch.distributions.Categorical.sample", [":134", "aten::multinomial"], []),
    ("api torch.distributions.Gamma.rsample", ["torch/distributions/gamma.py:72", "aten::_standard_gamma"], []),
    ("api torch.signal.windows.hann", ["torch/signal/windows/windows.py:653", ":688", "aten::arange"], []),
    ("api torch.nn.utils.rnn.pad_packed_sequence", ["torch/nn/utils/rnn.py:345", ":407", "_pad_packed_sequence"], []),
    ("api torch.nn.quantized.Embedding", [":162", "quantized::embedding_4bit", "quantized::embedding_byte"], []),
    ("api torch.nn.MaxUnpool2d", ["torch/nn/functional.py:1010", ":1040", "aten::max_unpool2d"], []),
    ("api torch.masked.softmax", ["torch/masked/_ops.py:1716", ":999"], []),
    ("api torch.cuda.CUDAGraph.replay", ["torch/cuda/graphs.py:86", "torch._C._CUDAGraph.replay"], ["aten::"]),
    ("api torch::nn::LSTMCell", ["torch/csrc/api/src/nn/modules/rnn.cpp:940", ":969", "aten::lstm_cell"], []),
    ("api torch::nn::functional::grid_sample", ["vision.h:107", "aten::grid_sampler"], []),
    ("binding torch._C._CUDAGraph.capture_begin", ["CUDAGraph.cpp:80", "torch/cuda/graphs.py:73"], []),
    ("binding torch.Size.numel", ["THPSize_numel", "torch/csrc/Size.cpp:189"], []),
)


@pytest.mark.parametrize(("command", "answer", "wrong"), CASES, ids=[command for command, *_ in CASES])
def test_case(
    command: str,
    answer: list[str],
    wrong: list[str],
    real_index: object,
    real_tree: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(main, [*shlex.split(command), "--root", real_tree, "--no-refresh"])
    assert [text for text in answer if text not in result.output] == [], f"{command}\n{result.output}"
    assert [text for text in wrong if text in result.output] == [], f"{command}\n{result.output}"
