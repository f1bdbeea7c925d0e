"""Sources of kernels that are compiled while PyTorch runs (aten/src/ATen/jit_macros.h, jiterator_macros.h).

``jiterator_stringify(…)`` makes a string of the C++ code in it, which ``jitted_gpu_kernel<name>(iter, string)``
compiles with NVRTC; ``name`` is a ``char`` array with the name of the function in that code.
"""

from __future__ import annotations

import re

from pytrace.model import Facts

_NAME = re.compile(r'\bchar\s+(\w+)\s*\[\s*\]\s*=\s*"([^"\\\n]*)"')
_CODE = re.compile(r"(?:(\w+)\s*=[\w\s+]*)?\bjiterator_stringify\s*\(")
#: ``jiterator_also_stringify_as(jiterator_code(…), name)``: code for the host as well.
_ALSO = re.compile(r"\bjiterator_also_stringify_as\s*\(\s*jiterator_code\b.*?\)\s*,\s*(\w+)\s*\)\s*;", re.S)


def extract(source: bytes) -> Facts:
    """``jit_names``: (variable, text, line); ``jit_codes``: (variable or "", line). Lines count from 1."""
    names = b"char" in source and b"jit" in source
    codes = b"jiterator_" in source
    if not names and not codes:
        return {}
    text = source.decode("latin-1")
    facts: Facts = {}
    if names and (found := [(m[1], m[2], _line(text, m.start())) for m in _NAME.finditer(text)]):
        facts["jit_names"] = found
    if codes:
        rows = [(m[1] or "", _line(text, m.start())) for m in _CODE.finditer(text) if not _defines(text, m.start())]
        rows += [(m[1], _line(text, m.start())) for m in _ALSO.finditer(text)]
        if rows:
            facts["jit_codes"] = sorted(rows, key=lambda row: row[1])
    return facts


def _defines(text: str, at: int) -> bool:
    """Whether the text at ``at`` stands in a preprocessor line: the definition of the macro itself."""
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
