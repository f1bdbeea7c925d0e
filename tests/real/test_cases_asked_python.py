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
