"""What every kernel function reaches before the next operator: stubs, kernels, functors, libraries, dtypes.

``pytrace op`` walks for one operator; a report needs the answer for all of them, so that the edges are loaded once,
those that lead nowhere are dropped by one walk back from what is worth telling, and what is left is small enough to
be walked for each function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from pytrace.model import EdgeKind, Node, NodeKind
from pytrace.report import queries
from pytrace.report.rows import Below, Place
from pytrace.store import Store
from pytrace.trace.devices import device_of
from pytrace.trace.noise import is_infrastructure, is_library_plumbing, is_question

_TELLING = (
    EdgeKind.USES_STUB,
    EdgeKind.REGISTERS,
    EdgeKind.LAUNCHES,
    EdgeKind.INSTANTIATES,
    EdgeKind.CALLS_LIBRARY,
)
#: A function of a header that so many functions call is a launcher: it belongs to none of them (trace/region.py).
_SHARED = 40
_HEADERS = (".h", ".cuh", ".hpp")
#: (end, kind, key, whether it is one of several candidates)
_Link = tuple[int, str, str, bool]


class Reach:
    """The part of the graph below operators, without what leads to nothing."""

    def __init__(self, store: Store) -> None:
        """Load all C++ nodes and the edges between them."""
        kinds = (NodeKind.FUNCTION, NodeKind.STUB, NodeKind.CUDA_KERNEL, NodeKind.FUNCTOR, NodeKind.LIBRARY)
        self.nodes = {
            r.id: Node(r.id, r.kind, r.name, r.file, r.line, r.end_line, {}) for r in queries.nodes(store, *kinds)
        }
        self.dtypes = {
            src: list(attrs.get("dtypes") or ()) for src, _, attrs in queries.edge_attributes(store, "dtypes")
        }
        telling = queries.links(store, *_TELLING)
        calls = queries.pairs(store, EdgeKind.CALLS)
        self._launchers = self._shared(calls)
        self.out = self._useful(telling, calls)
        self._known: dict[tuple[int, str], Below] = {}

    def _shared(self, calls: list[tuple[int, int]]) -> set[int]:
        callers: dict[int, set[int]] = {}
        nodes = self.nodes
        headers = {i for i, row in nodes.items() if row.kind == NodeKind.FUNCTION and row.file.endswith(_HEADERS)}
        for src, dst in calls:
            if dst in headers and src in nodes:
                callers.setdefault(dst, set()).add(src)
        return {dst for dst, found in callers.items() if len(found) >= _SHARED}

    def _useful(
        self, telling: list[tuple[int, int, str, str, int]], calls: list[tuple[int, int]]
    ) -> dict[int, list[_Link]]:
        """Edges by source, only those from which something worth telling is reached."""
        nodes = self.nodes
        closed = {i for i, row in nodes.items() if self._closed(row)}
        out: dict[int, list[_Link]] = {}
        into: dict[int, list[int]] = {}
        for src, dst in calls:
            if src in nodes and dst in nodes and dst not in closed:
                into.setdefault(dst, []).append(src)
        ends = set(self.dtypes)
        for src, dst, kind, key, candidates in telling:
            if dst not in nodes or src not in nodes:
                continue
            if kind == EdgeKind.CALLS_LIBRARY and is_library_plumbing(nodes[dst]):
                continue
            out.setdefault(src, []).append((dst, kind, key, candidates > 1))
            ends.add(src)
            if kind in (EdgeKind.REGISTERS, EdgeKind.USES_STUB):
                into.setdefault(dst, []).append(src)
        useful = ends
        todo = list(useful)
        while todo:
            for src in into.get(todo.pop(), ()):
                if src not in useful:
                    useful.add(src)
                    todo.append(src)
        for src, dst in calls:
            if dst in useful and src in useful and dst not in closed:
                out.setdefault(src, []).append((dst, EdgeKind.CALLS, "", False))
        return out

    def _closed(self, node: Node) -> bool:
        """Whether no walk enters the node (one may begin there: ``aten::copy_`` has the kernel ``copy_``)."""
        return node.kind == NodeKind.FUNCTION and (
            node.id in self._launchers or is_infrastructure(node.name) or is_question(node)
        )

    def below(self, start: int, device: str) -> Below:
        """What ``start`` reaches on ``device`` ("" for any)."""
        found = self._known.get((start, device))
        if found is None:
            found = self._known[start, device] = self._walk(start, device)
        return found

    def of(self, starts: Iterable[int], device: str) -> Below | None:
        """The same for several candidates together; None when there is nothing to tell."""
        parts = [self.below(start, device) for start in starts]
        joined = Below(
            _union(p.stubs for p in parts),
            _places(p.registered for p in parts),
            _places(p.kernels for p in parts),
            _union(p.functors for p in parts),
            _union(p.libraries for p in parts),
            _union(p.dtypes for p in parts),
        )
        told = (joined.stubs, joined.registered, joined.kernels, joined.functors, joined.libraries, joined.dtypes)
        return joined if any(told) else None

    def _walk(self, start: int, device: str) -> Below:
        found = Below(dtypes=list(self.dtypes.get(start, ())))
        seen = {start}
        todo = deque([start])
        unsure: dict[int, list[_Link]] = {}
        while todo or unsure:
            if not todo:
                self._decide(unsure, seen, todo, found)
                continue
            src = todo.popleft()
            for link in self.out.get(src, ()):
                dst, kind, key, doubtful = link
                if doubtful and kind == EdgeKind.USES_STUB:
                    unsure.setdefault(src, []).append(link)
                    continue
                if dst in seen or not self._runs_on(dst, kind, key, device):
                    continue
                seen.add(dst)
                self._tell(found, link)
                if kind not in (EdgeKind.LAUNCHES, EdgeKind.CALLS_LIBRARY):
                    todo.append(dst)
        for names in (found.stubs, found.functors, found.libraries):
            names.sort()
        found.registered.sort(key=_by_place)
        found.kernels.sort(key=_by_place)
        found.dtypes = list(dict.fromkeys(found.dtypes))
        return found

    def _decide(self, unsure: dict[int, list[_Link]], seen: set[int], todo: deque[int], found: Below) -> None:
        """A stub that a function was given is one of several; those that the way here names itself are meant."""
        for links in unsure.values():
            if any(dst in seen for dst, *_ in links):
                continue
            for link in links:
                seen.add(link[0])
                self._tell(found, link)
                todo.append(link[0])
        unsure.clear()

    def _runs_on(self, dst: int, kind: str, key: str, device: str) -> bool:
        if not device:
            return True
        if kind == EdgeKind.REGISTERS and not _same(device_of(key), device):
            return False
        if kind == EdgeKind.LAUNCHES and not _same("cuda", device):
            return False
        return _same(device_of_path(self.nodes[dst].file), device)

    def _tell(self, found: Below, link: _Link) -> None:
        dst, kind, key, _ = link
        node = self.nodes[dst]
        if kind == EdgeKind.USES_STUB:
            found.stubs.append(node.name)
        elif kind == EdgeKind.REGISTERS:
            found.registered.append(_place(node))
        elif kind == EdgeKind.LAUNCHES:
            found.kernels.append(_place(node))
        elif kind == EdgeKind.CALLS_LIBRARY:
            found.libraries.append(node.name)
        elif kind == EdgeKind.INSTANTIATES and _is_device_loop(node, key):
            found.functors.append(f"{key.rpartition('::')[2]}<{short(node.name)}>")
        found.dtypes += self.dtypes.get(dst, ())


def _is_device_loop(functor: Node, launcher: str) -> bool:
    """Whether the launcher runs the functor over elements (``gpu_kernel``, ``cpu_kernel``), not once or in a pool."""
    return "kernel" in launcher or functor.file.endswith((".cu", ".cuh"))


def device_of_path(path: str) -> str:
    """The device that a source belongs to by its place in ATen (``aten/src/ATen/native/cuda``, ``…/mps``), else ""."""
    if path.endswith((".cu", ".cuh")) or "/cuda/" in path or "/cudnn/" in path:
        return "cuda"
    if path.endswith(".mm") or "/mps/" in path:
        return "mps"
    return "xpu" if "/xpu/" in path else ""


def short(name: str) -> str:
    """A function's name without the namespace of all kernels."""
    return name.removeprefix("at::native::")


def _same(own: str, device: str) -> bool:
    """Whether code for ``own`` may run on ``device``; HIP takes the CUDA sources (tools/amd_build)."""
    return not own or own == device or {own, device} == {"cuda", "hip"}


def _place(row: Node) -> Place:
    return Place(row.name, row.file, row.line)


def _by_place(place: Place) -> tuple[str, str, int]:
    return place.name, place.file, place.line


def _union(parts: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(entry for part in parts for entry in part))


def _places(parts: Iterable[list[Place]]) -> list[Place]:
    return list({(p.name, p.file, p.line): p for part in parts for p in part}.values())
