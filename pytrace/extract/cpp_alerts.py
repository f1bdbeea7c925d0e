"""Where a kernel says that it is not deterministic: the strings of ``alertNotDeterministic``.

``extract`` gives {} or {"alerts": [(line, text)]}. The text is what the user reads in "… does not have a deterministic
implementation" (aten/src/ATen/Context.cpp: ``Context::alertNotDeterministic``); that of cuBLAS has none of its own
(``alertCuBLASConfigNotDeterministic``), so it gets the name of the setting that it asks for.
"""

from __future__ import annotations

import re

from pytrace.model import Facts

_WORD = b"NotDeterministic("
_ALERT = re.compile(rb'(?:\.|->)\s*alert(CuBLASConfig)?NotDeterministic\(\s*(?:"((?:[^"\\\n]|\\.)*)")?')
#: What ``Context::alertCuBLASConfigNotDeterministic`` looks at.
CUBLAS = "CUBLAS_WORKSPACE_CONFIG"


def extract(source: bytes) -> Facts:
    """The alerts of one C++ file; one whose text is computed is left out."""
    if _WORD not in source:
        return {}
    rows = []
    for found in _ALERT.finditer(source):
        text = CUBLAS if found[1] else (found[2] or b"").decode("utf-8", "replace")
        if text:
            rows.append((source.count(b"\n", 0, found.start()) + 1, text))
    return {"alerts": rows} if rows else {}
