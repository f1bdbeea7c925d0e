"""PyTorch's own tests of operators: the entries of OpInfo and its like in ``torch/testing/_internal``.

``extract`` gives {} or {"tests": [(class, name, line, options)]}: ``OpInfo("nn.functional.mse_loss",
aten_backward_name="mse_loss_backward", …)`` is told by its class, its name as written and the options that name
operators or callables (torch/testing/_internal/opinfo/core.py). ``ModuleInfo(torch.nn.LSTM, …)`` likewise.
"""

from __future__ import annotations

import re

from pytrace.model import Facts

#: What ends the name of every class of entries.
_WORD = b"Info("
_ENTRY = re.compile(
    rb"""\b(\w*(?:OpInfo|FuncInfo|UfuncInfo|RefInfo))\(\s*(?:name\s*=\s*)?["']([\w.]+)["']"""
    rb"""|\b(ModuleInfo)\(\s*(?:module_cls\s*=\s*)?([A-Za-z_][\w.]*)"""
)
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
    entries = list(_ENTRY.finditer(source))
    rows: list[tuple[str, str, int, dict[str, str]]] = []
    line, at = 1, 0
    for entry, following in zip(entries, [*entries[1:], None]):
        start, end = entry.end(), following.start() if following else entry.end() + _LAST
        name = entry.start(2) if entry[2] else entry.start(4)
        line, at = line + source.count(b"\n", at, name), name
        options: dict[str, str] = {}
        for option in _OPTION.finditer(source, start, end):
            options.setdefault(option[1].decode(), (option[2] or option[3]).decode())
        rows.append(((entry[1] or entry[3]).decode(), (entry[2] or entry[4]).decode(), line, options))
    return {"tests": rows} if rows else {}
