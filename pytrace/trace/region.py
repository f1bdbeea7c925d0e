"""A region: the part of the graph below some functions, up to the next operators, loaded level by level."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup
from pytrace.trace.noise import INFRASTRUCTURE, is_launcher, is_library_plumbing, is_mover, is_plumbing, is_question

#: What leaves a function (or a stub, a functor) on the way down.
DOWN = (
    EdgeKind.CALLS,
    EdgeKind.CALLS_OP,
    EdgeKind.USES_STUB,
    EdgeKind.REGISTERS,
    EdgeKind.LAUNCHES,
    EdgeKind.INSTANTIATES,
    EdgeKind.CALLS_LIBRARY,
    EdgeKind.DTYPES,
)
#: Kinds that something further stands below of, within one operator.
_OPEN = {NodeKind.FUNCTION, NodeKind.STUB, NodeKind.FUNCTOR}
#: Kinds that make the way to them worth telling.
_TELLING = {NodeKind.STUB, NodeKind.CUDA_KERNEL, NodeKind.FUNCTOR}
#: One load never fetches more nodes than this: what is beyond is left out, as if it were a helper.
_MAX_NODES = 4000
#: A function of a header that so many functions call belongs to none of them: ``gpu_kernel``, ``cpu_kernel_vec``.
_SHARED = 40
_HEADERS = (".h", ".cuh", ".hpp")


class Region:
    """Nodes by id and the edges that leave them, for the functions loaded so far."""

    def __init__(self, store: Store, movers: bool = False) -> None:
        """An empty part of the graph in ``store``; ``movers``: what copies and resizes counts as work."""
        self.store = store
        self.movers = movers
        self.nodes: dict[int, Node] = {}
        self.out: dict[int, list[Edge]] = {}
        self.stopped = False  #: whether a load met its bound
        self._callers: dict[int, int] = {}

    def load(self, start: Iterable[Node]) -> None:
        """Load what ``start`` reaches without crossing an operator, one query a level; infrastructure is left out."""
        frontier = []
        for node in start:
            self.nodes[node.id] = node
            if node.id not in self.out:
                frontier.append(node.id)
        loaded = 0
        while frontier and loaded < _MAX_NODES:
            for node_id in frontier:
                self.out[node_id] = []
            edges, ends = lookup.below(self.store, frontier, DOWN, self.nodes, INFRASTRUCTURE)
            self.nodes.update((end.id, end) for end in ends)
            following: dict[int, None] = {}
            for edge in edges:
                if edge.kind == EdgeKind.INSTANTIATES and not is_launcher(edge.key):
                    continue  # a lambda given to something that merely runs it
                self.out[edge.src].append(edge)
                if edge.dst not in self.out and edge.dst in self.nodes and opens(self.nodes[edge.dst]):
                    following[edge.dst] = None
            loaded += len(following)
            frontier = list(following)
        self.stopped = self.stopped or bool(frontier)

    def useful(self) -> set[int]:
        """Loaded nodes from which something worth telling is reached: a reverse walk from the telling ones."""
        into: dict[int, list[int]] = {}
        found = {node.id for node in self.nodes.values() if self.telling(node)}
        for src, edges in self.out.items():
            for edge in edges:
                into.setdefault(edge.dst, []).append(src)
                if edge.kind == EdgeKind.DTYPES and edge.attrs.get("dtypes"):
                    found.add(src)  # it dispatches on element types: it does the work
        todo = list(found)
        while todo:
            for src in into.get(todo.pop(), ()):
                if src not in found and not is_question(self.nodes[src], self.movers):
                    found.add(src)
                    todo.append(src)
        return found

    def reach(self, functions: Iterable[int]) -> dict[int, list[int]]:
        """Per function, the operators that it reaches without crossing one, in order of discovery."""
        starts = list(functions)
        self.nodes.update(self.store.nodes(set(starts) - self.nodes.keys()))
        self.load(self.nodes[start] for start in starts if start in self.nodes)
        return {start: [i for i in self.below(start) if self.nodes[i].kind == NodeKind.OP] for start in starts}

    def below(self, start: int) -> list[int]:
        """Every loaded node below ``start``, breadth first, operators included but not crossed."""
        seen, todo = {start: None}, deque([start])
        while todo:
            for edge in self.out.get(todo.popleft(), ()):
                if edge.dst not in seen and edge.dst in self.nodes:
                    seen[edge.dst] = None
                    todo.append(edge.dst)
        return list(seen)[1:]

    def folds(self, op: Node) -> bool:
        """Whether an operator is left out of the trees, and only named: it allocates, moves, views or asks."""
        return is_plumbing(op) and not (self.movers and is_mover(op))

    def telling(self, node: Node) -> bool:
        """Whether the way to this node is worth telling."""
        if node.kind == NodeKind.OP:
            return not self.folds(node)
        if node.kind == NodeKind.LIBRARY:
            return not is_library_plumbing(node)
        return node.kind in _TELLING

    def shared_by(self, node: Node) -> int:
        """How many functions call a header's function, when they are so many that it is nobody's part; else 0."""
        if node.kind != NodeKind.FUNCTION or not node.file.endswith(_HEADERS):
            return 0
        if node.id not in self._callers:
            edges = self.store.edges_to(node.id, EdgeKind.CALLS)
            self._callers[node.id] = len({edge.src for edge in edges})
        count = self._callers[node.id]
        return count if count >= _SHARED else 0


def opens(node: Node) -> bool:
    """Whether something further may stand below the node within one operator."""
    return node.kind in _OPEN
