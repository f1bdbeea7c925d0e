"""What derivative formulas call."""

from __future__ import annotations

import pytest

from pytrace.model import FORWARD_MODE
from tests.link.small import DERIVATIVES, edges, linked

MANUAL = """namespace torch::autograd::generated::details {
Tensor one(const Tensor& grad) {}
Tensor two(const Tensor& grad, int64_t dim) {}
std::vector<Tensor> many(const Tensor& grad) {}
}
"""
OPS = """\
- func: foo(Tensor self, Tensor other, int dim) -> Tensor
- func: foo_backward(Tensor grad, Tensor other) -> Tensor
- func: neg(Tensor self) -> Tensor
  variants: function, method
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
- func: mul.Scalar(Tensor self, Scalar other) -> Tensor
  variants: function, method
- func: split(Tensor[] xs, Scalar? s=None) -> Tensor[]
"""


def reached(
    formula: str, name: str = "foo(Tensor self, Tensor other, int dim) -> Tensor", key: str = "self"
) -> list[str]:
    """What the formula of one argument calls, sorted."""
    files = {
        "torch/csrc/autograd/FunctionsManual.cpp": MANUAL,
        DERIVATIVES: f'- name: {name}\n  {key}: "{formula}"\n',
    }
    graph = linked(files, OPS)
    kinds = {row[0]: row[1] for row in graph.nodes}
    names = {row[0]: row[2] if row[1] == "op" else row[3] for row in graph.nodes}
    return sorted(f"{e[2]} {names[e[1]]}" for e in graph.edges if kinds[e[0]] == "formula")


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("one(grad)", ["calls one"]),
        ("two(grad, dim)", ["calls two"]),
        ("one(grad).neg()", ["calls one", "calls_op aten::neg"]),
        ("foo_backward(grad, other)", ["calls_op aten::foo_backward"]),
        ("at::foo_backward(grad, other)", ["calls_op aten::foo_backward"]),
        ("grad.mul(other)", ["calls_op aten::mul.Tensor"]),
        ("grad.mul(dim)", ["calls_op aten::mul.Scalar"]),
        ("(grad * other)", ["calls_op aten::mul.Tensor"]),
        ("grad * other.neg()", ["calls_op aten::mul.Tensor", "calls_op aten::neg"]),
        ("result.neg()", ["calls_op aten::neg"]),
        ("grad.defined() ? one(grad) : Tensor()", ["calls one"]),
        ("many(grad)[0].neg()", ["calls many", "calls_op aten::neg"]),
        ("grad", []),
        ('not_implemented(\\"foo\\")', []),
        ("zeros_like(grad)", []),  # an operator that this list does not have
    ],
)
def test_formulas(formula: str, found: list[str]) -> None:
    assert reached(formula) == found


def test_a_product_alone() -> None:
    assert reached("grad * other") == ["calls_op aten::mul.Tensor"]


def test_lists_of_gradients() -> None:
    name = "split(Tensor[] xs, Scalar? s=None) -> Tensor[]"
    assert reached("one(grads[0])", name, "xs") == ["calls one"]
    assert reached("grads[0].neg()", name, "xs") == ["calls_op aten::neg"]


def test_guards_and_places() -> None:
    graph = linked(
        {
            "torch/csrc/autograd/FunctionsManual.cpp": MANUAL,
            DERIVATIVES: "- name: foo(Tensor self, Tensor other, int dim) -> Tensor\n"
            "  self: 'grad.defined() ? one(grad) : two(grad, dim)'\n  other: grad.neg()\n",
        },
        OPS,
    )
    names = {row[0]: row[3] for row in graph.nodes}
    found = [(names[e[1]], e[5], e[6], e[7]) for e in graph.edges if names[e[0]] == "FooBackward0" and e[2] != "binds"]
    assert sorted(found) == [
        ("neg", DERIVATIVES, 3, ""),
        ("one", DERIVATIVES, 2, "if (grad.defined())"),
        ("two", DERIVATIVES, 2, "else of if (grad.defined())"),
    ]
    assert "calls one" in edges(graph, source="FooBackward0")


def test_what_only_forward_mode_calls() -> None:
    """``result:`` is the forward-mode formula; what a backward formula calls as well is the backward's."""
    files = {
        "torch/csrc/autograd/FunctionsManual.cpp": MANUAL,
        DERIVATIVES: "- name: foo(Tensor self, Tensor other, int dim) -> Tensor\n"
        "  self: one(grad) * other\n"
        "  result: two(self_t, dim) * other.neg()\n",
    }
    graph = linked(files, OPS)
    kinds = {row[0]: row[1] for row in graph.nodes}
    bare = {row[0]: row[3] for row in graph.nodes}
    found = {(bare[e[1]], e[3]) for e in graph.edges if kinds[e[0]] == "formula"}
    assert found == {("one", ""), ("mul", ""), ("two", FORWARD_MODE), ("neg", FORWARD_MODE)}
