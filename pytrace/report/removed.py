"""What lost lines: the things of the old file that stood around removed lines, and whether they still exist."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytrace.files import kind_of
from pytrace.model import NodeKind
from pytrace.report import queries
from pytrace.report.changed import is_code
from pytrace.report.patches import FileChange, Line
from pytrace.report.queries import NodeRow
from pytrace.store import Store

_ENTRY = re.compile(r"^-\s+(?:func|name):\s*([\w:]+(?:\.\w+)?)")


def find(store: Store, change: FileChange, source: str) -> tuple[list[tuple[NodeRow, list[int]]], bool]:
    """Nodes of the new state that lost lines, and whether lines of anything else were removed.

    ``source`` is the old text of the file; ``store`` the index of the new state.
    """
    kind = kind_of(change.old_path) or ""
    spans = _spans(kind, source)
    now = _by_name(store, change.path, kind)
    there: dict[int, tuple[NodeRow, list[int]]] = {}
    gone = False
    for line in change.removed:
        name = _innermost(spans, line.number)
        nodes = now.get(name, []) if name else []
        for node in nodes:
            there.setdefault(node.id, (node, []))[1].append(line.number)
        if not nodes and _matters(kind, line):
            gone = True
    return list(there.values()), gone


def _matters(kind: str, line: Line) -> bool:
    if kind in ("native_functions", "derivatives", "tags", "deprecated"):
        return bool(line.text.strip()) and not line.text.lstrip().startswith("#")
    return is_code(line.text, kind == "python")


def _spans(kind: str, source: str) -> list[tuple[int, int, str]]:
    """(first line, last line, name) of the definitions of a file, as its extractor tells them."""
    if kind in ("native_functions", "derivatives"):
        return _entries(source)
    from pytrace import reading

    facts = reading.unpack(reading.extract(kind, source.encode("utf-8", "surrogateescape"))) or {}
    if kind == "python":
        return [(int(row[2]), int(row[3]), str(row[0])) for row in facts.get("definitions", ()) if row[1] != "c"]
    return [(int(row[2]), int(row[3]), str(row[0])) for row in facts.get("functions", ())]


def _entries(source: str) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    lines = source.split("\n")
    for number, text in enumerate(lines, 1):
        match = _ENTRY.match(text)
        if match:
            if found:
                found[-1] = (found[-1][0], number - 1, found[-1][2])
            found.append((number, len(lines), match[1].removeprefix("aten::")))
    return found


def _innermost(spans: Iterable[tuple[int, int, str]], line: int) -> str:
    around = [(last - first, name) for first, last, name in spans if first <= line <= last]
    return min(around)[1] if around else ""


def _by_name(store: Store, path: str, kind: str) -> dict[str, list[NodeRow]]:
    """The things of the file as it is now, by the names that ``_spans`` gives."""
    found: dict[str, list[NodeRow]] = {}
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for node in queries.nodes_of_file(store, path):
        if kind == "native_functions" and node.kind == NodeKind.OP:
            name = node.name.removeprefix("aten::")
        elif kind == "derivatives" and node.kind == NodeKind.FORMULA:
            name = str(node.attributes().get("op") or "").removeprefix("aten::")
        elif kind == "python" and node.kind == NodeKind.PYTHON:
            name = node.name.removeprefix(f"{module}.")
        elif node.kind in (NodeKind.FUNCTION, NodeKind.CUDA_KERNEL):
            name = node.name
        else:
            continue
        found.setdefault(name, []).append(node)
    return found
