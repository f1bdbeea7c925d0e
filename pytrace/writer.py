"""Writing an index: a new SQLite file beside the old one, renamed into place when it is whole.

A reader therefore never meets half an index, and neither does the next run after a crash: what is left over is a
file with another name, which ``remove_leftovers`` clears under the index's lock. SQLite's own journal is off:
until the rename nobody depends on the file.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from pytrace.errors import CannotWrite, DiskFull
from pytrace.forks import Later
from pytrace.graph import Delta, EdgeRow, Graph, NodeRow, attributes
from pytrace.store import INDEXES, SCHEMA, Manifest

#: Kinds of diagnostics that listing and reading make: every run looks for them again.
FLEETING = ("skipped", "unreadable", "too-large")

#: What the names of unfinished files hold.
_UNFINISHED = ".new-"


class FileRow(NamedTuple):
    """One file of the tree, for the ``file`` table."""

    path: str
    kind: str
    blob: str
    size: int


def pack(numbers: Iterable[int]) -> bytes:
    """Numbers as an array of 64-bit integers (``Store.manifest`` unpacks)."""
    return array("q", numbers).tobytes()


def remove_leftovers(index: str) -> None:
    """Remove what an interrupted run left beside ``index``. Call it with the lock held."""
    folder, name = os.path.split(index)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for other in names:
        if other.startswith(name + _UNFINISHED):
            _remove(os.path.join(folder, other))


def _remove(path: str) -> None:
    with suppress(OSError):  # gone already, or a read-only folder: nothing depends on it
        os.unlink(path)


@contextmanager
def replacing(index: str, *, copy: bool = False, ahead: Ahead | None = None) -> Iterator[sqlite3.Connection]:
    """A connection to a new database that becomes ``index`` when the block ends without an exception.

    It is empty, or with ``copy`` a copy of ``index``, or holds what was written ``ahead``. Raises ``CannotWrite`` or
    ``DiskFull`` with the previous index untouched; removes the new file on every way out.
    """
    unfinished = _unfinished(index)
    try:
        with _explained(index):
            if ahead is not None:
                ahead.later.result()
            else:
                _remove(unfinished)
            if copy:
                shutil.copyfile(index, unfinished)
            with closing(_connect(unfinished)) as db:
                yield db
            _sync(unfinished)
            os.replace(unfinished, index)
    finally:
        _remove(unfinished)


def _unfinished(index: str) -> str:
    return f"{index}{_UNFINISHED}{os.getpid()}"


def _connect(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("PRAGMA cache_size = -65536")
    db.execute("PRAGMA temp_store = MEMORY")
    return db


class Ahead:
    """The nodes and edges that a graph has by now, written by another process while the rest is linked.

    Hand it to ``replacing`` and ``write``, or ``end`` it.
    """

    def __init__(self, index: str, graph: Graph, files: Sequence[FileRow], jobs: int) -> None:
        """Begin a new file beside ``index``."""
        self.nodes, self.edges = len(graph.nodes), len(graph.edges)
        self._path = _unfinished(index)
        self.later = Later(partial(self._write, graph, files), jobs)

    def _write(self, graph: Graph, files: Sequence[FileRow]) -> None:
        _remove(self._path)
        with closing(_connect(self._path)) as db:
            db.executescript(SCHEMA)
            db.execute("BEGIN")
            ids = _file_ids(files)
            _nodes(db, graph.nodes[: self.nodes], ids)
            _edges(db, graph.edges[: self.edges], ids)
            _files(db, files, ids)
            db.execute("COMMIT")

    def end(self) -> None:
        """Remove what was written: the index will not be."""
        self.later.end()
        _remove(self._path)


def _sync(path: str) -> None:
    """Have the data on the disk before the name: a power cut must not leave a whole name on half a file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(index: str) -> Iterator[None]:
    """Turn what the system says about writing into a sentence with a way out."""
    folder = os.path.dirname(index)
    still = " The previous index is untouched; --no-refresh asks it." if os.path.exists(index) else ""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" in str(error) or "disk I/O" in str(error):
            raise DiskFull(
                f"There is no room for the index in {folder} ({error}). Make room, or name another folder with "
                f"PYTRACE_CACHE.{still}"
            ) from error
        raise CannotWrite(
            f"The index cannot be written in {folder} ({error}). Make the folder writable, or name another with "
            f"PYTRACE_CACHE.{still}"
        ) from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        kind = DiskFull if full else CannotWrite
        what = "There is no room for the index" if full else "The index cannot be written"
        raise kind(
            f"{what} in {folder} ({error.strerror}). Make {'room' if full else 'the folder writable'}, or name another "
            f"with PYTRACE_CACHE.{still}"
        ) from error


def write(
    db: sqlite3.Connection,
    graph: Graph,
    files: Sequence[FileRow],
    manifests: Mapping[str, Manifest],
    meta: Mapping[str, str],
    ahead: Ahead | None = None,
) -> None:
    """Fill a database, empty or with what was written ``ahead``: rows in one transaction, then the indexes."""
    if ahead is None:
        db.executescript(SCHEMA)
    db.execute("BEGIN")
    ids = _file_ids(files) if ahead is None else _Interned(db.execute("SELECT path, id FROM file"))
    _rows(db, graph, ids, ahead)
    db.execute("DELETE FROM file")
    _files(db, files, ids)
    write_manifests(db, manifests)
    write_meta(db, meta)
    db.executemany("INSERT INTO state VALUES (?,?)", sorted(graph.states.items()))
    db.execute("COMMIT")
    db.executescript(INDEXES)


def apply(
    db: sqlite3.Connection,
    delta: Delta,
    files: Sequence[FileRow],
    manifests: Mapping[str, Manifest],
    meta: Mapping[str, str],
    problems: Sequence[tuple[str, int, str, str]],
) -> None:
    """Apply a delta to a copy of a store, in one transaction.

    ``files`` are all files of the tree as they are now, ``problems`` the diagnostics of listing and reading, which
    every run finds anew.
    """
    db.execute("BEGIN")
    ids = _Interned(db.execute("SELECT path, id FROM file"))
    _drop(db, delta, ids)
    db.executemany(
        "UPDATE node SET line = ?, end_line = ?, attrs = ? WHERE id = ?",
        ((line, end, attributes(attrs), number) for number, line, end, attrs in delta.kept),
    )
    db.execute(f"DELETE FROM diagnostic WHERE kind IN {FLEETING}")
    delta.added.diagnostics += problems
    _rows(db, delta.added, ids)
    db.execute("DELETE FROM file")
    _files(db, files, ids)
    write_manifests(db, manifests)
    write_meta(db, meta)
    db.execute("COMMIT")


def _drop(db: sqlite3.Connection, delta: Delta, ids: Mapping[str, int]) -> None:
    """Delete what the owners of a delta own, but the nodes that are kept."""
    owners = [(ids[path],) for path in delta.owners if path in ids]
    db.execute("CREATE TEMP TABLE kept(id INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO kept VALUES (?)", ((row[0],) for row in delta.kept))
    db.executemany("DELETE FROM node WHERE owner = ? AND id NOT IN (SELECT id FROM kept)", owners)
    for table in ("edge", "unresolved", "diagnostic"):
        db.executemany(f"DELETE FROM {table} WHERE owner = ?", owners)
    db.execute("DROP TABLE kept")


def _rows(db: sqlite3.Connection, graph: Graph, ids: _Interned, ahead: Ahead | None = None) -> None:
    """Insert everything that a graph holds, but what was written ``ahead``."""
    _nodes(db, graph.nodes[ahead.nodes :] if ahead else graph.nodes, ids)
    _edges(db, graph.edges[ahead.edges :] if ahead else graph.edges, ids)
    db.executemany(
        "INSERT INTO unresolved VALUES (?,?,?,?,?)", ((ids.of(r[0]), r[1], r[2], r[3], r[4]) for r in graph.unresolved)
    )
    db.executemany(
        "INSERT INTO diagnostic VALUES (?,?,?,?)", ((ids.of(r[0]), r[1], r[2], r[3]) for r in graph.diagnostics)
    )


def _files(db: sqlite3.Connection, files: Sequence[FileRow], ids: Mapping[str, int]) -> None:
    """Insert the files of the tree, and those that are only named (they have no content)."""
    known = {row.path: row for row in files}
    empty = FileRow("", "other", "", 0)
    db.executemany(
        "INSERT INTO file VALUES (?,?,?,?,?)",
        ((i, path, r.kind, r.blob, r.size) for path, i in ids.items() for r in (known.get(path, empty),)),
    )


def write_meta(db: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    """Set values of the ``meta`` table."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", sorted(meta.items()))


def write_manifests(db: sqlite3.Connection, manifests: Mapping[str, Manifest]) -> None:
    """Set the manifests."""
    db.executemany(
        "INSERT OR REPLACE INTO manifest VALUES (?,?,?,?)",
        ((what, "\n".join(m.paths), pack(m.sizes), pack(m.stamps)) for what, m in manifests.items()),
    )


class _Interned(dict[str, int]):
    """Text -> small integer, in order of first use, behind those that are known already."""

    def __init__(self, known: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(known)
        self.next = max(self.values(), default=0) + 1

    def __missing__(self, text: str) -> int:
        number = self[text] = self.next
        self.next += 1
        return number

    def of(self, text: str) -> int:
        """The number of ``text``, 0 for ""."""
        return self[text] if text else 0

    def optional(self, text: str) -> int | None:
        """The number of ``text``, None for ""."""
        return self[text] if text else None


def _file_ids(files: Sequence[FileRow]) -> _Interned:
    """The numbers of the files of a new index, in their order."""
    return _Interned((row.path, number) for number, row in enumerate(files, 1))


def _nodes(db: sqlite3.Connection, nodes: Iterable[NodeRow], ids: _Interned) -> None:
    rows = (
        (number, kind, name, bare, ids[file] if file else None, line, end, ids[owner] if owner else 0, attrs)
        for number, kind, name, bare, file, line, end, owner, attrs in nodes
    )
    db.executemany("INSERT INTO node VALUES (?,?,?,?,?,?,?,?,?)", rows)


def _edges(db: sqlite3.Connection, edges: Iterable[EdgeRow], ids: _Interned) -> None:
    guards, rules = (
        _Interned(db.execute(f"SELECT {column}, id FROM {name}").fetchall())
        for name, column in (("guard", "text"), ("rule", "name"))
    )
    rows: Iterator[tuple[Any, ...]] = (
        (
            src, dst, kind, key, rules[rule], ids[file] if file else None, line,
            guards[guard] if guard else None, candidates, ids[owner] if owner else 0, attrs,
        )
        for src, dst, kind, key, rule, file, line, guard, candidates, owner, attrs in edges
    )  # fmt: skip
    db.executemany("INSERT INTO edge VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
    db.executemany("INSERT OR IGNORE INTO guard VALUES (?,?)", ((i, text) for text, i in guards.items()))
    db.executemany("INSERT OR IGNORE INTO rule VALUES (?,?)", ((i, text) for text, i in rules.items()))
