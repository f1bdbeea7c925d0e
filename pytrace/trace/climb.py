"""Up: from anything in C++ against the edges, to the nearest operators and derivative formulas.

Breadth first, one query a level for the edges and one for the nodes; the walk never crosses an operator, and a bound
keeps it from loading the whole graph.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytrace.model import FORWARD_MODE, Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace.answers import UpPath
from pytrace.trace.devices import device_of, is_layer
from pytrace.trace.walk import ref, via

#: What leads up from a function, a kernel, a stub, a functor, a library function.
UP = (
    EdgeKind.CALLS,
    EdgeKind.LAUNCHES,
    EdgeKind.INSTANTIATES,
    EdgeKind.USES_STUB,
    EdgeKind.REGISTERS,
    EdgeKind.CALLS_LIBRARY,
    EdgeKind.DISPATCHES,
    EdgeKind.STRUCTURED_META,
)
_MAX_NODES = 30_000
#: So many ways from one entry are compared; what is beyond is not counted either.
_MAX_WAYS = 200
#: Bounds of ``called_by``: a chain of C++ helpers between two operators is short, the callers of ``add`` are legion.
_CALLER_LEVELS = 6
_MAX_CALLERS = 4000
#: A node, and the device that the way to it implies ("" for any).
State = tuple[int, str]


class Climb:
    """The part of the graph above some nodes, up to the nearest operators and formulas.

    A state is a node and the device that the way to it implies: a CUDA kernel runs on CUDA, a stub's registration
    names its device, and an operator that dispatches to a function only for the CPU does not reach a CUDA kernel
    through it.
    """

    def __init__(self, store: Store, seeds: Iterable[Node], bound: int = _MAX_NODES, device: str = "") -> None:
        """Walk up from ``seeds``, which run on ``device``; stop (and remember it) when more than ``bound`` were met."""
        self.store = store
        self.nodes: dict[int, Node] = {n.id: n for n in seeds}
        self.distance: dict[State, int] = {
            (n.id, "cuda" if n.kind == NodeKind.CUDA_KERNEL else device): 0 for n in self.nodes.values()
        }
        self.functors = frozenset(n.name for n in self.nodes.values() if n.kind == NodeKind.FUNCTOR)
        self.down: dict[State, list[tuple[Edge, State]]] = {}  #: to what a state was reached from, in source order
        self.ends: dict[int, int] = {}  #: operators and formulas by distance, nearest first
        self.stopped = False
        self._walk(bound)

    def _walk(self, bound: int) -> None:
        frontier = list(self.distance)
        level = 0
        while frontier:
            level += 1
            below: dict[int, list[State]] = {}
            for state in frontier:
                below.setdefault(state[0], []).append(state)
            edges = self.store.edges_to(list(below), *UP)
            self.nodes.update(self.store.nodes({e.src for e in edges} - self.nodes.keys()))
            frontier = []
            for edge in edges:
                for state in below[edge.dst]:
                    above = self._above(edge, state)
                    if above is None:
                        continue
                    self.down.setdefault(above, []).append((edge, state))
                    if above in self.distance:
                        continue
                    self.distance[above] = level
                    if self.nodes[edge.src].kind in (NodeKind.OP, NodeKind.FORMULA):
                        self.ends.setdefault(edge.src, level)
                    else:
                        frontier.append(above)
            if len(self.nodes) > bound:
                self.stopped = bool(frontier)
                return

    def _above(self, edge: Edge, state: State) -> State | None:
        """The state that ``edge`` leads up to, or None when its device contradicts the way so far."""
        node = self.nodes[edge.src]
        if node.kind in (NodeKind.PYTHON, NodeKind.BINDING) or _is_block(edge, self.nodes[edge.dst]):
            return None
        device = state[1]
        if edge.kind in (EdgeKind.REGISTERS, EdgeKind.DISPATCHES):
            own = device_of(edge.key)
            if own and device and not _same_device(own, device):
                return None
            device = device or own
        return (edge.src, "" if node.kind in (NodeKind.OP, NodeKind.FORMULA) else device)

    def paths(self, end: int, limit: int) -> tuple[list[UpPath], int]:
        """The shortest ways from ``end`` down to a seed, at least one for each function it dispatches to.

        Ways through the same names (overloads, specialisations) are told once. Returns the ways and how many of
        other names were left out, counted up to a bound.
        """
        ways: list[list[Edge]] = []
        told: set[tuple[str, ...]] = set()
        entries: dict[State, Edge] = {}
        keys: dict[State, list[str]] = {}
        for edge, state in sorted(self.down[end, ""], key=lambda entry: self.distance[entry[1]]):
            entries.setdefault(state, edge)
            if edge.key not in keys.setdefault(state, []):
                keys[state].append(edge.key)
        for state, entry in entries.items():
            todo = [([entry._replace(key=", ".join(keys[state]))], state)]
            looked_at = 0
            while todo and looked_at < _MAX_WAYS:
                way, here = todo.pop()
                if self.distance[here] > 0:
                    todo += [([*way, edge], below) for edge, below in reversed(self._nearer(here))]
                    continue
                looked_at += 1
                names = tuple(self._called(edge) for edge in way)
                if names not in told:
                    told.add(names)
                    ways.append(way)
        return [self._told(way) for way in ways[:limit]], max(0, len(ways) - limit)

    def _called(self, edge: Edge) -> str:
        """The name of an edge's end; a method of a functor that was asked about counts as the functor."""
        name = self.nodes[edge.dst].name
        owner = name.rpartition("::")[0]
        return owner if owner in self.functors else name

    def _nearer(self, state: State) -> list[tuple[Edge, State]]:
        """Edges that lead one step nearer to a seed, one for each end."""
        nearer = self.distance[state] - 1
        found: dict[State, Edge] = {}
        for edge, below in self.down.get(state, ()):
            if self.distance[below] == nearer:
                found.setdefault(below, edge)
        return [(edge, below) for below, edge in found.items()]

    def _told(self, way: list[Edge]) -> UpPath:
        upward = list(reversed(way))
        refs = [ref(self.nodes[upward[0].dst])] + [ref(self.nodes[e.src]) for e in upward]
        guards = [e.guard for e in way if e.guard]
        return UpPath(refs, [via(e) for e in upward], list(dict.fromkeys(guards)))


def _is_block(edge: Edge, function: Node) -> bool:
    """Whether an operator merely is registered in this block: its lambda there is not told from the others."""
    return edge.kind == EdgeKind.DISPATCHES and "TORCH_LIBRARY" in function.bare


def _same_device(one: str, other: str) -> bool:
    """Whether code for one device may be the other's: HIP builds take the CUDA sources (tools/amd_build)."""
    return one == other or {one, other} == {"cuda", "hip"}


def called_by(store: Store, owner: dict[int, int]) -> dict[int, list[Node]]:
    """The operators whose kernels, and the formulas that, call an operator; nearest first.

    ``owner`` maps operators to the one that answers for them (of overloads that share a kernel); the result is by it.
    """
    labels: dict[int, set[int]] = {}
    found: dict[int, dict[int, Node]] = {}
    edges = store.edges_to(list(owner), EdgeKind.CALLS_OP)
    todo = [(e.src, {owner[e.dst]}) for e in edges if e.key != FORWARD_MODE]
    forward = [(e.src, {owner[e.dst]}) for e in edges if e.key == FORWARD_MODE]
    for _ in range(_CALLER_LEVELS):
        if not todo or len(labels) > _MAX_CALLERS:
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
                if "generated_from" not in node.attrs:  # the wrapper of a generated overload is no caller
                    for mark in new:
                        found.setdefault(mark, {})[node_id] = node
            else:
                fresh.setdefault(node_id, set()).update(new)
        above = store.edges_to(list(fresh), *UP) if fresh else []
        # What autograd, autocast or vmap put before an operator is not the operator's own work.
        above = [e for e in above if e.kind != EdgeKind.DISPATCHES or not is_layer(e.key)]
        todo = [(e.src, fresh[e.dst]) for e in above if e.key != FORWARD_MODE]
        forward += [(e.src, fresh[e.dst]) for e in above if e.key == FORWARD_MODE]
    formulas = store.nodes(node_id for node_id, _ in forward)
    for node_id, marks in forward:
        node = formulas[node_id]
        for mark in marks if "generated_from" not in node.attrs else ():
            found.setdefault(mark, {}).setdefault(node_id, node._replace(name=f"{node.name} (forward mode)"))
    return {op_id: list(callers.values()) for op_id, callers in found.items()}


def some(nodes: list[Node], most: int = 8) -> list[str]:
    """The first names, and how many more."""
    names = [node.name for node in nodes[:most]]
    return names if len(nodes) <= most else [*names, f"and {len(nodes) - most} more"]
