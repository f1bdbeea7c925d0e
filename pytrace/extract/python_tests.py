"""PyTorch's own tests of operators: the entries of OpInfo and its like in ``torch/testing/_internal``.

``extract`` gives {} or {"tests": [(class, name, line, options)]}: ``OpInfo("nn.functional.mse_loss",
aten_backward_name="mse_loss_backward", …)`` is told by its class, its name as written and the options that name
operators or callables (torch/testing/_internal/opinfo/core.py). ``ModuleInfo(torch.nn.LSTM, …)`` likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytrace.model import Facts

#: What ends the name of every class of entries. A pattern that begins with it is found fast.
_WORD = b"Info("
_ENTRY = re.compile(rb"""Info\(\s*(?:(?:name\s*=\s*)?["']([\w.]+)["']|(?:module_cls\s*=\s*)?([A-Za-z_][\w.]*))""")
_CLASS = re.compile(rb"\w*\Z")
#: The longest name of a class that is looked at.
_LONGEST = 100
_OPERATORS = (b"OpInfo", b"FuncInfo", b"UfuncInfo", b"RefInfo")
_OPTION = re.compile(
    rb"""\b(op|torch_opinfo_name|aten_name|aten_backward_name|inplace_variant|method_variant|variant_test_name"""
    rb"""|decomp_aten_name)\s*=\s*(?:["']([\w.]+)["']|([A-Za-z_][\w.]*))"""
)
#: How far the options of the last entry of a file may stand from its name.
_LAST = 6000


def extract(source: bytes) -> Facts:
    """The test entries of one Python file; most files do not hold the word and cost a search."""
    if _WORD not in source:
        return {}
    entries = list(_entries(source))
    rows: list[tuple[str, str, int, dict[str, str]]] = []
    line, at = 1, 0
    for (kind, name, start, end), following in zip(entries, [*entries[1:], None]):
        last = following[2] if following else end + _LAST
        line, at = line + source.count(b"\n", at, start), start
        options: dict[str, str] = {}
        for option in _OPTION.finditer(source, end, last):
            options.setdefault(option[1].decode(), (option[2] or option[3]).decode())
        rows.append((kind, name, line, options))
    return {"tests": rows} if rows else {}


def _entries(source: bytes) -> Iterator[tuple[str, str, int, int]]:
    """(class, name, start and end of the name as written)."""
    for found in _ENTRY.finditer(source):
        word = _CLASS.search(source, max(0, found.start() - _LONGEST), found.start() + len(_WORD) - 1)
        kind = word[0] if word else b""
        group = 1 if kind.endswith(_OPERATORS) else 2 if kind == b"ModuleInfo" else 0
        if group and found[group]:
            yield kind.decode(), found[group].decode(), found.start(group), found.end()
