"""What people type, taken apart."""

from __future__ import annotations

import pytest

from pytrace.trace import spelling

VECTORIZED = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, T)"
)
NSYS = (
    "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl<at::native::<unnamed>::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]>(at::TensorIteratorBase &)>(int, T3)"
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mul_kernel_cuda", "mul_kernel_cuda"),
        (" `at::native::mul_kernel_cuda()` ", "at::native::mul_kernel_cuda"),
        (VECTORIZED, "at::native::vectorized_elementwise_kernel"),
        (NSYS, "at::native::elementwise_kernel"),
        (
            "void at::native::(anonymous namespace)::softmax_warp_forward<float, 5>(float*, int)",
            "at::native::softmax_warp_forward",
        ),
        (
            "at::native::_GLOBAL__N__53_tmpxft_9_SoftMax_cu_a331::cunn_SoftMaxBackward<2, float>",
            "at::native::cunn_SoftMaxBackward",
        ),
        ("_ZN2at6native29vectorized_elementwise_kernelILi4EfEEvi", "at::native::vectorized_elementwise_kernel"),
        (
            "_ZN2at6native37_GLOBAL__N__5a52_11_Indexing_cu_abcde21indexSelectLargeIndexIfEEv",
            "at::native::indexSelectLargeIndex",
        ),
        ("at::native::LSTMCell::operator()(at::Tensor const&) const", "at::native::LSTMCell::operator()"),
        ("at::native::CPU_CAPABILITY::add_kernel", "at::native::add_kernel"),
        ("std::tuple<at::Tensor, at::Tensor> at::native::lstm(at::Tensor const&)", "at::native::lstm"),
        ("", ""),
        ("<<<>>>((", ""),
    ],
)
def test_cpp_name(text: str, name: str) -> None:
    assert spelling.cpp_name(text) == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("plain_kernel", []),
        (VECTORIZED, ["at::native::BinaryFunctor", "at::native::binary_internal::MulFunctor"]),
        (NSYS, ["at::native::gpu_kernel_impl", "at::native::direct_copy_kernel_cuda", "at::TensorIteratorBase"]),
    ],
)
def test_template_names(text: str, names: list[str]) -> None:
    found = spelling.template_names(text)
    assert [n for n in found if n.startswith("at::")][: len(names)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("F.linear", ["torch.nn.functional.linear", "F.linear", "torch.F.linear"]),
        ("nn.LSTM", ["torch.nn.LSTM", "nn.LSTM"]),
        ("torch.nn.LSTM", ["torch.nn.LSTM"]),
        ("Tensor.add_", ["torch.Tensor.add_", "Tensor.add_"]),
        ("lstm", ["lstm"]),
    ],
)
def test_python_names(text: str, names: list[str]) -> None:
    assert spelling.python_names(text)[: len(names)] == names


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("lstm", ("", "lstm", None)),
        ("add.Tensor", ("", "add", "Tensor")),
        ("aten::add.Tensor", ("aten", "add", "Tensor")),
        ("prims::add", ("prims", "add", None)),
        ("mm.default", ("", "mm", "")),
        ("torch.ops.aten.mm", ("aten", "mm", None)),
        ("torch.ops.aten.mm.default", ("aten", "mm", "")),
        ("torch.ops.aten.add.Tensor", ("aten", "add", "Tensor")),
        ("aten.mm.default", ("aten", "mm", "")),
        ("at::add", ("aten", "add", None)),
        ("at::Tensor::add_", ("aten", "add_", None)),
        ("at::_ops::add_Tensor::call", ("", "add_Tensor", None)),
    ],
)
def test_op_names(text: str, first: tuple[str, str, str | None]) -> None:
    assert spelling.op_names(text)[0] == first


@pytest.mark.parametrize("text", ["torch.nn.LSTM", "at::native::lstm", "a b", ""])
def test_no_operator_in(text: str) -> None:
    assert spelling.op_names(text) == []
