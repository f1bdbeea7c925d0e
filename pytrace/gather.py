"""Facts of many files: from the fact cache where their contents are known, by worker processes where not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from pytrace import reading
from pytrace.facts import FactCache
from pytrace.files import File
from pytrace.forks import Later
from pytrace.model import Facts
from pytrace.paths import facts_path
from pytrace.progress import Reporter
from pytrace.writer import FileRow

#: More bytes of new facts are put into the cache by a process of its own, while the graph is linked.
_PUT_HERE = 4_000_000

#: (kind, recipe, blob, packed facts)
_New = tuple[str, str, bytes, bytes]


class Gatherer:
    """Gathers facts for one run of the indexer.

    ``rows`` are the contents that are known (a blob of "" when a file could not be read), ``facts`` what was
    gathered, ``problems`` the diagnostics (path, line, kind, message), ``unsure`` the files that vanished under us,
    ``extracted`` the number of files that were parsed.
    """

    def __init__(self, root: str, *, jobs: int, report: Reporter, force: bool) -> None:
        """``force``: the fact cache is written, not asked."""
        self.root, self.jobs, self.report, self.force = root, jobs, report, force
        self.rows: dict[str, FileRow] = {}
        self.facts: dict[str, tuple[str, Facts]] = {}
        self.problems: list[tuple[str, int, str, str]] = []
        self.unsure: set[str] = set()
        self.extracted = 0
        self._names: dict[str, str] = {}
        self._keeping: Later | None = None

    def hash(self, files: Iterable[File]) -> list[File]:
        """Learn the contents of a few files here; return those that could not be read."""
        left = []
        for file in files:
            source, problem = reading.load_source(os.path.join(self.root, file.path))
            if problem[0]:
                left.append(file)
            else:
                self.rows[file.path] = FileRow(file.path, file.kind, reading.blob_id(source).hex(), len(source))
        return left

    def gather(self, files: Sequence[File], meanwhile: Callable[[], None] = lambda: None) -> None:
        """Fill ``facts`` (and ``rows``) for ``files``.

        ``meanwhile`` is called once the worker processes read, if there is anything to read.
        """
        with FactCache(facts_path()) as cache:
            self._learn_names(files)
            if not self.force:
                known = [self.rows[f.path] for f in files if f.path not in self.facts and f.path in self.rows]
                for path, kind, found in self._cached(cache, known):
                    self._take(path, kind, found)
            have = {path for path, *_ in self.problems} | self.facts.keys()
            missing = [file for file in files if file.path not in have]
            self.report.phase("reading", len(missing))
            new = self._from_workers(missing, "" if self.force else cache.path, meanwhile)
            here = sum(len(row[-1]) for row in new) <= _PUT_HERE
            if here:
                cache.put(new)
            self._complain(cache.path, cache.problem)
        if not here:
            self._keeping = Later(partial(_put, cache.path, new), self.jobs)

    def finish(self) -> None:
        """Wait until the new facts are in the cache. Call it on every way out: reading them again costs more."""
        if self._keeping is not None:
            keeping, self._keeping = self._keeping, None
            self._complain(facts_path(), keeping.result())

    def _complain(self, path: str, problem: str) -> None:
        if problem:
            self.report.say(f"facts are not kept, so the next index takes as long: {path}: {problem}")

    def earlier(self, rows: Sequence[FileRow]) -> dict[str, Facts]:
        """Facts of contents that files had before, by path; what the cache does not know is left out."""
        with FactCache(facts_path()) as cache:
            self._learn_names(rows)
            return {path: found for path, _, found in self._cached(cache, rows)}

    def _learn_names(self, files: Iterable[File | FileRow]) -> None:
        new = sorted({file.kind for file in files} - self._names.keys())
        self._names.update(reading.recipes(new))

    def _cached(self, cache: FactCache, rows: Sequence[FileRow]) -> Iterable[tuple[str, str, Facts]]:
        by_kind: dict[str, dict[bytes, list[str]]] = {}
        for row in rows:
            if row.blob:
                by_kind.setdefault(row.kind, {}).setdefault(bytes.fromhex(row.blob), []).append(row.path)
        for kind, paths in by_kind.items():
            for blob, packed in cache.get_many(self._names[kind], list(paths)):
                for path in paths[blob]:
                    found = reading.unpack(packed)
                    if found is not None:
                        yield path, kind, found

    def _take(self, path: str, kind: str, found: Facts) -> None:
        if reading.PROBLEM in found:
            self.problems.append((path, 0, *found[reading.PROBLEM]))
        else:
            self.facts[path] = (kind, found)

    def _from_workers(
        self, files: Sequence[File], ask: str, meanwhile: Callable[[], None] = lambda: None
    ) -> list[_New]:
        """Take the facts of ``files`` from worker processes, which look into the cache ``ask`` first; what is new."""
        new: list[_New] = []
        again: list[File] = []  # the cache's row is damaged
        results = reading.read_all(
            self.root,
            files,
            names=self._names,
            cache=ask,
            jobs=self.jobs,
            done=self.report.advance,
            meanwhile=meanwhile,
        )
        for file, read in results:
            found = reading.unpack(read.packed) if read.packed else None
            if read.known and found is None:
                again.append(file)
                continue
            self.rows[file.path] = FileRow(file.path, file.kind, read.blob.hex(), read.size)
            if found is None:
                self.problems.append((file.path, 0, *read.problem))
                if read.problem[0] == "unreadable":
                    self.unsure.add(file.path)
                continue
            self._take(file.path, file.kind, found)
            if not read.known:
                self.extracted += 1
                new.append((file.kind, self._names[file.kind], read.blob, read.packed))
        return new + self._from_workers(again, "") if again else new


def _put(path: str, rows: Sequence[_New]) -> str:
    """Keep facts; the problem, "" when there is none."""
    with FactCache(path) as cache:
        cache.put(rows)
        return cache.problem


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Paths whose content is new or another, and paths that are gone; ``old`` and ``new`` map paths to blobs."""
    return sorted(p for p, blob in new.items() if old.get(p) != blob), sorted(old.keys() - new.keys())
