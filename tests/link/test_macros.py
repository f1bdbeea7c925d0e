"""Macro calls that define, register and call: which ``#define`` holds in a file, and what its expansion adds."""

from __future__ import annotations

import pytest

from pytrace.extract import cpp
from pytrace.link.context import Context
from pytrace.link.macros import MacroTable
from tests.link.small import edges, linked


def table(**sources: str) -> MacroTable:
    """The macros of some files, ``A_h`` for ``A.h``."""
    return MacroTable(Context({n.replace("_", "."): ("cpp", cpp.extract(s.encode())) for n, s in sources.items()}))


def body(known: MacroTable, name: str, path: str = "A.cpp", line: int = 0) -> str | None:
    """The body that a name has there."""
    found = known.lookup(path, name, line)
    return found.body if found else None


def test_a_file_sees_its_own_macros_and_those_that_it_includes() -> None:
    known = table(
        A_cpp='#include "A.h"\n#define F(x) own', A_h='#include "B.h"\n#define G(x) a', B_h="#define H(x) b",
        C_cpp="#define F(x) other\n#define I(x) c",
    )  # fmt: skip
    assert [body(known, name) for name in "FGHI"] == ["own", "a", "b", None]
    assert body(known, "F", "C.cpp") == "other"
    assert body(known, "F", "B.h") is None


@pytest.mark.parametrize(("line", "text"), [(1, "one"), (2, "one"), (3, "two"), (9, "two"), (0, "two")])
def test_the_definition_above_the_line_holds(line: int, text: str) -> None:
    assert body(table(A_cpp="#define F(x) one\n\n#define F(x) two\n"), "F", line=line) == text


def test_a_macro_is_expanded_as_the_preprocessor_does() -> None:
    known = table(A_cpp="#define ONE(n) TWO(n, n##_x)\n#define TWO(a, b) f(a, b, #a)\n#define LOOP(x) LOOP(x + 1)")
    assert known.expand("A.cpp", "ONE(y)").replace(" ", "") == 'f(y,y_x,"y")'
    assert known.expand("A.cpp", "LOOP(1)").replace(" ", "") == "LOOP(1+1)"
    assert known.expand("A.cpp", "TWO(a)") == "TWO(a)"  # too few arguments: left as it is


@pytest.mark.parametrize(
    ("defines", "guard", "dead"),
    [
        ("#define ON() 1", "#if ON()", False),
        ("#define OFF() 0", "#if OFF()", True),
        ("#define OFF false", "#if OFF", True),
        ("#define ON() 1", "#else of #if ON()", True),
        ("#define OFF() 0", "#else of #if OFF()", False),
        ("#define OFF() 0", "#if A && #if OFF()", False),  # not one condition, but see the next
        ("#define OFF() 0", "#ifdef A && #if OFF() && if (x)", True),
        ("#define OFF() 0", "#if OFF() || A", False),
        ("#define OFF() 0", "#if !OFF()", False),
        ("#define OFF() 0", "if (OFF())", False),
        # told by the build: two values, a value under a condition, a value that is no constant
        ("#if A\n#define OFF() 0\n#else\n#define OFF() 1\n#endif", "#if OFF()", False),
        ("#ifdef A\n#define OFF() 0\n#endif", "#if OFF()", False),
        ("#define OFF() SOMETHING", "#if OFF()", False),
        ("", "#if OFF()", False),
        ("", "", False),
    ],
)
def test_what_no_build_compiles(defines: str, guard: str, dead: bool) -> None:
    if guard == "#if A && #if OFF()":
        dead = True  # two directives, one inside the other
    assert table(A_cpp=defines).is_dead(guard) is dead


def test_dead_code_calls_nothing() -> None:
    source = "#define OFF() 0\nvoid g() {}\nvoid f() {\n#if OFF()\ng();\n#endif\n}\n"
    assert edges(linked({"F.cpp": source}), source="f") == []


def test_a_dead_function_calls_nothing() -> None:
    source = "#define OFF() 0\nvoid g() {}\n#if OFF()\nvoid f() { g(); }\n#endif\n"
    assert edges(linked({"F.cpp": source}), source="f") == []


# -- what expansions define -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "functions"),
    [
        ("#define MAKE(n) void n##_kernel() {}\nMAKE(a)\n", ["a_kernel@2"]),
        (
            "#define MAKE(n) void n##_kernel() {}\nMAKE(a) MAKE(b); MAKE(c)\n",
            ["a_kernel@2", "b_kernel@2", "c_kernel@2"],
        ),
        ("#define MAKE(n) void n##_kernel() {}\n#define ALL() MAKE(a) MAKE(b)\nALL()\n", ["a_kernel@3", "b_kernel@3"]),
        ("#define MAKE(n) namespace d { void n() {} }\nMAKE(a)\n", ["d::a@2"]),
        ("#define MAKE(n) TORCH_IMPL_FUNC(n##_out)(int a) {}\nMAKE(a)\n", ["structured_a_out::impl@2"]),
        ("#define MAKE(n, ...) void n() { f(__VA_ARGS__); }\nMAKE(a, 1, 2)\n", ["a@2"]),
        ("#define MAKE(n) \\\n  void n() { \\\n  }\n\nMAKE(\n  a)\n", ["a@5"]),
        ("struct S {\n#define MAKE(n) void n() {}\nMAKE(a)\n};\n", ["S::a@3"]),
        ("#define MAKE(n) void n();\nMAKE(a)\n", []),  # a declaration
        ("#define TORCH_CHECK_ALL(n) void n() {}\nvoid f() {}\n", ["f@2"]),
        ("MAKE(a)\nvoid f() {}\n", ["f@2"]),  # nobody defines MAKE
    ],
)
def test_functions(source: str, functions: list[str]) -> None:
    graph = linked({"F.cpp": source})
    assert [f"{row[2]}@{row[5]}" for row in graph.nodes if row[1] == "function" and row[4]] == functions


def test_the_macro_is_the_evidence() -> None:
    graph = linked({"F.cpp": "#define MAKE(n) void n() {}\n#if A\nMAKE(a)\n#endif\n"})
    (node,) = [row for row in graph.nodes if row[1] == "function" and row[4]]
    assert node[8] == '{"guard":"#if A","macro":"MAKE"}'


def test_what_an_expansion_calls_registers_and_stubs() -> None:
    graph = linked(
        {
            "G.h": "DECLARE_DISPATCH(fn, a_stub)\nvoid helper() {}\n",
            "cpu/F.cpp": "#define MAKE(n) static void n##_kernel() { helper(); if (x) n##_stub(kCPU); } \\\n"
            "  REGISTER_DISPATCH(n##_stub, &n##_kernel)\nMAKE(a)\n",
        }
    )
    assert edges(graph, source="a_kernel") == ["calls helper", "uses_stub a_stub"]
    assert edges(graph, "registers") == ["a_stub registers=CPU a_kernel"]
    assert {e[6] for e in graph.edges if e[2] in ("calls", "uses_stub", "registers")} == {3}


def test_a_kernel_made_by_a_macro_can_be_launched() -> None:
    graph = linked(
        {"F.cu": "#define KERNEL(n) __global__ void n##_cuda(int a) {}\nKERNEL(x)\nvoid f() { x_cuda<<<1, 2>>>(1); }\n"}
    )
    assert edges(graph, source="f") == ["launches x_cuda"]


@pytest.mark.parametrize(
    ("define", "head", "row"),
    [
        ("DEFINE_KERNEL(name, ...) template <typename T, __VA_ARGS__> __global__ void name(const Params p)",
         "DEFINE_KERNEL(fwd_kernel, bool causal)", ("cuda_kernel", "at::native::fwd_kernel")),
        ("DEFINE_HOST(name) static void name##_host(int a)", "DEFINE_HOST(run)", ("function", "at::native::run_host")),
        ("OTHER_MACRO(x) x", "NOT_A_MACRO(fwd)", ("function", "at::native::NOT_A_MACRO")),
    ],
)  # fmt: skip
def test_heads_of_functions(define: str, head: str, row: tuple[str, str]) -> None:
    graph = linked({"F.cu": f"namespace at::native {{\n#define {define}\nvoid g() {{}}\n{head} {{\n  g();\n}}\n}}\n"})
    (node,) = [n for n in graph.nodes if n[5] == 4 and n[4].endswith("F.cu")]
    assert (node[1], node[2], node[6]) == (*row, 6)
    # a kernel calls nothing
    assert edges(graph, source=node[3]) == ([] if row[0] == "cuda_kernel" else ["calls g"])


# -- macros in function bodies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("macro", "call", "found"),
    [
        ("RUN(x) g(x)", "RUN(1);", ["calls g"]),
        ("RUN(n) g_##n(1)", "RUN(impl);", ["calls g_impl"]),
        ("RUN(F, x) F(x)", "RUN(g, 1);", ["calls g"]),
        ("RUN(...) if (a) { __VA_ARGS__; }", "RUN(g(1));", ["calls g"]),
        ("RUN(x) x.neg()", "RUN(t);", ["calls_op aten::neg"]),  # the names around the call are known
        ("RUN(x) at::neg(x)", "RUN(t);", ["calls_op aten::neg"]),
        ("RUN(x) k<<<1, x>>>()", "RUN(1);", ["launches k"]),
        ("RUN(x) x", "RUN(1);", []),
        ("MY_CHECK(x) g(x)", "MY_CHECK(1);", []),  # what a check calls is its reporting
        ("MY_CHECK(x) TORCH_CHECK(x.neg().sum(), 1)", "MY_CHECK(t);", ["calls_op aten::neg", "calls_op aten::sum"]),
    ],
)
def test_calls_of_a_macro_in_a_body(macro: str, call: str, found: list[str]) -> None:
    source = (
        f"#define {macro}\nnamespace at::native {{\nvoid g(int a) {{}}\nvoid g_impl(int a) {{}}\n"
        f"__global__ void k() {{}}\nvoid f(const Tensor& t) {{\n{call}\n}}\n}}\n"
    )
    graph = linked({"F.cu": source})
    assert sorted(set(edges(graph, source="f"))) == found
    names = {row[0]: row[3] for row in graph.nodes}
    assert {e[6] for e in graph.edges if names[e[0]] == "f"} <= {7}


@pytest.mark.parametrize(
    ("macro", "body", "found"),
    [
        ("RUN(n) n##_impl(1)", "RUN(g);", ["calls g_impl"]),
        ("RUN(n) g_impl(#n)", "RUN(g);", ["calls g_impl"]),
        ("RUN(n) n##_impl(n)", "RUN(g);", ["calls g", "calls g_impl"]),
        ("RUN(n) n##_impl(1)", "RUN(g);\nh(g);", ["calls g", "calls g_impl", "calls h"]),  # said elsewhere as well
    ],
)
def test_a_name_that_the_macro_only_pastes(macro: str, body: str, found: list[str]) -> None:
    source = (
        f"#define {macro}\nvoid g(int a) {{}}\nvoid g_impl(int a) {{}}\nvoid h(F f) {{}}\nvoid f() {{\n{body}\n}}\n"
    )
    assert sorted(set(edges(linked({"F.cpp": source}), source="f"))) == found


def test_a_macro_without_arguments() -> None:
    source = "#define RUN() g(1)\nvoid g(int a) {}\nvoid f() { RUN(); }\nvoid h() { RUN( ); }\n"
    assert edges(linked({"F.cpp": source}), "calls") == ["f calls g", "h calls g"]


def test_guards_outside_and_inside_of_the_macro_are_joined() -> None:
    source = "#define RUN(x) if (b) g(x)\nvoid g(int a) {}\nvoid f() {\nif (a) RUN(1);\n}\n"
    assert [e[7] for e in linked({"F.cpp": source}).edges if e[2] == "calls"] == ["if (a) && if (b)"]
