"""Between Python names and operators: down from a name, and up from operators to the names that people write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace.answers import PythonName, Ref
from pytrace.trace.walk import ref, via

_DOWN = (EdgeKind.ALIAS_OF, EdgeKind.BINDS, EdgeKind.CALLS_OP, EdgeKind.CALLS)
_MAX_NODES = 3000
#: How many calls up a name may stand and still be told as a way to reach the operator.
_UP_CALLS = 2


class Way(NamedTuple):
    """One operator below a Python name: how many calls away, through which names, under which conditions."""

    op: Node
    distance: int
    through: tuple[str, ...]
    guards: tuple[str, ...]


def down(store: Store, roots: Iterable[Node]) -> list[Way]:
    """Operators that the Python code behind ``roots`` calls, nearest first; an alias costs no distance."""
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
            if nodes[edge.dst].kind in (NodeKind.PYTHON, NodeKind.BINDING):
                fresh.append(edge.dst)
        frontier = fresh
    ways = [
        _way(nodes, came, node_id, distance)
        for node_id, (distance, _) in came.items()
        if nodes[node_id].kind == NodeKind.OP
    ]
    return sorted(ways, key=lambda way: (way.distance, way.op.file, way.op.line, way.op.name))


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


def up(store: Store, ops: Iterable[int], limit: int = 8, calls: int = _UP_CALLS) -> Names:
    """The bindings of ``ops``, and the public Python names that reach them in at most ``calls`` calls.

    Aliases of a binding come first (``torch.lstm``), then what calls it (``torch.nn.LSTM``); a class that is known
    under a shorter public name is told by that name.
    """
    ids = list(ops)
    nodes: dict[int, Node] = {}
    came: dict[int, tuple[int, Edge]] = {}
    frontier, distance = ids, 0
    first = store.edges_to(ids, EdgeKind.BINDS, EdgeKind.CALLS_OP)
    edges = [(e, 0 if e.kind == EdgeKind.BINDS else 1) for e in first]
    while edges and len(came) < _MAX_NODES:
        nodes.update(store.nodes({e.src for e, _ in edges} - nodes.keys()))
        frontier = []
        for edge, distance in edges:
            node = nodes.get(edge.src)
            if node is None or node.kind not in (NodeKind.PYTHON, NodeKind.BINDING) or distance > calls:
                continue
            if edge.src in came and came[edge.src][0] <= distance:
                continue
            came[edge.src] = (distance, edge)
            frontier.append(edge.src)
        edges = (
            [
                (e, came[e.dst][0] + (e.kind == EdgeKind.CALLS))
                for e in store.edges_to(frontier, EdgeKind.ALIAS_OF, EdgeKind.CALLS)
            ]
            if frontier
            else []
        )
    bindings = [_name(nodes, came, i) for i in came if nodes[i].kind == NodeKind.BINDING]
    python = [
        (came[i][0], _rank(nodes[i].name), nodes[i].name, i)
        for i in came
        if nodes[i].kind == NodeKind.PYTHON and is_public(nodes[i].name)
    ]
    python.sort()
    kept = python[:limit] if limit else python
    return Names(
        sorted(bindings, key=lambda b: b.ref.name),
        [_name(nodes, came, i) for *_, i in kept],
        len(python) - len(kept),
    )


def _rank(name: str) -> int:
    """Names people write before names of tools: ``torch.x``, ``torch.Tensor.x``, ``torch.nn…``, the rest."""
    if name.count(".") == 1 or name.startswith("torch.Tensor."):
        return 0
    if name.startswith(("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")):
        return 1
    if name.startswith("torch.nn.") and name.count(".") == 2:
        return 2
    if name.startswith("torch.nn."):
        return 3
    return 4


def _name(nodes: dict[int, Node], came: dict[int, tuple[int, Edge]], node_id: int) -> PythonName:
    through = []
    edge = came[node_id][1]
    first = edge
    while edge.dst in came:
        through.append(nodes[edge.dst].name)
        edge = came[edge.dst][1]
    node = nodes[node_id]
    return PythonName(binding(node) if node.kind == NodeKind.BINDING else ref(node), through, via(first))


def binding(node: Node) -> Ref:
    """A binding as it is told: where its code comes from, the line of a method table or the template."""
    told = ref(node)
    holds = str(node.attrs.get("holds") or "")
    if holds:
        told.note = f"generated into {holds.rpartition('/')[2]}"
        told.file = told.file or str(node.attrs.get("template") or "")
    elif node.file:
        told.note = "hand-written"
    return told
