"""Stubs to functions, operators to kernels: what registrations become in the graph."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytrace.extract import cpp
from pytrace.link import functions, macros, operators, registrations
from pytrace.link.context import Context
from pytrace.link.registration_libraries import is_test
from pytrace.link.registration_stubs import device_of_file, lookup, slots, target


def linked(**sources: str) -> Context:
    """The graph of some C++ files; ``__`` in a name is a ``/``, the last ``_`` the dot."""
    files = {}
    for name, text in sources.items():
        path, _, extension = name.replace("__", "/").rpartition("_")
        files[f"{path}.{extension}"] = ("cpp", cpp.extract(text.encode()))
    ctx = Context(dict(sorted(files.items())))
    macros.link(ctx)
    operators.link(ctx)
    functions.link(ctx)
    registrations.link(ctx)
    return ctx


def edges(ctx: Context, kind: str) -> list[tuple[str, str, str, str]]:
    """(source, key, destination, file:line) of the edges of a kind."""
    names = {row[0]: row[2] for row in ctx.graph.nodes}
    return [(names[e[0]], e[3], names[e[1]], f"{e[5]}:{e[6]}") for e in ctx.graph.edges if e[2] == kind]


def attrs(ctx: Context, index: int = 0) -> dict[str, Any]:
    text = ctx.graph.edges[index][10]
    return dict(json.loads(text)) if text else {}


# -- stubs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("aten/src/ATen/native/cuda/A.cu", "CUDA"),
        ("aten/src/ATen/native/cuda/A.cuh", "CUDA"),
        ("aten/src/ATen/native/hip/A.hip", "CUDA"),
        ("aten/src/ATen/native/mps/operations/A.mm", "MPS"),
        ("aten/src/ATen/native/cpu/A.cpp", "CPU"),
        ("aten/src/ATen/native/quantized/cpu/kernels/A.cpp", "CPU"),
        ("aten/src/ATen/native/A.cpp", ""),
        ("cpu.cpp", ""),
    ],
)
def test_device_of_file(path: str, device: str) -> None:
    assert device_of_file(path) == device


@pytest.mark.parametrize(
    ("slot", "path", "key", "capabilities"),
    [
        ("file", "native/cpu/A.cpp", "CPU", ("DEFAULT", "AVX2", "VSX", "ZVECTOR", "SVE256")),
        ("file+AVX512", "native/cpu/A.cpp", "CPU", ("DEFAULT", "AVX512", "AVX2", "VSX", "ZVECTOR", "SVE256")),
        ("file+AVX512", "native/cuda/A.cu", "CUDA", ()),
        ("every", "native/A.cpp", "CPU", ("DEFAULT", "AVX512", "AVX2", "VSX", "ZVECTOR", "SVE256")),
        ("AVX2", "native/A.cpp", "CPU", ("AVX2",)),
        ("XPU", "native/A.cpp", "XPU", ()),
        ("file", "native/A.cpp", "", ()),
    ],
)
def test_slots(slot: str, path: str, key: str, capabilities: tuple[str, ...]) -> None:
    assert slots(slot, path) == (key, capabilities)


@pytest.mark.parametrize(
    ("expression", "name"),
    [("&a::b", "a::b"), ("(&b)", "b"), ("&CPU_CAPABILITY::b<true>", "b"), ("nullptr", ""), ("&b<f<1>>::c", "b::c")],
)
def test_target(expression: str, name: str) -> None:
    assert target(expression) == name


def test_lookup_goes_from_the_inside_out() -> None:
    known = ["a::x", "a::b::x", "y"]
    assert lookup(known, "x", "a::b") == "a::b::x"
    assert lookup(known, "x", "a::c") == "a::x"
    assert lookup(known, "b::x", "a") == "a::b::x"
    assert lookup(known, "::y", "a") == "y"
    assert lookup(known, "z", "a") is None


STUB_H = "namespace at::native {\nDECLARE_DISPATCH(fill_fn, fill_stub)\n}\n"
STUB_CPP = "namespace at::native {\nDEFINE_DISPATCH(fill_stub);\n}\n"
KERNEL = "namespace at::native {\nstatic void fill_kernel(int x) {}\n}\n"


def test_stub_and_its_functions() -> None:
    ctx = linked(
        Fill_h=STUB_H,
        Fill_cpp=STUB_CPP,
        cpu__Fill_cpp=KERNEL + "namespace at::native {\nREGISTER_DISPATCH(fill_stub, &fill_kernel)\n}\n",
        cuda__Fill_cu=KERNEL + "namespace at::native {\nREGISTER_DISPATCH(fill_stub, &fill_kernel)\n}\n",
    )
    assert edges(ctx, "registers") == [
        ("fill_stub", "CPU", "at::native::fill_kernel", "cpu/Fill.cpp:5"),
        ("fill_stub", "CUDA", "at::native::fill_kernel", "cuda/Fill.cu:5"),
    ]
    assert attrs(ctx, 0)["capabilities"] == ["DEFAULT", "AVX2", "VSX", "ZVECTOR", "SVE256"]
    (stub,) = [row for row in ctx.graph.nodes if row[1] == "stub"]
    assert stub[4:6] == ("Fill.cpp", 2)
    assert json.loads(stub[8] or "") == {
        "qualified": "at::native::fill_stub",
        "sites": [["define", "Fill.cpp", 2], ["declare", "Fill.h", 2]],
        "type": "fill_fn",
    }


def test_one_function_in_many_capabilities_is_one_edge() -> None:
    lines = [
        "REGISTER_ARCH_DISPATCH(fill_stub, DEFAULT, &fill_kernel)",
        "REGISTER_AVX512_DISPATCH(fill_stub, &fill_kernel)",
    ]
    ctx = linked(A_cpp=STUB_H + STUB_CPP + KERNEL + "namespace at::native {\n" + "\n".join(lines) + "\n}\n")
    assert [edge[1] for edge in edges(ctx, "registers")] == ["CPU"]
    assert attrs(ctx)["capabilities"] == ["DEFAULT", "AVX512"]


def test_two_stubs_of_one_name() -> None:
    ctx = linked(
        A_h="namespace at::native { DECLARE_DISPATCH(f, copy_stub) }",
        B_h="namespace at::native::cpublas { DECLARE_DISPATCH(g, copy_stub) }",
        cpu__B_cpp=KERNEL + "namespace at::native { REGISTER_DISPATCH(cpublas::copy_stub, &fill_kernel) }",
    )
    assert [json.loads(row[8] or "")["qualified"] for row in ctx.graph.nodes if row[1] == "stub"] == [
        "at::native::copy_stub",
        "at::native::cpublas::copy_stub",
    ]
    (edge,) = [e for e in ctx.graph.edges if e[2] == "registers"]
    assert edge[0] == ctx.stubs.resolve("copy_stub", "at::native::cpublas")
    assert edge[0] != ctx.stubs.resolve("copy_stub", "at::native")


def test_no_cpu_kernel_is_told() -> None:
    ctx = linked(A_cpp=STUB_H + STUB_CPP + "namespace at::native {\nREGISTER_NO_CPU_DISPATCH(fill_stub)\n}\n")
    assert edges(ctx, "registers") == []
    (stub,) = [row for row in ctx.graph.nodes if row[1] == "stub"]
    assert json.loads(stub[8] or "")["no_cpu"] == [["A.cpp", 8, ""]]


def test_what_has_no_meaning_is_listed() -> None:
    ctx = linked(
        A_cpp=KERNEL + "namespace at::native {\nREGISTER_DISPATCH(fill_stub, &fill_kernel)\n}\n",
        cuda__B_cu="REGISTER_DISPATCH(fill_stub, &gone)\n",
    )
    assert edges(ctx, "registers") == []
    assert [(row[0], row[2]) for row in ctx.graph.unresolved] == [("A.cpp", "fill_stub"), ("cuda/B.cu", "gone")]


# -- libraries ------------------------------------------------------------------------------------------------------

LIBRARY = """namespace at {
Tensor add_cpu(Tensor a) { return a; }
void boxed(const OperatorHandle& op, Stack* stack) {}
TORCH_LIBRARY(my, m) {
  m.def("add(Tensor a) -> Tensor");
  m.def("sub(Tensor a) -> Tensor", add_cpu);
}
TORCH_LIBRARY_IMPL(my, Autocast, m) {
  m.impl("add", TORCH_FN(add_cpu));
  m.impl("sub", [](Tensor a) { return a; });
}
TORCH_LIBRARY_IMPL(_, Autocast, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&boxed>());
}
}
"""


def test_library() -> None:
    ctx = linked(A_cpp=LIBRARY)
    assert edges(ctx, "dispatches") == [
        ("my::sub", "CompositeImplicitAutograd", "at::add_cpu", "A.cpp:6"),
        ("my::add", "AutocastCUDA", "at::add_cpu", "A.cpp:9"),
        ("my::sub", "AutocastCUDA", "at::TORCH_LIBRARY_IMPL", "A.cpp:10"),
        ("AutocastCUDA", "AutocastCUDA", "at::boxed", "A.cpp:13"),
    ]
    assert [attrs(ctx, i) for i in range(4)] == [
        {"block": 4},
        {"block": 8},
        {"block": 8, "how": "lambda"},
        {"block": 12, "how": "boxed"},
    ]
    assert [(r[1], r[2], r[5]) for r in ctx.graph.nodes if r[1] in ("op", "fallback")] == [
        ("op", "my::add", 5),
        ("op", "my::sub", 6),
        ("fallback", "AutocastCUDA", 13),
    ]


def test_fallthrough_is_a_rule_of_its_own() -> None:
    kernel = "namespace c10 { void fallthrough_kernel(int x) {} }\n"
    ctx = linked(A_cpp=kernel + 'TORCH_LIBRARY_IMPL(my, Named, m) { m.impl("f", CppFunction::makeFallthrough()); }')
    (edge,) = [e for e in ctx.graph.edges if e[2] == "dispatches"]
    assert edge[4] == "fallthrough"
    assert edges(ctx, "dispatches") == [("my::f", "Named", "c10::fallthrough_kernel", "A.cpp:2")]


def test_macros_in_a_block() -> None:
    text = (
        "#define SUPPORT(op, rule) m.impl(#op, op##_plumbing<decltype(&rule), &rule>);\n"
        "#define ONE(...) __VA_ARGS__\n"
        "#define UNARY(op) SUPPORT(op, ONE(BatchRule<decltype(&op), &op>::apply))\n"
        "namespace at {\ntemplate <typename F, F f> struct BatchRule { static int apply(int x) { return x; } };\n"
        "int sin_plumbing(int x) { return x; }\nint cos_plumbing(int x) { return x; }\nint rule(int x) { return x; }\n"
        "TORCH_LIBRARY_IMPL(my, Batched, m) {\n  SUPPORT(sin, rule);\n  UNARY(cos)\n}\n}\n"
    )
    ctx = linked(A_cpp=text)
    assert edges(ctx, "dispatches") == [
        ("my::sin", "Batched", "at::sin_plumbing", "A.cpp:10"),
        ("my::cos", "Batched", "at::cos_plumbing", "A.cpp:11"),
    ]
    assert [attrs(ctx, i)["macro"] for i in range(2)] == ["SUPPORT", "UNARY"]


def test_macro_that_is_a_block() -> None:
    text = (
        "#define REGISTER_OP(FUNC, DEV) TORCH_LIBRARY_IMPL(my, DEV, m) { m.impl(#FUNC, FUNC##DEV); }\n"
        "namespace a {\nint sendCPU(int x) { return x; }\nREGISTER_OP(send, CPU)\n}\n"
    )
    ctx = linked(A_cpp=text)
    assert edges(ctx, "dispatches") == [("my::send", "CPU", "a::sendCPU", "A.cpp:4")]
    assert attrs(ctx)["block"] == 4


def test_wrapper_alias() -> None:
    text = (
        "namespace a {\ntemplate <class F> struct Wrap_ { static int call(int x) { return x; } };\n"
        "template <class F> struct Wrap { using type = Wrap_<F>; };\n"
        'TORCH_LIBRARY_IMPL(my, CPU, m) { m.impl("f", &Wrap<int, CastPolicy::fp32>::type::call); }\n}\n'
    )
    ctx = linked(A_cpp=text)
    assert edges(ctx, "dispatches") == [("my::f", "CPU", "a::Wrap_::call", "A.cpp:4")]
    assert attrs(ctx)["policy"] == "fp32"


def test_computed_names_and_missing_kernels_are_listed() -> None:
    ctx = linked(A_cpp='TORCH_LIBRARY_IMPL(my, CPU, m) {\n  m.impl(name, f);\n  m.impl("g", gone);\n}\n')
    assert [(row[1], row[2], row[3]) for row in ctx.graph.unresolved] == [
        ("registration", "f", 2),
        ("registration", "gone", 3),
    ]
    assert edges(ctx, "dispatches") == [("my::g", "CPU", "TORCH_LIBRARY_IMPL", "A.cpp:3")]


@pytest.mark.parametrize(
    ("path", "test"),
    [("aten/src/ATen/test/a.cpp", True), ("aten/src/a_test.cpp", True), ("aten/src/latest.cpp", False)],
)
def test_programs_of_tests(path: str, test: bool) -> None:
    assert is_test(path) is test
