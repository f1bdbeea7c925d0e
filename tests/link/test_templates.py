"""Calls through template parameters: what a parameter stands for is told where the template is used."""

from __future__ import annotations

import pytest

from pytrace.link.templates import parameter_names
from tests.link.small import edges, linked


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("typename T", ("T",)),
        ("class A, typename B = int", ("A", "B")),
        ("int N = 2, bool flag", ("N", "flag")),
        ("typename... Args", ("Args",)),
        ("template <typename> class K, typename T", ("K", "T")),
        ("template <typename, int> typename K", ("K",)),
        ("char const* name", ("name",)),
        ("typename F, F* f", ("F", "f")),
        ("", ()),
    ],
)
def test_parameter_names(text: str, names: tuple[str, ...]) -> None:
    assert parameter_names(text) == names


SORTERS = """struct Quick { void sort() {} static void all() {} void operator()(int a) {} };
struct Stable { void sort() {} static void all() {} void operator()(int a) {} };
template <typename T> struct Made { Made(int a) {} static void all() {} };
void plain(int a) {}
__global__ void kernel(int a) {}
"""


def reached(template: str, uses: str, stub: str = "") -> tuple[list[str], list[str]]:
    """What some instantiations of the template call, and what the function ``f`` that uses it calls."""
    source = f"{stub}{SORTERS}{template}\nvoid f() {{\n{uses}\n}}\n"
    graph = linked({"F.cu": f"namespace at::native {{\n{source}}}\n"})
    short = {row[0]: row[2].removeprefix("at::native::") for row in graph.nodes}
    found: list[set[str]] = []
    for name in ("run<…>", "f"):
        rows = [e for e in graph.edges if short[e[0]].rpartition("::")[2] == name and e[4] == "template-argument"]
        found.append({f"{e[2]} {short[e[1]]}{f' x{e[8]}' if e[8] > 1 else ''}" for e in rows})
    return sorted(found[0]), sorted(found[1])


@pytest.mark.parametrize(
    ("template", "uses", "may", "certain"),
    [
        # a method of a parameter's type, deduced from the argument
        (
            "template <typename S> void run(S& s) { s.sort(); }",
            "Quick q; run(q);",
            ["calls Quick::sort"],
            ["calls Quick::sort"],
        ),
        (
            "template <typename S> void run(S& s) { s.sort(); }",
            "Quick q; Stable t; run(q); run(t);",
            ["calls Quick::sort x2", "calls Stable::sort x2"],
            ["calls Quick::sort", "calls Stable::sort"],
        ),
        # a static method of a parameter that is written
        ("template <typename S> void run() { S::all(); }", "run<Quick>();",
         ["calls Quick::all"], ["calls Quick::all"]),
        # an object of it
        (
            "template <typename S> void run() { S s; s.sort(); }",
            "run<Quick>();",
            ["calls Quick::operator()", "calls Quick::sort"],
            ["calls Quick::operator()", "calls Quick::sort"],
        ),
        # a template as an argument
        (
            "template <template <typename> class K> void run() { K<int>::all(); }",
            "run<Made>();",
            ["calls Made::all"],
            ["calls Made::all"],
        ),
        # the parameter is called: a functor, a function, a kernel
        ("template <typename F> void run(F f) { f(1); }", "run(Quick());",
         ["calls Quick::operator()"], ["calls Quick::operator()"]),
        ("template <typename F> void run(F f) { f(1); }", "run(plain);", ["calls plain"], ["calls plain"]),
        ("template <typename F> void run(F f) { f(1); }", "run([](int a) {});", [], []),
        # through another template
        (
            "template <typename S> void run() { S::all(); }\ntemplate <typename R> void through() { run<R>(); }",
            "through<Quick>();",
            ["calls Quick::all"],
            ["calls Quick::all"],
        ),
        # a class's parameter
        (
            "template <typename S> struct Box { void run() { S::all(); } };",
            "Box<Quick> box; box.run();",
            ["calls Quick::all"],
            ["calls Quick::all"],
        ),
        # a template that uses itself comes to an end
        ("template <typename S> void run() { run<S>(); S::all(); }", "run<Quick>();",
         ["calls Quick::all"], ["calls Quick::all"]),
        # nobody uses it
        ("template <typename S> void run() { S::all(); }", "", [], []),
        # not a parameter
        ("template <typename S> void run() { T::all(); }", "run<Quick>();", [], []),
    ],
)  # fmt: skip
def test_what_a_parameter_stands_for(template: str, uses: str, may: list[str], certain: list[str]) -> None:
    assert reached(template, uses) == (may, certain)


@pytest.mark.parametrize(
    ("parameter", "argument", "bound"),
    [
        ("const P& p", "Quick q; run(q);", True),
        ("const std::vector<P>& p", "std::vector<Quick> q; run(q);", True),
        ("const std::vector<P>& p", "auto q = gather(); run(q);", True),
        ("const std::vector<P>& p", "Quick q; run(q);", False),
        ("const P& p", "std::vector<Quick> q; run(q);", False),
    ],
)
def test_what_an_argument_binds(parameter: str, argument: str, bound: bool) -> None:
    graph = linked(
        {
            "F.cpp": "namespace at::native {\nstruct Quick { void all() const {} };\n"
            "std::vector<Quick> gather() { return {}; }\n"
            f"template <typename P> struct Uses {{ void go(const P& p) {{ p.all(); }} }};\n"
            f"template <typename P> void run({parameter}) {{ Uses<P> u; }}\n"
            f"void f() {{ {argument} }}\n}}\n"
        }
    )
    assert ("calls all" in edges(graph, source="f")) == bound


def test_a_stub_as_an_argument() -> None:
    template = "template <typename Stub> void run(Stub& stub) { stub(kCPU, 1); }"
    may, certain = reached(template, "run(a_stub);", "DECLARE_DISPATCH(fn, a_stub)\n")
    assert may == []  # every instantiation has this one
    assert certain == ["uses_stub a_stub"]
    assert "uses_stub a_stub" in edges(
        linked({"F.cu": f"DECLARE_DISPATCH(fn, a_stub)\n{template}\nvoid f() {{ run(a_stub); }}\n"}), source="run"
    )


def test_the_edge_of_the_user_stands_at_the_use() -> None:
    graph = linked(
        {
            "F.cpp": "namespace at::native {\nstruct Q { static void all() {} };\n"
            "template <typename S> void run() {\n  S::all();\n}\nvoid f() {\n  run<Q>();\n}\n}\n"
        }
    )
    found = sorted((e[2], e[6]) for e in graph.edges if e[4] == "template-argument")
    assert found == [("calls", 4), ("calls", 7), ("may_call", 3)]
    assert edges(graph, source="run") == ["may_call run<…>"]
    assert edges(graph, source="run<…>") == ["calls all"]


@pytest.mark.parametrize(
    ("through", "may"),
    [
        ("template <typename R> void through() { run<R>(); }\nvoid f() { through<A>(); through<B>(); }", True),
        # what it hands on is no parameter of its own
        ("template <typename R> void through() { run<A>(); }\nvoid f() { through<A>(); run<B>(); }", False),
    ],
)
def test_what_is_handed_on_holds_for_some_instantiations(through: str, may: bool) -> None:
    source = "struct A { static void all() {} };\nstruct B { static void all() {} };\n"
    graph = linked({"F.cpp": f"{source}template <typename S> void run() {{ S::all(); }}\n{through}\n"})
    assert ("calls run<…>" in edges(graph, source="through<…>")) == may
    assert "calls run<…>" not in edges(graph, source="through")
