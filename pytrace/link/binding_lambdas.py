"""What pybind11's definitions do: the calls of their lambdas, and the operators behind the functions they name.

``m.def("allreduce", [](…) { return self->allreduce(xs); })``: the lambda has no name, and its calls were linked as
those of the function around it. Here they become the binding's: ``calls`` edges of rule ``pybind11-lambda`` to
functions, and ``binds`` edges to operators (rule ``binding-implementation``, as of bindings in tables). Of a function
that a lambda calls, or that a definition names (``&ProcessGroup::allreduce``), the operators that it calls itself are
behind the binding as well; deeper ones are its own affair.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from pytrace.link.context import Context
from pytrace.link.resolved import Row
from pytrace.model import EdgeKind, Facts, NodeKind

#: Functions that stand here wrap an operator for Python; what ATen's own functions do is told below operators.
_LAYER = "torch/csrc/"

#: The methods of pybind11 that define something.
DEFINES = frozenset(("def", "def_static", "def_property", "def_property_readonly", "def_property_readonly_static"))

#: (owner, name) of a binding and the row of an edge that starts in its lambda
Noted = tuple[str, str, Row]


class Lambdas:
    """The lambdas of one file, and the rows that start in them."""

    def __init__(self, facts: Facts) -> None:
        spans = (facts.get("bindings") or {}).get("lambdas", ())
        self._spans = sorted((first, last, owner, name) for owner, name, first, last in spans)
        self._starts = [span[0] for span in self._spans]
        self._around = ""
        self.noted: list[Noted] = []

    def around(self, guard: str) -> None:
        """The guard of the definition that is read next: what it says of the function around a lambda is no news."""
        self._around = guard

    def note(self, line: int, rows: Sequence[Row]) -> None:
        """Keep rows that were made for a call on this line, when it stands in a lambda."""
        at = bisect_right(self._starts, line) - 1
        if at >= 0 and line <= self._spans[at][1]:
            _, _, owner, name = self._spans[at]
            self.noted += [(owner, name, row._replace(guard=self._inner(row.guard))) for row in rows]

    def _inner(self, guard: str) -> str:
        if guard == self._around:
            return ""
        return guard.removeprefix(f"{self._around} && ") if self._around else guard


def link(ctx: Context) -> None:
    """Add the edges of all definitions of pybind11."""
    linker = _Linker(ctx)
    for path, noted in ctx.lambdas.items():
        linker.lambdas(path, noted)
    for path, (_, facts) in ctx.files.items():
        found = facts.get("bindings")
        if found and path.startswith(_LAYER):
            linker.named(path, found)


class _Linker:
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.graph = ctx.graph
        self._done: set[tuple[int, int]] = set()
        layer = {n[0] for n in ctx.graph.nodes if n[1] == NodeKind.FUNCTION and n[4] and n[4].startswith(_LAYER)}
        #: function of the layer -> (operator, file, line, guard, candidates) of its own calls
        self._operators: dict[int, list[tuple[int, str, int, str, int]]] = {}
        for src, dst, kind, _, _, file, line, guard, candidates, *_ in ctx.graph.edges:
            if kind == EdgeKind.CALLS_OP and src in layer:
                self._operators.setdefault(src, []).append((dst, file, line, guard, candidates))

    def lambdas(self, path: str, noted: Iterable[Noted]) -> None:
        """What the lambdas of a file call."""
        for owner, name, row in noted:
            node = self.graph.find(NodeKind.BINDING, f"{owner}.{name}")
            if node is None:
                continue
            if row.kind == EdgeKind.CALLS_OP:
                self._binds(node, row.dst, path, row.line, row.guard, row.candidates, path)
            elif row.kind == EdgeKind.CALLS:
                if (node, row.dst) not in self._done:
                    self._done.add((node, row.dst))
                    self.graph.edge(
                        *(node, row.dst, EdgeKind.CALLS),
                        rule="pybind11-lambda",
                        file=path,
                        line=row.line,
                        guard=row.guard,
                        candidates=row.candidates,
                        owner=path,
                    )
                self._through(node, row.dst, row.candidates, path)

    def named(self, path: str, bindings: dict[str, Any]) -> None:
        """What the functions call that the definitions of a file name."""
        for owner, name, line, function, _ in bindings.get("definitions", ()):
            node = self.graph.find(NodeKind.BINDING, f"{owner}.{name}") if function else None
            if node is None:
                continue
            for scope in (*bindings.get("namespaces", ()), ""):
                ids = self.ctx.functions.resolve(function, path, scope, line)
                if ids:
                    for target in ids:
                        self._through(node, target, len(ids), path)
                    break

    def _through(self, node: int, function: int, candidates: int, owner: str) -> None:
        for op, file, line, guard, several in self._operators.get(function, ()):
            self._binds(node, op, file, line, guard, max(candidates, several), owner)

    def _binds(self, node: int, op: int, file: str, line: int, guard: str, candidates: int, owner: str) -> None:
        if (node, op) not in self._done:
            self._done.add((node, op))
            self.graph.edge(
                *(node, op, EdgeKind.BINDS),
                rule="binding-implementation",
                file=file,
                line=line,
                guard=guard,
                candidates=candidates,
                owner=owner,
            )
