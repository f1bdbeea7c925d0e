"""``pytrace kernel`` and ``pytrace stub``: something in C++, who uses it, and (``--up``) the operators that reach it.

Up is a breadth-first walk against the edges, one query a level, that stops at operators and at derivative formulas.
It never loads the whole graph: the bound is told when it is met.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import python_side
from pytrace.trace.answers import KernelAnswer, Reached, Step, UpPath
from pytrace.trace.resolve import Found
from pytrace.trace.walk import Walker, dtypes_of, ref, via

_UP = (
    EdgeKind.CALLS,
    EdgeKind.LAUNCHES,
    EdgeKind.INSTANTIATES,
    EdgeKind.USES_STUB,
    EdgeKind.REGISTERS,
    EdgeKind.CALLS_LIBRARY,
    EdgeKind.DISPATCHES,
)
_MAX_NODES = 30_000
#: A kernel that more operators (base names) than this reach says nothing about the operator: it is a driver.
GENERIC = 25


class Climb:
    """The part of the graph above some nodes, up to the nearest operators and formulas."""

    def __init__(self, store: Store, seeds: Iterable[Node], bound: int = _MAX_NODES) -> None:
        """Walk up from ``seeds``; stop (and remember it) when more than ``bound`` nodes were met."""
        self.store = store
        self.nodes: dict[int, Node] = {n.id: n for n in seeds}
        self.distance: dict[int, int] = dict.fromkeys(self.nodes, 0)
        self.down: dict[int, list[Edge]] = {}  #: from a node to what it was reached from, in source order
        self.ends: list[Node] = []  #: operators and formulas, nearest first
        self.stopped = False
        self._walk(bound)

    def _walk(self, bound: int) -> None:
        frontier = list(self.nodes)
        level = 0
        while frontier:
            level += 1
            edges = self.store.edges_to(frontier, *_UP)
            self.nodes.update(self.store.nodes({e.src for e in edges} - self.nodes.keys()))
            fresh: list[int] = []
            for edge in edges:
                node = self.nodes[edge.src]
                if node.kind in (NodeKind.PYTHON, NodeKind.BINDING):
                    continue
                self.down.setdefault(edge.src, []).append(edge)
                if edge.src in self.distance:
                    continue
                self.distance[edge.src] = level
                if node.kind in (NodeKind.OP, NodeKind.FORMULA):
                    self.ends.append(node)
                else:
                    fresh.append(edge.src)
            frontier = fresh
            if len(self.nodes) > bound:
                self.stopped = bool(frontier)
                return

    def paths(self, end: Node, limit: int) -> tuple[list[UpPath], int]:
        """The shortest ways from ``end`` down to a seed, one at least for each function it dispatches to."""
        ways: list[list[Edge]] = []
        total = 0
        entries = sorted(self.down[end.id], key=lambda e: self.distance[e.dst])
        seen: set[int] = set()
        for entry in entries:
            if entry.dst in seen:
                continue
            seen.add(entry.dst)
            total += self._count(entry.dst, {})
            todo = [[entry]]
            while todo and len(ways) < limit:
                way = todo.pop()
                here = way[-1].dst
                if self.distance[here] == 0:
                    ways.append(way)
                    continue
                todo += [[*way, e] for e in reversed(self._nearer(here))]
        return [self._told(end, way) for way in ways], max(0, total - len(ways))

    def _nearer(self, node_id: int) -> list[Edge]:
        """Edges that lead one step nearer to a seed, one for each end."""
        nearer = self.distance[node_id] - 1
        edges: dict[int, Edge] = {}
        for edge in self.down.get(node_id, ()):
            if self.distance.get(edge.dst) == nearer:
                edges.setdefault(edge.dst, edge)
        return list(edges.values())

    def _count(self, node_id: int, known: dict[int, int]) -> int:
        """How many shortest ways lead from here to a seed (told as a number, never listed in full)."""
        if self.distance[node_id] == 0:
            return 1
        if node_id not in known:
            known[node_id] = 0
            known[node_id] = min(1000, sum(self._count(e.dst, known) for e in self._nearer(node_id)))
        return known[node_id]

    def _told(self, end: Node, way: list[Edge]) -> UpPath:
        upward = list(reversed(way))
        refs = [ref(self.nodes[upward[0].dst])] + [ref(self.nodes[e.src]) for e in upward]
        guards = [e.guard for e in way if e.guard]
        return UpPath(refs, [via(e) for e in upward], list(dict.fromkeys(guards)))


def answer(
    store: Store,
    query: str,
    found: Found,
    *,
    up: bool = False,
    limit: int = 12,
    paths: int = 2,
    depth: int = 0,
) -> KernelAnswer:
    """Tell what the nodes in ``found`` are and who uses them; with ``up``, the operators that reach them.

    ``limit`` bounds the operators told (0: all), ``paths`` the ways told for each.
    """
    nodes = found.nodes
    result = KernelAnswer(
        query=query,
        how=found.how,
        nodes=[ref(n) for n in nodes],
        users=_users(store, nodes, limit),
        below=_below(store, nodes, depth, limit),
        dtypes=[d for n in nodes for d in dtypes_of(n)],
        up=[],
        asked_up=up,
    )
    if not up:
        return result
    climb = Climb(store, nodes)
    reached = _operators(store, climb)
    bases = {node.bare.rstrip("_") for node, _ in reached}
    result.operators = len(reached)
    result.generic = len(bases) > GENERIC
    if result.generic:
        result.functors = _functors(store, climb)
    kept = reached[:limit] if limit else reached
    result.up = [_told(climb, node, end, paths) for node, end in kept]
    _add_callers(store, [node for node, _ in kept], result.up)
    if climb.stopped:
        result.stopped = (
            f"Stopped at {len(climb.nodes)} functions: more operators may reach it than the {len(reached)} counted."
        )
    return result


def _operators(store: Store, climb: Climb) -> list[tuple[Node, Node]]:
    """(operator, the end of the climb it stands for): itself, or the formula that makes it its backward."""
    found: dict[int, tuple[Node, Node]] = {}
    formulas = {n.id: n for n in climb.ends if n.kind == NodeKind.FORMULA}
    owners = store.edges_to(list(formulas), EdgeKind.DERIVATIVE) if formulas else []
    nodes = store.nodes(e.src for e in owners)
    by_formula: dict[int, list[Node]] = {}
    for edge in owners:
        by_formula.setdefault(edge.dst, []).append(nodes[edge.src])
    for end in climb.ends:
        if end.kind == NodeKind.OP:
            found.setdefault(end.id, (end, end))
    for end in climb.ends:
        for op in by_formula.get(end.id, ()):
            found.setdefault(op.id, (op, end))
    ranked = sorted(found.values(), key=lambda f: (climb.distance[f[1].id], f[0].file, f[0].line, f[0].name))
    return ranked


def _told(climb: Climb, op: Node, end: Node, limit: int) -> Reached:
    ways, more = climb.paths(end, limit)
    if end.id != op.id:
        for way in ways:
            way.refs.append(ref(op))
    return Reached(ref(op), ways, more)


def _add_callers(store: Store, ops: list[Node], told: list[Reached]) -> None:
    """Python names of each operator, what delegates to it, and the operators and formulas that call it."""
    if not ops:
        return
    slots = {op.id: slot for op, slot in zip(ops, told)}
    delegating = store.edges_to(list(slots), EdgeKind.DELEGATES)
    nodes = store.nodes(e.src for e in delegating)
    family = {op_id: [op_id] for op_id in slots}
    for edge in delegating:
        if edge.src in nodes and edge.src not in slots:
            slots[edge.dst].overloads.append(nodes[edge.src].name)
        family[edge.dst].append(edge.src)
    for op_id, slot in slots.items():
        names = python_side.up(store, family[op_id], limit=3)
        slot.python = [n.ref.name for n in names.python] or [n.ref.name for n in names.bindings[:2]]
    owner = {member: op_id for op_id, members in family.items() for member in members}
    for op_id, names_of in _called_by(store, owner).items():
        slots[op_id].used_by = names_of


def _called_by(store: Store, owner: dict[int, int], most: int = 8) -> dict[int, list[str]]:
    """Per operator, the operators whose kernels (and the formulas that) call it, nearest first."""
    labels: dict[int, set[int]] = {}
    found: dict[int, dict[str, None]] = {}
    edges = store.edges_to(list(owner), EdgeKind.CALLS_OP)
    todo = [(e.src, {owner[e.dst]}) for e in edges]
    for _ in range(6):
        if not todo:
            break
        nodes = store.nodes(node_id for node_id, _ in todo)
        fresh: dict[int, set[int]] = {}
        for node_id, marks in todo:
            node = nodes[node_id]
            new = marks - labels.get(node_id, set())
            if not new or node.kind in (NodeKind.PYTHON, NodeKind.BINDING):
                continue
            labels.setdefault(node_id, set()).update(new)
            if node.kind in (NodeKind.OP, NodeKind.FORMULA):
                for mark in new:
                    found.setdefault(mark, {})[node.name] = None
            else:
                fresh.setdefault(node_id, set()).update(new)
        if len(labels) > 4000:
            break
        todo = [(e.src, fresh[e.dst]) for e in store.edges_to(list(fresh), *_UP)] if fresh else []
    return {op_id: _some(list(names), most) for op_id, names in found.items()}


def _some(names: list[str], most: int) -> list[str]:
    """The first ``most`` names, and how many more."""
    return names if len(names) <= most else [*names[:most], f"and {len(names) - most} more"]


def _users(store: Store, nodes: list[Node], limit: int) -> list[Step]:
    """Per node, what uses it: launches, instantiations, registrations, calls."""
    edges = store.edges_to([n.id for n in nodes], *_UP)
    callers = store.nodes(e.src for e in edges)
    roots = []
    for node in nodes:
        root = Step(ref(node))
        known: dict[tuple[int, str], Step] = {}
        for edge in edges:
            if edge.dst != node.id or edge.src == node.id:
                continue
            step = known.get((edge.src, edge.kind))
            if step is None:
                known[edge.src, edge.kind] = step = Step(ref(callers[edge.src]), via(edge))
                root.steps.append(step)
            elif step.via is not None:
                if edge.key and edge.key not in step.via.key.split(", "):
                    step.via.key += f", {edge.key}"
                if edge.line != step.via.line and edge.line not in step.via.lines:
                    step.via.lines.append(edge.line)
        if limit and len(root.steps) > limit:
            root.state = f"{len(root.steps) - limit}"
            root.steps = root.steps[:limit]
        roots.append(root)
    return roots


def _below(store: Store, nodes: list[Node], depth: int, limit: int) -> list[Step]:
    """What stands below each function, stub or functor."""
    walker = Walker(store, depth=depth, limit=limit * 3)
    starts = [n for n in nodes if n.kind in (NodeKind.FUNCTION, NodeKind.STUB, NodeKind.FUNCTOR)]
    trees = walker.draw([(n, None, "") for n in starts[:10]])
    return [tree for tree in trees if tree.steps]


def _functors(store: Store, climb: Climb, most: int = 6) -> list[str]:
    """Examples of functors that the generic kernel's launchers are instantiated with."""
    launchers = {
        n.bare for n in climb.nodes.values() if n.kind == NodeKind.FUNCTION and climb.distance.get(n.id, 99) <= 3
    }
    callers = [i for i, d in climb.distance.items() if d <= 4][:500]
    edges = [e for e in store.edges_from(callers, EdgeKind.INSTANTIATES) if e.key.rpartition("::")[2] in launchers]
    names = store.nodes(e.dst for e in edges)
    return sorted({n.name for n in names.values()})[:most]
