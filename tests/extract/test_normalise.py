"""The same-length rewrite: what comes out, and that the parser then sees the right structure."""

from __future__ import annotations

import random
from functools import cache

import pytest
import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from pytrace.extract.normalise import normalise, normalise_common, parse


@cache
def parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def errors(source: bytes) -> list[str]:
    """The text of every ERROR and the kind of every MISSING node of the raw or normalised ``source``."""
    found: list[str] = []

    def walk(node: Node) -> None:
        if node.is_missing:
            found.append(f"MISSING {node.type}")
        elif node.is_error:
            found.append(source[node.start_byte : node.end_byte].decode())
        else:
            for child in node.children:
                walk(child)

    walk(parser().parse(source).root_node)
    return found


def captures(source: bytes, query: str) -> list[str]:
    """What ``@x`` of ``query`` captures in the normalised source, as text of the source, in order."""
    language = parser().language
    assert language is not None
    tree = parser().parse(normalise(source))
    nodes = QueryCursor(Query(language, query)).captures(tree.root_node).get("x", [])
    return [source[n.start_byte : n.end_byte].decode() for n in sorted(nodes, key=lambda n: n.start_byte)]


FUNCTIONS = "(function_definition declarator: (_) @x)"
KERNELS = '(function_definition "__global__" @x)'
CALLS = "(call_expression function: (_) @x)"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # attributes
        ("C10_HOST_DEVICE inline int f() {}", "                inline int f() {}"),
        ("CUTLASS_DEVICE int f() {}", "__device__     int f() {}"),
        ("struct TORCH_API A final : B {};", "struct           A final : B {};"),
        ("__global__ void C10_LAUNCH_BOUNDS_2(1, 2) k() {}", "__global__ void                           k() {}"),
        ("auto x = [=] GPU_LAMBDA (int i) {};", "auto x = [=]            (int i) {};"),
        ("f(CUBLAS_POINTER_MODE_DEVICE);", "f(CUBLAS_POINTER_MODE_DEVICE);"),  # a value, not an attribute
        ("#define TORCH_API x\n", "#define TORCH_API x\n"),
        ("int MY_TORCH_APIS;", "int MY_TORCH_APIS;"),
        ("if C10_LIKELY (x) {}", "if            (x) {}"),
        ('C10_DEPRECATED_MESSAGE("a)b") int f();', "                              int f();"),
        # pieces of statements
        ("HANDLE_TH_ERRORS\nf();\nEND_HANDLE_TH_ERRORS", "                \nf();\n                    "),
        ("try {} CATCH_ALL_ERRORS(return)", "try {} catch (...) {}          "),
        ("CUDA_KERNEL_LOOP(i, n) {}", "while           (i, n) {}"),
        ("CUDA_KERNEL_LOOP_TYPE(i, n, int64_t) {}", "while                (i, n         ) {}"),
        ("f(AT_WRAP(x, y))", "f(        x, y )"),
        ("g(NO_ROCM(a)::cub::f, x);", "g(         a::cub::f, x);"),
        # members
        ("TORCH_ARG(bool, x) = 1;", "          bool  x  = 1;"),
        ("TORCH_ARG(A<int, B>, x)\n", "          A<int, B>  x;\n"),
        # device code as text, code as text and code
        ('jiterator_stringify(T f() { return ")"; })', "jiterator_stringify(                     )"),
        ("jiterator_also_stringify_as(jiterator_code(T f() {}), s);", " " * 43 + "T f() {}     ;"),
    ],
)
def test_words(source: str, expected: str) -> None:
    assert normalise(source.encode()).decode() == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # the `;` takes a blank, a comment's first character, or the newline's place (which moves into the arguments)
        ("\nREG(a, b) \nint x;", "\nREG(a, b);\nint x;"),
        ("\nREG(a, b)\n  int x;", "\nREG(a, b)\n; int x;"),
        ("\nREG(a, b)\n// note\nint x;", "\nREG(a, b)\n;//note\nint x;"),
        ("\nREG(a, b)\nint x;", "\nREG(a,\nb);int x;"),
        ("\nREG(a, b)\n\nint x;", "\nREG(a,\nb);\nint x;"),
        ("\nREG(a, b)\n#undef X\n", "\nREG(a, b)\n#undef X\n"),  # a directive must stay at the start of its line
        ("\nREG(a)\nint x;", "\nREG(a)\nint x;"),  # no room
        # no statement
        ("\nREG(a, b)\n(int x) {}", "\nREG(a, b)\n(int x) {}"),
        ("\nREG(a, b)\n{}", "\nREG(a, b)\n{}"),
        ("\nREG(a, b)\n  + c;", "\nREG(a, b)\n  + c;"),
        ("\nFDE(int a, int b)\n  : x(a) {}", "\nFDE(int a, int b)\n  : x(a) {}"),
        ("#define R(a) \\\nREG(a, b)\nint x;", "#define R(a) \\\nREG(a, b)\nint x;"),
        # elements of a list
        ("x = {a,\n  REG(b, c)\n  REG(d, e)\n  };", "x = {a,\n  REG(b, c)\n, REG(d, e)\n, };"),
        # arguments that are types or operators
        ("\nREG(a, int, b);\n", "\nREG(a, _nt, b);\n"),
        ("\nREG(void(*)(A&, int), s);\n", "\nREG(_oid____A___int_, s);\n"),
        ("\nREG(const A&, T*, ==);\n", "\nREG(_onst_A_, __, __);\n"),
        ("\nTORCH_CHECK(a, b * c);\n", "\nTORCH_CHECK(a, b * c);\n"),
        # no semicolon, and no blank behind it to put one: the message gives up a character
        ('\nTORCH_CHECK(false, "no way")\n}', '\nTORCH_CHECK(false, "no wa");\n}'),
    ],
)
def test_statements(source: str, expected: str) -> None:
    assert normalise(source.encode()).decode() == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # whole statements stay, with their guards
        ("int a;\n#if X\nint b;\n#else\nint c;\n#endif\n", None),
        ("#ifndef H\n#define H\nint x;\n#endif\n", None),
        ("struct A {\n#if X\n  int b;\n#endif\n};", None),
        ("void f() {\n  if (a) {}\n  // note\n#if X\n  g();\n#endif\n}", None),
        ("REG(a)\n#if X\nREG(b)\n#endif\n", None),
        # inside a list: the directives go, all branches stay
        ("f(a,\n#if X\n  b,\n#else\n  c,\n#endif\n  d);", "f(a,\n     \n  b,\n     \n  c,\n      \n  d);"),
        ("A::A() : x(1)\n#if X\n  , y(2)\n#endif\n{}", "A::A() : x(1)\n     \n  , y(2)\n      \n{}"),
        # two heads for one body, two values: the first stays
        (
            "#if X\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n}",
            "     \nvoid f(int a) {\n     \n          \n      \n}",
        ),
        ("int x =\n#if X\n  1\n#else\n  2\n#endif\n;", "int x =\n     \n  1\n     \n   \n      \n;"),
        (
            '#ifdef C\nextern "C" {\n#endif\nint x;\n#ifdef C\n}\n#endif\n',
            '        \nextern "C" {\n      \nint x;\n        \n}\n      \n',
        ),
        # what is dead may be no code
        ("int a;\n#if 0\nno, code\n#endif\n", "int a;\n     \n        \n      \n"),
        # conditions
        ("#if defined(A) and not defined(B)\nint x;\n#endif\n", "#if defined(A) &&  !   defined(B)\nint x;\n#endif\n"),
        ('#if W("x")\nint x;\n#endif\n', "#if W(0  )\nint x;\n#endif\n"),
        # other directives
        ("f(a,\n#pragma unroll\n  b);", "f(a,\n              \n  b);"),
        (
            "x = {a,\n#define REG(c) c,\n  REG(d)\n#undef REG\n};",
            "x = {a,\n                 \n  REG(d)\n,         \n};",
        ),
        ("#define F(a) g(/*x=*/a) \\\n  b\n", "#define F(a) g(      a) \\\n  b\n"),
    ],
)
def test_conditionals(source: str, expected: str | None) -> None:
    assert normalise(source.encode()).decode() == (source if expected is None else expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("void f(A b = {}, C d = {1, 2});", "void f(A b = 0 , C d = (1, 2));"),
        ("auto i = decltype(n){0};", "auto i =         (n)(0);"),
        ("template <E<T>* = nullptr> f();", "template <E<T>  = nullptr> f();"),
        ("f([=] __device__ (int i) {});", "f([=]            (int i) {});"),
        ("x = typename T::A{};", "x =          T::A{};"),
        ("\ntemplate class A<int>;", "\n         class A<int>;"),
        ("using typename A<B>::c;", "using          A<B>::c;"),
        ("void f(A) = delete;", "void f(A)         ;"),
        ("  inline friend A f();", "         friend A f();"),
        ("f([x(std::move(x)), y{z}](int i) {});", "f([x=std::move(x) , y=z ](int i) {});"),
        ("a[f(x)](1);", "a[f(x)](1);"),
        ('d("x", (int (A::*)(B) const) & A::x);', 'd("x",                       & A::x);'),
        ("static_cast<int (A::*)(B)>(&A::x);", "static_cast<T            >(&A::x);"),
        ("o.typed<A<B>(const C&)>();", "o.typed<T             >();"),
        ("struct A { PyObject_HEAD\n int x; };", "struct A {              \n int x; };"),
        ("enable_if_t<N >= 2, int>", "enable_if_t<N == 2, int>"),
        ("namespace ${ns} {\n  ${body}\n}", "namespace _____ {\n         \n}"),
    ],
)
def test_gaps(source: str, expected: str) -> None:
    assert normalise(source.encode()).decode() == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('x = @"s"; y = @1; z = @(f(a));', 'x =  "s"; y =  1; z =  (f(a));'),
        ('a = @"s"; b = @[c, d]; e = @[];', 'a =  "s"; b =  (c, d); e =  0 ;'),
        ('a = @"s"; b = @{c : d, e : f,};', 'a =  "s"; b =  (c , d, e , f );'),
        ("@autoreleasepool { [x count]; }", "                 {  x.count ; }"),
        ("@autoreleasepool { [g add:a with:b]; }", "                 {  g.add(a,     b); }"),
        ("@autoreleasepool { [[A alloc] init:x]; }", "                 {   A.alloc .init(x); }"),
        ("@autoreleasepool { f(q, ^(A* a) {}); }", "                 { f(q,[](A* a) {}); }"),
        ("@autoreleasepool { f(q, ^{}); a[i]; }", "                 { f(q,[]{}); a[i]; }"),
        ("@autoreleasepool { for (A* a in b) {} }", "                 { for (A* a :  b) {} }"),
        ("void f(void (^b)(int));", "void f(void (*b)(int));"),
        ("int x;\n@interface A : B\n- (int)f;\n@end\nint y;", "int x;\n                \n         \n    \nint y;"),
        (
            "\n@implementation A\n- (int)f:(B)x g:(C)y {\n}\n@end",
            "\n                 \n   int f( B x,   C y){\n}\n    ",
        ),
        ("kernel void f(device T* x [[buffer(0)]]) {}", "       void f(       T* x              ) {}"),
    ],
)
def test_objective_c_and_metal(source: str, expected: str) -> None:
    assert normalise(source.encode()).decode() == expected


@pytest.mark.parametrize(
    ("source", "query", "expected"),
    [
        # every odd head of a kernel
        ("template <int N> __launch_bounds__(N) __global__ void k(int x) {}", FUNCTIONS, ["k(int x)"]),
        ("__global__ void __launch_bounds__(64)\n  k(int x) {}", FUNCTIONS, ["k(int x)"]),
        ("__global__ std::enable_if_t<A, void> k(int x) {}", FUNCTIONS, ["k(int x)"]),
        ("template <int N>\nC10_LAUNCH_BOUNDS_1(N)\n__global__ void k(int x) {}", FUNCTIONS, ["k(int x)"]),
        ("template <int N>\n#if X\nC10_LAUNCH_BOUNDS_1(N)\n#endif\n__global__ void k() {}", FUNCTIONS, ["k()"]),
        ("__global__ void C10_LAUNCH_BOUNDS_1(8) k() {}", FUNCTIONS, ["k()"]),
        ("__global__ void k() {}\n__device__ void d() {}", KERNELS, ["__global__"]),
        # macro heads
        (
            "TORCH_IMPL_FUNC(x_out)\n(const Tensor& a, int b) {}",
            FUNCTIONS,
            ["TORCH_IMPL_FUNC(x_out)\n(const Tensor& a, int b)"],
        ),
        ("TORCH_META_FUNC2(x, y) (int a) {}", FUNCTIONS, ["TORCH_META_FUNC2(x, y) (int a)"]),
        ("TORCH_LIBRARY_IMPL(aten, CPU, m) {}", FUNCTIONS, ["TORCH_LIBRARY_IMPL(aten, CPU, m)"]),
        # functions around what is hard
        ("\nREG(a, b)\nstatic Tensor f(int x) {}", FUNCTIONS, ["f(int x)"]),
        ("namespace n {\ninline namespace CPU_CAPABILITY {\nvoid f() {}\n}\n}", FUNCTIONS, ["f()"]),
        ("void f() {\n#if A\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\nvoid g() {}", FUNCTIONS, ["f()", "g()"]),
        ("void f() {\n  HANDLE_TH_ERRORS\n  g();\n  END_HANDLE_TH_ERRORS\n}\nvoid h() {}", FUNCTIONS, ["f()", "h()"]),
        (
            "static void f() {\n  @autoreleasepool {\n    auto k = @[@1];\n  }\n}\nvoid g() {}",
            FUNCTIONS,
            ["f()", "g()"],
        ),
        # calls
        ("\nREG(a, int, b)\nREG(c, A&, d)\nint x;", CALLS, ["REG", "REG"]),
        ("void f() { k<int, 2><<<g, b, 0, s>>>(x); }", CALLS, ["k<int, 2>"]),
        (
            "AT_SWITCH(t, AT_DISPATCH_CASE(a, [&] { f(); })\n  AT_DISPATCH_CASE(b, [&] { g(); }))",
            CALLS,
            ["AT_SWITCH", "AT_DISPATCH_CASE", "f", "AT_DISPATCH_CASE", "g"],
        ),
        ("void f() { @autoreleasepool { [graph addWithX:a name:nil]; } }", CALLS, ["graph addWithX"]),
    ],
)
def test_structure(source: str, query: str, expected: list[str]) -> None:
    data = source.encode()
    assert captures(data, query) == expected
    assert [e for e in errors(normalise(data)) if not e.startswith("MISSING")] == []


def test_parse_takes_the_second_tier_when_the_first_has_errors() -> None:
    plain, rare = b"int f() { return 1; }", b"void f() { g([x{y}](int i) {}); }"
    assert parse(plain, parser())[1] == plain
    tree, clean = parse(rare, parser())
    assert errors(normalise_common(rare)) and not tree.root_node.has_error
    assert clean == normalise(rare)


PIECES = [
    *("#if A\n", "#else\n", "#endif\n", "#define X(a) \\\n", "#pragma x\n", "#undef X\n", "\\\n", "\r\n", "\xff\x00"),
    *("(", ")", "{", "}", "[", "]", "<", ">", '"', "'", ";", ":", "?", ",", "//", "/*", "*/", 'R"(', ')"', "[[", "]]"),
    *("FOO(a, b)\n", "FOO(int, a*)\n", "TORCH_API", "TORCH_ARG(a, b)", "C10_LAUNCH_BOUNDS_1(", "jiterator_stringify("),
    *(
        "CUDA_KERNEL_LOOP(i, n)",
        "AT_WRAP(",
        "HANDLE_TH_ERRORS\n",
        "CATCH_ALL_ERRORS(x)",
        "PyObject_HEAD",
        "__attribute__((",
    ),
    *(
        "decltype(x){",
        "={}",
        "= {",
        "template\n class",
        "typename",
        " friend ",
        "operator()<a>",
        "->*",
        "::*)(",
        "= delete;",
    ),
    *(
        '@"',
        "@[",
        "@{",
        "@(",
        "@autoreleasepool",
        "[x y:z",
        "^(",
        "^{",
        "#import <x>\n",
        "[[buffer(0)]]",
        "kernel void",
        "${x}",
    ),
    *("@interface X\n", "@implementation X\n", "- (void)f:(A)x {\n", "@end\n"),
]


def test_any_bytes() -> None:
    """Same length, same number of newlines, no exception, whatever comes."""
    rng = random.Random(7)
    for _ in range(3000):
        text = "".join(rng.choice(PIECES) + (" " if rng.random() < 0.4 else "") for _ in range(rng.randrange(50)))
        source = text.encode("latin-1")
        result = normalise(source)
        assert len(result) == len(source), source
        assert result.count(b"\n") == source.count(b"\n"), source
    for _ in range(300):
        source = rng.randbytes(rng.randrange(400))
        assert len(normalise(source)) == len(source)


def test_long_input_is_quick() -> None:
    """Nothing is quadratic: a megabyte of brackets, blanks, macros or directives takes a moment."""
    for piece in (
        b"(",
        b"{",
        b" ",
        b"\n",
        b"[a b",
        b"FOO(",
        b"#if X\n",
        b"#define X(a)\n",
        b"\\\n",
        b'"',
        b"@[",
        b"TORCH_API ",
    ):
        source = piece * (200_000 // len(piece))
        assert len(normalise(source)) == len(source)
