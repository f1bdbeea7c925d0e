"""Registered wrappers, and the templates that they hand their operator on to."""

from __future__ import annotations

from tests.link.small import linked

SOURCE = """namespace at::functorch {
template <typename F, F Func> Tensor rule(const Tensor& x) { return Func(x); }
template <typename F, F Func> Tensor quiet(const Tensor& x) { return x; }
template <typename F, F Func> struct Helper {
  static Tensor apply(const Tensor& x) { quiet<F, Func>(x); return rule<F, Func>(x); }
};
template <typename S, typename R, R* r> struct Wrap { static Tensor call(const Tensor& x) { return r(x); } };
TORCH_LIBRARY_IMPL(aten, FuncTorchVmapMode, m) {
  m.impl("neg", Helper<decltype(&ATEN_FN(neg)), &ATEN_FN(neg)>::apply);
  m.impl("cat", Helper<decltype(&ATEN_FN(cat)), &ATEN_FN(cat)>::apply);
}
TORCH_LIBRARY_IMPL(aten, AutocastCPU, m) {
  m.impl("sum", Wrap<Tensor(const Tensor&), Tensor(const Tensor&, std::optional<IntArrayRef>, bool), &at::sum>::call);
}
}
"""


def test_operators_that_wrappers_are_given() -> None:
    graph = linked({"aten/src/ATen/functorch/R.cpp": SOURCE})
    names = {row[0]: row[2].rpartition("functorch::")[2] for row in graph.nodes}
    assert sorted(
        (names[e[0]], names[e[1]], e[8]) for e in graph.edges if e[4] == "template-argument" and e[2] == "calls_op"
    ) == [
        ("Helper::apply", "aten::cat", 2),
        ("Helper::apply", "aten::neg", 2),
        ("Wrap::call", "aten::sum.dim_IntList", 1),
        ("rule", "aten::cat", 2),
        ("rule", "aten::neg", 2),
    ]
