"""Backward code written by hand."""

from __future__ import annotations

from tests.link.small import edges, linked

NODES = """
namespace torch::autograd {
struct Node { virtual variable_list apply(variable_list&& grads) = 0; };
struct CopyBackwards : public Node { variable_list apply(variable_list&& grads) override; };
struct Gradual : public CopyBackwards { variable_list apply(variable_list&& grads) override; };
struct Other { variable_list apply(variable_list&& grads); };
variable_list CopyBackwards::apply(variable_list&& grads) { return {at::neg(grads[0])}; }
variable_list Gradual::apply(variable_list&& grads) { return {}; }
variable_list Other::apply(variable_list&& grads) { return {}; }
Tensor copy_(Tensor& self) { auto grad_fn = std::make_shared<CopyBackwards>(); return self; }
Tensor slowly(Tensor& self) { auto grad_fn = std::make_shared<Gradual>(); return self; }
Tensor other(Tensor& self) { auto x = std::make_shared<Other>(); return self; }
}
"""
FUNCTION = """
namespace mine {
class Twice : public torch::autograd::Function<Twice> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x) { return at::neg(x); }
  static variable_list backward(AutogradContext* ctx, variable_list grads) { return {}; }
};
Tensor twice(const Tensor& x) { return Twice::apply(x); }
}
"""
PYTHON = """
import torch
from torch.autograd import Function
class Twice(Function):
    @staticmethod
    def forward(ctx, x): return torch.neg(x)
    @staticmethod
    def backward(ctx, grad): return torch.neg(grad)
class Plain:
    def forward(self, x): return torch.neg(x)
    def backward(self, x): return torch.neg(x)
"""


def test_who_makes_a_node_runs_its_apply_later() -> None:
    made = linked({"torch/csrc/autograd/nodes.cpp": NODES})
    names = {row[0]: row[2] for row in made.nodes}
    found = [(names[e[0]], names[e[1]], e[6]) for e in made.edges if e[2] == "backward"]
    assert found == [
        ("torch::autograd::copy_", "torch::autograd::CopyBackwards::apply", 10),
        ("torch::autograd::slowly", "torch::autograd::Gradual::apply", 11),
    ]


def test_functions_of_cpp() -> None:
    made = linked({"torch/csrc/mine.cpp": FUNCTION})
    assert edges(made, "backward") == ["forward backward backward"]
    assert "calls forward" in edges(made, "calls", source="twice")


def test_functions_of_python() -> None:
    made = linked({"torch/nn/twice.py": PYTHON})
    names = {row[0]: row[2] for row in made.nodes}
    assert [(names[e[0]], names[e[1]]) for e in made.edges if e[2] == "backward"] == [
        ("torch.nn.twice.Twice.forward", "torch.nn.twice.Twice.backward")
    ]
