"""What the resolution of one file's calls gives: edges before they enter the graph, and their plain forms."""

from __future__ import annotations

from typing import Any, NamedTuple

#: A row of ``extract.cpp.Call``, as the facts hold it.
CallRow = tuple[int, str, str, int, str, tuple[str, ...], str, str, str]


#: The key of a row that holds for some instantiations of the template it starts in (link/instantiations.py).
GIVEN = "given"


class Row(NamedTuple):
    """An edge before it enters the graph."""

    src: int
    dst: int
    kind: str
    key: str
    rule: str
    line: int
    guard: str
    candidates: int


#: What was resolved in one file, in a form that ``marshal`` can write.
Packed = tuple[Any, ...]
#: edges; unresolved names (kind, name, line, reason); library calls (source, name, line, guard, vendor)
Resolved = tuple[list[Row], list[tuple[str, str, int, str]], list[tuple[int, str, int, str, str]]]
