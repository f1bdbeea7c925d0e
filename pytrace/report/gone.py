"""What a change took away: who used it, by the old text of the changed files alone.

Whoever used what is gone was changed as well, or the program would not build. So the graph of the old contents of the
changed files, without the rest of the tree, leads from what is gone to what still exists; from there the graph of the
new state goes on. No index of the old revision is made.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytrace import reading
from pytrace.files import kind_of
from pytrace.model import EdgeKind, NodeKind
from pytrace.report import changed, mentions, queries
from pytrace.report.changed import Seed
from pytrace.report.patches import FileChange
from pytrace.report.queries import NodeRow
from pytrace.report.spread import UP
from pytrace.store import Store

#: What still exists is where the walk ends; what may use something: calls of operators too.
_USES = (*UP, "calls_op", "alias_of")
#: A name that more places have than this is a common word.
_MOST_MENTIONS = 40
#: What is one thing wherever it is named.
_BY_NAME = (NodeKind.OP, NodeKind.STUB, NodeKind.FORMULA, NodeKind.BINDING)


@dataclass
class User:
    """Something that still exists and used what is gone."""

    node: NodeRow  #: of the new state
    lost: str  #: the name of what it used
    key: str  #: the dispatch key or device of the edge that is lost


@dataclass
class Gone:
    """What was taken away."""

    seeds: list[Seed] = field(default_factory=list)  #: nodes of the old state
    users: list[User] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)  #: what nothing that was looked at used


def find(store: Store, missing: Sequence[FileChange], sources: Mapping[str, str], homes: Mapping[str, str]) -> Gone:
    """What is gone from the files ``missing``, and who used it.

    ``store`` is the index of the new state, ``sources`` the old text of all changed files, by their old path; ``homes``
    gives the new paths of all changed files by their old ones (new files by their own).
    """
    found = Gone()
    with _graph(sources) as old:
        evidence = changed.evidence(old)
        for change in missing:
            back = FileChange(change.old_path, change.old_path, "modified", added=change.removed, gaps=change.old_gaps)
            lines = sources.get(change.old_path, "").split("\n")
            for seed in changed.find(old, back, lines, evidence).seeds.values():
                _seed(store, old, seed, found, homes)
    _named_elsewhere(store, found)
    told = sorted(found.users, key=lambda user: bool(user.lost))  # of two, the one that says what was lost
    found.users = list({(user.node.id, user.key): user for user in told}.values())
    return found


def _seed(store: Store, old: Store, seed: Seed, found: Gone, homes: Mapping[str, str]) -> None:
    now = _now(store, seed.node, homes)
    if now:
        # It still exists: a registration, a row or a line of it was taken away.
        found.users += [User(node, "", seed.key) for node in now]
        return
    seed.lines = [line for line in seed.lines if seed.node.line <= line <= seed.node.end_line] or seed.lines
    found.seeds.append(seed)
    users = [*_users(store, old, seed.node, homes), *_still_naming(store, seed.node)]
    found.users += users
    if not users and seed.node.kind in (NodeKind.FUNCTION, NodeKind.CUDA_KERNEL, NodeKind.PYTHON, NodeKind.STUB):
        found.unused.append(seed.node.name)


def _still_naming(store: Store, node: NodeRow) -> Iterator[User]:
    """What still names a function that no file defines any more: rows of native_functions.yaml above all."""
    if node.kind not in (NodeKind.FUNCTION, NodeKind.CUDA_KERNEL):
        return
    ids = [found.id for found in store.named(node.name, NodeKind.FUNCTION) if not found.file]
    links = queries.links_to(store, ids, _USES)
    above = queries.nodes_by_id(store, sorted({link[0] for link in links}))
    for src, _, kind, key, _, _ in links:
        yield User(above[src], node.name, key if kind in (EdgeKind.REGISTERS, EdgeKind.DISPATCHES) else "")


def _named_elsewhere(store: Store, found: Gone) -> None:
    """Users of what nothing in the changed files used: it may still be named by a file that was forgotten."""
    for language in (("python", "python_outline"), ("cpp", "template")):
        names = [
            seed.node.name for seed in found.seeds if (seed.node.kind == NodeKind.PYTHON) == ("python" in language)
        ]
        words = {_last(name): name for name in names if name in found.unused}
        if words:
            found.users += _mentions(store, words, language)
    lost = {user.lost for user in found.users}
    found.unused = [name for name in found.unused if name not in lost]


def _last(name: str) -> str:
    return name.rpartition("::")[2].rpartition(".")[2]


def _mentions(store: Store, words: Mapping[str, str], kinds: Sequence[str]) -> Iterator[User]:
    """What names one of ``words`` in a file of these kinds. A word that stands nearly everywhere tells nothing."""
    users: dict[str, list[User]] = {}
    paths = [path for path, kind, _ in store.file_rows() if kind in kinds]
    for mention in mentions.find(store, words, paths):
        name = words[mention.word]
        users.setdefault(name, []).extend(User(node, name, "") for node in mention.inside)
    for named in users.values():
        if len(named) <= _MOST_MENTIONS:
            yield from named


def _users(store: Store, old: Store, node: NodeRow, homes: Mapping[str, str]) -> Iterator[User]:
    """Who used ``node``: up over what is gone as well, to what still exists."""
    seen, todo = {node.id}, [(node.id, "")]
    while todo:
        keys = dict(todo)
        links = queries.links_to(old, list(keys), _USES)
        above = queries.nodes_by_id(old, sorted({link[0] for link in links}))
        todo = []
        for src, dst, kind, key, _, _ in links:
            if src in seen:
                continue
            seen.add(src)
            here = key if kind in (EdgeKind.REGISTERS, EdgeKind.DISPATCHES) else keys[dst]
            now = _now(store, above[src], homes)
            if now:
                yield from (User(found, node.name, here) for found in now)
            else:
                todo.append((src, here))


def _now(store: Store, node: NodeRow, homes: Mapping[str, str]) -> list[NodeRow]:
    """The same thing in the new state.

    A function is the same when it stands in the same file, or was moved to another file of the change: elsewhere the
    name is another device's. Operators and stubs are known by their names.
    """
    ids = [found.id for found in store.named(node.name, node.kind)]
    rows = list(queries.nodes_by_id(store, ids).values())
    here = [row for row in rows if row.file == homes.get(node.file, node.file)]
    if here or node.kind in _BY_NAME or not node.file:
        return here or rows
    return [row for row in rows if row.file in homes.values()]


@contextmanager
def _graph(sources: Mapping[str, str]) -> Iterator[Store]:
    """The graph of some files without the rest of their tree."""
    from pytrace.link import link
    from pytrace.writer import write

    files = {}
    for path, source in sources.items():
        kind = kind_of(path)
        facts = reading.unpack(reading.extract(kind, source.encode("utf-8", "surrogateescape"))) if kind else None
        if kind and facts is not None and reading.PROBLEM not in facts:
            files[path] = kind, facts
    with tempfile.TemporaryDirectory(prefix="pytrace-") as folder:
        path = os.path.join(folder, "old.db")
        db = sqlite3.connect(path, isolation_level=None)
        write(db, link(files, 1), [], {}, {})
        db.close()
        store = Store(path)
        try:
            yield store
        finally:
            store.close()
