"""Statements of C and C++ that compute in SIMD registers are blanked before the parse: nothing is reached through them.

Hand-written kernels (QNNPACK, caffe2/perfkernels, aten/src/ATen/native/cpu) consist of thousands of such statements,
``acc = vmlal_lane_s16(acc, a, b, 0);``, whose functions the compiler knows. A statement that calls anything else stays;
so do the ``;``, so that what an ``if`` guards is the same, and the names that are declared.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: What declares the functions: without one of these headers a file is not looked at.
_HEADERS = (b"intrin.h", b"<arm_", b"psimd.h")
#: How the functions are named, by the manuals of those who define them.
_INTRINSIC = re.compile(
    rb"_mm\d*_\w+"  # x86: Intel Intrinsics Guide
    rb"|v[a-z]\w*_[fsupb](?:8|16|32|64)(?:x\d)?"  # Arm NEON: Arm C Language Extensions
    rb"|sv[a-z]\w*_(?:[fsub]\d+\w*|[xz]|[fsub]\d+_[mxz])|svcnt[bhwdp]\w*|svptest_\w+"  # Arm SVE, likewise
    rb"|psimd_\w+"  # psimd.h, which QNNPACK bundles
)
#: What may stand among them: words of the language, and a macro of these headers.
_AMONG = frozenset((b"_MM_SHUFFLE", b"sizeof", b"static_cast", b"reinterpret_cast", b"const_cast", b"return"))
_CALLED = re.compile(rb"(\w+)[ \n]*\(")
_CALLED_WITH_TYPES = re.compile(rb"(\w+)\s*<[^<>()]*>\s*\(")
#: What a statement alone does not begin or hold.
_NO_STATEMENT = re.compile(rb"[#\\]|\b(?:else|case|default|if|for|while|do|switch|using|template)\b")
_DECLARES = re.compile(rb"\s*(?:[\w:]+[\s*&]+)+\w+\s*(?==)")
#: Types of such registers, by the same manuals; no class of the tree.
TYPE = re.compile(
    r"__m\d+[di]?|(?:u?int|float|bfloat|poly)\d+x\d+(?:x\d)?_t|sv(?:u?int|float|bool|bfloat)\w*_t|psimd_\w+"
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPACES = bytes(10 if byte == 10 else 32 for byte in range(256))


def statements(source: bytes) -> list[tuple[int, int]]:
    """The statements of ``source`` that call SIMD functions and nothing else: all but ``;`` and what is declared."""
    if not any(header in source for header in _HEADERS):
        return []
    spans = []
    end = -1
    for piece in source.split(b";"):
        start, end = end + 1, end + 1 + len(piece)
        cut = max(piece.rfind(b"{"), piece.rfind(b"}")) + 1
        text = piece[cut:]
        if b"/" in text:
            text = _COMMENT.sub(lambda found: found[0].translate(_SPACES), text)
        names = set(_CALLED.findall(text))
        if b">" in text:
            names.update(_CALLED_WITH_TYPES.findall(text))
        names -= _AMONG
        if (
            names
            and all(map(_is_intrinsic, names))
            and text.count(b"(") == text.count(b")")
            and _NO_STATEMENT.search(text) is None
        ):
            declares = _DECLARES.match(text)
            spans.append((start + cut + (declares.end() if declares else 0), end))
    return spans


@lru_cache(maxsize=20_000)
def _is_intrinsic(name: bytes) -> bool:
    return _INTRINSIC.fullmatch(name) is not None
