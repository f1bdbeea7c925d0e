"""The graph while it is being linked: nodes and edges with their owners, before the store writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytrace.model import bare

#: (id, kind, name, bare name, file, line, end line, owner, attrs)
NodeRow = tuple[int, str, str, str, str, int, int, str, "str | None"]
#: (src, dst, kind, key, rule, file, line, guard, candidates, owner, attrs)
EdgeRow = tuple[int, int, str, str, str, str, int, str, int, str, "str | None"]


#: made once: ``json.dumps`` with arguments makes an encoder for each call
_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def attributes(attrs: Mapping[str, Any] | None) -> str | None:
    """Attributes as the store keeps them: JSON, or None when there are none."""
    return _encode(attrs) if attrs else None


class Graph:
    """Collects nodes and edges; ids are small integers in order of creation, the first one is ``first_id``.

    ``owner`` is the path of the file whose facts made the node or edge ("" for what belongs to the whole tree,
    such as the operator model): when that file changes, what it owns is made anew. What is in ``nodes`` and ``edges``
    stays as it is: the first rows may be written while more come (``writer.Ahead``).
    """

    def __init__(self, first_id: int = 1) -> None:
        """An empty graph. A graph of additions to a store begins behind the store's ids (``Delta``)."""
        self._first_id = first_id
        self.nodes: list[NodeRow] = []
        self.edges: list[EdgeRow] = []
        self.unresolved: list[tuple[str, str, str, int, str]] = []
        self.diagnostics: list[tuple[str, int, str, str]] = []
        self._shared: dict[tuple[str, str], int] = {}
        self.states: dict[str, bytes] = {}  #: what later runs need to change a little of the graph (``Store.state``)

    def node(
        self,
        kind: str,
        name: str,
        file: str = "",
        line: int = 0,
        end_line: int = 0,
        *,
        owner: str = "",
        attrs: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a node and return its id."""
        node_id = len(self.nodes) + self._first_id
        text = attributes(attrs)
        self.nodes.append((node_id, kind, name, bare(kind, name), file, line, end_line or line, owner, text))
        return node_id

    def shared(self, kind: str, name: str, file: str = "", line: int = 0, **more: Any) -> int:
        """The one node of this kind and name, made at the first call (operators, stubs, libraries, bindings)."""
        key = (kind, name)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.node(kind, name, file, line, **more)
        return found

    def use(self, kind: str, name: str, node_id: int) -> None:
        """Let ``shared`` and ``find`` give a node that the store has already."""
        self._shared[kind, name] = node_id

    def find(self, kind: str, name: str) -> int | None:
        """The id of a shared node, or None."""
        return self._shared.get((kind, name))

    def edge(
        self,
        src: int,
        dst: int,
        kind: str,
        key: str = "",
        *,
        rule: str,
        file: str = "",
        line: int = 0,
        guard: str = "",
        candidates: int = 1,
        owner: str = "",
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        """Add an edge with its evidence; ``candidates`` > 1 says that it is one of so many possible ends."""
        text = attributes(attrs)
        self.edges.append((src, dst, kind, key, rule, file, line, guard, candidates, owner, text))

    def unresolved_name(self, owner: str, kind: str, name: str, line: int, reason: str) -> None:
        """Keep a name that no rule could resolve: it is counted and listed, never dropped."""
        self.unresolved.append((owner, kind, name, line, reason))

    def diagnostic(self, owner: str, line: int, kind: str, message: str) -> None:
        """Keep something odd about a file (unparsed, odd YAML, not UTF-8)."""
        self.diagnostics.append((owner, line, kind, message))


@dataclass
class Delta:
    """What ``link.relink`` makes of a few changed files: how to turn the old store into the new one.

    In this order: everything owned by ``owners`` goes (nodes, edges, unresolved names, diagnostics) except the nodes
    in ``kept``, which get their new (line, end_line, attrs) and keep their ids, so that the edges of other owners
    still arrive; then ``added`` comes, whose edges may also name the ids of the store.
    """

    owners: list[str]
    kept: list[tuple[int, int, int, Mapping[str, Any] | None]] = field(default_factory=list)
    added: Graph = field(default_factory=Graph)
