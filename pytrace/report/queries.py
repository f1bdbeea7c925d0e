"""The SQL of the reports: whole columns of the graph at once, where a question about one name walks.

Beside ``store.py`` and ``facts.py`` the only module that speaks SQL; it reads through the store's connection and uses
the public schema (``pytrace sql --schema``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pytrace.store import WHOLE, Store


class NodeRow(NamedTuple):
    """A node without what reports do not need."""

    id: int
    kind: str
    name: str
    file: str
    line: int
    end_line: int
    attrs: str | None

    def attributes(self) -> dict[str, Any]:
        """The attributes, parsed."""
        found: dict[str, Any] = json.loads(self.attrs) if self.attrs else {}
        return found


class EdgeRow(NamedTuple):
    """An edge with its rule and place."""

    src: int
    dst: int
    kind: str
    key: str
    rule: str
    file: str
    line: int
    candidates: int


_NODES = (
    "SELECT n.id, n.kind, n.name, coalesce(f.path, ''), n.line, n.end_line, n.attrs"
    " FROM node n LEFT JOIN file f ON f.id = n.file WHERE n.kind IN ({}) ORDER BY n.id"
)
_EDGES = (
    "SELECT e.src, e.dst, e.kind, e.key, r.name, coalesce(f.path, ''), e.line, e.candidates"
    " FROM edge e JOIN rule r ON r.id = e.rule LEFT JOIN file f ON f.id = e.file"
    " WHERE e.kind IN ({}) ORDER BY e.rowid"
)


def _marks(values: tuple[str, ...]) -> str:
    return ",".join("?" * len(values))


def nodes(store: Store, *kinds: str) -> Iterator[NodeRow]:
    """All nodes of these kinds, in order of id."""
    return map(NodeRow._make, store.db.execute(_NODES.format(_marks(kinds)), kinds))


def edges(store: Store, *kinds: str) -> Iterator[EdgeRow]:
    """All edges of these kinds, in order of their creation."""
    return map(EdgeRow._make, store.db.execute(_EDGES.format(_marks(kinds)), kinds))


def links(store: Store, *kinds: str) -> list[tuple[int, int, str, str, int]]:
    """(src, dst, kind, key, candidates) of all edges of these kinds."""
    sql = f"SELECT src, dst, kind, key, candidates FROM edge WHERE kind IN ({_marks(kinds)}) ORDER BY rowid"
    return store.db.execute(sql, kinds).fetchall()


def pairs(store: Store, kind: str) -> list[tuple[int, int]]:
    """(src, dst) of all edges of one kind; nothing else is read, for there may be 300,000."""
    return store.db.execute("SELECT src, dst FROM edge WHERE kind = ? ORDER BY rowid", (kind,)).fetchall()


def edge_attributes(store: Store, kind: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(src, dst, attributes) of the edges of one kind that have attributes."""
    sql = "SELECT src, dst, attrs FROM edge WHERE kind = ? AND attrs IS NOT NULL ORDER BY rowid"
    return ((src, dst, json.loads(attrs)) for src, dst, attrs in store.db.execute(sql, (kind,)))


_NODE = (
    "SELECT n.id, n.kind, n.name, coalesce(f.path, ''), n.line, n.end_line, n.attrs"
    " FROM node n LEFT JOIN file f ON f.id = n.file"
)


def nodes_of_file(store: Store, path: str) -> list[NodeRow]:
    """All nodes that stand in a file, by line."""
    sql = f"{_NODE} WHERE n.file = (SELECT id FROM file WHERE path = ?) AND {WHOLE} ORDER BY n.line, n.id"
    return [NodeRow._make(row) for row in store.db.execute(sql, (path,))]


def evidence(store: Store, kinds: tuple[str, ...]) -> dict[str, dict[int, list[tuple[int, str]]]]:
    """path -> line -> (source, key) of the edges of these kinds that were read there."""
    sql = (
        "SELECT DISTINCT f.path, e.line, e.src, e.key FROM edge e JOIN file f ON f.id = e.file"
        f" WHERE e.kind IN ({_marks(kinds)}) ORDER BY e.line, e.src, e.key"
    )
    found: dict[str, dict[int, list[tuple[int, str]]]] = {}
    for path, line, src, key in store.db.execute(sql, kinds):
        found.setdefault(path, {}).setdefault(line, []).append((src, key))
    return found


def node(store: Store, node_id: int) -> NodeRow:
    """One node. ``KeyError`` when there is none."""
    row = store.db.execute(f"{_NODE} WHERE n.id = ?", (node_id,)).fetchone()
    if row is None:
        raise KeyError(node_id)
    return NodeRow._make(row)


def nodes_by_id(store: Store, ids: list[int]) -> dict[int, NodeRow]:
    """Nodes by id."""
    found = {}
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        for row in store.db.execute(f"{_NODE} WHERE n.id IN ({','.join('?' * len(part))})", part):
            found[row[0]] = NodeRow._make(row)
    return found


def links_to(store: Store, ids: list[int], kinds: tuple[str, ...]) -> list[tuple[int, int, str, str, int, int]]:
    """(src, dst, kind, key, candidates, rowid) of the edges that arrive at any of ``ids``, in order of creation."""
    found: list[tuple[int, int, str, str, int, int]] = []
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        sql = (
            "SELECT src, dst, kind, key, candidates, rowid FROM edge"
            f" WHERE dst IN ({','.join('?' * len(part))}) AND kind IN ({_marks(kinds)}) ORDER BY rowid"
        )
        found += store.db.execute(sql, (*part, *kinds)).fetchall()
    return found


def edges_by_id(store: Store, rowids: list[int]) -> dict[int, tuple[str, str, str, str, int, str, int]]:
    """rowid -> (kind, key, rule, file, line, guard, candidates)."""
    found = {}
    for start in range(0, len(rowids), 500):
        part = rowids[start : start + 500]
        sql = (
            "SELECT e.rowid, e.kind, e.key, r.name, coalesce(f.path, ''), e.line, coalesce(g.text, ''), e.candidates"
            " FROM edge e JOIN rule r ON r.id = e.rule LEFT JOIN file f ON f.id = e.file"
            f" LEFT JOIN guard g ON g.id = e.guard WHERE e.rowid IN ({','.join('?' * len(part))})"
        )
        for row in store.db.execute(sql, part):
            found[row[0]] = tuple(row[1:])
    return found
