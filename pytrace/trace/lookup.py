"""Look-ups that the store's own reader does not have: names by a part of them, edges by the line they were read at.

They speak SQL on ``Store.db``, and only here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from json import loads

from pytrace.model import Edge, EdgeKind, Node
from pytrace.store import WHOLE, Store

_BELOW = (
    "SELECT e.src, e.dst, e.kind, e.key, r.name, coalesce(f.path, ''), e.line, coalesce(g.text, ''), e.candidates,"
    " e.attrs, n.kind, n.name, coalesce(h.path, ''), n.line, n.end_line, n.attrs"
    " FROM edge e JOIN rule r ON r.id = e.rule JOIN node n ON n.id = e.dst"
    " LEFT JOIN file f ON f.id = e.file LEFT JOIN guard g ON g.id = e.guard LEFT JOIN file h ON h.id = n.file"
)


def below(
    store: Store, ids: Iterable[int], kinds: Sequence[str], known: Container[int], ignored: tuple[str, ...]
) -> tuple[list[Edge], list[Node]]:
    """The edges that leave ``ids``, in source order, and those of their ends that are not ``known``.

    One query for both: a walk asks for nothing else. Left out are ends whose names begin with one of ``ignored``.
    """
    todo = list(ids)
    edges: list[Edge] = []
    nodes: dict[int, Node] = {}
    marks = ",".join("?" * len(kinds))
    for start in range(0, len(todo), 500):
        part = todo[start : start + 500]
        where = f"WHERE e.src IN ({','.join('?' * len(part))}) AND e.kind IN ({marks})"
        for row in store.db.execute(f"{_BELOW} {where} ORDER BY f.path, e.line, e.rowid", (*part, *kinds)):
            if row[11].startswith(ignored):
                continue
            edges.append(Edge._make((*row[:9], loads(row[9]) if row[9] else {})))
            end = row[1]
            if end not in nodes and end not in known:
                nodes[end] = Node._make((end, *row[10:15], loads(row[15]) if row[15] else {}))
    return edges, list(nodes.values())


def has_namespace(store: Store, namespace: str) -> bool:
    """Whether there is an operator in a namespace, or a C++ name."""
    low, high = f"{namespace}::", f"{namespace}:;"  # `;` follows `:`
    sql = "SELECT 1 FROM node WHERE name >= ? AND name < ? LIMIT 1"
    return store.db.execute(sql, (low, high)).fetchone() is not None


def callers(store: Store, ids: Iterable[int], kind: str) -> dict[int, int]:
    """From how many nodes edges of a kind arrive at each of ``ids``; without those that none arrives at."""
    todo = list(ids)[:500]
    where = f"WHERE dst IN ({','.join('?' * len(todo))}) AND kind = ?"
    sql = f"SELECT dst, count(DISTINCT src) FROM edge {where} GROUP BY dst"
    return dict(store.db.execute(sql, (*todo, kind)).fetchall())


def count_to(store: Store, ids: Iterable[int], kind: str) -> int:
    """How many edges of a kind arrive at ``ids``."""
    todo = list(ids)[:500]
    sql = f"SELECT count(*) FROM edge WHERE dst IN ({','.join('?' * len(todo))}) AND kind = ?"
    return int(store.db.execute(sql, (*todo, kind)).fetchone()[0])


def _like(text: str) -> str:
    """A LIKE pattern for any text that holds this one; ``_`` and ``%`` mean themselves."""
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _kinds(kinds: Sequence[str]) -> str:
    return f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""


def holding(store: Store, words: Sequence[str], kinds: Sequence[str], limit: int) -> list[int]:
    """Ids of nodes whose full name holds every word, in any case; short names first."""
    where = " AND ".join(["name LIKE ? ESCAPE '\\'"] * len(words))
    sql = (
        f"SELECT n.id FROM node n WHERE {where}{_kinds(kinds)} AND {WHOLE}"
        " ORDER BY length(bare), length(name), id LIMIT ?"
    )
    return [row[0] for row in store.db.execute(sql, (*map(_like, words), *kinds, limit))]


def sharing(store: Store, pieces: Sequence[str], kinds: Sequence[str], text: str, limit: int) -> list[int]:
    """Ids of nodes, one for each last name part, that share pieces with ``text``, the most first.

    One that is as long and begins and ends alike counts as sharing a piece: letters change places in a slip.
    """
    size = len(text)
    ends = (_like(text[:1])[1:], _like(text[-1:])[:-1])
    alike = f"(length(bare) = {size} AND bare LIKE ? ESCAPE '\\' AND bare LIKE ? ESCAPE '\\')"
    shared = " + ".join([alike, *["(bare LIKE ? ESCAPE '\\')"] * len(pieces)])
    sql = (
        f"SELECT min(id), {shared} AS score FROM node n WHERE length(bare) BETWEEN ? AND ?{_kinds(kinds)} AND {WHOLE}"
        " GROUP BY bare HAVING score > 0 ORDER BY score DESC, abs(length(bare) - ?), bare LIMIT ?"
    )
    low, high = max(1, size // 2), size * 2 + 8
    values = (*ends, *map(_like, pieces), low, high, *kinds, size, limit)
    return [row[0] for row in store.db.execute(sql, values)]


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


def methods(store: Store, owner: str) -> list[Node]:
    """The methods of a C++ class, by its qualified name."""
    low, high = f"{owner}::", f"{owner}:;"  # `;` follows `:`
    sql = f"SELECT n.id FROM node n WHERE kind = 'function' AND name >= ? AND name < ? AND {WHOLE} ORDER BY id"
    ids = [row[0] for row in store.db.execute(sql, (low, high))]
    return list(store.nodes(ids).values())


def instantiations(store: Store, functions: Sequence[Node]) -> list[int]:
    """The nodes that stand for some instantiations of these functions (``model.SOME``)."""
    edges = store.edges_from([n.id for n in functions], EdgeKind.MAY_CALL) if functions else []
    return [edge.dst for edge in edges if edge.rule == "template-argument"]


def paths_beginning(store: Store, stem: str) -> list[str]:
    """C++ and CUDA files whose own name begins with ``stem``; those that are called just so when there are any."""
    sql = "SELECT path FROM file WHERE path LIKE ? ESCAPE '\\' ORDER BY path"
    paths = [row[0] for row in store.db.execute(sql, (_like(f"/{stem}"),))]
    own = [
        p for p in paths if p.rpartition("/")[2].startswith(stem) and p.endswith((".cu", ".cuh", ".cpp", ".h", ".hip"))
    ]
    exact = [p for p in own if p.rpartition("/")[2].partition(".")[0] == stem and p.endswith(".cu")]
    return exact or [p for p in own if p.endswith(".cu")] or own


def in_file(store: Store, path: str, kinds: Sequence[str]) -> list[Node]:
    """Nodes of these kinds that stand in a file, by line."""
    sql = (
        f"SELECT n.id FROM node n JOIN file f ON f.id = n.file WHERE f.path = ?{_kinds(kinds)} AND {WHOLE}"
        " ORDER BY n.line, n.id"
    )
    nodes = store.nodes(
        ids := [row[0] for row in store.db.execute(sql.replace(" kind IN", " n.kind IN"), (path, *kinds))]
    )
    return [nodes[i] for i in ids]


def launching(store: Store, path: str) -> list[Node]:
    """Functions of a file that are registered for a stub: what a file of device code offers."""
    sql = (
        "SELECT DISTINCT n.id FROM node n JOIN file f ON f.id = n.file JOIN edge e ON e.dst = n.id"
        " WHERE f.path = ? AND e.kind = 'registers' ORDER BY n.line, n.id"
    )
    nodes = store.nodes(ids := [row[0] for row in store.db.execute(sql, (path,))])
    return [nodes[i] for i in ids]


def members(store: Store, owner: str) -> tuple[int, int]:
    """How many bindings ``owner.NAME`` there are, and how many of them are generated."""
    sql = (
        "SELECT count(*), coalesce(sum(json_extract(attrs, '$.from') = 'generated'), 0) FROM node"
        " WHERE name > ? AND name < ? AND kind = 'binding' AND instr(substr(name, ?), '.') = 0"
    )
    row = store.db.execute(sql, (f"{owner}.", f"{owner}/", len(owner) + 2)).fetchone()
    return int(row[0]), int(row[1])


def of_kind(store: Store, kind: str, paths: Iterable[str]) -> set[str]:
    """Those of the files that are of a kind (``files.kind_of``)."""
    wanted = sorted(set(paths))
    found: set[str] = set()
    for start in range(0, len(wanted), 500):
        some = wanted[start : start + 500]
        sql = f"SELECT path FROM file WHERE kind = ? AND path IN ({','.join('?' * len(some))})"
        found.update(row[0] for row in store.db.execute(sql, (kind, *some)))
    return found


def unresolved_of(store: Store, kind: str) -> list[tuple[str, int, str, str]]:
    """(path, line, name, reason) of the names of one kind that were not resolved."""
    sql = (
        "SELECT coalesce(f.path, ''), u.line, u.name, u.reason FROM unresolved u LEFT JOIN file f ON f.id = u.owner"
        " WHERE u.kind = ? ORDER BY f.path, u.line"
    )
    return [(row[0], row[1], row[2], row[3]) for row in store.db.execute(sql, (kind,))]
