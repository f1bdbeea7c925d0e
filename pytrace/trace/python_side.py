"""Between Python names and operators: down from a name, and up from operators to the names that people write."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup
from pytrace.trace.answers import PythonName, Ref
from pytrace.trace.noise import is_infrastructure
from pytrace.trace.walk import ref, via

_DOWN = (EdgeKind.ALIAS_OF, EdgeKind.BINDS, EdgeKind.CALLS_OP, EdgeKind.CALLS)
_MAX_NODES = 3000
#: How many calls up a name may stand and still be told as a way to reach the operator.
_UP_CALLS = 2


#: What is called from more places than this (``torch.add``, ``Tensor.size``) is told with its own names only.
_MANY_CALLS = 250


class Way(NamedTuple):
    """One operator below a Python name: how many calls away, through which names, under which conditions."""

    op: Node
    distance: int
    through: tuple[str, ...]
    guards: tuple[str, ...]


#: What a walk down from a Python name goes through.
PYTHON_KINDS = frozenset((NodeKind.PYTHON, NodeKind.BINDING))


def down(store: Store, roots: Iterable[Node], through: frozenset[str] = PYTHON_KINDS) -> list[Way]:
    """Operators that the code behind ``roots`` calls, nearest first; an alias costs no distance.

    ``through`` are the kinds of nodes that the walk goes through.
    """
    nodes, came = _walk_down(store, roots, through)
    ways = [
        _way(nodes, came, node_id, distance)
        for node_id, (distance, _) in came.items()
        if nodes[node_id].kind == NodeKind.OP
    ]
    return sorted(ways, key=lambda way: (way.distance, way.op.file, way.op.line, way.op.name))


def ends_in_cpp(store: Store, roots: Iterable[Node]) -> list[Node]:
    """The bindings that the code behind ``roots`` calls, nearest first: where Python ends, operators or not."""
    nodes, came = _walk_down(store, roots, PYTHON_KINDS)
    found = [(distance, i) for i, (distance, _) in came.items() if nodes[i].kind == NodeKind.BINDING]
    return [nodes[i] for _, i in sorted(found)]


class Ends(NamedTuple):
    """Where walks from a Python name end that do not end at an operator; rows are (distance, node), nearest first."""

    cpp: list[tuple[int, Node]]  #: bindings that no operator stands behind
    unread: list[tuple[int, Node]]  #: functions and classes of files of which only the outline is read


def ends(store: Store, roots: Iterable[Node]) -> Ends:
    """The ends below ``roots`` that are no operators."""
    nodes, came = _walk_down(store, roots, PYTHON_KINDS)
    leading = {edge.src for _, edge in came.values() if edge is not None}
    found = sorted(((distance, i) for i, (distance, _) in came.items()), key=lambda row: (row[0], nodes[row[1]].name))
    rows = [(distance, nodes[i]) for distance, i in found]
    outlines = lookup.of_kind(store, "python_outline", (n.file for _, n in rows if n.kind == NodeKind.PYTHON))
    return Ends(
        [row for row in rows if row[1].kind == NodeKind.BINDING and row[1].id not in leading],
        [row for row in rows if row[1].file in outlines and row[1].attrs.get("kind") != "alias"],
    )


def _walk_down(
    store: Store, roots: Iterable[Node], through: frozenset[str]
) -> tuple[dict[int, Node], dict[int, tuple[int, Edge | None]]]:
    """All nodes below ``roots``, and for those met how far away, by which edge."""
    nodes = {node.id: node for node in roots}
    came: dict[int, tuple[int, Edge | None]] = dict.fromkeys(nodes, (0, None))
    frontier = list(nodes)
    while frontier and len(came) < _MAX_NODES:
        edges = store.edges_from(frontier, *_DOWN)
        nodes.update(store.nodes({e.dst for e in edges} - nodes.keys()))
        fresh: list[int] = []
        for edge in sorted(edges, key=lambda e: e.kind == EdgeKind.CALLS):
            if edge.dst in came or edge.dst not in nodes:
                continue
            step = 0 if edge.kind in (EdgeKind.ALIAS_OF, EdgeKind.BINDS) else 1
            came[edge.dst] = (came[edge.src][0] + step, edge)
            if nodes[edge.dst].kind in through and not is_infrastructure(nodes[edge.dst].name):
                fresh.append(edge.dst)
        frontier = fresh
    return nodes, came


def _way(nodes: dict[int, Node], came: dict[int, tuple[int, Edge | None]], node_id: int, distance: int) -> Way:
    through: list[str] = []
    guards: list[str] = []
    here: Edge | None = came[node_id][1]
    while here is not None:
        through.append(nodes[here.src].name)
        if here.guard:
            guards.append(here.guard)
        here = came[here.src][1]
    return Way(nodes[node_id], distance, tuple(reversed(through)), tuple(reversed(guards)))


def is_public(name: str) -> bool:
    """Whether no part of the dotted name is private."""
    return not any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


class Names(NamedTuple):
    """Names above some operators: the bindings, the Python names nearest first, and how many were left out."""

    bindings: list[PythonName]
    python: list[PythonName]
    more: int
    places: int  #: when callers are too many to tell: from how many places in Python it is called; else 0


def up(store: Store, ops: Iterable[int], limit: int = 8, calls: int = _UP_CALLS) -> Names:
    """The bindings of ``ops``, and the public Python names that reach them in at most ``calls`` calls.

    Names that people write come first (``torch.lstm``, ``torch.nn.LSTM``). Of several names of one thing the
    shortest is told.
    """
    ids = list(ops)
    nodes: dict[int, Node] = {}
    came: dict[int, tuple[int, Edge]] = {}
    lines: dict[tuple[int, int], list[int]] = {}
    known_as: dict[int, list[int]] = {}
    places = 0
    first = store.edges_to(ids, EdgeKind.BINDS, EdgeKind.CALLS_OP)
    edges = [(e, 0 if e.kind == EdgeKind.BINDS else 1) for e in first]
    nodes.update(store.nodes({e.src for e in first}))
    while edges and len(came) < _MAX_NODES:
        frontier: dict[int, None] = {}
        for edge, distance in edges:
            node = nodes.get(edge.src)
            if node is None or node.kind not in (NodeKind.PYTHON, NodeKind.BINDING) or distance > calls:
                continue
            lines.setdefault((edge.src, edge.dst), []).append(edge.line)
            if edge.kind == EdgeKind.ALIAS_OF and node.kind == NodeKind.PYTHON:
                known_as.setdefault(edge.dst, []).append(edge.src)
            if edge.src in came and came[edge.src][0] <= distance:
                continue
            came[edge.src] = (distance, edge)
            frontier[edge.src] = None
        if not frontier:
            break
        kinds = [EdgeKind.ALIAS_OF]
        if not places:
            places = lookup.count_to(store, frontier, EdgeKind.CALLS)
            if places < _MANY_CALLS:
                kinds.append(EdgeKind.CALLS)
                places = 0
        found = store.edges_to(list(frontier), *kinds)
        nodes.update(store.nodes({e.src for e in found} - nodes.keys()))
        edges = [(e, came[e.dst][0] + _cost(e, nodes)) for e in found]
    above = _Above(nodes, came, lines)
    above.hidden = _other_names(nodes, known_as) | above.own_methods()
    bindings = [above.name(i) for i in came if nodes[i].kind == NodeKind.BINDING]
    known = [i for i in came if nodes[i].kind == NodeKind.PYTHON and i not in above.hidden]
    # Private names are told when they are the only ones (torch/distributed/_functional_collectives.py).
    told = [i for i in known if is_public(nodes[i].name)] or (known if not bindings else [])
    python = sorted((rank(nodes[i].name), came[i][0], nodes[i].name, i) for i in told)
    kept = python[:limit] if limit else python
    names = [above.name(i) for *_, i in kept]
    return Names(sorted(bindings, key=lambda b: b.ref.name), names, len(python) - len(kept), places)


class _Above:
    """What ``up`` has met: the nodes, the edge each came by, all lines of an edge, and what is not told by itself."""

    def __init__(
        self, nodes: dict[int, Node], came: dict[int, tuple[int, Edge]], lines: dict[tuple[int, int], list[int]]
    ) -> None:
        self.nodes = nodes
        self.came = came
        self.lines = lines
        self.hidden: set[int] = set()

    def own_methods(self) -> set[int]:
        """Methods through which their own class calls: the class tells their lines."""
        nodes = self.nodes
        return {e.dst for _, e in self.came.values() if _is_method(nodes.get(e.src), nodes.get(e.dst))}

    def name(self, node_id: int) -> PythonName:
        """A name, and the first call on its way: an alias and a class are told with what stands behind them."""
        nodes = self.nodes
        node = nodes[node_id]
        edge = self.came[node_id][1]
        told = binding(node) if node.kind == NodeKind.BINDING else ref(node)
        while edge.dst in self.hidden and edge.dst in self.came:
            behind = nodes[edge.dst]
            if edge.kind == EdgeKind.ALIAS_OF:
                told.file, told.line, told.note = behind.file, behind.line, f"is {behind.name}"
            edge = self.came[edge.dst][1]
        how = via(edge)
        how.lines = sorted(set(self.lines.get((edge.src, edge.dst), ())) - {edge.line})
        through = []
        while edge.dst in self.came:
            through.append(nodes[edge.dst].name)
            edge = self.came[edge.dst][1]
        return PythonName(told, through, how)


def _is_method(owner: Node | None, node: Node | None) -> bool:
    return owner is not None and node is not None and node.name.rpartition(".")[0] == owner.name


def _cost(edge: Edge, nodes: dict[int, Node]) -> int:
    """How far an edge leads away: an alias, and a class from its own method, are the same place."""
    return int(edge.kind == EdgeKind.CALLS and not _is_method(nodes.get(edge.src), nodes.get(edge.dst)))


def _other_names(nodes: dict[int, Node], known_as: dict[int, list[int]]) -> set[int]:
    """Nodes that are told by a better name: a class by its public alias, an alias by a shorter one."""
    hidden: set[int] = set()
    for target, aliases in known_as.items():
        public = [i for i in aliases if is_public(nodes[i].name)]
        if not public:
            continue
        same = [i for i in public if nodes[i].bare == nodes[target].bare]
        best = min(public, key=lambda i: (rank(nodes[i].name), len(nodes[i].name), nodes[i].name))
        if nodes[target].kind == NodeKind.PYTHON and nodes[target].bare == nodes[best].bare:
            hidden.add(target)
        hidden.update(i for i in same if i != best and rank(nodes[i].name) >= _OWN_RANKS)
    return hidden


#: Programs beside the library: its tests, and what shows or measures it.
_ASIDE = re.compile(r"test|\.(?:examples|benchmarks|notebooks)\.")
#: Names of a lower rank are always told: ``torch.relu``, ``torch.Tensor.relu``, ``torch.nn.functional.relu``.
_OWN_RANKS = 2


def rank(name: str) -> int:
    """Names people write before names of tools: ``torch.x``, ``torch.Tensor.x``, ``torch.nn…``, the rest."""
    if name.count(".") == 1 or name.startswith("torch.Tensor."):
        return 0
    if name.startswith(("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")):
        return 1
    if name.startswith("torch.nn.") and name.count(".") == 2:
        return 2
    if name.startswith(("torch.nn.", "torch.optim.")):
        return 3
    return 5 if _ASIDE.search(name) else 4


def binding(node: Node) -> Ref:
    """A binding as it is told: where its code comes from, the line of a method table or the template."""
    told = ref(node)
    holds = str(node.attrs.get("holds") or "")
    if holds and node.attrs.get("from") == "manual":
        told.note = f"by hand in {holds.rpartition('/')[2]}"
    elif holds:
        told.note = f"generated into {holds.rpartition('/')[2]}"
        told.file = told.file or str(node.attrs.get("template") or "")
    elif node.file:
        told.note = "hand-written"
    return told
