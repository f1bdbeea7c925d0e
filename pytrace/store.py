"""The index on disk: one SQLite file, and the questions that may be put to it. ``writer.py`` writes it.

These two and ``facts.py`` are the only modules that speak SQL. The schema is public (``pytrace sql --schema``);
``SCHEMA_VERSION`` goes up with every change of it; a store of another version is rebuilt, never read.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytrace.model import SOME, Edge, Node

if TYPE_CHECKING:
    from os import PathLike

SCHEMA_VERSION = 3

SCHEMA = """
-- What the index was made from: root, commit, tag, version, dirty, url, schema, pytrace, program, made, seconds.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- What stat said of all files and folders (arrays of 64-bit integers, in order of paths): the freshness check.
CREATE TABLE manifest(what TEXT PRIMARY KEY, paths TEXT NOT NULL, sizes BLOB NOT NULL, stamps BLOB NOT NULL);
-- Files of the tree; kind as in files.kind_of, blob = git's id of the content. Id 0 never occurs.
CREATE TABLE file(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, blob TEXT NOT NULL, size INTEGER NOT NULL);
-- Nodes; kind as in model.NodeKind, bare = last part of the name, attrs = JSON or NULL. file is NULL when generated
-- or external. owner = the file whose facts made the row (0: the tree as a whole).
CREATE TABLE node(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, bare TEXT NOT NULL,
  file INTEGER, line INTEGER NOT NULL, end_line INTEGER NOT NULL, owner INTEGER NOT NULL, attrs TEXT);
CREATE TABLE guard(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE rule(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
-- Edges with their evidence; kind and key as in model.EdgeKind, candidates = 1 when certain.
CREATE TABLE edge(
  src INTEGER NOT NULL, dst INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, rule INTEGER NOT NULL,
  file INTEGER, line INTEGER NOT NULL, guard INTEGER, candidates INTEGER NOT NULL, owner INTEGER NOT NULL, attrs TEXT);
-- What `pytrace index` needs to change a little of the graph.
CREATE TABLE state(what TEXT PRIMARY KEY, data BLOB NOT NULL);
-- Names that no rule could resolve, with the reason.
CREATE TABLE unresolved(
  owner INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL);
-- What was odd about a file: unparsed parts, odd YAML, not UTF-8, not read.
CREATE TABLE diagnostic(owner INTEGER NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL);
"""

INDEXES = """
CREATE UNIQUE INDEX file_path ON file(path);
CREATE INDEX node_name ON node(name);
CREATE INDEX node_bare ON node(bare);
CREATE INDEX node_file ON node(file, line);
CREATE INDEX edge_src ON edge(src);
CREATE INDEX edge_dst ON edge(dst);
"""


class Manifest(NamedTuple):
    """What ``stat`` said of one kind of path when the index was made: the columns of the freshness check.

    ``sizes`` is empty for folders. A stamp of -1 stands for "could not be trusted": it equals no real one, so
    that the path is looked at again.
    """

    paths: list[str]
    sizes: list[int]
    stamps: list[int]


_NODE = (
    "SELECT n.id, n.kind, n.name, coalesce(f.path, ''), n.line, n.end_line, n.attrs"
    " FROM node n LEFT JOIN file f ON f.id = n.file"
)
_EDGE = (
    "SELECT e.src, e.dst, e.kind, e.key, r.name, coalesce(f.path, ''), e.line, coalesce(g.text, ''), e.candidates,"
    " e.attrs FROM edge e JOIN rule r ON r.id = e.rule LEFT JOIN file f ON f.id = e.file"
    " LEFT JOIN guard g ON g.id = e.guard"
)

#: A condition on the nodes ``n``: not one that stands for some instantiations of another node. People ask for things.
WHOLE = f"n.name NOT LIKE '%{SOME}'"


def _attrs(text: str | None) -> dict[str, Any]:
    """The attributes of a row; most have none, so that most questions need no JSON."""
    if not text:
        return {}
    from json import loads

    found: dict[str, Any] = loads(text)
    return found


def _node(row: Sequence[Any]) -> Node:
    return Node._make((*row[:6], _attrs(row[6])))


def _edge(row: Sequence[Any]) -> Edge:
    return Edge._make((*row[:9], _attrs(row[9])))


def connect(path: str | PathLike[str], timeout: float = 5.0) -> sqlite3.Connection:
    """A read-only connection to a database. Raises ``sqlite3.Error`` when there is no such file."""
    name = os.path.abspath(path)
    for mark in "%?#":  # what a URI gives a meaning to; urllib would cost more than the query
        name = name.replace(mark, f"%{ord(mark):02x}")
    return sqlite3.connect(f"file:{name}?mode=ro", uri=True, timeout=timeout)


def is_whole(path: str) -> bool:
    """Whether the file is an SQLite database that was not cut: its header says how long it is.

    SQLite itself would notice only when a question needs a page that is missing.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(100)
        if len(header) < 100:
            return not header  # an empty file is an empty database
        page = int.from_bytes(header[16:18], "big")
        length = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
        return header.startswith(b"SQLite format 3\0") and os.path.getsize(path) >= length
    except OSError:
        return True  # let SQLite say what is wrong


def damage(path: str | PathLike[str]) -> str:
    """What is wrong inside an index, "" when nothing is found. Reads all of it: for when a question failed on it."""
    try:
        store = Store(path)
        try:
            told = str(store.db.execute("PRAGMA quick_check(1)").fetchone()[0])
            if told != "ok":
                return told
            store.all_meta()
            ids = {node.id for node in store.all_nodes()}
            lost = next((edge for edge in store.all_edges() if not {edge.src, edge.dst} <= ids), None)
            return f"there is no node {lost.src if lost.src not in ids else lost.dst}" if lost else ""
        finally:
            store.close()
    except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
        return str(error)


def _integers(blob: bytes) -> list[int]:
    """Numbers packed by ``writer.pack``; ``ValueError`` when the blob was cut."""
    from array import array

    numbers = array("q")
    numbers.frombytes(blob)
    return numbers.tolist()


class Store:
    """A read-only view of an index.

    Every method asks for what it returns and no more; nothing loads the whole graph except ``all_nodes``
    and ``all_edges``, which the export and the reports use as iterators.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the index at ``path``. Raises ``sqlite3.Error`` when it is not a readable database."""
        self.path = path
        self.db = connect(path)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def meta(self, key: str, default: str = "") -> str:
        """One value of the ``meta`` table (``root``, ``commit``, ``version``, ``schema``, …)."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else default

    def all_meta(self) -> dict[str, str]:
        """The whole ``meta`` table."""
        return dict(self.db.execute("SELECT key, value FROM meta"))

    def manifest(self, what: str) -> Manifest:
        """The manifest of ``"files"`` or ``"folders"``; ``KeyError`` when there is none."""
        row = self.db.execute("SELECT paths, sizes, stamps FROM manifest WHERE what = ?", (what,)).fetchone()
        if row is None:
            raise KeyError(what)
        return Manifest(row[0].split("\n") if row[0] else [], _integers(row[1]), _integers(row[2]))

    def file_rows(self) -> list[tuple[str, str, str]]:
        """(path, kind, blob) of every file of the tree that was read."""
        return self.db.execute("SELECT path, kind, blob FROM file WHERE blob != '' ORDER BY path").fetchall()

    def counts(self, table: str) -> list[tuple[str, int]]:
        """How many rows of each kind ``node``, ``edge``, ``unresolved``, ``diagnostic`` or ``file`` holds."""
        if table not in ("node", "edge", "unresolved", "diagnostic", "file"):
            raise ValueError(table)
        sql = f"SELECT kind, count(*) FROM {table} GROUP BY kind ORDER BY count(*) DESC, kind"
        return self.db.execute(sql).fetchall()

    def unresolved(self) -> Iterator[tuple[str, int, str, str, str]]:
        """(path, line, kind, name, reason) of every name that was not resolved, by kind, name and place."""
        return self.db.execute(
            "SELECT coalesce(f.path, ''), u.line, u.kind, u.name, u.reason FROM unresolved u"
            " LEFT JOIN file f ON f.id = u.owner ORDER BY u.kind, u.name, f.path, u.line"
        )

    def diagnostics(self) -> Iterator[tuple[str, int, str, str]]:
        """(path, line, kind, message) of everything odd about the tree's files, by place."""
        return self.db.execute(
            "SELECT coalesce(f.path, ''), d.line, d.kind, d.message FROM diagnostic d"
            " LEFT JOIN file f ON f.id = d.owner ORDER BY f.path, d.line, d.kind, d.message"
        )

    def state(self, what: str) -> bytes | None:
        """What an indexing run left for the next one (``link/edited.py``), None when there is nothing."""
        row = self.db.execute("SELECT data FROM state WHERE what = ?", (what,)).fetchone()
        return bytes(row[0]) if row else None

    def last_node(self) -> int:
        """The largest id of a node."""
        return int(self.db.execute("SELECT coalesce(max(id), 0) FROM node").fetchone()[0])

    def owned_ids(self, *kinds: str) -> dict[str, list[int]]:
        """The nodes of these kinds that files own, by path, in order of id; see ``WHOLE``."""
        paths = dict(self.db.execute("SELECT id, path FROM file"))
        marks = ",".join("?" * len(kinds))
        sql = f"SELECT n.owner, n.id FROM node n WHERE n.kind IN ({marks}) AND {WHOLE} ORDER BY n.id"
        found: dict[str, list[int]] = {}
        for owner, node_id in self.db.execute(sql, kinds):
            if owner in paths:
                found.setdefault(paths[owner], []).append(node_id)
        return found

    def sources(self, node_kind: str, edge_kind: str) -> Iterator[tuple[str, str, int]]:
        """(name of the source, key, destination) of the edges of a kind that start at nodes of a kind, in order."""
        sql = (
            "SELECT n.name, e.key, e.dst FROM edge e JOIN node n ON n.id = e.src WHERE e.kind = ? AND n.kind = ?"
            " ORDER BY e.src, e.dst, e.key, e.line, e.rowid"
        )
        return iter(self.db.execute(sql, (edge_kind, node_kind)))

    def owned_nodes(self, path: str) -> list[Node]:
        """The nodes that a file owns."""
        sql = f"{_NODE} JOIN file o ON o.id = n.owner WHERE o.path = ? ORDER BY n.id"
        return [_node(row) for row in self.db.execute(sql, (path,))]

    def owned_edges(self, path: str) -> list[Edge]:
        """The edges that a file owns."""
        sql = f"{_EDGE} JOIN file o ON o.id = e.owner WHERE o.path = ? ORDER BY e.rowid"
        return [_edge(row) for row in self.db.execute(sql, (path,))]

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
        """Nodes whose lines include ``path:line``, innermost first; see ``WHOLE``."""
        rows = self.db.execute(
            f"{_NODE} WHERE f.path = ? AND n.line <= ? AND max(n.end_line, n.line) >= ? AND {WHOLE}"
            " ORDER BY n.end_line - n.line, n.id",
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
        return (
            _edge(r) for r in self.db.execute(sql + " ORDER BY e.src, e.dst, e.kind, e.key, e.line, e.rowid", kinds)
        )
