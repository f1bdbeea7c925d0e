"""The index of a commit, made from git's objects: no second checkout, and only what is new is read.

Facts are cached by blob id, so that a commit that shares its files with one seen before costs the files that differ;
when they are few, the graph too is made from that of the other state (``link.relink``).
"""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial

from pytrace import __version__, pool, program, reading
from pytrace.errors import BadQuestion
from pytrace.facts import FactCache
from pytrace.files import SKIPPED_FOLDERS, SKIPPED_NAMES, TOPS, kind_of
from pytrace.forks import fork_map
from pytrace.graph import Graph
from pytrace.identity import UPSTREAM
from pytrace.lock import locked
from pytrace.model import Facts
from pytrace.paths import cache_dir, facts_path, lock_path
from pytrace.progress import Reporter, reporter
from pytrace.report import git
from pytrace.store import SCHEMA_VERSION, Store, is_whole
from pytrace.writer import FileRow, apply, replacing, write

#: So many indexes of commits are kept.
KEPT = 6
#: Above so many changed files everything is linked anew (index.py has the same bound).
_RELINKED = 20
#: Above so many unknown contents, processes read them.
_FEW = 40


def store_of(
    root: str,
    commit: str,
    *,
    jobs: int = 1,
    quiet: bool = False,
    near: Store | None = None,
    calls: bool = True,
    keep: list[object] | None = None,
) -> Store:
    """The open index of ``commit`` of the repository at ``root``. ``near`` is the index of a similar state.

    Without ``calls`` an index will do that holds operators, their tables, kernels, stubs, formulas and registrations,
    but not who calls whom: it is made in a third of the time.

    What was read is put into ``keep``: a program that is about to end need not take the time to free it.

    Raises ``BadQuestion`` when the commit is no PyTorch tree, and the ``IndexUnusable`` family.
    """
    whole = index_path(root, commit)
    if _usable(whole, commit):
        return Store(whole)
    path = whole if calls else _tables_path(root, commit)
    report = reporter(quiet)
    try:
        with locked(lock_path(path), report.say):
            if not _usable(path, commit):
                run = _Revision(root, commit, path, jobs, report, near, calls)
                if keep is not None:
                    keep.append(run)
                run.make()
                _forget(path)
    finally:
        report.close()
    return Store(path)


def prepare(root: str, commits: Sequence[str], *, jobs: int, quiet: bool) -> None:
    """Make the tables of several commits that are not indexed yet: what they share is read once, then they are linked
    side by side when ``jobs`` allows.
    """
    todo = [
        commit
        for commit in dict.fromkeys(commits)
        if not _usable(index_path(root, commit), commit) and not _usable(_tables_path(root, commit), commit)
    ]
    if len(todo) < 2 or jobs < 2:
        return  # ``store_of`` will do it

    report = reporter(quiet)
    runs = [_Revision(root, commit, _tables_path(root, commit), jobs, report, None, False) for commit in todo]
    gc.disable()  # index.py does the same
    try:
        rows = [run.listed() for run in runs]
        shared = runs[0].gather([row for listed in rows for row in listed])
    finally:
        gc.enable()
        report.close()

    def make(number: int) -> bool:
        run = runs[number]
        run.jobs, run.report, run.shared = 1, reporter(quiet), shared
        try:
            with locked(lock_path(run.path), run.report.say):
                if not _usable(run.path, run.commit):
                    run.make(rows[number])
                    _forget(run.path)
        finally:
            run.report.close()
        return True

    fork_map(make, range(len(runs)), jobs)


def _tables_path(root: str, commit: str) -> str:
    return index_path(root, commit).removesuffix(".db") + "-tables.db"


def index_path(root: str, commit: str) -> str:
    """Where the index of a commit is kept. A commit is the same in every clone, a folder below its top is not."""
    from binascii import crc32

    prefix = git.run(root, "rev-parse", "--show-prefix").strip()
    below = f"-{crc32(prefix):08x}" if prefix else ""
    return os.path.join(cache_dir(), "index", f"commit-{commit[:20]}{below}.db")


def _usable(path: str, commit: str) -> bool:
    if not os.path.exists(path) or not is_whole(path):
        return False
    try:
        with closing(Store(path)) as store:
            meta = store.all_meta()
    except sqlite3.Error:
        return False
    wanted = (commit, str(SCHEMA_VERSION), program.full_signature())
    return (meta.get("commit"), meta.get("schema"), meta.get("program")) == wanted


def _forget(newest: str) -> None:
    """Remove all but the ``KEPT`` indexes of commits that were made last."""
    folder = os.path.dirname(newest)
    with suppress(OSError):
        paths = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("commit-") and n.endswith(".db")]
        for path in sorted(paths, key=os.path.getmtime, reverse=True)[KEPT:]:
            os.unlink(path)


def is_listed(path: str) -> bool:
    """Whether ``files.list_files`` would take the file: the same rules, by the path alone."""
    folders = path.split("/")[:-1]
    return (
        bool(folders)
        and folders[0] in TOPS
        and path.isprintable()
        and not any(folder in SKIPPED_NAMES or folder.startswith(".") for folder in folders)
        and not any(path.startswith(f"{skipped}/") for skipped in SKIPPED_FOLDERS)
        and kind_of(path) is not None
    )


class _Revision:
    """One run of the indexer on a commit."""

    def __init__(
        self, root: str, commit: str, path: str, jobs: int, report: Reporter, near: Store | None, calls: bool
    ) -> None:
        self.root, self.commit, self.path, self.jobs, self.report = root, commit, path, jobs, report
        self.calls = calls
        self.near = near if near is not None and near.meta("program") == program.full_signature() else None
        self.began = time.monotonic()
        self.problems: list[tuple[str, int, str, str]] = []
        self.names: dict[str, str] = {}
        self.shared: dict[str, Facts] = {}  #: facts by blob that are read already
        self.kept: list[object] = []  #: what was read and made: to free it takes as long as to write it

    def listed(self) -> list[FileRow]:
        """The files of the commit. Raises ``BadQuestion`` when it is no PyTorch tree."""
        self.report.phase("listing")
        rows = [
            FileRow(entry.path, kind_of(entry.path) or "", entry.blob, 0)
            for entry in git.tree(self.root, self.commit)
            if is_listed(entry.path)
        ]
        if not any(row.kind == "native_functions" for row in rows):
            raise BadQuestion(f"Commit {self.commit[:12]} holds no native_functions.yaml: it is no PyTorch tree.")
        rows.sort()
        self.names = reading.recipes(sorted({row.kind for row in rows}))
        return rows

    def make(self, rows: Sequence[FileRow] | None = None) -> None:
        """Read, link, write; ``rows`` are the files of the commit when they are listed already."""
        if rows is None:
            rows = self.listed()
        if not self._from_near(rows):
            self._from_all(rows)
        self.report.summary(f"indexed commit {self.commit[:12]} in {time.monotonic() - self.began:.1f} s")

    def _from_near(self, rows: Sequence[FileRow]) -> bool:
        """Make the index from that of a similar state; False when that cannot be done."""
        import pytrace.link
        from pytrace.link.state import State

        if self.near is None:
            return False
        before = {path: (kind, blob) for path, kind, blob in self.near.file_rows()}
        after = {row.path: (row.kind, row.blob) for row in rows}
        new = [row for row in rows if before.get(row.path) != after[row.path]]
        gone = [path for path in before if path not in after]
        if len(new) + len(gone) > _RELINKED:
            return False
        old = [FileRow(p, *before[p], 0) for p in (*(row.path for row in new), *gone) if p in before]
        facts = self._facts([*new, *old])
        if any(row.blob not in facts for row in (*new, *old)):
            return False
        delta = pytrace.link.relink(
            State(self.near),
            {row.path: (row.kind, facts[row.blob]) for row in old},
            {row.path: (row.kind, facts[row.blob]) for row in new},
            self.jobs,
        )
        if delta is None:
            return False
        for row in new:
            for line, kind, message in facts[row.blob].get("diagnostics", ()):
                delta.added.diagnostic(row.path, line, kind, message)
        with replacing(self.path) as db:
            self.near.db.backup(db)
            apply(db, delta, rows, {}, self._meta(), self.problems)
        return True

    def _from_all(self, rows: Sequence[FileRow]) -> None:
        from pytrace.link import link

        gc.disable()  # millions of tuples, no cycles (index.py does the same)
        try:
            facts = self._facts(rows)
            self.report.phase("linking")
            files = {row.path: (row.kind, facts[row.blob]) for row in rows if row.blob in facts}
            graph = link(files, self.jobs) if self.calls else tables(files, self.jobs)
            self.kept += [facts, files, graph]
            self._write(files, graph, rows)
            gc.freeze()  # what is kept is not looked through again
        finally:
            gc.enable()

    def _write(self, files: Mapping[str, tuple[str, Facts]], graph: Graph, rows: Sequence[FileRow]) -> None:
        for path, (_, found) in files.items():
            for line, kind, message in found.get("diagnostics", ()):
                graph.diagnostic(path, line, kind, message)
        for problem in self.problems:
            graph.diagnostic(*problem)
        self.report.phase("writing")
        with replacing(self.path) as db:
            write(db, graph, rows, {}, self._meta())

    def _facts(self, rows: Sequence[FileRow]) -> dict[str, Facts]:
        """Facts by blob; what cannot be read is noted as a problem."""
        found = self.shared or self.gather(rows)
        for row in rows:
            if reading.PROBLEM in found.get(row.blob, {}):
                self.problems.append((row.path, 0, *found[row.blob][reading.PROBLEM]))
        return {blob: facts for blob, facts in found.items() if reading.PROBLEM not in facts}

    def gather(self, rows: Sequence[FileRow]) -> dict[str, Facts]:
        """Facts by blob: from the cache, the rest from git's objects."""
        wanted = {(row.kind, row.blob): row for row in rows}
        found: dict[str, Facts] = {}
        with closing(FactCache(facts_path())) as cache:
            for kind, name in self.names.items():
                blobs = [bytes.fromhex(blob) for k, blob in wanted if k == kind]
                for blob, packed in cache.get_many(name, blobs):
                    unpacked = reading.unpack(packed)
                    if unpacked is not None:
                        found[blob.hex()] = unpacked
            missing = [row for (_, blob), row in wanted.items() if blob not in found]
            self.report.phase("reading", len(missing))
            new = []
            for row, packed in self._read(missing):
                self.report.advance()
                unpacked = reading.unpack(packed)
                if unpacked is not None:
                    found[row.blob] = unpacked
                    new.append((row.kind, self.names[row.kind], bytes.fromhex(row.blob), packed))
            cache.put(new)
        return found

    def _read(self, rows: Sequence[FileRow]) -> Iterator[tuple[FileRow, bytes]]:
        """(row, packed facts) of contents that the cache does not know."""
        if len(rows) <= _FEW:
            by_blob = {row.blob: row for row in rows}
            for blob, content in git.contents(self.root, by_blob):
                yield by_blob[blob], _extracted(by_blob[blob].kind, content)
            return
        by_item = {(row.path, row.kind, row.blob): row for row in rows}
        items = list(by_item)
        batches = [items[start : start + 20] for start in range(0, len(items), 20)]
        timeout = float(os.environ.get("PYTRACE_FILE_TIMEOUT") or 60)
        for item, result in pool.run(batches, partial(_work, self.root), jobs=self.jobs, timeout=timeout):
            if isinstance(result, pool.Lost):
                yield by_item[item], reading.problem_facts("lost", f"no facts: {result.reason}")
            else:
                yield by_item[item], result

    def _meta(self) -> dict[str, str]:
        version = git.content_at(self.root, self.commit, "version.txt") or b""
        tag = ""
        with suppress(BadQuestion):
            tag = git.run(self.root, "describe", "--tags", "--exact-match", self.commit).decode().strip()
        url = UPSTREAM
        if self.near is not None:
            url = self.near.meta("url") or url
        return {
            "schema": str(SCHEMA_VERSION),
            "pytrace": __version__,
            "program": program.full_signature(),
            "program_quick": program.quick_signature(),
            "root": os.path.realpath(self.root),
            "commit": self.commit,
            "head": self.commit,
            "tag": tag,
            "version": version.decode("utf-8", "replace").strip()[:80],
            "dirty": "no",
            "url": url,
            "jobs": str(self.jobs),
            "seconds": f"{time.monotonic() - self.began:.2f}",
        }


def tables(files: Mapping[str, tuple[str, Facts]], jobs: int = 1) -> Graph:
    """The graph without its calls: the crossings of ``link.link`` that come before them, and Python's registrations."""
    from pytrace.link import (
        dispatch,
        functions,
        generated,
        macros,
        operators,
        python_registrations,
        registrations,
        ufuncs,
    )
    from pytrace.link.context import Context

    # What macros make of the bodies of functions is left out with the bodies.
    ctx = Context(
        {
            path: (kind, {key: rows for key, rows in facts.items() if key != "environments"})
            for path, (kind, facts) in sorted(files.items())
        }
    )
    macros.link(ctx, jobs)
    for crossing in (operators, functions, dispatch, generated, registrations, ufuncs, python_registrations):
        crossing.link(ctx)
    return ctx.graph


def _extracted(kind: str, content: bytes) -> bytes:
    if len(content) > reading.SIZE_LIMIT:
        message = f"{len(content):,} bytes; files above {reading.SIZE_LIMIT:,} are not read"
        return reading.problem_facts("too-large", message)
    return reading.extract(kind, content)


_reader: subprocess.Popen[bytes] | None = None


def _work(root: str, item: tuple[str, str, str]) -> bytes:
    """Work of a process: the facts of one content, over a ``git cat-file`` that lives as long as the process."""
    global _reader
    if _reader is None:
        _reader = git.reader(root)
    content = git.ask(_reader, item[2])
    if content is None:
        return reading.problem_facts("unreadable", "git does not hold this content")
    return _extracted(item[1], content)
