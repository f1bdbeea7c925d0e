"""The index on disk: one SQLite file. The only module that speaks SQL.

The schema is public (``pytrace sql``); ARCHITECTURE.md documents it. ``SCHEMA_VERSION`` goes up with
every change of it; a store of another version is rebuilt, never read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pytrace.model import Edge, Node

SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, blob TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL);
CREATE TABLE directory(path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE node(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, bare TEXT NOT NULL,
  file INTEGER, line INTEGER NOT NULL, end_line INTEGER NOT NULL, owner INTEGER NOT NULL, attrs TEXT);
CREATE TABLE guard(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE rule(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE edge(
  src INTEGER NOT NULL, dst INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, rule INTEGER NOT NULL,
  file INTEGER, line INTEGER NOT NULL, guard INTEGER, candidates INTEGER NOT NULL, owner INTEGER NOT NULL, attrs TEXT);
CREATE TABLE unresolved(
  owner INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE diagnostic(owner INTEGER, line INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL);
"""

INDEXES = """
CREATE UNIQUE INDEX file_path ON file(path);
CREATE INDEX node_name ON node(name);
CREATE INDEX node_bare ON node(bare);
CREATE INDEX node_file ON node(file, line);
CREATE INDEX node_owner ON node(owner);
CREATE INDEX edge_src ON edge(src);
CREATE INDEX edge_dst ON edge(dst);
CREATE INDEX edge_owner ON edge(owner);
"""

_NODE = "SELECT n.id, n.kind, n.name, coalesce(f.path, ''), n.line, n.end_line, n.attrs FROM node n LEFT JOIN file f ON f.id = n.file"
_EDGE = (
    "SELECT e.src, e.dst, e.kind, e.key, r.name, coalesce(f.path, ''), e.line, coalesce(g.text, ''), e.candidates, e.attrs"
    " FROM edge e JOIN rule r ON r.id = e.rule LEFT JOIN file f ON f.id = e.file LEFT JOIN guard g ON g.id = e.guard"
)


def _node(row: Sequence[Any]) -> Node:
    return Node(*row[:6], json.loads(row[6]) if row[6] else {})


def _edge(row: Sequence[Any]) -> Edge:
    return Edge(*row[:9], json.loads(row[9]) if row[9] else {})


class Store:
    """A read-only view of an index.

    Every method asks for what it returns and no more; nothing loads the whole graph except ``all_nodes``
    and ``all_edges``, which the export and the reports use as iterators.
    """

    def __init__(self, path: Path) -> None:
        """Open the index at ``path``. Raises ``sqlite3.Error`` when it is not a readable database."""
        self.path = path
        self.db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def meta(self, key: str, default: str = "") -> str:
        """One value of the ``meta`` table (``root``, ``commit``, ``version``, ``schema``, …)."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else default

    def node(self, node_id: int) -> Node:
        """The node with this id; ``KeyError`` when there is none."""
        row = self.db.execute(f"{_NODE} WHERE n.id = ?", (node_id,)).fetchone()
        if row is None:
            raise KeyError(node_id)
        return _node(row)

    def nodes(self, ids: Iterable[int]) -> dict[int, Node]:
        """Nodes by id, in as few queries as SQLite's limit on parameters allows."""
        todo, found = list(set(ids)), {}
        for start in range(0, len(todo), 500):
            part = todo[start : start + 500]
            marks = ",".join("?" * len(part))
            for row in self.db.execute(f"{_NODE} WHERE n.id IN ({marks})", part):
                found[row[0]] = _node(row)
        return found

    def named(self, name: str, *kinds: str) -> list[Node]:
        """Nodes with exactly this full name, of these kinds (any kind when none is given), in order of id."""
        return self._find("n.name = ?", name, kinds)

    def bare(self, name: str, *kinds: str) -> list[Node]:
        """Nodes whose last name part is ``name``."""
        return self._find("n.bare = ?", name, kinds)

    def _find(self, where: str, value: str, kinds: Sequence[str]) -> list[Node]:
        sql = f"{_NODE} WHERE {where}"
        if kinds:
            sql += f" AND n.kind IN ({','.join('?' * len(kinds))})"
        return [_node(r) for r in self.db.execute(f"{sql} ORDER BY n.id", (value, *kinds))]

    def at(self, path: str, line: int) -> list[Node]:
        """Nodes whose lines include ``path:line``, innermost first."""
        rows = self.db.execute(
            f"{_NODE} WHERE f.path = ? AND n.line <= ? AND max(n.end_line, n.line) >= ? ORDER BY n.end_line - n.line, n.id",
            (path, line, line),
        )
        return [_node(r) for r in rows]

    def edges_from(self, ids: int | Iterable[int], *kinds: str) -> list[Edge]:
        """Edges that leave any of ``ids``, of these kinds, in source order of their evidence."""
        return self._edges("src", ids, kinds)

    def edges_to(self, ids: int | Iterable[int], *kinds: str) -> list[Edge]:
        """Edges that arrive at any of ``ids``, of these kinds."""
        return self._edges("dst", ids, kinds)

    def _edges(self, end: str, ids: int | Iterable[int], kinds: Sequence[str]) -> list[Edge]:
        todo = [ids] if isinstance(ids, int) else sorted(set(ids))
        found: list[Edge] = []
        for start in range(0, len(todo), 500):
            part = todo[start : start + 500]
            sql = f"{_EDGE} WHERE e.{end} IN ({','.join('?' * len(part))})"
            if kinds:
                sql += f" AND e.kind IN ({','.join('?' * len(kinds))})"
            found += [_edge(r) for r in self.db.execute(sql + " ORDER BY f.path, e.line, e.rowid", (*part, *kinds))]
        return found

    def all_nodes(self, *kinds: str) -> Iterator[Node]:
        """Every node (of these kinds), in order of id."""
        sql = _NODE + (f" WHERE n.kind IN ({','.join('?' * len(kinds))})" if kinds else "")
        return (_node(r) for r in self.db.execute(sql + " ORDER BY n.id", kinds))

    def all_edges(self, *kinds: str) -> Iterator[Edge]:
        """Every edge (of these kinds), by source, destination, place."""
        sql = _EDGE + (f" WHERE e.kind IN ({','.join('?' * len(kinds))})" if kinds else "")
        return (_edge(r) for r in self.db.execute(sql + " ORDER BY e.src, e.dst, e.kind, e.key, e.line, e.rowid", kinds))
