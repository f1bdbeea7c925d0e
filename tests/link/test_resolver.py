"""What a C++ function reaches: one table for each rule of ``link/resolver.py``."""

from __future__ import annotations

import pytest

from tests.link.small import calls, edges, linked

# -- functions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        ("void g() {}", "g();", ["calls g"]),
        ("void g() {} void g(int a) {}", "g();", ["calls g"]),
        ("namespace d { void g() {} }", "d::g();", ["calls g"]),
        ("namespace d { void g() {} }", "at::native::d::g();", ["calls g"]),
        ("namespace d { void g() {} }", "native::d::g();", ["calls g"]),
        ("namespace d { void g() {} }", "g();", []),
        ("namespace d { void g() {} }", "using namespace d; g();", ["calls g"]),
        ("namespace d { void g() {} } using d::g;", "g();", ["calls g"]),
        ("namespace d { void g() {} } namespace e = d;", "e::g();", ["calls g"]),
        ("template <typename T> void g() {}", "g<int>();", ["calls g"]),
        ("", "unknown();", []),
        ("void f(int a) {}", "f(1);", ["calls f"]),  # an overload of the same name is another function
        ("void g() {}", "auto h = [&]() { g(); }; h();", ["calls g"]),
        # a name of the global namespace is looked up there only
        ("void neg(const Tensor& a) {}", "::neg(x);", []),
        ("} void g() {} namespace at::native {", "::g();", ["calls g"]),
        ("", "::neg(x);", []),
        ("void g() {}", "::at::native::g();", ["calls g"]),
        # a function as a value
        ("void g() {}", "run(g);", ["calls g"]),
        ("void g() {}", "run(&g);", ["calls g"]),
        ("void g() {}", "auto h = &g;", ["calls g"]),
        ("void g() {}", "run(n, g, 1);", ["calls g"]),
        # pointers to functions in a table
        (
            "void g() {} template <typename T> void h() {}",
            "std::array<void (*)(), 2> t = {g, h<int>};",
            ["calls g", "calls h"],
        ),
        ("void g() {}", "std::array<int, 1> t = {g};", []),
    ],
)
def test_functions(before: str, body: str, found: list[str]) -> None:
    assert calls(body, before) == found


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        ("struct S { void m() {} };", "S s; s.m();", ["calls m"]),
        ("struct S { void m() {} };", "S* s = make(); s->m();", ["calls m"]),
        ("struct S { void m() {} };", "std::unique_ptr<S> s; s->m();", ["calls m"]),
        ("struct S { static void m() {} };", "S::m();", ["calls m"]),
        ("template <typename T> struct S { static void m() {} };", "S<int>::m();", ["calls m"]),
        ("struct B { void m() {} }; struct S : B {};", "S s; s.m();", ["calls m"]),
        ("struct B { void m() {} }; struct S : B { void m() {} };", "S s; s.m();", ["calls m"]),
        # a default body that only raises: the methods of derived classes are candidates as well
        (
            "struct B { virtual void m() { TORCH_CHECK(false, n); } }; struct S : B { void m() override {} };",
            "std::unique_ptr<B> b; b->m();",
            ["calls m x2"],
        ),
        (
            "struct B { virtual void m() {\n// no\n throw E(); } }; struct S : B { void m() {} };"
            "struct R : S { void m() {} };",
            "B* b = make(); b->m();",
            ["calls m x3"],
        ),
        (
            "struct B { virtual void m() { TORCH_CHECK(n, n); } }; struct S : B { void m() {} };",
            "B* b = make(); b->m();",
            ["calls m"],
        ),
        ("struct B { void m() { throw E(); } }; struct S : B { void m() {} };", "B* b = make(); b->m();", ["calls m"]),
        (
            "struct B { virtual void m() { throw E(); } }; struct S : B { void m(int a) {} };",
            "B* b = make(); b->m();",
            ["calls m"],
        ),
        ("struct S { void m() {} }; S make() {}", "make().m();", ["calls m", "calls make"]),
        ("struct S { void m() {} }; struct T { S s; };", "T t; t.s.m();", ["calls m"]),
        ("struct S { void m() {} }; using R = S;", "R s; s.m();", ["calls m"]),
        ("struct S { void m() {} };", "std::vector<S> v; v[0].m();", ["calls m"]),
        ("struct S { void m() {} };", "std::vector<S> v; for (auto& s : v) s.m();", ["calls m"]),
        ("struct S { const Tensor* operator->() const { return &t; } };", "S s; s->neg();", ["calls_op aten::neg"]),
        # objects that are called
        ("struct S { int operator()(int a) { return a; } };", "S s; s(1);", ["calls operator()"]),
        ("struct S { S(int a) {} };", "S s(1);", ["calls S"]),
        ("struct S { S(int a) {} S(Tensor a) {} };", "S s(x);", ["calls S"]),
        ("struct S { S(int a) {} };", "run(S{1});", ["calls S"]),
        ("struct S { S(int a) {} };", "auto s = std::make_shared<S>(1);", ["calls S"]),
    ],
)
def test_methods(before: str, body: str, found: list[str]) -> None:
    assert calls(body, before) == found


def test_a_method_calls_what_its_class_and_its_bases_have() -> None:
    graph = linked(
        {
            "F.cpp": "namespace at::native {\nvoid loose() {}\nstruct B { void base() {} };\n"
            "struct S : B { Tensor t_; void own() {} void m() { own(); base(); loose(); t_.neg(); } };\n}\n"
        }
    )
    assert sorted(edges(graph, source="m")) == ["calls base", "calls loose", "calls own", "calls_op aten::neg"]


# -- overloads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overloads", "call", "line"),
    [
        ("void g(int a) {}\nvoid g(Tensor a) {}", "g(1);", 2),
        ("void g(int a) {}\nvoid g(Tensor a) {}", "g(x);", 3),
        ("void g(Tensor a) {}\nvoid g(Tensor a, int b) {}", "g(x, 1);", 3),
        ("void g(Tensor a, int b = 0) {}\nvoid g(TensorList a) {}", "g(x);", 2),
        ("void g(TensorList a) {}\nvoid g(Tensor a) {}", "g({x, x});", 2),
        ("void g(double a) {}\nvoid g(int a) {}", "g(n);", 3),
        ("void g(std::optional<Tensor> a) {}\nvoid g(int a) {}", "g(x);", 2),
        ("void g(IntArrayRef a) {}\nvoid g(SymIntArrayRef a) {}", "g(x.sizes());", 2),
        ("void g(IntArrayRef a) {}\nvoid g(SymIntArrayRef a) {}", "g(x.sym_sizes());", 3),
    ],
)
def test_which_overload(overloads: str, call: str, line: int) -> None:
    graph = linked(
        {"F.cpp": f"namespace at::native {{\n{overloads}\nvoid f(const Tensor& x, int n) {{ {call} }}\n}}\n"}
    )
    lines = {row[0]: row[5] for row in graph.nodes}
    names = {row[0]: row[3] for row in graph.nodes}
    assert [lines[e[1]] for e in graph.edges if e[2] == "calls" and names[e[0]] == "f"] == [line]


def test_overloads_that_fit_alike_are_candidates() -> None:
    before = "void g(A a) {}\nvoid g(B b) {}"
    assert calls("g(unknown);", before) == ["calls g x2"]


# -- operators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # the public functions
        ("at::add(x, x);", ["aten::add.Tensor"]),
        ("at::add(x, 1);", ["aten::add.Scalar"]),
        ("at::add(x, x, 2);", ["aten::add.Tensor"]),
        ("at::sum(x);", ["aten::sum"]),
        ("at::sum(x, {1});", ["aten::sum.dim_IntList"]),
        ("at::sum(x, 1, true);", ["aten::sum.dim_IntList"]),
        ("at::sum(x, kFloat);", ["aten::sum"]),
        ("torch::neg(x);", ["aten::neg"]),
        ("at::symint::select<int64_t>(x, 0, n);", ["aten::select.int"]),
        ("at::select_symint(x, 0, n);", ["aten::select.int"]),
        ("at::mm_out(x, x, x);", ["aten::mm.out"]),
        ("at::mm_outf(x, x, x);", ["aten::mm.out"]),
        ("at::cat({x, x});", ["aten::cat"]),
        ("at::redispatch::neg(ks, x);", ["aten::neg"]),
        ("at::_ops::add_Tensor::call(x, x, 1);", ["aten::add.Tensor"]),
        ("at::_ops::add_Scalar::redispatch(ks, x, 1, 1);", ["aten::add.Scalar"]),
        ("at::empty_like(x, x.options());", ["aten::empty_like"]),
        ("at::empty({1}, x.options());", ["aten::empty.memory_format"]),
        ("add(x, x);", ["aten::add.Tensor"]),  # argument-dependent lookup finds at::add
        ("for (auto i : c10::irange(n)) at::neg(x[i]);", ["aten::neg"]),
        # what a lambda returns, what std::make_pair holds
        ("auto like = [&](const Tensor& t) { return at::neg(t); }; like(x).neg();", ["aten::neg"]),
        ("auto [a, b] = std::make_pair(n, x); b.neg();", ["aten::neg"]),
        (
            "auto [a, b] = AT_DISPATCH_LAYOUTS(x.layout(), [&]() { return std::make_pair(x.neg(), n); }); a.sum();",
            ["aten::neg", "aten::sum"],
        ),
        # what stands behind an optional, a reference_wrapper
        ("std::optional<Tensor> o; o->neg();", ["aten::neg"]),
        ("MaterializedITensorListRef l; l[0].get().neg();", ["aten::neg"]),
        ("auto size = [&]() { return 1; }(); at::sum(x, size);", ["aten::sum.dim_IntList"]),
        ("Thing t; neg(t);", []),  # without at::, an argument must be one of its types
        # the address of an operator, handed on
        ("run(&at::neg, x);", ["aten::neg"]),
        ("run(&at::_ops::sum_dim_IntList::call, x);", ["aten::sum.dim_IntList"]),
        ("run(&Tensor::neg);", ["aten::neg"]),
        ("run(&at::sum, x);", ["aten::sum x2", "aten::sum.dim_IntList x2"]),
        ("at:: neg(x);", ["aten::neg"]),  # as macros leave it
        ("at::native::add(x, x);", []),  # a function, which no file defines here
        ("std::add(x, x);", []),
        # methods
        ("x.add(x);", ["aten::add.Tensor"]),
        ("x.add(1.5);", ["aten::add.Scalar"]),
        ("x.add_(x);", ["aten::add_.Tensor"]),
        ("x.neg().sum();", ["aten::neg", "aten::sum"]),
        ("Tensor y = at::neg(x); y.sum();", ["aten::neg", "aten::sum"]),
        ("auto y = x; y.neg();", ["aten::neg"]),
        ("auto [v, i] = at::max(x, 0); i.neg();", ["aten::max.dim", "aten::neg"]),
        ("auto r = x.max(0); std::get<0>(r).neg();", ["aten::max.dim", "aten::neg"]),
        ("for (auto& y : x.unbind()) y.neg();", ["aten::neg", "aten::unbind.int"]),
        ("std::vector<Tensor> v; v[0].neg();", ["aten::neg"]),
        ("std::optional<Tensor> o; o->neg(); o.value().neg();", ["aten::neg"]),
        ("c10::MaybeOwned<Tensor> m; m->neg();", ["aten::neg"]),
        ("(n ? x : x).neg();", ["aten::neg"]),
        ("x.view({1, 2});", ["aten::view"]),
        ("x.view_symint(s);", ["aten::view"]),
        ("foo.neg();", ["aten::neg x2"]),  # nothing but a Tensor has such a method: likely, not certain
        ("Foo foo; foo.neg();", []),  # a class that we do not know
        ("auto m = Mask().neg();", []),
        ("x.sizes(); x.dim(); x.options(); x.is_cuda();", []),
        # operators of C++
        ("auto y = x + x;", ["aten::add.Tensor"]),
        ("auto y = x + 1;", ["aten::add.Scalar"]),
        ("auto y = 1 + x;", ["aten::add.Scalar"]),
        ("auto y = x == x;", ["aten::eq.Tensor"]),
        ("Tensor y; y += x;", ["aten::add_.Tensor"]),
        ("auto y = 1 - x;", ["aten::empty_like", "aten::fill_.Scalar", "aten::sub_.Tensor"]),
        ("auto y = n + n;", []),
        ("auto y = n - x.dim();", []),
    ],
)
def test_operators(body: str, found: list[str]) -> None:
    parameters = "const Tensor& x, int64_t n, SymIntArrayRef s, c10::DispatchKeySet ks"
    assert calls(body, parameters=parameters) == [f"calls_op {name}" for name in found]


def test_what_the_lambda_of_a_dispatch_returns() -> None:
    body = 'auto y = AT_DISPATCH_LAYOUTS(l, "f", [&] { return x.neg(); }); y.sum();'
    graph = linked({"F.cpp": f"namespace at::native {{\nvoid f(const Tensor& x) {{ {body} }}\n}}\n"})
    assert edges(graph, "calls_op") == ["f calls_op aten::neg", "f calls_op aten::sum"]


def test_a_value_among_template_parameters_has_a_kind() -> None:
    before = "template <int identity, typename T> void g(Tensor& x) { x.fill_(identity); x.add(other); }"
    graph = linked({"F.cpp": f"namespace at::native {{\n{before}\n}}\n"})
    assert edges(graph, "calls_op") == [
        "g calls_op aten::fill_.Scalar",
        "g calls_op aten::add.Tensor x2",
        "g calls_op aten::add.Scalar x2",
    ]


def test_redispatching_an_overloaded_operator() -> None:
    found = calls("at::redispatch::add(ks, x, x);", parameters="const Tensor& x, c10::DispatchKeySet ks")
    assert found == ["calls_op aten::add.Tensor"]


def test_a_definition_hides_the_operator_of_its_name() -> None:
    # add(x, x) in at::native is the function beside it, not at::add
    assert calls("add(x, x);", "void add(const Tensor& a, const Tensor& b) {}") == ["calls add"]
    assert calls("at::add(x, x);", "void add(const Tensor& a, const Tensor& b) {}") == ["calls_op aten::add.Tensor"]


@pytest.mark.parametrize(
    ("includes", "found"),
    [
        ("#include <ATen/ops/neg.h>", "calls_op aten::neg"),  # only the operator is declared
        ("#include <ATen/ops/neg.h>\n#include <ATen/ops/neg_native.h>", "calls neg"),
        ("", "calls neg"),  # not known what is declared: what is defined is meant
    ],
)
def test_a_kernel_of_another_file_is_seen_where_it_is_declared(includes: str, found: str) -> None:
    kernel = "namespace at::native { Tensor neg(const Tensor& a) {} }"
    user = f"{includes}\nnamespace at::native {{ void f(const Tensor& x) {{ neg(x); }} }}\n"
    assert edges(linked({"K.cpp": kernel, "F.cpp": user}), source="f") == [found]


def test_an_operator_of_an_unknown_receiver_is_likely_though_a_kernel_has_its_name() -> None:
    # a function that is no method cannot be meant by `foo.neg()`
    assert calls("foo.neg();", "Tensor neg(const Tensor& self) {}") == ["calls_op aten::neg x2"]


def test_an_unknown_receiver_is_listed() -> None:
    graph = linked({"F.cpp": "namespace at::native { struct S { void neg() {} }; void f() { foo.neg(); } }"})
    assert [(row[1], row[2]) for row in graph.unresolved if row[1] == "method"] == [("method", "neg")]


def test_an_operator_that_does_not_exist_is_listed() -> None:
    graph = linked({"F.cpp": "namespace at::native { void f() { at::nope(1); } }"})
    assert [(row[1], row[2]) for row in graph.unresolved if row[1] == "call"] == [("call", "at::nope")]


# -- kernels, stubs, libraries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        ("__global__ void k(int a) {}", "k<<<1, 2>>>(n);", ["launches k"]),
        ("template <typename T> __global__ void k(T a) {}", "k<float><<<1, 2>>>(n);", ["launches k"]),
        ("__global__ void k(int a) {}", "auto p = &k; p<<<1, 2>>>(n);", ["launches k"]),
        ("__global__ void k(int a) {}", "cudaLaunchKernel((void*)k, g, b, args);", ["launches k"]),
        ("__global__ void k(int a) {}", "cudaLaunchKernelEx(&config, k, n);", ["launches k"]),
        ("namespace d { __global__ void k(int a) {} }", "d::k<<<1, 2>>>(n);", ["launches k"]),
        # the kernel as an argument, and as a template argument
        ("__global__ void k(int a) {}", "run(k);", ["launches k"]),
        ("DECLARE_DISPATCH(fn, g_stub)", "g_stub(kCPU, n);", ["uses_stub g_stub"]),
        ("DECLARE_DISPATCH(fn, GKernel)", "GKernel(kCPU, n);", ["uses_stub GKernel"]),
        ("DECLARE_DISPATCH(fn, g_stub)", "run(g_stub);", ["uses_stub g_stub"]),
        ("namespace d { DECLARE_DISPATCH(fn, g_stub) }", "d::g_stub(kCPU, n);", ["uses_stub g_stub"]),
        ("", "cudnnRNNForward(h);", ["calls_library cudnnRNNForward"]),
        ("", "AT_CUDNN_CHECK(cudnnRNNForward(h));", ["calls_library cudnnRNNForward"]),
        ("", "ideep::lstm::compute(h);", ["calls_library ideep::lstm::compute"]),
        ("", "dgemm_(h);", ["calls_library dgemm_"]),
        ("", "ncclAllReduce(h);", ["calls_library ncclAllReduce"]),
        ("", "::cudnnRNNForward(h);", ["calls_library cudnnRNNForward"]),
        # an enumerator is spelt like a function; a maker or destroyer is one
        ("", "run(miopenLSTM);", []),
        ("", "run(&cudnnDestroyTensorDescriptor);", ["calls_library cudnnDestroyTensorDescriptor"]),
        ("", "std::sgemm_(h);", []),
    ],
)
def test_kernels_stubs_libraries(before: str, body: str, found: list[str]) -> None:
    assert sorted(set(calls(body, before))) == found


def test_a_launch_of_something_unknown_is_listed() -> None:
    graph = linked({"F.cu": "namespace at::native { void f() { nope<<<1, 2>>>(); } }"})
    assert [row[2] for row in graph.unresolved if row[1] == "launch"] == ["nope"]


def test_direct_dispatch_calls_the_kernel_of_one_key() -> None:
    kernels = (
        "TORCH_IMPL_FUNC(mm_out_cpu)(const Tensor& a) {}\nTensor add_cpu(const Tensor& a) {}\n"
        "Tensor add_cuda(const Tensor& a) {}"
    )
    assert calls("at::cpu::mm(x, x);", kernels) == ["calls impl"]
    assert calls("at::cpu::add(x, x);", kernels) == ["calls add_cpu"]
    assert calls("at::cuda::add(x, x);", kernels) == ["calls add_cuda"]
    assert calls("at::cuda::add(x, 1);", kernels) == []


# -- functors --------------------------------------------------------------------------------------------------------

LAUNCHER = "template <typename func_t> void gpu_kernel(TensorIteratorBase& iter, const func_t& f) {}\n"


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        ("struct Fun { int operator()(int a) { return a; } };", "gpu_kernel(iter, Fun());", "Fun"),
        ("template <typename T> struct Fun { T operator()(T a) {} };", "gpu_kernel(iter, Fun<int>{});", "Fun"),
        ("struct Fun { Fun(int a) {} int operator()(int a) {} };", "Fun fun(1); gpu_kernel(iter, fun);", "Fun"),
        ("", "gpu_kernel(iter, [=](int a) { return a; });", "{lambda:5}"),
        ("struct Fun {};", "gpu_kernel(iter, Fun());", ""),  # nothing to call in it
        ("", "gpu_kernel(iter, 3);", ""),
    ],
)  # fmt: skip
def test_functors_of_generic_launchers(before: str, body: str, found: str) -> None:
    graph = linked(
        {"F.cu": f"namespace at::native {{\n{LAUNCHER}{before}\nvoid f(TensorIteratorBase& iter) {{\n{body}\n}}\n}}\n"}
    )
    expected = [f"instantiates=gpu_kernel {found}"] if found else []
    assert edges(graph, "instantiates", source="f") == expected


def test_who_uses_an_object_runs_what_its_class_is_given() -> None:
    source = (
        "void make(Handle* h) {}\nvoid destroyHandle(Handle h) {}\n"
        "template <typename H, void Make(H*), void End(H)> struct Pool { int take() {} };\n"
        "using HandlePool = Pool<Handle, make, destroyHandle>;\nvoid f(HandlePool* p) { p->take(); }\n"
    )
    graph = linked({"F.cpp": f"namespace at::native {{\n{source}}}\n"})
    assert edges(graph, source="f") == ["calls take", "calls make"]


# -- which of several ------------------------------------------------------------------------------------------------

SOLVERS = """template <typename T, typename V = T> void solve(T* a, V* b) {}
template <> void solve<float>(float* a, float* b) {}
template <> void solve<c10::complex<float>, float>(c10::complex<float>* a, float* b) {}"""
AXPY = """void axpy(double a) {}
void axpy(float a) {}
template <typename T> void axpy(T a) {}
template <typename T, int step> void axpy(T a) {}
template <> void axpy(double a) {}"""
LOOPS = """struct Add { void operator()() {} }; struct Mean { void operator()() {} };
static Add add_op; static Mean mean_op;
struct Loop {
  template <typename func_t> void operator()(const Tensor& a, const Scalar& b, func_t& f) {}
  template <typename func_t> void operator()(const Tensor& a, const Tensor& b, func_t& f) {}
  void operator()(const Tensor& a, const Tensor& b, Mean& f) {}
};"""


@pytest.mark.parametrize(
    ("before", "body", "lines"),
    [
        # explicit specialisations are no overloads: the template arguments tell, where they are types
        (SOLVERS, "solve<float>(a, b);", [3]),
        (SOLVERS, "solve<c10::complex<float>, float>(a, b);", [4]),
        (SOLVERS, "solve<scalar_t, value_t>(a, b);", [2, 3, 4]),
        (SOLVERS, "solve<float>(ARGUMENTS(float));", [3]),  # the grammar takes it for a declaration
        # template arguments mean a template: no other function of the name, and none whose parameters they do not fit
        (AXPY, "axpy<scalar_t>(a);", [4, 5, 6]),
        (AXPY, "axpy<scalar_t, 4>(a);", [5, 6]),
        # an object that is called where it is made: by the arguments of that call
        (LOOPS, "Loop()(x, x, add_op);", [6]),
        (LOOPS, "Loop()(x, x, mean_op);", [7]),
        (LOOPS, "Scalar s; Loop()(x, s, add_op);", [5]),
    ],
)
def test_which_of_several(before: str, body: str, lines: list[int]) -> None:
    text = f"namespace at::native {{\n{before}\nvoid f(const Tensor& x) {{\n{body}\n}}\n}}\n"
    graph = linked({"F.cpp": text})
    nodes = {row[0]: row for row in graph.nodes}
    wanted = ("solve", "axpy", "operator()")
    ends = [nodes[e[1]] for e in graph.edges if nodes[e[0]][3] == "f" and nodes[e[1]][3] in wanted]
    assert sorted({row[5] for row in ends if row[5] < 9}) == lines


#: In the lines 3 to 7: for a Tensor, a class, floating-point, complex, and whole numbers.
PICKS = """struct Pack {};
int pick(const Tensor& a) { return 1; }
int pick(const Pack& a) { return 2; }
int pick(float* a) { return 3; }
int pick(c10::complex<float>* a) { return 4; }
int pick(int64_t* a) { return 5; }"""


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        # a template's parameter is another type in each instantiation: it prefers no overload
        ("template <typename T> void f(T a) { pick(a); }", [3, 4, 5, 6, 7]),
        ("template <typename T> struct S { void f(T a) { pick(a); } };", [3, 4, 5, 6, 7]),
        ("template <typename T> void f(Pack a) { pick(a); }", [4]),
        ("void f(float* a) { pick(a); }", [5]),
        # scalar_t is each type of the dispatch, and no other
        ('void f(Tensor x) { AT_DISPATCH_ALL_TYPES(t, "f", [&] { scalar_t* a; pick(a); }); }', [5, 7]),
        ('void f(Tensor x) { AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(t, "f", [&] { scalar_t* a; pick(a); }); }', [5, 6]),
        ("template <typename scalar_t> void f(scalar_t* a) { pick(a); }", [5, 6, 7]),
        # that of a source file's templates is what the file dispatches on
        (
            "template <typename scalar_t> void f(scalar_t* a) { pick(a); }\n"
            'void g(Tensor x) { AT_DISPATCH_FLOATING_TYPES(t, "g", [&] { f<scalar_t>(n); }); }',
            [5],
        ),
    ],
)
def test_what_each_instantiation_calls(function: str, lines: list[int]) -> None:
    graph = linked({"F.cpp": f"namespace at::native {{\n{PICKS}\n{function}\n}}\n"})
    nodes = {row[0]: row for row in graph.nodes}
    found = [(nodes[e[1]][5], e[8]) for e in graph.edges if nodes[e[0]][3] == "f" and nodes[e[1]][3] == "pick"]
    assert sorted(found) == [(line, len(lines)) for line in lines]


SDP = "} namespace sdp { struct params {}; int choose(const params& p) {} int of(int n) {} } namespace at::native {"


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        # C++ looks a name up in the namespaces of its arguments' classes as well
        (SDP, "sdp::params p; choose(p);", ["calls choose"]),
        (SDP, "sdp::params* p = make(); choose(p);", ["calls choose"]),
        (SDP, "choose(n);", []),
        (SDP, "of(n);", []),
        (SDP + " void choose(int n) {}", "choose(n);", ["calls choose"]),
    ],
)
def test_namespaces_of_arguments(before: str, body: str, found: list[str]) -> None:
    assert calls(body, before) == found


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        ("", "cudnn_frontend::graph::Graph g; g.execute(h);", ["calls_library cudnn_frontend::graph::Graph::execute"]),
        (
            "namespace fe = cudnn_frontend; using both = std::tuple<std::shared_ptr<fe::graph::Graph>, int>;",
            "both made = make(); auto [graph, n2] = made; graph->execute(h);",
            ["calls_library cudnn_frontend::graph::Graph::execute"],
        ),
        ("", "cudnn_frontend::graph::Graph g; g.validate();", []),
        (
            "",
            "using Gemm = cutlass::gemm::device::GemmGrouped<int>; Gemm gemm; gemm.run(n);",
            ["calls_library cutlass::gemm::device::GemmGrouped::run"],
        ),
        ("struct Graph { void execute() {} };", "Graph g; g.execute();", ["calls execute"]),
    ],
)
def test_objects_of_libraries(before: str, body: str, found: list[str]) -> None:
    assert calls(body, before) == found


HOLDS = """template <typename T, auto* make, auto* end> struct Holder { T* of() { return get(); } void set() {} };
struct Shape : Holder<int, &cudnnCreateTensorDescriptor, &cudnnDestroyTensorDescriptor> { void fill() { set(); } };
struct Both { Shape a; int b; };
"""


@pytest.mark.parametrize(
    ("body", "source", "found"),
    [
        ("Shape s;", "f", ["cudnnCreateTensorDescriptor", "cudnnDestroyTensorDescriptor"]),
        ("Both b;", "f", ["cudnnCreateTensorDescriptor", "cudnnDestroyTensorDescriptor"]),  # its field is made with it
        ("", "fill", ["cudnnCreateTensorDescriptor"]),  # may be made by the base's method, but not ended
        ("int b;", "f", []),
    ],
)
def test_functions_given_to_base_classes(body: str, source: str, found: list[str]) -> None:
    graph = linked({"F.cpp": f"namespace at::native {{\n{HOLDS}void f() {{\n{body}\n}}\n}}\n"})
    assert sorted({e.split(" ")[1] for e in edges(graph, "calls_library", source=source)}) == found


@pytest.mark.parametrize(
    ("before", "body", "found"),
    [
        # a lambda is no Tensor and no number: ``sort`` of <algorithm> is meant, not the operator's kernel
        ("void sort(const Tensor& a, int64_t dim, bool down) {}", "sort(v.begin(), v.end(), [](int a) {});", []),
        ("void sort(const Tensor& a, int64_t dim, bool down) {}", "sort(x, 1, true);", ["calls sort"]),
        ("template <typename F> void each(int64_t n, const F& g) {}", "each(n, [](int a) {});", ["calls each"]),
        ("void each(int64_t n, std::function<void(int)> g) {}", "each(n, [](int a) {});", ["calls each"]),
    ],
)
def test_what_a_lambda_is_not_given_to(before: str, body: str, found: list[str]) -> None:
    assert [edge for edge in calls(body, before) if edge.startswith("calls ")] == found


STUBS = """struct Stub {
  void operator()(Tensor& a, const Tensor& p) {}
  void operator()(Tensor& a, double p) {}
};
template <template <typename> class stub> void tensor(Tensor& a, const Tensor& p) { stub<int>()(a, p); }
template <template <typename> class stub> void number(Tensor& a, double p) { stub<int>()(a, p); }
void f(Tensor& a) { tensor<Stub>(a, a); number<Stub>(a, 0.5); }"""


def test_a_template_calls_the_overload_that_its_arguments_fit() -> None:
    graph = linked({"F.cpp": f"namespace at::native {{\n{STUBS}\n}}\n"})
    nodes = {row[0]: row for row in graph.nodes}
    ends = {(nodes[e[0]][3], nodes[e[1]][5]) for e in graph.edges if nodes[e[1]][3] == "operator()"}
    assert {(name.removesuffix("<…>"), line) for name, line in ends if name != "f"} == {("tensor", 3), ("number", 4)}


def test_a_class_of_a_file_that_is_not_seen_is_not_meant() -> None:
    assert calls("run(handle);", A_h="namespace other { struct handle { handle() {} }; }") == []
    assert calls("Seen s;", A_h="namespace at::native { struct Seen { Seen() {} }; }", before='#include "A.h"') == [
        "calls Seen"
    ]


# -- virtual calls ---------------------------------------------------------------------------------------------------

CLASSES = """struct Base { virtual ~Base() {} virtual void run() const = 0; void shared() { run(); } };
struct One : Base { void run() const override {} };
struct Two : Base { void run() const override {} };
"""


def test_a_virtual_method_is_any_of_its_definitions() -> None:
    graph = linked({"F.cpp": f"namespace at::native {{\n{CLASSES}void f(const Base& b) {{ b.run(); }}\n}}\n"})
    found = [e for e in graph.edges if e[4] == "virtual-call"]
    assert {e[8] for e in found} == {2}
    # also where a base class calls what it only declares
    assert sorted(graph.nodes[e[0] - 1][3] for e in found) == ["f", "f", "shared", "shared"]


def test_a_method_of_the_class_itself_is_certain() -> None:
    graph = linked({"F.cpp": f"namespace at::native {{\n{CLASSES}void f(const One& b) {{ b.run(); }}\n}}\n"})
    assert edges(graph, source="f") == ["calls run"]


# -- edges -----------------------------------------------------------------------------------------------------------


def test_one_edge_for_the_same_call_under_the_same_guard() -> None:
    body = "g();\ng();\nif (n) g();\n#if A\ng();\n#endif\n"
    graph = linked({"F.cpp": f"namespace at::native {{\nvoid g() {{}}\nvoid f(int n) {{\n{body}}}\n}}\n"})
    found = [(e[6], e[7]) for e in graph.edges if e[2] == "calls"]
    assert found == [(4, ""), (6, "if (n)"), (8, "#if A")]


def test_evidence_says_where_and_why() -> None:
    graph = linked({"F.cpp": "namespace at::native {\nvoid f(const Tensor& x) {\n  if (x.dim())\n    x.neg();\n}\n}\n"})
    ((_, _, kind, key, rule, file, line, guard, candidates, owner, attrs),) = [
        e for e in graph.edges if e[2] == "calls_op"
    ]
    assert (kind, key, rule, file, line) == ("calls_op", "", "operator-call", "aten/src/ATen/native/F.cpp", 4)
    assert (guard, candidates, owner, attrs) == ("if (x.dim())", 1, file, None)


def test_vectors_of_simd_values_reach_nothing() -> None:
    graph = linked({"aten/src/ATen/cpu/vec/V.h": "namespace at::vec { void g() {} struct V { V add(V o) { g(); } }; }"})
    assert edges(graph, "calls") == []


def test_a_function_of_a_stubs_name_in_its_own_file() -> None:
    files = {
        "S.h": "namespace at::native { DECLARE_DISPATCH(void (*)(int), copy_stub) }",
        "S.cpp": "namespace at::native {\nDEFINE_DISPATCH(copy_stub);\nvoid f(int n) { copy_stub(kCPU, n); }\n}\n",
        "P.cpp": "namespace at::native {\nstatic void copy_stub(int* a) {}\nvoid g(int* a) { copy_stub(a); }\n}\n",
    }
    graph = linked(files)
    assert edges(graph, source="f") == ["uses_stub copy_stub"]
    assert edges(graph, source="g") == ["calls copy_stub"]


def test_a_function_of_simd_values_is_not_the_one_of_tensors() -> None:
    files = {
        "aten/src/ATen/cpu/vec/V.h": "namespace at::vec { template <typename T> struct Vectorized { "
        "static Vectorized<T> loadu(const void* p) { } }; template <typename T> Vectorized<T> flip(T v) {} }",
        "F.cpp": "namespace at::native {\nTensor flip(const Tensor& x) {}\ntemplate <typename V> void each(V v) {}\n"
        "void f(const Tensor& x) { using namespace vec; auto v = Vectorized<float>::loadu(x); v = flip(v); each(v); }\n"
        "void g(const Tensor& x) { flip(x); }\n}\n",
    }
    graph = linked(files)
    assert edges(graph, "calls", source="f") == ["calls loadu", "calls each"]
    assert edges(graph, "calls", source="g") == ["calls flip"]


def test_tensors_in_messages_are_printed() -> None:
    formatting = "namespace at { std::ostream& operator<<(std::ostream& out, const Tensor& t) {} }"
    assert calls('TORCH_CHECK(n, "bad: ", x);', Formatting_cpp=formatting) == ["calls operator<<"]
    assert calls('TORCH_CHECK(n, "bad: ", n);', Formatting_cpp=formatting) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("run(x, at::neg);", ["calls run", "calls_op aten::neg"]),
        ("run(x, &at::neg);", ["calls run", "calls_op aten::neg"]),
        ("run(x, &at::eq);", ["calls run", "calls_op aten::eq.Tensor"]),  # not the template on numbers of this name
        ("run(x, at::mm_out);", ["calls run", "calls_op aten::mm.out"]),
        ("run(x, static_cast<Out>(at::mm_out));", ["calls run", "calls_op aten::mm.out"]),
        ("run(x, static_cast<int>(at::kNumber));", ["calls run"]),
        # which overload is meant, only the use of the argument tells
        ("run(x, at::add);", ["calls run", "calls_op aten::add.Scalar x2", "calls_op aten::add.Tensor x2"]),
        ("run(x, at::no_operator);", ["calls run"]),
    ],
)
def test_an_operator_handed_on(body: str, found: list[str]) -> None:
    assert calls(body, "template <typename F> void run(const Tensor& a, F f) { }") == found


def test_methods_of_a_template_parameter_return_what_all_of_their_name_return() -> None:
    classes = "struct One { Tensor up(const Tensor& x) { return x; } int down() { return 1; } };\n"
    classes += "struct Two { Tensor up(const Tensor& x) { return x; } Tensor down() { return x; } };\n"
    for method, found in (("up(x)", ["calls_op aten::neg"]), ("down()", [])):
        body = f"auto y = p.{method}; y.neg();"
        source = f"{classes}template <typename P> struct S {{ void f(const P& p, Tensor x) {{ {body} }} }};"
        graph = linked({"F.cpp": f"namespace at::native {{\n{source}\n}}\n"})
        certain = [edge for edge in edges(graph, "calls_op", source="f") if " x" not in edge]
        assert certain == found, method


@pytest.mark.parametrize(
    ("declared", "line"), [("int v[4];", 2), ("int v[4] = {1}, w;", 2), ("int* v = p;", 2), ("int v = 4;", 3)]
)
def test_an_array_is_handed_on_as_a_pointer(declared: str, line: int) -> None:
    before = "void g(int* v) {}\nvoid g(int v) {}\n"
    graph = linked({"F.cpp": f"namespace at::native {{\n{before}void f(int* p) {{ {declared} g(v); }}\n}}\n"})
    lines = {row[0]: row[5] for row in graph.nodes}
    names = {row[0]: row[3] for row in graph.nodes}
    assert [lines[e[1]] for e in graph.edges if names[e[0]] == "f" and e[2] == "calls"] == [line]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            'auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");',
            ["calls_op aten::add.Tensor"],
        ),
        (
            'static auto op = Dispatcher::singleton()\n.findSchemaOrThrow("aten::neg", "")\n.typed<Tensor(Tensor)>();',
            ["calls_op aten::neg"],
        ),
        ('auto op = d.findSchemaOrThrow("aten::no_such", "");', []),
        ("auto op = d.findSchemaOrThrow(name.c_str(), x);", []),
        ("auto op = d.findSchemaOrThrow(", []),
    ],
)
def test_operators_that_are_looked_up(body: str, found: list[str]) -> None:
    assert calls(body) == found
