"""From files to facts: read, hash, look into the fact cache, extract. What a worker process does, file by file.

Whatever the input is, the answer is a row: a file that cannot be read, is too large, ends its worker or breaks its
extractor becomes a diagnostic.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pytrace import facts, pool
from pytrace.errors import place_of
from pytrace.extract import EXTRACTORS, load
from pytrace.files import File
from pytrace.model import Facts
from pytrace.program import extractor_signature

#: Larger files are not read: the largest source of PyTorch has 2.2 MB, and a syntax tree takes some 30 times the
#: size of its text.
SIZE_LIMIT = 6_000_000

#: The key of a problem among facts; there is then no other.
PROBLEM = "problem"

#: Bytes of source dealt out to a worker at a time: small enough that none waits long for the last one.
_BATCH = 400_000


class Read(NamedTuple):
    """What reading one file gave.

    ``blob`` is git's id of the content, b"" when it was not read; ``packed`` the facts, b"" when there are none;
    ``known`` says that they came from the fact cache; ``problem`` is (kind, message) or ("", "").

    A content that ends its worker or breaks its extractor has facts too, and they are cached: ``PROBLEM`` alone.
    Otherwise every run would wait for it again.
    """

    blob: bytes
    size: int
    packed: bytes
    known: bool
    problem: tuple[str, str]


def blob_id(source: bytes) -> bytes:
    """Git's id of a content."""
    return hashlib.sha1(b"blob %d\0" % len(source) + source, usedforsecurity=False).digest()


def recipes(kinds: Sequence[str]) -> dict[str, str]:
    """kind -> name of the recipe by which its facts are made today. (Imports no extractor: the cache may have all.)"""
    signatures = {module: extractor_signature(module) for module in {EXTRACTORS[kind] for kind in kinds}}
    return {kind: facts.recipe(kind, signatures[EXTRACTORS[kind]]) for kind in kinds}


def load_source(path: str) -> tuple[bytes, tuple[str, str]]:
    """The content of a file, and the problem when it cannot be had."""
    try:
        if os.path.getsize(path) > SIZE_LIMIT:
            size = os.path.getsize(path)
            return b"", ("too-large", f"{size:,} bytes; files above {SIZE_LIMIT:,} are not read")
        with open(path, "rb") as file:
            return file.read(), ("", "")
    except OSError as error:
        return b"", ("unreadable", f"not read: {error.strerror}")


def extract(kind: str, source: bytes) -> bytes:
    """The packed facts of a source; a bug of ours on strange input is a problem of this file only."""
    try:
        return facts.pack(load(kind).extract(source))
    except (Exception, RecursionError) as error:
        return problem_facts("extractor-failed", place_of(error))


_cache: facts.FactCache | None = None


def _open_cache(path: str) -> facts.FactCache:
    """The fact cache of this process: a connection must not cross a fork."""
    global _cache
    if _cache is None:
        _cache = facts.FactCache(path, readonly=True)
    return _cache


def read_file(root: str, cache: str, names: Mapping[str, str], item: tuple[str, str]) -> tuple[object, ...]:
    """Work of a process: (path, kind) -> the fields of ``Read``. ``cache`` is "" when it must not be asked."""
    path, kind = item
    source, problem = load_source(os.path.join(root, path))
    if problem[0]:
        return Read(b"", 0, b"", False, problem)[:]
    blob = blob_id(source)
    packed = _open_cache(cache).get(names[kind], blob) if cache else None
    if packed is not None:
        return Read(blob, len(source), packed, True, problem)[:]
    return Read(blob, len(source), extract(kind, source), False, problem)[:]


def read_all(
    root: str,
    files: Sequence[File],
    *,
    names: Mapping[str, str],
    cache: str,
    jobs: int,
    done: Callable[[int], None] = lambda count: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[tuple[File, Read]]:
    """Read all ``files`` with ``jobs`` processes, the big ones first; yield them as they get done.

    ``meanwhile`` is called once all processes have work.
    """
    by_path = {file.path: file for file in files}
    for kind in {file.kind for file in files}:
        load(kind)  # once, here: forked workers inherit it
    work = partial(read_file, root, cache, dict(names))
    timeout = float(os.environ.get("PYTRACE_FILE_TIMEOUT") or 60)
    for (path, _), result in pool.run(batches(files), work, jobs=jobs, timeout=timeout, meanwhile=meanwhile):
        done(1)
        if isinstance(result, pool.Lost):
            yield by_path[path], _lost(os.path.join(root, path), result.reason)
        else:
            yield by_path[path], Read(*result)


def problem_facts(kind: str, message: str) -> bytes:
    """The packed facts of a content that has none."""
    return facts.pack({PROBLEM: (kind, message)})


def _lost(path: str, reason: str) -> Read:
    """What is left of a file whose worker died: its id."""
    source, problem = load_source(path)
    if problem[0]:
        return Read(b"", 0, b"", False, problem)
    packed = problem_facts("lost", f"no facts: {reason}; `pytrace index --force` tries again")
    return Read(blob_id(source), len(source), packed, False, problem)


def batches(files: Sequence[File]) -> list[list[tuple[str, str]]]:
    """Files in batches, the big ones first, so that none is left alone at the end."""
    batches: list[list[tuple[str, str]]] = []
    room = 0
    for file in sorted(files, key=lambda f: (-f.size, f.path)):
        if room < file.size or not batches:
            batches.append([])
            room = _BATCH
        batches[-1].append((file.path, file.kind))
        room -= file.size + 500
    return batches


def unpack(packed: bytes) -> Facts | None:
    """Facts of packed ones, None when the cache's row is damaged."""
    try:
        return facts.unpack(packed)
    except (EOFError, ValueError, TypeError, MemoryError, OverflowError):
        return None
