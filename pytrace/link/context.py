"""What the link stage shares: all facts, the graph that grows, and the tables that earlier crossings made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytrace.graph import Graph
from pytrace.model import Facts

if TYPE_CHECKING:
    from pytrace.link.functions import FunctionTable
    from pytrace.link.macros import MacroTable
    from pytrace.link.operators import OperatorTable
    from pytrace.link.registration_stubs import StubTable
    from pytrace.link.resolved import Row


@dataclass
class Context:
    """Shared state of one link run.

    ``files`` maps a path to (kind of file, facts). Tables are set by the crossing that makes them, in the
    order in which ``pytrace.link.link`` runs them; a later crossing may read, never change them.
    """

    files: dict[str, tuple[str, Facts]]
    graph: Graph = field(default_factory=Graph)
    operators: OperatorTable = field(init=False)
    functions: FunctionTable = field(init=False)
    stubs: StubTable = field(init=False)
    macros: MacroTable = field(init=False)
    #: (operator, dispatch key) -> function nodes, own and inherited; set by link/dispatch.py
    kernels_of: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    #: path -> (owner, name, edge) of what pybind11 lambdas call; set by link/resolver.py
    lambdas: dict[str, list[tuple[str, str, Row]]] = field(default_factory=dict)
    #: function -> the templates that it gives its own template parameter to, to be called there; set by link/calls.py
    hands_on: dict[int, set[int]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> Iterator[tuple[str, Facts]]:
        """(path, facts) of every file of this kind, by path."""
        return ((path, facts) for path, (k, facts) in self.files.items() if k == kind)
