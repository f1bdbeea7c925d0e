"""Facts of C++ files: each row is a few lines of source and what is read from them."""

from __future__ import annotations

import marshal

import pytest

from pytrace.extract.cpp import Call, Class, Function, bodies, extract
from pytrace.extract.cpp_heads import parameter_rows


def functions(source: str) -> list[Function]:
    """The definitions of a source."""
    return [Function(*row) for row in extract(source.encode()).get("functions", ())]


def calls(source: str) -> list[Call]:
    """The calls of a source."""
    return [Call(*row) for row in extract(source.encode()).get("calls", ())]


def short(call: Call) -> str:
    """``kind name<templates>(arguments) on receiver @guard``, empty parts left out."""
    templates = f"<{call.templates}>" if call.templates else ""
    receiver = f" on {call.receiver}" if call.receiver else ""
    guard = f" @ {call.guard}" if call.guard else ""
    return f"{call.kind} {call.name}{templates}({', '.join(call.arguments)}){receiver}{guard}"


# -- definitions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("void f() {}", ["f"]),
        ("namespace at::native { void f() {} }", ["at::native::f"]),
        ("namespace at { namespace native { void f() {} } void g() {} }", ["at::native::f", "at::g"]),
        ("namespace a { namespace { void f() {} } }", ["a::f"]),
        ("namespace a { inline namespace CPU_CAPABILITY { void f() {} } }", ["a::f"]),
        ("namespace a { inline namespace v1 { void f() {} } }", ["a::v1::f"]),
        ("struct S { void m() {} static int n() { return 1; } };", ["S::m", "S::n"]),
        ("struct S { struct T { void m() {} }; };", ["S::T::m"]),
        ("template <typename T> struct S<T*> { void m() {} };", ["S::m"]),
        ("void a::B::m() {}", ["a::B::m"]),
        ("template <> void a::f<int>() {}", ["a::f"]),
        ("struct S { S() {} ~S() {} S(int x) : y(x) {} };", ["S::S", "S::~S", "S::S"]),
        ("struct S { int operator()(int x) const { return x; } };", ["S::operator()"]),
        ("struct S { int operator ()(int x) const { return x; } };", ["S::operator()"]),
        ("Tensor operator+(const Tensor& a, const Tensor& b) { return a; }", ["operator+"]),
        ("auto f() -> int { return 1; }", ["f"]),
        ("int* f() { return 0; } int& g() { return x; } const T*& h() { return y; }", ["f", "g", "h"]),
        ("TORCH_IMPL_FUNC(mul_out)(const Tensor& a) {}", ["structured_mul_out::impl"]),
        ("namespace at::meta { TORCH_META_FUNC(mul)(const Tensor& a) {} }", ["at::meta::structured_mul::meta"]),
        ("TORCH_META_FUNC2(add, Tensor) (const Tensor& a) {}", ["structured_add_Tensor::meta"]),
        ("TORCH_PRECOMPUTE_META_FUNC(pool)(const Tensor& a) {}", ["structured_pool::meta"]),
        ("TORCH_PRECOMPUTE_META_FUNC2(pool, x)(const Tensor& a) {}", ["structured_pool_x::meta"]),
        ("void f(); void g() {}", ["g"]),  # a declaration is no definition
        ("C10_HOST_DEVICE TORCH_API void f() {}", ["f"]),
        ('extern "C" void f() {}', ["f"]),
        ('extern "C" { void f() {} }', ["f"]),
    ],
)
def test_names(source: str, names: list[str]) -> None:
    assert [f.name for f in functions(source)] == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("struct S { operator bool() const { return f(); } };", ["S::operator bool"]),
        ("struct S { explicit operator const T*() { return f(); } };", ["S::operator const T*"]),
        ("S::operator int() const { return 1; }", ["S::operator int"]),
        ("namespace n { n::S::operator int() const { return 1; } }", ["n::n::S::operator int"]),
    ],
)
def test_conversion_operators(source: str, names: list[str]) -> None:
    assert [f.name for f in functions(source)] == names


@pytest.mark.parametrize(
    ("source", "kind", "local", "owner", "returns", "templates"),
    [
        ("void f() {}", "function", False, "", "void", ""),
        ("static inline Tensor f() {}", "function", True, "", "Tensor", ""),
        ("namespace { Tensor& f() {} }", "function", True, "", "Tensor&", ""),
        ("struct S { static int f() {} };", "function", False, "S", "int", ""),
        ("namespace { struct S { int f() {} }; }", "function", True, "S", "int", ""),
        ("const std::vector<Tensor>& A::f() {}", "function", False, "A", "const std::vector<Tensor>&", ""),
        ("auto f(int x) -> std::tuple<Tensor, Tensor> {}", "function", False, "", "std::tuple<Tensor, Tensor>", ""),
        ("template <typename T, int N = 2>\nvoid f() {}", "function", False, "", "void", "typename T, int N = 2"),
        ("__global__ void k(int x) {}", "kernel", False, "", "void", ""),
        ("template <class T>\nC10_LAUNCH_BOUNDS_1(2)\n__global__ void k() {}", "kernel", False, "", "void", "class T"),
        ("__global__ std::enable_if_t<B> k() {}", "kernel", False, "", "std::enable_if_t<B>", ""),
        ("__device__ int f() {}", "device", False, "", "int", ""),
        ("__host__ __device__ int f() {}", "function", False, "", "int", ""),
        ("C10_HOST_DEVICE inline int f() {}", "function", False, "", "int", ""),
    ],
)  # fmt: skip
def test_what_a_definition_is(source: str, kind: str, local: bool, owner: str, returns: str, templates: str) -> None:
    (found,) = functions(source)
    assert (found.kind, found.local, found.owner, found.returns, found.templates) == (
        (kind, local, owner, returns, templates)
    )


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void __launch_bounds__(64)\n    k",
        "__launch_bounds__(256, 4) __global__ void k",
        "template <int n>\nC10_LAUNCH_BOUNDS_2(f<n>(), 2)\n__global__ void k",
        "__global__ void __launch_bounds__(\n    Traits<float, true>::kThreads,\n    Traits<float, true>::kBlocks)\nk",
        "static __global__ void C10_LAUNCH_BOUNDS_1(512)\nk",
        "__global__ static void k",
    ],
)
def test_odd_heads_of_kernels(head: str) -> None:
    (found,) = functions(head + "(const float* __restrict__ in, typename Traits<float, true>::Params p) {}")
    assert (found.name, found.kind) == ("k", "kernel")
    assert [name for _, name, _ in found.parameters] == ["in", "p"]


def test_lines_are_those_of_the_name_and_of_the_closing_brace() -> None:
    (found,) = functions("\ntemplate <typename T>\nstatic\nint f(\n    int x) {\n  return x;\n}\n")
    assert (found.line, found.end_line) == (4, 7)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        ("void", []),
        ("const Tensor& self, int64_t dim = -1, IntArrayRef", [
            ("const Tensor&", "self", ""), ("int64_t", "dim", "-1"), ("IntArrayRef", "", "")]),
        ("std::tuple<A, B> x, T (*f)(int), U&&... args", [
            ("std::tuple<A, B>", "x", ""), ("T (*f)(int)", "f", ""), ("U&&...", "args", "")]),
        ("unsigned int, int a[3], const T* __restrict__ p", [
            ("unsigned int", "", ""), ("int", "a", ""), ("const T* __restrict__", "p", "")]),
        ("int a /* first, or last */, // x\n int b = f(1, 2)", [("int", "a", ""), ("int", "b", "f(1, 2)")]),
        ("...", [("...", "", "")]),
        ("std::function<void(int, int)> f = {}", [("std::function<void(int, int)>", "f", "{}")]),
    ],
)  # fmt: skip
def test_parameters(text: str, rows: list[tuple[str, str, str]]) -> None:
    assert parameter_rows(text) == rows


def test_a_pack_with_the_dots_at_the_name() -> None:
    assert parameter_rows("U&& ...args") == [("U&& ...", "args", "")]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("struct S {};", [("S", (), ())]),
        ("class A : public B, private c::D<int> {};", [("A", ("B", "c::D<int>"), ())]),
        ("struct S { int a; Tensor b, c; void m(); };", [("S", (), (("int", "a"), ("Tensor", "b"), ("Tensor", "c")))]),
        ("struct S { const std::vector<int>& v = w; };", [("S", (), (("const std::vector<int>", "v"),))]),
        ("namespace n { struct S final : T { struct U { int x; }; }; }", [
            ("n::S", ("T",), (("int", "x"),)), ("n::S::U", (), (("int", "x"),))]),
        ("struct S;", []),
        ("template <> struct S<int> { int a; };", [("S", (), (("int", "a"),))]),
    ],
)  # fmt: skip
def test_classes(source: str, rows: list[tuple[object, ...]]) -> None:
    found = [Class(*row) for row in extract(source.encode()).get("classes", ())]
    assert [(c.name, c.bases, c.fields) for c in found] == rows


@pytest.mark.parametrize(
    ("source", "row"),
    [
        ("using namespace a::b;", ("namespace", "", "a::b", "")),
        ("using a::b;", ("name", "b", "a::b", "")),
        ("namespace n { using ::b; }", ("name", "b", "b", "n")),
        ("using V = std::vector<int>;", ("alias", "V", "std::vector<int>", "")),
        ("template <typename T> using V = W<T>;", ("alias", "V", "W<T>", "")),
        ("struct S { using T = int; };", ("alias", "T", "int", "S")),
        ("typedef unsigned int uint;", ("alias", "uint", "unsigned int", "")),
        ("using P = std::tuple<A, // the first\n  B>;", ("alias", "P", "std::tuple<A, B>", "")),
        ("namespace fs = a::b;", ("nsalias", "fs", "a::b", "")),
        ("void f() { using namespace a; }", ("namespace", "", "a", "")),
    ],
)
def test_usings(source: str, row: tuple[str, ...]) -> None:
    ((*found, _line),) = extract(source.encode())["usings"]
    assert tuple(found) == row


def test_what_stands_beside_definitions() -> None:
    facts = extract(
        b'#include <ATen/A.h>\n  #  include "b/c.h"\n// #include <no.h>\n#define F(x) g(x)\n#define ON() 1\n'
        b"constexpr int kN = 3;\nstatic Tensor cached;\nTORCH_API int f(int a, Tensor b = x);\n"
        b"namespace n {\nMAKE_ONE(add, 2)\n}\nvoid g() { MAKE_NONE(x); }\n"
    )
    assert facts["includes"] == ["ATen/A.h", "b/c.h"]
    assert [row[:3] for row in facts["defines"]] == [("F", ("x",), "g(x)"), ("ON", (), "1")]
    assert facts["constants"] == [("ON", True, False)]
    assert facts["globals"] == [("kN", "int"), ("cached", "Tensor")]
    assert facts["prototypes"] == [("f", "int", (("int", "a", ""), ("Tensor", "b", "x")))]
    assert facts["invocations"] == [("MAKE_ONE", "add, 2", 10, "n", "")]


# -- calls ----------------------------------------------------------------------------------------------------------

X = "const Tensor& x, int n, Foo foo, TensorList xs, std::optional<Tensor> o"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("f();", ["f f()"]),
        ("a::b::f(1, 2.5, true, \"s\");", ["f a::b::f(Tint, Tdouble, Tbool, Tstr)"]),
        ("::a::f(x, n);", ["f a::f(Tconst Tensor&, Tint)"]),
        ("f<int, 3>(n);", ["f f<int, 3>(Tint)"]),
        ("a::S<int>::f(n);", ["c a::S<int>()", "f a::S::f(Tint)"]),
        ("x.add_(n);", ["m add_(Tint) on Tconst Tensor&"]),
        ("foo->bar();", ["m bar() on TFoo"]),
        ("x.to<float>();", ["m to<float>() on Tconst Tensor&"]),
        ("(*o).mul(n);", ["m mul(Tint) on ITstd::optional<Tensor>"]),
        ("o->mul(n);", ["m mul(Tint) on Tstd::optional<Tensor>"]),
        ("xs[0].t();", ["m operator[](Tint) on TTensorList", "m t() on ITTensorList"]),
        ("this->run();", ["m run() on Tthis"]),
        ("at::f(at::g(x));", ["f at::f(Cat::g)", "f at::g(Tconst Tensor&)"]),
        # what no operator, function or kernel stands behind is left out
        ("x.dim(); xs.size(); std::sort(n, n); static_cast<int>(n); TORCH_CHECK(n);", []),
        # a function as a value
        ("f(&a::g, h);", ["r a::g()", "r h()", "f f(Va::g, Vh)"]),
        ("f(kCPU, MAX_SIZE, n);", ["f f(TDeviceType, VMAX_SIZE, Tint)"]),
        # constructions
        ("Bar b(n); Bar c{n}; Bar d;", ["n Bar(Tint)", "n Bar(Tint)", "n Bar()"]),
        ("Bar<Baz> b(n);", ["n Bar<Baz>(Tint)", "t Baz()"]),
        ("Bar* b = nullptr; Bar& c = d; int m = 1; Tensor t; std::vector<int> v(3);", []),
        ("f(Bar<int>{n});", ["f f(TBar<int>)", "n Bar<int>()"]),
        ("auto p = std::make_unique<Bar>(n);", ["n Bar(Tint)"]),
        # a call of an object
        ("foo(n);", ["m operator()(Tint) on TFoo"]),
        ("Bar<int>()(x);", ["m operator()(Tconst Tensor&) on CBar<int>", "f Bar<int>()"]),
        ("auto g = [&](int i) { return h(i); }; g(1);", ["f h(Tint)"]),
        # launches
        ("k<<<g, b, 0, s>>>(n);", ["k k()"]),
        ("k<int, 4>\n  <<<g, b>>>(n);", ["k k<int, 4>()"]),
        ("a::k<<<g, b>>>(n);", ["k a::k()"]),
        ("auto k2 = &k<int>; k2<<<g, b>>>(n);", ["r k<int>()", "k k<int>()"]),
        ("auto k2 = &k<T, b && T::size <= 128>; k2<<<g, b>>>(n);", ["r k()", "r T::size()", "k k()"]),
        ("auto k2 = n ? &k<1> : &k<2>; k2<<<g, b>>>();", ["r k<1>()", "r k<2>()", "k k<1>()", "k k<2>()"]),
        # operators on what may be a Tensor
        ("auto y = x + n; y = y * x;", ["b +(Tconst Tensor&, Tint) on Tconst Tensor&",
                                    "b *(Tconst Tensor&, Tconst Tensor&) on Tconst Tensor&"]),
        ("n + 1; n < 2;", []),
        ("Tensor y = x; y += n;", ["b +=(TTensor, Tint) on TTensor"]),
        ("x[n];", ["m operator[](Tint) on Tconst Tensor&"]),
        ("f(-x);", ["f f(Tconst Tensor&)", "m operator-() on Tconst Tensor&"]),
        ('TORCH_CHECK(n, "bad ", x);', ["p operator<<() on Tconst Tensor&"]),
        # template arguments
        ("f<Functor, false>(n);", ["t Functor()", "f f<Functor, false>(Tint)"]),
        ("f<a::Fun<Gun>>(n);", ["t a::Fun<Gun>()", "t Gun()", "f f<a::Fun<Gun>>(Tint)"]),
        # a macro call may call something: its text is kept
        ("RUN_IT(x, n);", ["f RUN_IT(Tconst Tensor&, Tint)"]),
    ],
)  # fmt: skip
def test_calls(body: str, found: list[str]) -> None:
    assert sorted(short(c) for c in calls(f"void function({X}) {{ {body} }}")) == sorted(found)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("Tensor y;", "TTensor"),
        ("const auto& y = at::add(x, x);", "Cat::add"),
        ("auto y = x.add(n);", "MTconst Tensor&|add("),
        ("auto y = x.t();", "MTconst Tensor&|t"),
        ("auto [y, z] = at::max(x);", "G0|Cat::max"),
        ("auto [z, y] = at::max(x);", "G1|Cat::max"),
        ("auto y = std::get<1>(at::max(x));", "G1|Cat::max"),
        ("auto y = n > 1 ? x : at::f(x);", "Tconst Tensor&"),
        ("auto y = std::move(x);", "Tconst Tensor&"),
        ("auto y = foo.bar;", "FTFoo|bar"),
        ("Tensor* y = nullptr;", "TTensor*"),
        ("std::array<Tensor, 2> y;", "Tstd::array<Tensor, 2>"),
        ("int a = 1, y = 2;", "Tint"),
    ],
)
def test_types_of_locals(statement: str, kind: str) -> None:
    (found,) = (c for c in calls(f"void function({X}) {{ {statement} use(y); }}") if c.name == "use")
    assert found.arguments == (kind,)


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        ("for (const Tensor& y : xs)", "TTensor"),
        ("for (const auto& y : xs)", "ITTensorList"),
        ("for (auto y : c10::irange(n))", "ICc10::irange"),
        ("for (auto& [y, z] : pairs)", "G0|IVpairs"),
        ("for (int y = 0; y < 3; y++)", "Tint"),
    ],
)
def test_types_of_loop_variables(loop: str, kind: str) -> None:
    (found,) = (c for c in calls(f"void function({X}) {{ {loop} {{ use(y); }} }}") if c.name == "use")
    assert found.arguments == (kind,)


@pytest.mark.parametrize(
    ("body", "guard"),
    [
        ("if (n > 1) use();", "if (n > 1)"),
        ("if (n > 1) { f2(); } else { use(); }", "else of if (n > 1)"),
        ("if (n) {} else if (x.is_cuda()) { use(); }", "else of if (n) && if (x.is_cuda())"),
        ("if (a) { if (b) use(); }", "if (a) && if (b)"),
        ("if (a) return; use();", "unless (a)"),
        ("if (a) { b2(); return; } use();", "unless (a)"),
        ("if (a) { throw b2(); } use();", "unless (a)"),
        ("if (a) { b2(); } use();", ""),
        ("{ if (a) return; } use();", ""),
        ("switch (n) { case 1: use(); break; }", "case 1"),
        ("switch (n) { case K::A: { use(); break; } }", "case K::A"),
        ("switch (n) { default: use(); }", "default"),
        ("f3(a ? use() : 0);", "if (a)"),
        ("f3(a ? 0 : use());", "else of if (a)"),
        ("#if A && B\nuse();\n#endif", "#if A && B"),
        ("#ifdef A\n#else\nuse();\n#endif", "#else of #ifdef A"),
        ("#if A\nif (b)\nuse();\n#endif", "#if A && if (b)"),
        ("if (a) // why not && more\n  use();", "if (a)"),
        ("if (a) { auto f4 = [&]() { use(); }; }", "if (a)"),
        ("while (a) { use(); }", ""),
    ],
)
def test_guards(body: str, guard: str) -> None:
    found = [c for c in calls(f"void function({X}) {{\n{body}\n}}") if c.name == "use"]
    assert [c.guard for c in found] == [guard]


@pytest.mark.parametrize(
    "body",
    [
        "if (a) {\n  b2();\n  // done\n  return;\n}\nuse();",
        "if (a) { return std::vector<int>{1}; }\nuse();",
        "if (a) { return f5({1, 2}); }\nuse();",
    ],
)
def test_guard_of_what_follows_a_return(body: str) -> None:
    found = [c for c in calls(f"void function({X}) {{\n{body}\n}}") if c.name == "use"]
    assert [c.guard for c in found] == ["unless (a)"]


def test_guard_of_a_directive_in_a_case() -> None:
    found = calls("void f(int n) { switch (n) {\ncase 1:\n#if A\nuse();\nbreak;\n#endif\ndefault: g(); } }")
    assert found[0].guard == "#if A && case 1"


def test_the_guard_of_a_function_is_not_repeated_in_its_body() -> None:
    source = "#if A\nvoid f() {\n#if B\ng();\n#endif\n}\n#endif\n"
    assert [f.guard for f in functions(source)] == ["#if A"]
    assert [c.guard for c in calls(source)] == ["#if B"]


def test_the_calls_of_a_chain_come_in_the_order_in_which_they_are_made() -> None:
    assert [c.name for c in calls("void f(Tensor x) { x.a(1).b(2).c(3).d(4); }")] == ["a", "b", "c", "d"]


def test_a_function_that_is_given_to_a_constructor_is_named() -> None:
    assert "r handler()" in [short(c) for c in calls("void f() { Wrapper w(&handler); }")]


def test_dispatching_by_hand() -> None:
    # TensorBody.h: methods with manual_cpp_binding call the generated __dispatch_NAME
    assert [c.name for c in calls("Tensor f() { return __dispatch_contiguous(1); }")] == ["__dispatch_contiguous"]


def test_calls_belong_to_the_function_around_the_lambda() -> None:
    source = "void f() { run([&](Tensor y) { y.add(1); inner(); }); }\nvoid g() { other(); }"
    assert [(c.function, c.name) for c in calls(source)] == [(0, "run"), (0, "add"), (0, "inner"), (1, "other")]


def test_methods_of_a_local_struct_are_functions_of_their_own() -> None:
    source = "void f() { struct L { void m() { inner(); } }; outer(); }"
    names = [f.name for f in functions(source)]
    assert [(names[c.function], c.name) for c in calls(source)] == [("L::m", "inner"), ("f", "outer")]


def test_device_code_and_kernels_call_nothing() -> None:
    assert calls("__global__ void k() { f(); }\n__device__ void d() { f(); }") == []


@pytest.mark.parametrize(
    ("call", "row"),
    [
        ('AT_DISPATCH_FLOATING_TYPES(t, "mul_cpu", [&]() { f(); });', ("mul_cpu", ("Double", "Float"))),
        ('AT_DISPATCH_INDEX_TYPES(t, "i", [&]() { f(); });', ("i", ("Int", "Long"))),
        ('AT_DISPATCH_FLOATING_TYPES_AND(kHalf, t, "h", [&]() { f(); });', ("h", ("Double", "Float", "Half"))),
        ('AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, kBool, t, "h", [&] { f(); });',
         ("h", ("Double", "Float", "Half", "Bool"))),
        ('AT_DISPATCH_V2(t, "v", AT_WRAP([&] { f(); }), AT_EXPAND(AT_INTEGRAL_TYPES), kHalf);',
         ("v", ("Byte", "Char", "Int", "Long", "Short", "Half"))),
    ],
)  # fmt: skip
def test_labels_and_dtypes(call: str, row: tuple[str, tuple[str, ...]]) -> None:
    facts = extract(f"void k() {{\n{call}\n}}".encode())
    ((function, _macro, label, types, line),) = facts["dtypes"]
    assert (function, line) == (0, 2)
    assert (label, types) == row
    # what the lambda does is done by the function
    assert "f" in [c[2] for c in facts["calls"]]


# -- expansions, and any bytes ------------------------------------------------------------------------------------


def test_bodies_see_the_names_around_them() -> None:
    found = bodies(["x.add(1)", "y.add(1); f(x)"], [{"x": "TTensor"}, {"y": "Tint"}])
    assert [[short(c) for c in row] for row in found] == [
        ["m add(Tint) on TTensor"],
        ["m add(Tint) on Tint", "r x()", "f f(Vx)"],
    ]


def test_a_product_is_no_declaration() -> None:
    # as a statement of its own it would declare a pointer
    (found,) = bodies(["return grad * result"], [{"grad": "TTensor", "result": "TTensor"}])
    assert [c.name for c in found] == ["*"]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\0\0\0",
        b"\xff\xfe void f() { g(); }",
        b"void f() {",
        b"}}}}) f(",
        b"#if\n#else\n#endif\n#endif",
        b"TORCH_IMPL_FUNC(",
        b"void f() { a<<<b>>>(c; }",
        b"namespace { namespace { struct : {",
        b"template <" * 50,
        b"(" * 3000,
        b"void f() { " + b"x." * 2000 + b"y(); }",
        'void fé() { gü("ß"); }'.encode(),
        'void f() { g("\u4e16"); }'.encode("utf-16"),
    ],
)
def test_any_bytes_make_facts_that_can_be_kept(source: bytes) -> None:
    marshal.dumps(extract(source))
