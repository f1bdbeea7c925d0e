"""Look-ups that the store's own reader does not have: names by a part of them, edges by the line they were read at.

They return ids only, and speak SQL on ``Store.db``; everything about rows stays with the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytrace.store import Store


def _like(text: str) -> str:
    """A LIKE pattern for any text that holds this one; ``_`` and ``%`` mean themselves."""
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _kinds(kinds: Sequence[str]) -> str:
    return f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""


def holding(store: Store, words: Sequence[str], kinds: Sequence[str], limit: int) -> list[int]:
    """Ids of nodes whose full name holds every word, in any case; short names first."""
    where = " AND ".join(["name LIKE ? ESCAPE '\\'"] * len(words))
    sql = f"SELECT id FROM node WHERE {where}{_kinds(kinds)} ORDER BY length(bare), length(name), id LIMIT ?"
    return [row[0] for row in store.db.execute(sql, (*map(_like, words), *kinds, limit))]


def sharing(store: Store, pieces: Sequence[str], kinds: Sequence[str], size: int, limit: int) -> list[int]:
    """Ids of nodes, one for each last name part, that share pieces with a text of ``size`` letters, the most first."""
    shared = " + ".join(["(bare LIKE ? ESCAPE '\\')"] * len(pieces))
    sql = (
        f"SELECT min(id), {shared} AS score FROM node WHERE length(bare) BETWEEN ? AND ?{_kinds(kinds)}"
        " GROUP BY bare HAVING score > 0 ORDER BY score DESC, abs(length(bare) - ?), bare LIMIT ?"
    )
    low, high = max(1, size // 2), size * 2 + 4
    return [row[0] for row in store.db.execute(sql, (*map(_like, pieces), low, high, *kinds, size, limit))]


def edges_at(store: Store, path: str, line: int) -> list[tuple[int, int]]:
    """(source, rowid) of the edges whose evidence is ``path:line``."""
    sql = (
        "SELECT e.src, e.rowid FROM edge e JOIN file f ON f.id = e.file"
        " WHERE f.path = ? AND e.line = ? ORDER BY e.src, e.rowid"
    )
    return [(row[0], row[1]) for row in store.db.execute(sql, (path, line))]


def paths_like(store: Store, tail: str, limit: int) -> list[str]:
    """Indexed files whose path is ``tail`` or ends in ``/tail``."""
    sql = "SELECT path FROM file WHERE path = ? OR path LIKE ? ESCAPE '\\' ORDER BY length(path), path LIMIT ?"
    return [row[0] for row in store.db.execute(sql, (tail, _like("/" + tail)[:-1], limit))]
