"""The fact cache: facts of files by content, in one SQLite file beside the indexes, shared by all trees.

A row's key is git's blob id of the content, and a *recipe*: the kind of file, the signature of the extractor's code,
and the version of Python (``marshal`` is not the same for all). A second checkout, or the next commit, therefore
costs only the files that nobody has read before.

The cache is never needed: when it cannot be read or written, facts are extracted anew and not kept. Values are read
with ``marshal``, so the file is as trusted as a ``.pyc``: it lies in the user's own cache folder.
"""

from __future__ import annotations

import marshal
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import cast

from pytrace.model import Facts
from pytrace.store import connect, is_whole

_VERSION = 2

_SCHEMA = """
CREATE TABLE IF NOT EXISTS recipe(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS fact(
  id INTEGER PRIMARY KEY, recipe INTEGER NOT NULL, blob BLOB NOT NULL, value BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS fact_key ON fact(recipe, blob);
"""

#: How many recipes of one kind are kept: the newest, and one to switch back to.
KEPT_RECIPES = 2

#: Above this size the file is thrown away and begun anew; a tree's facts take some 60 MB.
SIZE_LIMIT = 2_000_000_000

#: SQLite waits for others by itself, except while several make the same file: then it is tried so often.
_ATTEMPTS = 100


def recipe(kind: str, signature: str) -> str:
    """The name of a recipe: what makes the facts of a kind of file."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}-{marshal.version}"
    return f"{kind}:{signature}:{python}:{_VERSION}"


def pack(facts: Facts) -> bytes:
    """Facts as bytes. ``ValueError`` when they hold something that ``marshal`` does not know.

    Not compressed: a quarter of the size costs twice the time of everything else that is done with them.
    """
    return marshal.dumps(facts)


def unpack(value: bytes) -> Facts:
    """The facts of ``pack``. ``ValueError``, ``EOFError`` or ``TypeError`` when the bytes were cut."""
    return cast(Facts, marshal.loads(value))


class FactCache:
    """The open cache. Every method does nothing, or finds nothing, when the file is unusable."""

    def __init__(self, path: str, *, readonly: bool = False) -> None:
        """Open ``path``, making it when it does not exist (unless ``readonly``)."""
        self.path = path
        self.problem = ""
        self._db: sqlite3.Connection | None = None
        self._recipes: dict[str, int] = {}
        try:
            self._open(readonly)
            assert self._db is not None
            self._recipes = dict(self._db.execute("SELECT name, id FROM recipe"))
        except (sqlite3.Error, OSError) as error:
            self.problem = str(error)
            self.close()

    def _open(self, readonly: bool) -> None:
        if readonly:
            self._db = connect(self.path, timeout=10)
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if os.path.exists(self.path) and (os.path.getsize(self.path) > SIZE_LIMIT or self._is_cut()):
            os.unlink(self.path)
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10)
        for left in reversed(range(_ATTEMPTS)):
            try:
                self._prepare(self._db)
                return
            except sqlite3.OperationalError as error:
                if not left or "locked" not in str(error):
                    raise
                time.sleep(0.05)

    @staticmethod
    def _prepare(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA page_size = 16384")
        # A write-ahead log lets the worker processes read while the parent writes; a lost transaction costs
        # nothing but reading some files again.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)

    def _is_cut(self) -> bool:
        """Whether the file is damaged. While there is a write-ahead log it may look so: somebody is writing it."""
        log = f"{self.path}-wal"
        return not os.path.exists(log) and not is_whole(self.path) and not os.path.exists(log)

    def __enter__(self) -> FactCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def get(self, name: str, blob: bytes) -> bytes | None:
        """The packed facts of one content by one recipe, or None."""
        if self._db is None or name not in self._recipes:
            return None
        try:
            row = self._db.execute(
                "SELECT value FROM fact WHERE recipe = ? AND blob = ?", (self._recipes[name], blob)
            ).fetchone()
        except sqlite3.Error:
            return None
        return cast(bytes, row[0]) if row else None

    def get_many(self, name: str, blobs: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """(blob, packed facts) for those of ``blobs`` that are known."""
        if self._db is None or name not in self._recipes:
            return
        for start in range(0, len(blobs), 500):
            part = blobs[start : start + 500]
            marks = ",".join("?" * len(part))
            try:
                yield from self._db.execute(
                    f"SELECT blob, value FROM fact WHERE recipe = ? AND blob IN ({marks})", (self._recipes[name], *part)
                )
            except sqlite3.Error as error:
                self.problem = str(error)
                return

    def put(self, rows: Iterable[tuple[str, str, bytes, bytes]]) -> None:
        """Keep (kind, recipe, blob, packed facts), in one transaction; drop recipes that are out of use."""
        if self._db is None:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for kind, name, blob, value in rows:
                self._db.execute(
                    "INSERT OR REPLACE INTO fact(recipe, blob, value) VALUES (?,?,?)",
                    (self._recipe(kind, name), blob, value),
                )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self.problem = str(error)
            with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                self._db.execute("ROLLBACK")

    def _recipe(self, kind: str, name: str) -> int:
        """The id of a recipe, made at first use; then the oldest of its kind have to go."""
        assert self._db is not None
        found = self._recipes.get(name)
        if found is None:
            self._db.execute("INSERT OR IGNORE INTO recipe(kind, name) VALUES (?,?)", (kind, name))
            found = int(self._db.execute("SELECT id FROM recipe WHERE name = ?", (name,)).fetchone()[0])
            self._recipes[name] = found
            old = self._db.execute(
                "SELECT id FROM recipe WHERE kind = ? ORDER BY id DESC LIMIT -1 OFFSET ?", (kind, KEPT_RECIPES)
            ).fetchall()
            self._db.executemany("DELETE FROM fact WHERE recipe = ?", old)
            self._db.executemany("DELETE FROM recipe WHERE id = ?", old)
        return found
