"""Dispatch stubs: every spelling of a declaration, definition and registration."""

from __future__ import annotations

from typing import Any

import pytest

from pytrace.extract.cpp import parser
from pytrace.extract.registrations import extract


def facts(text: str) -> dict[str, Any]:
    source = text.encode()
    return extract(parser().parse(source), source)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("DECLARE_DISPATCH(fill_fn, fill_stub)", ("declare", "fill_stub", "fill_fn")),
        ("DECLARE_DISPATCH(void(*)(Iter&, int), fill_stub)", ("declare", "fill_stub", "void(*)(Iter&, int)")),
        ("DEFINE_DISPATCH(fill_stub);", ("define", "fill_stub", "")),
        ("DEFINE_DISPATCH( LayerNormKernel );", ("define", "LayerNormKernel", "")),
    ],
)
def test_sites(text: str, row: tuple[str, str, str]) -> None:
    assert [r[1:4] for r in facts(text)["stub_sites"]] == [row]


@pytest.mark.parametrize(
    ("text", "name", "function", "macro", "slot"),
    [
        ("REGISTER_DISPATCH(a_stub, &a_kernel)", "a_stub", "&a_kernel", "REGISTER_DISPATCH", "file"),
        ("REGISTER_DISPATCH(\n    a_stub,\n    &a_kernel);", "a_stub", "&a_kernel", "REGISTER_DISPATCH", "file"),
        ("REGISTER_DISPATCH(ns::a_stub, &ns::a)", "ns::a_stub", "&ns::a", "REGISTER_DISPATCH", "file"),
        ("REGISTER_DISPATCH(a_stub, &a<true, 2>)", "a_stub", "&a<true, 2>", "REGISTER_DISPATCH", "file"),
        ("ALSO_REGISTER_AVX512_DISPATCH(a, &b)", "a", "&b", "ALSO_REGISTER_AVX512_DISPATCH", "file+AVX512"),
        ("ALSO_REGISTER_SVE256_DISPATCH(a, &b)", "a", "&b", "ALSO_REGISTER_SVE256_DISPATCH", "file+SVE256"),
        ("REGISTER_ARCH_DISPATCH(a, DEFAULT, &b)", "a", "&b", "REGISTER_ARCH_DISPATCH", "DEFAULT"),
        ("REGISTER_AVX512_DISPATCH(a, &b)", "a", "&b", "REGISTER_AVX512_DISPATCH", "AVX512"),
        ("REGISTER_AVX2_DISPATCH(a, &b)", "a", "&b", "REGISTER_AVX2_DISPATCH", "AVX2"),
        ("REGISTER_VSX_DISPATCH(a, &b)", "a", "&b", "REGISTER_VSX_DISPATCH", "VSX"),
        ("REGISTER_ZVECTOR_DISPATCH(a, &b)", "a", "&b", "REGISTER_ZVECTOR_DISPATCH", "ZVECTOR"),
        ("REGISTER_SVE256_DISPATCH(a, &b)", "a", "&b", "REGISTER_SVE256_DISPATCH", "SVE256"),
        ("REGISTER_ALL_CPU_DISPATCH(a, &b)", "a", "&b", "REGISTER_ALL_CPU_DISPATCH", "every"),
        ("REGISTER_NO_CPU_DISPATCH(a)", "a", "", "REGISTER_NO_CPU_DISPATCH", "none"),
        ("REGISTER_CUDA_DISPATCH(a, &b)", "a", "&b", "REGISTER_CUDA_DISPATCH", "CUDA"),
        ("REGISTER_HIP_DISPATCH(a, &b)", "a", "&b", "REGISTER_HIP_DISPATCH", "HIP"),
        ("REGISTER_MPS_DISPATCH(a, &b)", "a", "&b", "REGISTER_MPS_DISPATCH", "MPS"),
        ("REGISTER_XPU_DISPATCH(a, &b)", "a", "&b", "REGISTER_XPU_DISPATCH", "XPU"),
        ("REGISTER_MTIA_DISPATCH(a, &b)", "a", "&b", "REGISTER_MTIA_DISPATCH", "MTIA"),
        ("REGISTER_PRIVATEUSE1_DISPATCH(a, &b)", "a", "&b", "REGISTER_PRIVATEUSE1_DISPATCH", "PRIVATEUSE1"),
        ("static RegisterCUDADispatch<struct A> r(a, &b);", "a", "&b", "RegisterCUDADispatch", "CUDA"),
        ("int i = (a.set_cuda_dispatch_ptr(&b), 0);", "a", "&b", "set_cuda_dispatch_ptr", "CUDA"),
    ],
)
def test_registrations(text: str, name: str, function: str, macro: str, slot: str) -> None:
    assert [row[1:5] for row in facts(text)["stub_registrations"]] == [(name, function, macro, slot)]


def test_scope_line_and_guard() -> None:
    text = "namespace at::native {\nnamespace {\n#if AT_X()\nREGISTER_DISPATCH(a, &b)\n#endif\n}\n}\n"
    assert facts(text)["stub_registrations"] == [
        (4, "a", "&b", "REGISTER_DISPATCH", "file", "at::native", "#if AT_X()")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// REGISTER_DISPATCH(a, &b)",
        "/* DEFINE_DISPATCH(a); */",
        'const char* s = "REGISTER_DISPATCH(a, &b)";',
        "#define ONE(NAME) REGISTER_DISPATCH(NAME##_stub, &NAME##_kernel)",
        "#define ONE(NAME) \\\n  void NAME(); \\\n  REGISTER_DISPATCH(NAME##_stub, &NAME)",
        "AT_DISPATCH(x, y)",
        "REGISTER_DISPATCH(a",
        "REGISTER_DISPATCH()",
        "MY_REGISTER_DISPATCH(a, &b)",
        "\0\xff REGISTER_OTHER_DISPATCH(a, &b)",
    ],
)
def test_nothing(text: str) -> None:
    assert facts(text) == {}
