"""SIMD statements are blanked, all others stay; what is declared keeps its name."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp import extract
from pytrace.extract.cpp_blank import blank_unread
from pytrace.extract.cpp_names import written_type

HEAD = "#include <arm_neon.h>\n#include <immintrin.h>\n"


def blanked(body: str, head: str = HEAD) -> str:
    source = f"{head}void f() {{\n{body}\n}}\n".encode()
    out = blank_unread(source)
    assert len(out) == len(source)
    assert out.count(b"\n") == source.count(b"\n")
    return " ".join(out.decode().partition("{")[2].rpartition("}")[0].split())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("acc = vmlal_lane_s16(acc, a, b, 0);", ";"),
        ("const float32x4_t x = vdupq_n_f32(1.0f);\ng(x);", "const float32x4_t x ; g(x);"),
        ("const __m128i* p = // why (so)\n  _mm_loadu_si128((const __m128i*)q);", "const __m128i* p ;"),
        ("svst1_f32(svAll, &op[0], vop0);", ";"),
        ("if (n)\n  v = _mm_add_epi8(v, w);\nelse\n  g();", "if (n) v = _mm_add_epi8(v, w); else g();"),
        ("return vaddq_f32(a, b);", ";"),
        ("x = vaddq_f32(a, scale<float>(b));", "x = vaddq_f32(a, scale<float>(b));"),
        ("x = static_cast<int>(y);", "x = static_cast<int>(y);"),
        ("x = vaddq_f32(a, g(b));", "x = vaddq_f32(a, g(b));"),
        ("x = vec_log(a);", "x = vec_log(a);"),
        ("for (x = vdupq_n_f32(0); i < n; i++) g();", "for (x = vdupq_n_f32(0); i < n; i++) g();"),
    ],
)
def test_statements(body: str, expected: str) -> None:
    assert blanked(body) == expected


def test_only_where_the_headers_are_included() -> None:
    assert blanked("x = _mm_add_epi8(v, w);", "") == "x = _mm_add_epi8(v, w);"


@pytest.mark.parametrize("name", ["__m128i", "__m512", "uint8x8_t", "float32x4x2_t", "svfloat32_t", "psimd_f32"])
def test_registers_are_no_classes(name: str) -> None:
    assert not written_type(name).is_class


def test_what_is_called_beside_them() -> None:
    source = f"{HEAD}void f() {{\n  float32x4_t x = vld1q_f32(p);\n  x = vmulq_f32(x, x);\n  store(x);\n}}\n"
    assert [row[1:3] for row in extract(source.encode())["calls"]] == [("f", "store")]


@pytest.mark.parametrize("source", [b"#include <immintrin.h>", b"psimd.h;;}{;", b"intrin.h\nx = _mm_a(;);"])
def test_any_bytes(source: bytes) -> None:
    assert len(blank_unread(source)) == len(source)
