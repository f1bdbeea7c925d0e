"""Making an index, and keeping it true: from a tree to the SQLite file that answers questions.

    list files ─▶ whose content is new? ─▶ facts (cache, or worker processes) ─▶ link ─▶ write beside, rename

What costs time is done only as far as needed: a file with the size and ctime of last time is not opened; a content
that any tree ever had is not parsed; when no content changed, the old index gets a new manifest and nothing else.
"""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pytrace import __version__, pool, program, reading
from pytrace.checkout import head
from pytrace.errors import IndexDamaged, IndexOutdated, NoIndex
from pytrace.facts import FactCache
from pytrace.files import File, Listing, list_files
from pytrace.freshness import why_stale
from pytrace.graph import Graph
from pytrace.identity import Identity, identify
from pytrace.lock import locked
from pytrace.model import Facts
from pytrace.paths import facts_path, index_path, lock_path
from pytrace.progress import Reporter, reporter
from pytrace.store import SCHEMA_VERSION, Manifest, Store, is_whole
from pytrace.writer import FileRow, remove_leftovers, replacing, write, write_manifests, write_meta

#: The clock that stamps files ticks every few milliseconds: what changed that shortly before we looked at it may
#: change again within the same tick. Two seconds when a file system seems to count in whole seconds.
_TICK_NS, _COARSE_TICK_NS = 20_000_000, 2_100_000_000

#: Above so many files of unknown content, hashing is left to the workers.
_HASH_HERE = 400


class Known(NamedTuple):
    """What the previous index says of a file."""

    kind: str
    blob: str
    size: int
    stamp: int


def refresh(
    root: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    quiet: bool = False,
    force: bool = False,
    no_refresh: bool = False,
) -> Path:
    """Bring the index of the tree at ``root`` up to date, and return its path.

    ``force`` reads every file anew; ``no_refresh`` only checks that there is a readable index. Raises the
    ``IndexUnusable`` family of ``pytrace.errors``; the previous index is then as it was.
    """
    folder = os.path.realpath(root)
    index = index_path(folder)
    if no_refresh:
        _demand_readable(index, folder)
        return Path(index)
    report = reporter(quiet)
    try:
        with _terminable(), locked(lock_path(index), report.say):
            remove_leftovers(index)
            old = _open_old(index)
            try:
                if force or old is None or _stale(old, folder):
                    _Build(folder, index, None if force else old, jobs or pool.default_jobs(), report, force).run()
            finally:
                if old is not None:
                    old.close()
    finally:
        report.close()
    return Path(index)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that workers end and the unfinished file goes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _demand_readable(index: str, root: str) -> None:
    if not os.path.exists(index):
        raise NoIndex(f"There is no index of {root}, and --no-refresh forbids making one. Run `pytrace index {root}`.")
    try:
        if not is_whole(index):
            raise sqlite3.DatabaseError("the file was cut, or is no database")
        store = Store(index)
        try:
            schema = store.meta("schema")
        finally:
            store.close()
    except sqlite3.Error as error:
        raise IndexDamaged(f"The index {index} is damaged ({error}). `pytrace index` writes it anew.") from error
    if schema != str(SCHEMA_VERSION):
        raise IndexOutdated(
            f"The index {index} was written by another version of pytrace (schema {schema or 'unknown'}; "
            f"this one reads {SCHEMA_VERSION}). Run `pytrace index`, or drop --no-refresh."
        )


def _open_old(index: str) -> Store | None:
    """The previous index when it is readable and of this schema; otherwise it is written anew, and nothing is lost."""
    if not os.path.exists(index) or not is_whole(index):
        return None
    try:
        store = Store(index)
        if store.meta("schema") == str(SCHEMA_VERSION):
            return store
        store.close()
    except sqlite3.Error:
        pass
    return None


def _stale(old: Store, root: str) -> bool:
    try:
        return bool(why_stale(old, root))
    except (sqlite3.Error, KeyError, ValueError):
        return True


class _Build:
    """One run of the indexer, under the lock."""

    def __init__(self, root: str, index: str, old: Store | None, jobs: int, report: Reporter, force: bool) -> None:
        self.root, self.index, self.old, self.jobs, self.report, self.force = root, index, old, jobs, report, force
        self.clock = _Clock()
        self.rows: dict[str, FileRow] = {}
        self.facts: dict[str, tuple[str, Facts]] = {}
        self.problems: list[tuple[str, int, str, str]] = []
        self.unsure: set[str] = set()
        self.extracted = 0

    def run(self) -> None:
        """List, read, link, write."""
        started = time.time_ns()
        at_head = head(self.root)
        self.report.phase("listing")
        listing = list_files(self.root)
        self.problems += listing.diagnostics
        known = self._known()
        self._read(listing, known)
        manifests = self._manifests(listing, started)
        blobs = {row.path: row.blob for row in self.rows.values() if row.blob}
        identity = identify(self.root, blobs)
        if self.old is not None and self._same(known, blobs):
            self._touch(manifests, identity, at_head)
            return
        self.clock.lap("read")
        graph = self._link()
        self.clock.lap("link")
        self._write(graph, manifests, identity, at_head)

    # -- reading ------------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, Known]:
        """What the previous index says of the contents of files."""
        if self.old is None:
            return {}
        try:
            blobs = {path: (kind, blob) for path, kind, blob in self.old.file_rows()}
            files = self.old.manifest("files")
            return {
                path: Known(*blobs[path], size, stamp)
                for path, size, stamp in zip(files.paths, files.sizes, files.stamps, strict=True)
                if path in blobs
            }
        except (sqlite3.Error, KeyError, ValueError):
            self.old = None
            return {}

    def _read(self, listing: Listing, known: Mapping[str, Known]) -> None:
        """Fill ``rows`` for every file; then ``facts``, unless no content has changed."""
        unknown: list[File] = []
        for file in listing.files:
            old = known.get(file.path)
            if old and (old.kind, old.size, old.stamp) == (file.kind, file.size, file.changed_ns):
                self.rows[file.path] = FileRow(file.path, file.kind, old.blob, file.size)
            else:
                unknown.append(file)
        if len(unknown) <= _HASH_HERE:
            unknown = self._hash(unknown)
        now = {path: row.blob for path, row in self.rows.items()}
        if not unknown and self.old is not None and self._same(known, now):
            return
        self._gather_facts(listing, unknown)

    def _hash(self, files: Sequence[File]) -> list[File]:
        """Learn the contents of a few files here; return those that could not be read."""
        left = []
        for file in files:
            source, problem = reading.load_source(os.path.join(self.root, file.path))
            if problem[0]:
                left.append(file)
            else:
                blob = reading.blob_id(source).hex()
                self.rows[file.path] = FileRow(file.path, file.kind, blob, len(source))
        return left

    def _gather_facts(self, listing: Listing, unknown: Sequence[File]) -> None:
        """Facts of every file: from the cache for known contents, by the workers for the rest."""
        names = reading.recipes(sorted({file.kind for file in listing.files}))
        cache = FactCache(facts_path())
        try:
            if not self.force:
                self._from_cache(cache, names)
            missing = [file for file in listing.files if file.path not in self.facts]
            self.report.phase("reading", len(missing))
            self._from_workers(cache, names, missing, "" if self.force else cache.path)
            if cache.problem:
                self.report.say(f"facts are not kept, so the next index takes as long: {cache.path}: {cache.problem}")
        finally:
            cache.close()

    def _from_cache(self, cache: FactCache, names: Mapping[str, str]) -> None:
        by_kind: dict[str, dict[bytes, list[str]]] = {}
        for row in self.rows.values():
            by_kind.setdefault(row.kind, {}).setdefault(bytes.fromhex(row.blob), []).append(row.path)
        for kind, paths in by_kind.items():
            for blob, packed in cache.get_many(names[kind], list(paths)):
                for path in paths[blob]:
                    found = reading.unpack(packed)
                    if found is not None:
                        self.facts[path] = (kind, found)

    def _from_workers(self, cache: FactCache, names: Mapping[str, str], files: Sequence[File], ask: str) -> None:
        """Facts of ``files`` by worker processes, which look into the cache ``ask`` first."""
        new: list[tuple[str, str, bytes, bytes]] = []
        again: list[File] = []  # the cache's row is damaged
        for file, read in reading.read_all(
            self.root, files, names=names, cache=ask, jobs=self.jobs, done=self.report.advance
        ):
            kind, message = read.problem
            if kind:
                self.problems.append((file.path, 0, kind, message))
            if kind == "unreadable":
                self.unsure.add(file.path)
            found = reading.unpack(read.packed) if read.packed else None
            if read.known and found is None:
                again.append(file)
                continue
            self.rows[file.path] = FileRow(file.path, file.kind, read.blob.hex() if found else "", read.size)
            if found is not None:
                self.facts[file.path] = (file.kind, found)
                self.extracted += not read.known
                if not read.known:
                    new.append((file.kind, names[file.kind], read.blob, read.packed))
        cache.put(new)
        if again:
            self._from_workers(cache, names, again, "")

    # -- nothing new --------------------------------------------------------------------------------------------

    def _same(self, known: Mapping[str, Known], blobs: Mapping[str, str]) -> bool:
        """Whether the tree's contents, and the program, are those of the previous index."""
        assert self.old is not None
        if self.old.meta("program") != program.full_signature():
            return False
        return {path: old.blob for path, old in known.items()} == blobs

    def _touch(self, manifests: Mapping[str, Manifest], identity: Identity, at_head: str) -> None:
        """Only times, or the commit, have changed: the old index with a new manifest."""
        with replacing(self.index, copy=True) as db:
            db.execute("BEGIN")
            write_manifests(db, manifests)
            write_meta(db, {**self._program(), **identity._asdict(), "head": at_head})
            db.execute("COMMIT")

    # -- linking and writing ------------------------------------------------------------------------------------

    def _link(self) -> Graph:
        from pytrace.link import link

        self.report.phase("linking")
        gc.collect()
        gc.disable()  # millions of tuples, no cycles: the collector would look through all of them, again and again
        try:
            files = {path: self.facts[path] for path in sorted(self.facts)}
            self.facts.clear()
            graph = link(files, self.jobs)
            for path, (_, facts) in files.items():
                for line, kind, message in facts.get("diagnostics", ()):
                    graph.diagnostic(path, line, kind, message)
        finally:
            gc.enable()
        for problem in self.problems:
            graph.diagnostic(*problem)
        return graph

    def _manifests(self, listing: Listing, started: int) -> dict[str, Manifest]:
        files = [
            (f.path, f.size, -1 if f.path in self.unsure or _racy(f.changed_ns, started) else f.changed_ns)
            for f in listing.files
        ]
        folders = [(path, -1 if _racy(mtime, started) else mtime) for path, mtime in listing.directories]
        return {
            "files": Manifest([f[0] for f in files], [f[1] for f in files], [f[2] for f in files]),
            "folders": Manifest([f[0] for f in folders], [], [f[1] for f in folders]),
        }

    def _program(self) -> dict[str, str]:
        return {
            "schema": str(SCHEMA_VERSION),
            "pytrace": __version__,
            "program": program.full_signature(),
            "program_quick": program.quick_signature(),
        }

    def _write(self, graph: Graph, manifests: Mapping[str, Manifest], identity: Identity, at_head: str) -> None:
        self.report.phase("writing")
        read, link = self.clock.laps["read"], self.clock.laps["link"]
        meta = {
            **self._program(),
            **identity._asdict(),
            "root": self.root,
            "head": at_head,
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "jobs": str(self.jobs),
            "extracted": str(self.extracted),
            "seconds_read": f"{read:.2f}",
            "seconds_link": f"{link:.2f}",
        }
        with replacing(self.index) as db:
            rows = [self.rows[path] for path in sorted(self.rows)]
            write(db, graph, rows, manifests, meta)
            self.clock.lap("write")
            write_meta(db, {"seconds_write": f"{self.clock.laps['write']:.2f}", "seconds": f"{self.clock.total():.2f}"})
        self.report.summary(
            f"indexed {len(self.rows):,} files ({self.extracted:,} read) in {self.clock.total():.1f} s: "
            f"{len(graph.nodes):,} nodes, {len(graph.edges):,} edges, {len(graph.unresolved):,} names unresolved, "
            f"{len(graph.diagnostics):,} diagnostics"
            + (" (`pytrace stats --diagnostics` lists them)" if graph.diagnostics else "")
        )


def _racy(stamp: int, started: int) -> bool:
    """Whether a file stamped so may have changed again, unseen, after we looked at it (git's "racily clean")."""
    return stamp >= started - (_TICK_NS if stamp % 1_000_000_000 else _COARSE_TICK_NS)


class _Clock:
    """Seconds per phase."""

    def __init__(self) -> None:
        self.begun = self.last = time.monotonic()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """End the phase ``name``."""
        now = time.monotonic()
        self.laps[name] = now - self.last
        self.last = now

    def total(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun
