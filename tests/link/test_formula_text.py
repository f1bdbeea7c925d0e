"""Formulas as text: what is saved, what is called, how nodes are named."""

from __future__ import annotations

import pytest

from pytrace.link.formula_text import called_names, gradient_indices, has_ident, node_prefix, saved_variables

TENSOR = [("self", "at::Tensor"), ("dim", "int64_t")]
SAVED = [
    # formula, formula on saved values, (name, type, expression)
    ("grad", "grad", []),
    ("grad * self", "grad * self", [("self", "at::Tensor", "self")]),
    (
        "f(self.sym_sizes(), dim)",
        "f(self_sym_sizes, dim)",
        [("self_sym_sizes", "c10::SymIntArrayRef", "self.sym_sizes()"), ("dim", "int64_t", "dim")],
    ),
    (
        "self.sym_size(-2)",
        "self_sym_argsize_minus_2",
        [("self_sym_argsize_minus_2", "c10::SymInt", "self.sym_size(-2)")],
    ),
    ("self.sym_size(dim)", "self_sym_argsize_dim", [("self_sym_argsize_dim", "c10::SymInt", "self.sym_size(dim)")]),
    ("zeros_like(self)", "self_info.zeros()", [("self_info", "torch::autograd::generated::TypeAndSize", "self")]),
    (
        "f(self.scalar_type(), self.options())",
        "f(self_scalar_type, self_options)",
        [
            ("self_options", "at::TensorOptions", "self.options()"),
            ("self_scalar_type", "at::ScalarType", "self.scalar_type()"),
        ],
    ),
    (
        "self.sym_strides()",
        "self_sym_strides",
        [("self_sym_strides", "c10::SymIntArrayRef", 'strides_or_error(self, "self")')],
    ),
    (
        "to_args_sizes_symint(self)",
        "self_args_sizes_symint",
        [("self_args_sizes_symint", "::std::vector<::std::vector<c10::SymInt>>", "to_args_sizes_symint(self)")],
    ),
    (
        "self->sym_sizes()",
        "self_sym_sizes_opt",
        [
            (
                "self_sym_sizes_opt",
                "::std::optional<c10::SymIntArrayRef>",
                "self.has_value() ? std::optional<c10::SymIntArrayRef>(self->sym_sizes()) : std::nullopt",
            )
        ],
    ),
    ("myself + herself", "myself + herself", []),
]


@pytest.mark.parametrize(("text", "expected", "saved"), SAVED)
def test_saved_variables(text: str, expected: str, saved: list[tuple[str, str, str]]) -> None:
    formula, values = saved_variables(text, TENSOR)
    assert (formula, [tuple(v) for v in values]) == (expected, saved)


def test_optional_strings_become_views() -> None:
    formula, saved = saved_variables("f(mode)", [("mode", "::std::optional<c10::string_view>")])
    assert formula == "f(mode.has_value() ? std::optional<std::string_view>(mode.value()) : std::nullopt)"
    assert [s.name for s in saved] == ["mode"]


def test_words() -> None:
    assert has_ident("grad", "f(grad, x)")
    assert not has_ident("grad", "f(grads[0], grad_x)")
    assert gradient_indices("f(grads[0], grads[12], mygrads[3])") == [0, 12]


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("add", "AddBackward"),
        ("_log_softmax", "LogSoftmaxBackward"),
        ("conv2d_forward", "Conv2DBackward"),
        ("mul_", "MulBackward"),
        ("convolution_backward", "ConvolutionBackwardBackward"),
    ],
)
def test_node_names(name: str, node: str) -> None:
    assert node_prefix(name) == node


CALLS = [
    # formula, (name, is method, receiver, number of arguments)
    ("grad", []),
    ("f(grad, {a, b}, g())", [("f", False, "", 3), ("g", False, "", 0)]),
    ("grad.mul(x).sum(0, true)", [("mul", True, "grad", 1), ("sum", True, "grad.mul(x)", 2)]),
    ("(a + b).conj()", [("conj", True, "(a + b)", 0)]),
    (
        "grads[1].defined() ? at::native::f(grads[1]) : Tensor()",
        [("defined", True, "grads[1]", 0), ("at::native::f", False, "", 1), ("Tensor", False, "", 0)],
    ),
    ("std::tuple<Tensor, Tensor>(a, b)", [("std::tuple", False, "", 2)]),
    ("impl(self)->get(1)", [("impl", False, "", 1), ("get", True, "impl(self)", 1)]),
    ('not_implemented("f(x)")', [("not_implemented", False, "", 1)]),
    ('f(/*g(1)=*/x, ")")', [("f", False, "", 2)]),
    ("a < b && c > (d)", []),
    ("a ? b : (c - d).exp()", [("exp", True, "(c - d)", 0)]),
    ("return (x)", []),
    ("::at::f(x)", [("at::f", False, "", 1)]),
    (".f(", [("f", True, "", 0)]),
    (")))", []),
]


@pytest.mark.parametrize(("text", "expected"), CALLS)
def test_called_names(text: str, expected: list[tuple[str, bool, str, int]]) -> None:
    assert [tuple(c) for c in called_names(text)] == expected
