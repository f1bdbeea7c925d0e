"""Up from what changed to the operators and Python names that feel it, nearest first.

Breadth first against the edges, one query a level. Between a change and an operator the walk keeps the device that
the way implies (a CUDA kernel, a stub's registration), so that an operator that dispatches to a function for the CPU
only is not blamed for a CUDA kernel behind it. From an operator it goes on to the functions, formulas and Python
names that call it; each crossing is a *hop*. Ways over ambiguous calls (several candidates) are walked after all
certain ones and are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pytrace.model import EdgeKind, NodeKind
from pytrace.report import queries
from pytrace.report.queries import NodeRow
from pytrace.store import Store
from pytrace.trace.devices import device_of

UP = (
    EdgeKind.CALLS,
    EdgeKind.LAUNCHES,
    EdgeKind.INSTANTIATES,
    EdgeKind.USES_STUB,
    EdgeKind.REGISTERS,
    EdgeKind.CALLS_LIBRARY,
    EdgeKind.DISPATCHES,
    EdgeKind.STRUCTURED_META,
    EdgeKind.DERIVATIVE,
    "registers_python",
)
OVER = (EdgeKind.CALLS_OP, EdgeKind.BINDS)
NAMES = (EdgeKind.ALIAS_OF, EdgeKind.CALLS)
_PYTHON = (NodeKind.PYTHON, NodeKind.BINDING)
#: An edge to one of more candidates than this is no evidence: it only says that a wrapper calls what it was given.
MOST_CANDIDATES = 8
#: How many calls up a Python name may stand above an operator or a changed Python function.
CALLS_UP = 4
#: The walk over Python names ends here: more names say nothing more.
_MOST_NAMES = 6000

State = tuple[int, str]


class Step(NamedTuple):
    """How a state was reached: from which one, by which edge (0: it changed itself)."""

    below: State | None
    edge: int
    distance: int
    hops: int
    certain: bool


@dataclass
class Hit:
    """An operator that feels the change."""

    op: NodeRow
    distance: int
    hops: int  #: operators between it and the change
    certain: bool
    state: State
    keys: set[str] = field(default_factory=set)  #: dispatch keys (and "backward", "decomposition", …) concerned


@dataclass
class Named:
    """A Python name or binding that feels the change; ``distance`` counts calls above the operator."""

    node: NodeRow
    distance: int
    hops: int
    certain: bool
    op: int  #: the operator it was reached from, 0 for changed Python
    root: int  #: the changed Python function, 0 for operators


class Spread:
    """The walk. ``hits`` and ``names`` hold what it found, by id."""

    def __init__(
        self, store: Store, seeds: Iterable[NodeRow], most_hops: int = 1, keys: Mapping[int, str] | None = None
    ) -> None:
        """Walk up from ``seeds`` over at most ``most_hops`` operators.

        ``keys`` are the dispatch keys or devices of seeds, by id, for which they were changed: others are not blamed.
        """
        keys = keys or {}
        self.store = store
        self.nodes: dict[int, NodeRow] = {}
        self.steps: dict[State, Step] = {}
        self.hits: dict[int, Hit] = {}
        self.names: dict[int, Named] = {}
        self.last: set[int] = set()  #: operators that the walk did not go beyond
        self._starts: list[tuple[NodeRow, int, int, bool, int]] = []
        first: list[State] = []
        ops: list[State] = []
        for node in seeds:
            self.nodes[node.id] = node
            if node.kind in _PYTHON:
                self._starts.append((node, 0, 0, True, 0))
                self.steps[node.id, ""] = Step(None, 0, 0, 0, True)
                first.append((node.id, ""))
            elif node.kind == NodeKind.OP:
                self._hit(node, (node.id, ""), Step(None, 0, 0, 0, True), keys.get(node.id, ""))
                ops.append((node.id, ""))
            else:
                state = (node.id, "cuda" if node.kind == NodeKind.CUDA_KERNEL else device_of(keys.get(node.id, "")))
                self.steps[state] = Step(None, 0, 0, 0, True)
                first.append(state)
        doubtful: list[tuple[State, State, int, str, str]] = []
        self._climb(first, ops, most_hops, True, doubtful)
        while doubtful:
            again, doubtful = doubtful, []
            starts, crossed = self._doubted(again)
            self._climb(starts, crossed, most_hops, False, doubtful)
        self._python()

    # -- C++ and operators ---------------------------------------------------------------------------------------

    def _climb(
        self,
        first: list[State],
        ops: list[State],
        most: int,
        certain: bool,
        doubtful: list[tuple[State, State, int, str, str]],
    ) -> None:
        frontier, crossed = first, ops
        while frontier or crossed:
            while frontier:
                frontier = self._level(frontier, crossed, certain, doubtful)
            frontier, crossed = self._over(crossed, most, certain, doubtful)

    def _level(
        self,
        frontier: list[State],
        crossed: list[State],
        certain: bool,
        doubtful: list[tuple[State, State, int, str, str]],
    ) -> list[State]:
        below: dict[int, list[State]] = {}
        for state in frontier:
            below.setdefault(state[0], []).append(state)
        links = queries.links_to(self.store, list(below), UP)
        self._load({link[0] for link in links})
        following: list[State] = []
        for src, dst, kind, key, candidates, rowid in links:
            if self.nodes[src].kind in _PYTHON:
                continue  # Python's own calls are walked by _python
            for state in below[dst]:
                above = self._above(src, kind, key, state)
                if above is None or candidates > MOST_CANDIDATES:
                    continue
                if candidates > 1 and certain:
                    doubtful.append((above, state, rowid, kind, key))
                else:
                    self._arrive(above, state, rowid, kind, key, certain, following, crossed)
        return following

    def _arrive(
        self,
        above: State,
        state: State,
        rowid: int,
        kind: str,
        key: str,
        certain: bool,
        following: list[State],
        crossed: list[State],
    ) -> None:
        node = self.nodes[above[0]]
        if node.kind == NodeKind.OP and node.id in self.hits and (certain or not self.hits[node.id].certain):
            hit = self.hits[node.id]
            if hit.hops == self.steps[state].hops:
                hit.keys.add(_word(kind, key))
        if above in self.steps:
            return
        before = self.steps[state]
        step = Step(state, rowid, before.distance + 1, before.hops, before.certain and certain)
        if node.kind == NodeKind.OP:
            self._hit(node, above, step, _word(kind, key))
            crossed.append(above)
        else:
            self.steps[above] = step
            following.append(above)

    def _hit(self, node: NodeRow, state: State, step: Step, word: str) -> None:
        self.steps[state] = step
        self.hits[node.id] = Hit(node, step.distance, step.hops, step.certain, state, {word} - {""})

    def _above(self, src: int, kind: str, key: str, state: State) -> State | None:
        """The state that an edge leads up to; None when its device contradicts the way so far."""
        device = state[1]
        if kind in (EdgeKind.REGISTERS, EdgeKind.DISPATCHES):
            own = device_of(key)
            if own and device and own != device and {own, device} != {"cuda", "hip"}:
                return None
            device = device or own
        return (src, "" if self.nodes[src].kind in (NodeKind.OP, NodeKind.FORMULA) else device)

    def _over(
        self, crossed: list[State], most: int, certain: bool, doubtful: list[tuple[State, State, int, str, str]]
    ) -> tuple[list[State], list[State]]:
        """From operators to the functions and formulas that call them, one hop up."""
        following: list[State] = []
        self.last.update(state[0] for state in crossed if self.steps[state].hops >= most)
        links = queries.links_to(self.store, [state[0] for state in crossed], OVER)
        self._load({link[0] for link in links})
        for src, dst, kind, key, candidates, rowid in links:
            node = self.nodes[src]
            state, above = (dst, ""), (src, "")
            before = self.steps[state]
            if candidates > MOST_CANDIDATES:
                continue
            if node.kind in _PYTHON:
                sure = before.certain and candidates <= 1
                self._starts.append((node, 0 if kind == EdgeKind.BINDS else 1, before.hops, sure, dst))
            elif before.hops >= most or above in self.steps:
                continue
            elif candidates > 1 and certain:
                doubtful.append((above, state, rowid, kind, key))
            else:
                self.steps[above] = Step(state, rowid, before.distance + 1, before.hops + 1, before.certain and certain)
                following.append(above)
        return following, []

    def _doubted(self, again: list[tuple[State, State, int, str, str]]) -> tuple[list[State], list[State]]:
        starts: list[State] = []
        crossed: list[State] = []
        for above, state, rowid, kind, key in again:
            if kind == EdgeKind.CALLS_OP:
                if above not in self.steps:
                    before = self.steps[state]
                    self.steps[above] = Step(state, rowid, before.distance + 1, before.hops + 1, False)
                    starts.append(above)
            else:
                self._arrive(above, state, rowid, kind, key, False, starts, crossed)
        return starts, crossed

    def _load(self, ids: set[int]) -> None:
        missing = [i for i in ids if i not in self.nodes]
        self.nodes.update(queries.nodes_by_id(self.store, missing))

    # -- Python --------------------------------------------------------------------------------------------------

    def _python(self) -> None:
        """Bindings and Python names above the operators and the changed Python functions, nearest first."""
        buckets: dict[int, list[Named]] = {}
        for node, distance, hops, certain, op in self._starts:
            named = Named(node, distance, hops, certain, op, 0 if op else node.id)
            buckets.setdefault(_cost(named), []).append(named)
        while buckets and len(self.names) < _MOST_NAMES:
            wave = [named for named in buckets.pop(min(buckets)) if named.node.id not in self.names]
            fresh: dict[int, Named] = {}
            for named in wave:
                fresh.setdefault(named.node.id, named)
            self.names.update(fresh)
            links = queries.links_to(self.store, list(fresh), NAMES)
            self._load({link[0] for link in links})
            for src, dst, kind, _, candidates, _ in links:
                node, below = self.nodes[src], fresh[dst]
                if node.kind not in _PYTHON or src in self.names:
                    continue
                distance = below.distance + (kind == EdgeKind.CALLS)
                if distance > CALLS_UP:
                    continue
                above = Named(node, distance, below.hops, below.certain and candidates <= 1, below.op, below.root)
                buckets.setdefault(_cost(above), []).append(above)

    # -- paths ---------------------------------------------------------------------------------------------------

    def way(self, state: State) -> list[tuple[NodeRow, int]]:
        """From ``state`` down to what changed: nodes, and the edge that leads from each to the next (0 at the end)."""
        found = []
        here: State | None = state
        while here is not None:
            step = self.steps[here]
            found.append((self.nodes[here[0]], step.edge))
            here = step.below
        return found


def _word(kind: str, key: str) -> str:
    """What part of an operator an edge concerns: the dispatch key, "backward", a table of Python."""
    return "backward" if kind == EdgeKind.DERIVATIVE else key


def _cost(named: Named) -> int:
    """Certain before doubtful, few hops before many, near names before far ones."""
    return (0 if named.certain else 10_000) + named.hops * 100 + named.distance
