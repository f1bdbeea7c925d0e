"""From changed lines to what they are of: functions, kernels, entries of the YAML files, registrations, Python.

A line belongs to the innermost thing around it. A line between things (a constant, a macro, a member of a class)
belongs to what names it: the functions of the file in whose text the name that the line declares stands; when it
declares none that can be told, everything in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytrace.files import is_read, kind_of
from pytrace.model import EdgeKind, NodeKind
from pytrace.report import queries
from pytrace.report.patches import FileChange, Line, ranges
from pytrace.report.queries import NodeRow
from pytrace.report.rows import Place
from pytrace.store import Store

#: Kinds of nodes that a line can be inside of.
INSIDE = (NodeKind.FUNCTION, NodeKind.CUDA_KERNEL, NodeKind.FUNCTOR, NodeKind.PYTHON, NodeKind.STUB)
#: Edges whose evidence is a line of its own: a registration, a re-export, a row of a table.
_EVIDENCE = (
    EdgeKind.REGISTERS,
    EdgeKind.DISPATCHES,
    "registers_python",
    EdgeKind.DERIVATIVE,
    EdgeKind.ALIAS_OF,
    EdgeKind.BINDS,
)
HEADERS = (".h", ".cuh", ".hpp", ".hh", ".inl")
#: What declares a name at the level of a file or class; the first group that matches is the name.
_DECLARES = re.compile(
    r"^\s*#\s*define\s+(\w+)"
    r"|\b(?:struct|class|enum(?:\s+class)?|namespace|union|concept)\s+(?:\w+\s*\([^)]*\)\s*)?(\w+)"
    r"|\busing\s+(\w+)\s*="
    r"|\btypedef\b.*\b(\w+)\s*;"
    r"|\b(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=(?!=)|;|\{|\()"
)
_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")
_COMMENT = re.compile(r"^\s*(?://|/\*|\*|\*/|$)")
_HASH_COMMENT = re.compile(r"^\s*(?:#|$)")
_DIRECTIVE = re.compile(r"^\s*#\s*(?:include|pragma|if|ifdef|ifndef|else|elif|endif|undef)\b")
_WORD = re.compile(r"\w+")
_NOTHING = re.compile(r"^[\s{}();,]*$")


@dataclass
class Seed:
    """Something that changed: a node of the index, how the change is of it, and on which lines."""

    node: NodeRow
    how: str  #: ``inside``, ``entry``, ``registration``, ``mentions NAME``, ``file``, ``around``
    lines: list[int] = field(default_factory=list)
    key: str = ""  #: the dispatch key or device that a registration is for, when all of the seed's are for one


@dataclass
class Changed:
    """What one file's change is of."""

    change: FileChange
    kind: str  #: the kind of the file, "" when it is not indexed
    seeds: dict[int, Seed] = field(default_factory=dict)
    outside: list[Line] = field(default_factory=list)  #: lines of code that are inside of nothing
    names: list[str] = field(default_factory=list)  #: names that those lines declare
    header: bool = False  #: a header with a change outside of functions: what includes it sees it

    def add(self, node: NodeRow, how: str, lines: Iterable[int] = (), key: str = "") -> None:
        """Note a seed; the first way in which a node is changed is told."""
        seed = self.seeds.setdefault(node.id, Seed(node, how, key=key))
        if seed.key != key and how in ("inside", "registration"):
            seed.key = ""
        seed.lines = sorted({*seed.lines, *lines})


#: path -> line -> what has evidence on this line, and for which key.
Evidence = Mapping[str, Mapping[int, Sequence[tuple[int, str]]]]


def evidence(store: Store) -> Evidence:
    """Registrations and other crossings that are lines of their own, for ``find``: one query for all files."""
    return queries.evidence(store, _EVIDENCE)


def find(store: Store, change: FileChange, source: Sequence[str], known: Evidence) -> Changed:
    """What ``change`` is of. ``source`` are the lines of the file as it was indexed, ``known`` its ``evidence``."""
    kind = (kind_of(change.path) or "") if is_read(change.path) else ""
    found = Changed(change, kind)
    if not kind:
        return found
    if change.whole:
        for node in queries.nodes_of_file(store, change.path):
            if node.kind in (*INSIDE, NodeKind.OP, NodeKind.FORMULA):
                found.add(node, "file")
        found.header = change.path.endswith(HEADERS)
        found.outside = [Line(1, "")] if kind in ("tags", "deprecated") else []
        return found
    lines, gaps = change.added, change.gaps
    if kind in ("native_functions", "derivatives"):
        _entries(store, found, lines, gaps, source)
    elif kind in ("tags", "deprecated"):
        found.outside = [line for line in lines if not _HASH_COMMENT.match(line.text)]
    else:
        _things(store, found, lines, gaps, source, known.get(change.path, {}))
    return found


def _entries(
    store: Store, found: Changed, lines: Sequence[Line], gaps: Sequence[tuple[int, int]], source: Sequence[str]
) -> None:
    """Entries of a YAML file: from their first line to the line before the next one."""
    kind = NodeKind.OP if found.kind == "native_functions" else NodeKind.FORMULA
    entries = [node for node in queries.nodes_of_file(store, found.change.path) if node.kind == kind]
    starts = sorted({node.line for node in entries})
    by_line: dict[int, list[NodeRow]] = {}
    for node in entries:
        by_line.setdefault(node.line, []).append(node)
    for line in lines:
        if _HASH_COMMENT.match(line.text):
            continue
        start = _start(starts, line.number)
        for node in by_line.get(start, ()):
            found.add(node, "entry", [line.number])
        if not start:
            found.outside.append(line)
    for first, second in gaps:
        # Lines were taken from an entry when it goes on behind them, or ends there without a blank line.
        start = _start(starts, first)
        if start and first <= len(source) and source[first - 1].strip() and second not in starts:
            for node in by_line[start]:
                found.add(node, "entry", [first])


def _start(starts: Sequence[int], number: int) -> int:
    from bisect import bisect_right

    place = bisect_right(starts, number)
    return starts[place - 1] if place else 0


def _things(
    store: Store,
    found: Changed,
    lines: Sequence[Line],
    gaps: Sequence[tuple[int, int]],
    source: Sequence[str],
    evidence: Mapping[int, Sequence[tuple[int, str]]],
) -> None:
    nodes = [n for n in queries.nodes_of_file(store, found.change.path) if n.kind in INSIDE]
    touched = {line.number for line in lines}
    cover = Cover(nodes)
    python = found.kind == "python"
    for line in lines:
        inside = cover.innermost(line.number)
        if python:
            inside = [n for n in inside if '"class"' not in (n.attrs or "")]
        here = evidence.get(line.number, ())
        for node in inside:
            # A stub that its file only registers stands at the registration.
            key = dict(here).get(node.id, "") if node.kind == NodeKind.STUB else ""
            found.add(node, "inside", [line.number], key)
        for node_id, key in here:
            if not inside:
                found.add(queries.node(store, node_id), "registration", [line.number], key)
        if not inside and line.number not in evidence and is_code(line.text, python):
            found.outside.append(line)
    for first, second in gaps:
        for node in cover.innermost(first):
            if node.line <= first and second <= node.end_line and not touched & {first, second}:
                found.add(node, "around", [first])
    if found.change.reversed:
        _put(store, found, cover)
    _settle_outside(found, nodes, cover, source)


def _put(store: Store, found: Changed, cover: Cover) -> None:
    """Lines that a patch which is not applied puts between things: macros, members, registrations.

    Functions among them are new: what calls them is changed itself.
    """
    from pytrace import reading

    between = [
        line
        for line in found.change.put
        if not any(node.line <= line.number < node.end_line for node in cover.innermost(line.number))
    ]
    text = "\n".join(line.text for line in between)
    facts = reading.unpack(reading.extract(found.kind, text.encode("utf-8", "surrogateescape"))) or {}
    spans = [(int(row[2]), int(row[3])) for row in (*facts.get("functions", ()), *facts.get("definitions", ()))]
    for number, line in enumerate(between, 1):
        if any(first <= number <= last for first, last in spans):
            continue
        for stub in (node for word in set(_WORD.findall(line.text)) for node in store.named(word, NodeKind.STUB)):
            found.add(queries.node(store, stub.id), "registration", [line.number])
        if is_code(line.text, found.kind == "python"):
            found.outside.append(line)


def _settle_outside(found: Changed, nodes: Sequence[NodeRow], cover: Cover, source: Sequence[str]) -> None:
    """Changed lines between things: who names what they declare; else the whole file."""
    if not found.outside:
        return
    found.header = found.change.path.endswith(HEADERS)
    unnamed = []
    lines: dict[str, int] = {}
    for line in found.outside:
        name = macro_around(source, line.number) or declared(line.text)
        if name:
            found.names.append(name)
            lines.setdefault(name, line.number)
        else:
            unnamed.append(line)
    found.names = list(dict.fromkeys(found.names))
    for name in found.names:
        word = re.compile(rf"\b{re.escape(name)}\b")
        for node in nodes:
            body = source[node.line - 1 : max(node.end_line, node.line)]
            if any(word.search(text) for text in body):
                found.add(node, f"mentions {name}", [lines[name]])
    if unnamed:
        for node in nodes:
            found.add(node, "file", [line.number for line in unnamed[:3]])


def macro_around(source: Sequence[str], number: int) -> str:
    """The macro whose definition goes on from the lines before onto line ``number``, "" when there is none."""
    first = number
    while 2 <= first <= len(source) and source[first - 2].rstrip("\r").endswith("\\"):
        first -= 1
    match = _DEFINE.match(source[first - 1]) if first < number else None
    return match[1] if match else ""


def declared(text: str) -> str:
    """The name that a line outside of functions declares, "" when it cannot be told."""
    match = _DECLARES.search(text)
    name = next((group for group in match.groups() if group), "") if match else ""
    return "" if _KEYWORDS.match(name) else name


#: Words that the pattern above may take for a name.
_KEYWORDS = re.compile(
    r"(?:if|for|while|switch|return|sizeof|decltype|alignas|noexcept|operator|static_assert|template|typename|public|"
    r"private|protected|const|constexpr|static|inline|namespace|struct|class|enum|default|delete|import|from|def)$"
)


def is_code(text: str, python: bool = False) -> bool:
    """Whether a line can change what the program does: no blank, comment, directive, or bracket of its own."""
    if python:
        return not _HASH_COMMENT.match(text) and not _NOTHING.match(text)
    return not (_COMMENT.match(text) or _DIRECTIVE.match(text) or _NOTHING.match(text))


class Cover:
    """Nodes of one file by the lines that they span."""

    def __init__(self, nodes: Iterable[NodeRow]) -> None:
        self.nodes = sorted(nodes, key=lambda n: (n.line, -n.end_line, n.id))

    def innermost(self, line: int) -> list[NodeRow]:
        """The nodes of the smallest span around ``line``; several when a macro makes several there."""
        around = [n for n in self.nodes if n.line <= line <= max(n.line, n.end_line)]
        if not around:
            return []
        smallest = min(n.end_line - n.line for n in around)
        return [n for n in around if n.end_line - n.line == smallest]


def line_ranges(seed: Seed) -> list[tuple[int, int]]:
    """The lines of a seed as ranges."""
    return ranges(seed.lines)


def place_of(seed: Seed) -> Place:
    """Where the changed thing stands."""
    return Place(seed.node.name, seed.node.file, seed.node.line)
