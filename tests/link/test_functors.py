"""Functors: what launchers are instantiated with. One edge is one use: host function, functor, launcher."""

from __future__ import annotations

import pytest

from tests.link.small import edges, linked

LAUNCHERS = """template <typename func_t> void gpu_kernel(TensorIteratorBase& iter, const func_t& f) {}
template <int depth, typename T, typename... Args> void apply(TensorList l, T callable, Args... more) {}
template <typename T, template <class> class Op> void foreach(TensorList l) { apply<1>(l, Wrap<T>(), Op<T>()); }
template <typename Op> struct Reduce {};
template <typename R> void reduce(TensorIteratorBase& iter, R op) {}
template <typename T> struct Wrap { T operator()(T a, T b) {} };
template <typename T> struct Mul { T operator()(T a, T b) {} };
template <typename T> struct Data { T value; };
template <typename T> struct Ops { T reduce(T a, T b) { return a; } };
template <typename T> struct MaxOps : public Ops<T> {};
void host(TensorIteratorBase& iter, int n) {}
"""


def uses(body: str, before: str = "") -> list[str]:
    """The ``instantiates`` edges of a function with this body, as ``launcher functor``."""
    source = f"{LAUNCHERS}{before}void f(TensorIteratorBase& iter, TensorList l) {{\n{body}\n}}\n"
    graph = linked({"F.cu": f"namespace at::native {{\n{source}}}\n"})
    functors = {row[0]: row[2].removeprefix("at::native::") for row in graph.nodes if row[1] == "functor"}
    sources = {row[0]: row[3] for row in graph.nodes}
    return sorted(f"{e[3]} {functors[e[1]]}" for e in graph.edges if e[2] == "instantiates" and sources[e[0]] == "f")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # an argument, also one of a parameter pack
        ("gpu_kernel(iter, Mul<float>());", ["gpu_kernel Mul"]),
        ("apply<1>(l, Wrap<float>(), Mul<float>());", ["apply Mul", "apply Wrap"]),
        # a template argument, also inside another's
        ("foreach<float, Mul>(l);", ["foreach Mul"]),
        ("foreach<float, Reduce<Mul<float>>>(l);", ["foreach Mul"]),
        # a function object of the standard library, written as template argument or made
        ("foreach<float, std::multiplies>(l);", ["foreach std::multiplies"]),
        ("apply<1>(l, Wrap<float>(), std::plus<float>());", ["apply Wrap", "apply std::plus"]),
        ("reduce(iter, std::logical_or<bool>{});", ["reduce std::logical_or"]),
        # what reduces, also by what it inherits
        ("reduce(iter, MaxOps<float>{});", ["reduce MaxOps"]),
        # neither other names of std nor classes without operator() are functors
        ("foreach<float, std::vector>(l);", []),
        ("foreach<float, Data>(l);", []),
        # a function that is no template is no launcher
        ("host(iter, std::plus<int>()(1, 2));", []),
        # the same functor twice is two uses
        ("gpu_kernel(iter, Mul<float>());\ngpu_kernel(iter, Mul<double>());", ["gpu_kernel Mul", "gpu_kernel Mul"]),
    ],
)
def test_uses(body: str, found: list[str]) -> None:
    assert uses(body) == found


def test_what_a_template_hands_on_is_told_at_the_place_that_chose_it() -> None:
    """``Op`` of ``foreach`` is no functor: who instantiates ``foreach`` with one has the edge."""
    graph = linked({"F.cu": f"namespace at::native {{\n{LAUNCHERS}}}\n"})
    assert edges(graph, "instantiates", source="foreach") == ["instantiates=apply Wrap"]


def test_template_arguments_in_a_file_of_the_host_are_no_functors() -> None:
    source = f"{LAUNCHERS}void f(TensorList l) {{ foreach<float, Mul>(l); }}\n"
    graph = linked({"F.cpp": f"namespace at::native {{\n{source}}}\n"})
    assert edges(graph, "instantiates", source="f") == []


def test_a_standard_functor_has_no_place() -> None:
    source = f"{LAUNCHERS}void f(TensorList l) {{ foreach<float, std::minus>(l); }}\n"
    graph = linked({"F.cu": f"namespace at::native {{\n{source}}}\n"})
    (node,) = [row for row in graph.nodes if row[2] == "std::minus"]
    assert node[1] == "functor" and node[4] == "" and node[8] == '{"standard":"functional"}'
