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
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pytrace import __version__, pool, program
from pytrace.checkout import head
from pytrace.errors import IndexDamaged, IndexOutdated, LinkFailed, NoIndex, place_of
from pytrace.files import File, Listing, list_files
from pytrace.freshness import why_stale
from pytrace.gather import Gatherer, changes
from pytrace.graph import Delta, Graph
from pytrace.identity import identify
from pytrace.lock import locked
from pytrace.paths import index_path, lock_path
from pytrace.progress import Reporter, reporter
from pytrace.store import SCHEMA_VERSION, Manifest, Store, is_whole
from pytrace.writer import Ahead, FileRow, apply, remove_leftovers, replacing, write, write_meta

#: The clock that stamps files ticks every few milliseconds: what changed that shortly before we looked at it may
#: change again within the same tick. Two seconds when a file system seems to count in whole seconds.
_TICK_NS, _COARSE_TICK_NS = 20_000_000, 2_100_000_000

#: Above so many files of unknown content, hashing is left to the workers.
_HASH_HERE = 400

#: Above so many changed files, everything is linked anew.
_RELINKED = 20


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
    keep: list[object] | None = None,
) -> Path:
    """Bring the index of the tree at ``root`` up to date, and return its path.

    ``force`` reads every file anew; ``no_refresh`` only checks that there is a readable index. Raises the
    ``IndexUnusable`` family of ``pytrace.errors``; the previous index is then as it was. What was read is put into
    ``keep``: a program that is about to end need not take the time to free a million tuples.
    """
    folder = os.path.realpath(root)
    index = index_path(folder)
    if no_refresh:
        _demand_readable(index, folder)
        return Path(index)
    report = reporter(quiet)
    try:
        with _terminable(), _uncollected(), locked(lock_path(index), report.say):
            remove_leftovers(index)
            old = _open_old(index)
            try:
                if force or old is None or _stale(old, folder):
                    build = _Build(folder, index, None if force else old, jobs or pool.default_jobs(), report, force)
                    if keep is not None:
                        keep.append(build)
                    try:
                        build.run()
                    finally:
                        build.end()
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


@contextmanager
def _uncollected() -> Iterator[None]:
    """Switch the garbage collector off: facts are millions of tuples without cycles, and it would look through them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
    except sqlite3.Error:
        return None
    with suppress(sqlite3.Error):
        if store.meta("schema") == str(SCHEMA_VERSION):
            return store
    store.close()
    return None


def _stale(old: Store, root: str) -> bool:
    try:
        return bool(why_stale(old, root))
    except (sqlite3.Error, KeyError, ValueError):
        return True


class _Build:
    """One run of the indexer, under the lock."""

    def __init__(self, root: str, index: str, old: Store | None, jobs: int, report: Reporter, force: bool) -> None:
        self.root, self.index, self.old, self.jobs, self.report = root, index, old, jobs, report
        self.clock = _Clock()
        self.gatherer = Gatherer(root, jobs=jobs, report=report, force=force)
        self.meta: dict[str, str] = {}
        self.manifests: dict[str, Manifest] = {}
        self.ahead: Ahead | None = None
        self.graph = Graph()  #: kept with the facts until the program ends (``refresh``)

    def run(self) -> None:
        """List, read, link, write: as little of it as the changes need."""
        started = time.time_ns()
        self.meta = {**_program(), "root": self.root, "head": head(self.root), "jobs": str(self.jobs)}
        self.report.phase("listing")
        listing = list_files(self.root)
        self.gatherer.problems += listing.diagnostics
        known = self._known()
        unread = self._contents(listing.files, known)
        before = {path: old.blob for path, old in known.items()}
        if not unread and self.old is not None and before == self._blobs():
            self._finish_reading(listing, started)
            self._touch()
            return
        delta = None if unread else self._relink(listing.files, known)
        if delta is None:
            self.gatherer.gather(listing.files)
        self._finish_reading(listing, started)
        if delta is not None:
            self._apply(delta)
        elif unread and self.old is not None and before == self._blobs():
            self._touch()  # the files that could not be read before still cannot
        else:
            self._write(self._link())

    def end(self) -> None:
        """Leave nothing behind, on every way out."""
        self.gatherer.finish()
        if self.ahead is not None:
            self.ahead.end()

    # -- reading ------------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, Known]:
        """What the previous index says of the contents of files."""
        if self.old is None:
            return {}
        try:
            blobs = {path: (kind, blob) for path, kind, blob in self.old.file_rows()}
            files = self.old.manifest("files")
            known = {
                path: Known(*blobs[path], size, stamp)
                for path, size, stamp in zip(files.paths, files.sizes, files.stamps, strict=True)
                if path in blobs
            }
            if self.old.meta("program") != self.meta["program"]:
                self.old = None  # its contents are known, its graph is another program's
            return known
        except (sqlite3.Error, KeyError, ValueError):
            self.old = None
            return {}

    def _contents(self, files: Sequence[File], known: Mapping[str, Known]) -> list[File]:
        """Learn the contents of files as far as it is cheap; return the files that are left."""
        unknown: list[File] = []
        for file in files:
            old = known.get(file.path)
            if old and (old.kind, old.size, old.stamp) == (file.kind, file.size, file.changed_ns):
                self.gatherer.rows[file.path] = FileRow(file.path, file.kind, old.blob, file.size)
            else:
                unknown.append(file)
        return self.gatherer.hash(unknown) if len(unknown) <= _HASH_HERE else unknown

    def _blobs(self) -> dict[str, str]:
        return {row.path: row.blob for row in self.gatherer.rows.values() if row.blob}

    def _finish_reading(self, listing: Listing, started: int) -> None:
        """Now that every content is known: what the tree is, and what the next freshness check compares with."""
        self.manifests = _manifests(listing, started, self.gatherer.unsure)
        self.meta.update(identify(self.root, self._blobs())._asdict())
        self.meta["extracted"] = str(self.gatherer.extracted)
        self.clock.lap("read")

    # -- nothing new, or a little ---------------------------------------------------------------------------------

    def _touch(self) -> None:
        """Only times, or the commit, have changed: the old index with a new manifest."""
        meta = {key: value for key, value in self.meta.items() if key not in ("jobs", "extracted")}
        with replacing(self.index, copy=True) as db:
            apply(db, Delta([]), self._rows(), self.manifests, meta, self.gatherer.problems)

    def _relink(self, files: Sequence[File], known: Mapping[str, Known]) -> Delta | None:
        """What a few changed files change in the graph, None when that is not known without linking all."""
        import pytrace.link
        from pytrace.link.state import State

        if self.old is None:
            return None
        new, gone = changes({path: old.blob for path, old in known.items()}, self._blobs())
        if len(new) + len(gone) > _RELINKED:
            return None
        fresh = [file for file in files if file.path in set(new)]
        state = State(self.old)

        def meanwhile() -> None:
            with suppress(Exception):  # ``relink`` meets it again, and it is told there
                state.context  # noqa: B018  # made while the files are read

        self.gatherer.gather(fresh, meanwhile)
        rows = [FileRow(p, known[p].kind, known[p].blob, known[p].size) for p in (*new, *gone) if p in known]
        before = self.gatherer.earlier(rows)
        if len(before) < len(rows) or any(file.path not in self.gatherer.facts for file in fresh):
            return None
        after = {path: self.gatherer.facts[path] for path in new}
        self.report.phase("linking")
        try:
            return pytrace.link.relink(
                state, {p: (known[p].kind, found) for p, found in before.items()}, after, self.jobs
            )
        except (Exception, RecursionError) as error:
            self.report.say(f"linking the changed files alone failed with {place_of(error)}; everything is linked anew")
            return None

    def _apply(self, delta: Delta) -> None:
        self.clock.lap("link")
        for path, (_, found) in self.gatherer.facts.items():
            for line, kind, message in found.get("diagnostics", ()):
                delta.added.diagnostic(path, line, kind, message)
        with replacing(self.index, copy=True) as db:
            apply(db, delta, self._rows(), self.manifests, self._times(), self.gatherer.problems)
        self.report.summary(f"updated the index for {len(delta.owners)} changed files in {self.clock.total():.1f} s")

    # -- everything -----------------------------------------------------------------------------------------------

    def _link(self) -> Graph:
        from pytrace.link import link

        self.report.phase("linking")
        files = {path: self.gatherer.facts[path] for path in sorted(self.gatherer.facts)}
        try:
            self.graph = graph = link(files, self.jobs, self._write_ahead)
        except (Exception, RecursionError) as error:
            still = " The previous index is untouched; --no-refresh asks it." if os.path.exists(self.index) else ""
            raise LinkFailed(
                f"The index could not be made: linking failed with {place_of(error)}. This is a bug in pytrace: please "
                f"report it; PYTRACE_TRACEBACK=1 shows where it happened.{still}"
            ) from error
        for path, (_, facts) in files.items():
            for line, kind, message in facts.get("diagnostics", ()):
                graph.diagnostic(path, line, kind, message)
        for problem in self.gatherer.problems:
            graph.diagnostic(*problem)
        self.clock.lap("link")
        return graph

    def _write_ahead(self, graph: Graph) -> None:
        self.ahead = Ahead(self.index, graph, self._rows(), self.jobs)

    def _write(self, graph: Graph) -> None:
        self.report.phase("writing")
        with replacing(self.index, ahead=self.ahead) as db:
            write(db, graph, self._rows(), self.manifests, {}, self.ahead)
            write_meta(db, self._times())
        self.ahead = None
        self.report.summary(
            f"indexed {len(self.gatherer.rows):,} files ({self.gatherer.extracted:,} read) in "
            f"{self.clock.total():.1f} s: {len(graph.nodes):,} nodes, {len(graph.edges):,} edges, "
            f"{_counted(len(graph.unresolved), 'name')} unresolved, {_counted(len(graph.diagnostics), 'diagnostic')}"
            + (" (`pytrace stats --diagnostics` lists them)" if graph.diagnostics else "")
        )

    def _rows(self) -> list[FileRow]:
        return [self.gatherer.rows[path] for path in sorted(self.gatherer.rows)]

    def _times(self) -> dict[str, str]:
        """The meta table, with what the run took so far."""
        self.clock.lap("write")
        return {
            **self.meta,
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seconds": f"{self.clock.total():.2f}",
            **{f"seconds_{name}": f"{seconds:.2f}" for name, seconds in self.clock.laps.items()},
        }


def _program() -> dict[str, str]:
    """What the meta table says of the program that made the index."""
    return {
        "schema": str(SCHEMA_VERSION),
        "pytrace": __version__,
        "program": program.full_signature(),
        "program_quick": program.quick_signature(),
    }


def _manifests(listing: Listing, started: int, unsure: Container[str]) -> dict[str, Manifest]:
    """What the freshness check will compare with; -1 for what it must look at again."""
    files, folders = listing.files, listing.directories
    stamps = [-1 if f.path in unsure or _racy(f.changed_ns, started) else f.changed_ns for f in files]
    return {
        "files": Manifest([f.path for f in files], [f.size for f in files], stamps),
        "folders": Manifest([path for path, _ in folders], [], [-1 if _racy(t, started) else t for _, t in folders]),
    }


def _racy(stamp: int, started: int) -> bool:
    """Whether a file stamped so may have changed again, unseen, after we looked at it (git's "racily clean")."""
    return stamp >= started - (_TICK_NS if stamp % 1_000_000_000 else _COARSE_TICK_NS)


def _counted(count: int, word: str) -> str:
    """``1 name``, ``2 names``."""
    return f"{count:,} {word}{'s' * (count != 1)}"


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
