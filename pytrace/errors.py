"""Everything that pytrace raises on purpose. The message is a sentence for people, with the way out in it.

::

    PytraceError
    ├── NoTree            no PyTorch tree was named or found, or the folder named is not one
    ├── FetchFailed       ``pytrace fetch`` could not make its clone
    ├── UnknownName       a question about a name that the index does not hold (carries the nearest names)
    ├── BadQuestion       a question that makes no sense: ``at FILE`` without a line, SQL that does not parse
    └── IndexUnusable     no answer can be given from the index
        ├── NoIndex       ``--no-refresh`` was given, and there is no index yet
        ├── IndexDamaged  the index is not a readable SQLite file, or lacks its tables
        ├── IndexOutdated the index was written by another version of pytrace, and ``--no-refresh`` was given
        ├── LinkFailed    a bug of ours met the facts of this tree; the previous index is left as it was
        ├── IndexLocked   another process has been indexing for longer than we may wait
        └── CannotWrite   the cache folder is read-only, or the disk is full; the previous index is left as it was
            └── DiskFull

The command line prints ``pytrace: MESSAGE`` on stderr and exits with 1; nothing else of pytrace
catches these, except where a previous index can still answer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


class PytraceError(Exception):
    """Base of all: its text is for the user."""


class NoTree(PytraceError):
    """No tree was named or found. Way out: an argument, ``PYTRACE_ROOT``, a folder inside a tree, ``pytrace fetch``."""


class FetchFailed(PytraceError):
    """The clone failed. Way out: the message of git, and ``--url`` for a mirror or a local repository."""


class UnknownName(PytraceError):
    """The index holds no such name. ``nearest`` are names it does hold; way out: one of them, or ``pytrace search``."""

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        """Keep the sentence and the names that are nearest to what was asked."""
        super().__init__(message)
        self.nearest = tuple(nearest)


class BadQuestion(PytraceError):
    """The question cannot be understood. Way out: in the message, by example."""


class IndexUnusable(PytraceError):
    """No answer can be given from the index. See the classes below."""


class NoIndex(IndexUnusable):
    """There is no index of this tree and none may be made. Way out: ``pytrace index``, or drop ``--no-refresh``."""


class IndexDamaged(IndexUnusable):
    """The index is not readable. Way out: ``pytrace index --force`` writes it anew."""


class IndexOutdated(IndexUnusable):
    """Another version of pytrace wrote the index. Way out: ``pytrace index``, or drop ``--no-refresh``."""


class IndexLocked(IndexUnusable):
    """Another process holds the lock of this index. Way out: wait, or end that process (its id is in the message)."""


class LinkFailed(IndexUnusable):
    """A bug of ours: the facts could not be linked. The previous index is untouched: ``--no-refresh`` asks it.

    Way out: report it, with what ``PYTRACE_TRACEBACK=1`` shows.
    """


class CannotWrite(IndexUnusable):
    """The new index could not be written. The previous one is untouched: ``--no-refresh`` asks it.

    Way out: make the cache folder writable, or name another one with ``PYTRACE_CACHE``.
    """


class DiskFull(CannotWrite):
    """There is no room for the new index. Way out: make room, or another folder with ``PYTRACE_CACHE``."""


def place_of(error: BaseException) -> str:
    """An exception of our own making in one line: its type, its text, and the file and line that raised it."""
    place = ""
    last = error.__traceback__
    if last is not None:
        while last.tb_next is not None:
            last = last.tb_next
        place = f" at {os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
    return f"{type(error).__name__}: {str(error)[:200]}{place}"
