"""Calls under conditions that template arguments decide belong to the uses for which the condition holds."""

from __future__ import annotations

import pytest

from pytrace.link.instantiations import Condition, conditions, holds
from tests.link.small import linked


@pytest.mark.parametrize(
    ("guard", "found"),
    [
        ("if (dim == 3)", [("dim", "3", False, False)]),
        ("if (dim != 3)", [("dim", "3", True, False)]),
        ("else of if (dim == 3)", [("dim", "3", True, False)]),
        ("unless (flag)", [("flag", "true", True, False)]),
        ("if (!flag)", [("flag", "true", True, False)]),
        ("if (mode == Mode::Fast)", [("mode", "Mode::Fast", False, False)]),
        ("if (std::is_same_v<Op, std::plus<T>>)", [("Op", "std::plus<T>", False, True)]),
        ("if (!std::is_same<float, Op>::value)", [("Op", "float", True, True)]),
        ("#if USE && if (n) && if (flag)", [("flag", "true", False, False)]),
        # what the arguments do not decide, or what is no whole condition
        ("if (other == 3)", []),
        ("if (dim == other)", []),
        ("if (dim > 3)", []),
        ("if (flag && n)", []),
        ("if (std::is_same_v<Op, T>)", []),
        ("case 3", []),
        ("", []),
    ],
)
def test_conditions(guard: str, found: list[tuple[str, str, bool, bool]]) -> None:
    templates = "typename T, typename Op, int dim, bool flag = false, Mode mode = Mode::Slow"
    assert list(conditions(guard, templates)) == [Condition(*row) for row in found]


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        (("dim", "3", False, False), "3", True),
        (("dim", "3", False, False), "/* dim = */ 2", False),
        (("dim", "3", True, False), "2", True),
        (("flag", "true", False, False), "false", False),
        (("flag", "true", False, False), "1", True),
        (("flag", "true", False, False), "kFlag", None),  # a constant: what it is stands elsewhere
        (("dim", "3", False, False), "N", None),
        (("mode", "Mode::Fast", False, False), "detail::Mode::Fast", True),
        (("mode", "Mode::Fast", False, False), "Mode::Slow", False),
        (("Op", "std::plus<T>", False, True), "std::plus<float>", True),
        (("Op", "std::plus<T>", False, True), "std::multiplies<float>", False),
        (("Op", "std::plus<T>", False, True), "lambda", False),
        (("Op", "float", False, True), "at::Half", False),
        (("Op", "float", False, True), "scalar_t", None),  # an alias, of anything
        (("Op", "float", True, True), "double", True),
    ],
)
def test_holds(condition: tuple[str, str, bool, bool], value: str, expected: bool | None) -> None:
    assert holds(Condition(*condition), value) is expected


CODE = """void yes() {}
void no() {}
template <int dim, typename Op> void run(Op op) {
  if (dim == 3) { yes(); }
  if (std::is_same_v<Op, float>) { no(); }
}
"""
PASSED = "template <int dim> void passed() { run<dim, int>(1); }\n"


def reached(uses: str) -> tuple[list[str], list[str]]:
    """What ``run`` and some instantiations of it reach, and what functions of ``uses`` reach by arguments."""
    graph = linked({"F.cpp": f"namespace at::native {{\n{CODE}{uses}\n}}\n"})
    names = {row[0]: row[2].rpartition("::")[2] for row in graph.nodes}
    own = [
        f"{names[e[1]]} {'some' * (names[e[0]] == 'run<…>')}".strip()
        for e in graph.edges
        if names[e[0]] in ("run", "run<…>") and names[e[1]] in ("yes", "no")
    ]
    made = [
        f"{names[e[0]]} {names[e[1]]}"
        for e in graph.edges
        if e[4] == "template-argument" and "<" not in names[e[0]] and names[e[1]] in ("yes", "no")
    ]
    return sorted(own), sorted(made)


@pytest.mark.parametrize(
    ("uses", "own", "made"),
    [
        ("void f() { run<3, int>(1); }\nvoid g() { run<2, int>(1); }", ["no some", "yes some"], ["f yes"]),
        # what holds for all is no matter of instantiation
        ("void f() { run<3, float>(1); }\nvoid g() { run<3, float>(1); }", ["no", "yes"], []),
        # handed on by another template
        (f"{PASSED}void f() {{ passed<3>(); }}\nvoid g() {{ passed<2>(); }}", ["no some", "yes some"], ["f yes"]),
        # one use does not say: the condition stays
        ("void f() { run<3, int>(1); }\nvoid g() { run<N, int>(1); }", ["no some", "yes"], []),
        (f"{PASSED}void f() {{ passed<3>(); }}\nvoid g() {{ passed<N>(); }}", ["no some", "yes"], []),
        # nobody uses it
        (PASSED, ["no some", "yes"], []),
        ("", ["no", "yes"], []),
    ],
)
def test_who_reaches(uses: str, own: list[str], made: list[str]) -> None:
    assert reached(uses) == (own, made)


def test_tensors_and_scalars_are_told_apart_and_other_conditions_stay() -> None:
    code = """void put() {}
template <typename T> void run(const Tensor& x, const T& src) {
  if (deterministic && std::is_same_v<T, Tensor>) {
    if constexpr (std::is_same_v<T, Tensor>) { put(); }
  }
}
void f(const Tensor& x, const Tensor& y) { run(x, y); }
void g(const Tensor& x, const Scalar& y) { run(x, y); }
"""
    graph = linked({"F.cpp": f"namespace at::native {{\n{code}}}\n"})
    names = {row[0]: row[2].rpartition("::")[2] for row in graph.nodes}
    found = [(names[e[0]], e[7]) for e in graph.edges if names[e[1]] == "put" and names[e[0]] in ("f", "g", "run")]
    assert found == [("f", "if (deterministic && std::is_same_v<T, Tensor>)")]
