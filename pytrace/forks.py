"""Spreading work on data that is already in memory over processes: fork, compute, send the result back.

For the link stage: its tables are large, and the work on each file is small and only reads them. A forked process
has the tables for nothing; only results travel. ``Later`` is for work that nobody waits for yet, such as writing.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")

#: What ``marshal`` can write.
Result = Any


def fork_map(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> list[Result]:
    """``[work(item) for item in items]``, by ``jobs`` processes.

    ``work`` may be a closure over anything; what it changes is lost with its process, only its results (what
    ``marshal`` can write) come back. Where there is no safe fork, or a process fails, the work is done here: an
    exception of ``work`` therefore shows as it would without processes.
    """
    jobs = min(jobs, len(items))
    if jobs < 2 or sys.platform != "linux":
        return [work(item) for item in items]
    children: dict[int, tuple[int, int]] = {}
    gc.freeze()  # a collection in a child would write into, and so copy, all of the shared memory
    try:
        for n in range(1, jobs):
            children[n] = _start(work, items[n::jobs])
        parts = [[work(item) for item in items[::jobs]]]
        for n in range(1, jobs):
            parts.append(_finish(children.pop(n)) or [work(item) for item in items[n::jobs]])
    finally:
        gc.unfreeze()
        for pid, pipe in children.values():  # only after an exception, Ctrl-C for one
            os.kill(pid, signal.SIGKILL)
            os.close(pipe)
            os.waitpid(pid, 0)
    found: list[Result] = [None] * len(items)
    for n, part in enumerate(parts):
        found[n::jobs] = part
    return found


class Later:
    """``work()``, begun now in a process of its own, and done when ``result`` returns.

    With fewer than two ``jobs``, or where there is no safe fork, or when the process fails, ``result`` does the work
    itself; so ``work`` must bear being done twice, and its exceptions show. Call ``result`` or ``end``: Ctrl-C does
    not reach the process.
    """

    def __init__(self, work: Callable[[], Result], jobs: int) -> None:
        """Begin; ``work`` returns what ``marshal`` can write, and may change nothing but files."""
        self._work = work
        self._child: tuple[int, int] | None = None
        self._done = False
        self._result: Result = None
        if jobs > 1 and sys.platform == "linux":
            gc.freeze()
            try:
                self._child = _start(lambda _: _undisturbed(work), (None,))
            finally:
                gc.unfreeze()

    def result(self) -> Result:
        """Wait for the work, and return what it returned."""
        if not self._done:
            child, self._child = self._child, None
            found = _finish(child) if child is not None else None
            self._result = found[0] if found else self._work()
            self._done = True
        return self._result

    def end(self) -> None:
        """End the process, if it still runs: nobody wants the result any more."""
        if self._child is not None:
            (pid, pipe), self._child = self._child, None
            os.kill(pid, signal.SIGKILL)
            os.close(pipe)
            os.waitpid(pid, 0)


def _undisturbed(work: Callable[[], Result]) -> Result:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return work()


def _start(work: Callable[[Item], Result], items: Sequence[Item]) -> tuple[int, int]:
    """Fork a process that works on ``items``: its id, and the pipe on which its results come."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    code = 1
    try:
        gc.disable()
        with os.fdopen(theirs, "wb") as pipe:
            marshal.dump([work(item) for item in items], pipe)
        code = 0
    finally:
        os._exit(code)  # no handler, no buffer and no test runner of the parent's may run here


def _finish(child: tuple[int, int]) -> list[Result] | None:
    """The results of a process, None when it failed."""
    pid, ours = child
    try:
        with os.fdopen(ours, "rb") as pipe:
            data = pipe.read()
    except BaseException:  # Ctrl-C for one
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    _, status = os.waitpid(pid, 0)
    return list(marshal.loads(data)) if status == 0 else None
