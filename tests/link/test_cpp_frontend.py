"""The C++ frontend: classes, holders, what they hold."""

from __future__ import annotations

import json

from pytrace.graph import Graph
from tests.link.small import edges, linked

API = "torch/csrc/api/include/torch/"
PIMPL = r"""
namespace torch::nn {
template <typename Contained> class ModuleHolder {
 public:
  template <typename... Args> auto operator()(Args&&... args) { return impl_->forward(args...); }
};
}
#define TORCH_MODULE(Name) class Name : public torch::nn::ModuleHolder<Name##Impl> { public: using Impl = Name##Impl; }
#define TORCH_ARG(T, name) public: \
  inline auto name(const T& new_##name) -> decltype(*this) { return *this; } private: T name##_
"""
LINEAR = """
#include <torch/nn/pimpl.h>
namespace torch::nn {
struct LinearOptions {
  LinearOptions(int64_t in) {}
  TORCH_ARG(bool, bias) = true;
};
class LinearBase : public Cloneable<LinearBase> {
 public:
  void reset_parameters() { torch::neg(weight); }
  Tensor weight;
};
class LinearImpl : public LinearBase {
 public:
  LinearImpl(int64_t in) {}
  Tensor forward(const Tensor& input) { return functional::linear(input, weight); }
  Tensor helper(const Tensor& input) { return torch::neg(input); }
  void pretty_print(std::ostream& stream) const {}
};
TORCH_MODULE(Linear);
class StackImpl : public Cloneable<StackImpl> {
 public:
  Tensor forward(const Tensor& x) { return first(second->forward(x)); }
  Linear first{nullptr};
  Linear second{nullptr};
};
}
"""
FUNCTIONAL = """
namespace torch::nn::functional {
inline Tensor linear(const Tensor& input, const Tensor& weight) { return torch::mm(input, weight); }
}
"""


def graph() -> Graph:
    return linked(
        {
            API + "nn/pimpl.h": PIMPL,
            API + "nn/modules/linear.h": LINEAR,
            API + "nn/functional/linear.h": FUNCTIONAL,
        }
    )


def test_a_holder_has_the_methods_of_what_it_holds() -> None:
    made = graph()
    assert edges(made, "calls", source="Linear") == [
        "calls=forward forward",
        "calls=LinearImpl LinearImpl",
        "calls=reset_parameters reset_parameters",
    ]
    (attrs,) = [json.loads(row[8] or "{}") for row in made.nodes if row[1] == "cpp_class" and row[3] == "Linear"]
    assert attrs == {"holds": "LinearImpl"}


def test_a_holder_called_is_forward_of_what_it_holds() -> None:
    made = graph()
    stack = [row[0] for row in made.nodes if row[2] == "torch::nn::StackImpl::forward"]
    names = {row[0]: row[2] for row in made.nodes}
    called = [names[e[1]] for e in made.edges if e[0] in stack and e[2] == "calls"]
    assert set(called) == {"torch::nn::LinearImpl::forward"}


def test_forward_reaches_the_operator_through_the_functional() -> None:
    made = graph()
    assert "calls_op aten::mm" in edges(made, "calls_op", source="linear")


def test_options_are_no_classes_of_use() -> None:
    assert not [row for row in graph().nodes if row[1] == "cpp_class" and row[3] == "LinearOptions"]


def test_setters_belong_to_their_class() -> None:
    assert "torch::nn::LinearOptions::bias" in {row[2] for row in graph().nodes}
