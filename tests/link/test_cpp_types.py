"""Kinds of C++ types, and what methods give back."""

from __future__ import annotations

import pytest

from pytrace.link.cpp_types import element, kind_of, method


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Tensor", "Tensor"),
        ("const at::Tensor&", "Tensor"),
        ("Tensor&&", "Tensor"),
        ("torch::Tensor", "Tensor"),
        ("const TensorBase &", "Tensor"),
        ("Variable", "Tensor"),
        ("std::optional<Tensor>", "OptTensor"),
        ("const std::optional<at::Tensor>&", "OptTensor"),
        ("c10::optional<int64_t>", "int?"),
        ("at::OptionalTensorRef", "OptTensor"),
        ("TensorList", "TensorList"),
        ("at::ITensorListRef", "TensorList"),
        ("ArrayRef<Tensor>", "TensorList"),
        ("std::vector<at::Tensor>&", "TensorList"),
        ("c10::List<Tensor>", "TensorList"),
        ("std::array<Tensor, 3>", "TensorList"),
        ("c10::List<std::optional<Tensor>>", "OptTensorList"),
        ("IntArrayRef", "IntArrayRef"),
        ("c10::ArrayRef<int64_t>", "IntArrayRef"),
        ("std::vector<int64_t>", "IntArrayRef"),
        ("c10::SmallVector<int64_t, 4>", "IntArrayRef"),
        ("at::OptionalIntArrayRef", "IntArrayRef?"),
        ("c10::SymIntArrayRef", "SymIntArrayRef"),
        ("std::array<bool, 2>", "BoolArray"),
        ("int64_t", "int"),
        ("const unsigned int", "int"),
        ("size_t", "int"),
        ("double", "float"),
        ("scalar_t", "float"),
        ("bool", "bool"),
        ("c10::SymInt", "SymInt"),
        ("const Scalar&", "Scalar"),
        ("at::ScalarType", "ScalarType"),
        ("caffe2::TypeMeta", "ScalarType"),
        ("c10::string_view", "str"),
        ("std::string", "str"),
        ("const char*", "str"),
        ("c10::Device", "Device"),
        ("DeviceType", "Device"),
        ("std::optional<Generator>", "Generator?"),
        ("Foo", "Foo"),
        ("const at::native::Foo<int>&", "at::native::Foo"),
        ("struct Foo", "Foo"),
        ("Foo*", "ptr Foo"),
        ("Tensor*", "ptr Tensor"),
        ("std::unique_ptr<Foo>", "ptr Foo"),
        ("std::shared_ptr<at::Foo>", "ptr Foo"),
        ("c10::intrusive_ptr<Foo>", "ptr Foo"),
        ("c10::MaybeOwned<Tensor>", "ptr Tensor"),
        ("std::tuple<Tensor, Tensor, int64_t>", "tuple Tensor;Tensor;int"),
        ("std::pair<Tensor, Foo>", "tuple Tensor;Foo"),
        ("std::vector<Foo>", "array Foo"),
        ("auto", ""),
        ("const auto&", ""),
        ("", ""),
        ("[[maybe_unused]] const Tensor&", "Tensor"),
    ],
)
def test_kind_of(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("kind", "inner"),
    [
        ("TensorList", "Tensor"),
        ("IntArrayRef", "int"),
        ("SymIntArrayRef", "SymInt"),
        ("OptTensor", "Tensor"),
        ("OptTensorList", "OptTensor"),
        ("ptr Foo", "Foo"),
        ("array Foo", "Foo"),
        ("int?", "int"),
        ("Tensor", "Tensor"),
        ("Foo", ""),
        ("", ""),
    ],
)
def test_element(kind: str, inner: str) -> None:
    assert element(kind) == inner


@pytest.mark.parametrize(
    ("kind", "name", "arguments", "result"),
    [
        ("Tensor", "sizes", 0, "IntArrayRef"),
        ("Tensor", "sym_size", 1, "SymInt"),
        ("Tensor", "dim", 0, "int"),
        ("Tensor", "scalar_type", 0, "ScalarType"),
        ("Tensor", "options", 0, "TensorOptions"),
        ("Tensor", "is_cuda", 0, "bool"),
        ("Tensor", "item", 0, "Scalar"),
        ("Tensor", "add", 1, ""),  # an operator: not answered here
        ("OptTensor", "value", 0, "Tensor"),
        ("OptTensor", "has_value", 0, "bool"),
        ("int?", "value_or", 1, "int"),
        ("ptr Foo", "get", 0, "Foo"),
        ("TensorList", "front", 0, "Tensor"),
        ("IntArrayRef", "vec", 0, "IntArrayRef"),
        ("IntArrayRef", "size", 0, "int"),
        ("TensorOptions", "device", 0, ""),
        ("TensorOptions", "layout", 0, "Layout"),
        ("Scalar", "toDouble", 0, "float"),
        ("Scalar", "to", 0, ""),
        ("Foo", "bar", 0, ""),
    ],
)
def test_method(kind: str, name: str, arguments: int, result: str) -> None:
    assert method(kind, name, arguments) == result


def test_a_setter_of_options_gives_options() -> None:
    assert method("TensorOptions", "dtype", 1) == "TensorOptions"
