"""Spreading work on data that is already in memory over processes: fork, compute, send the result back.

For the link stage: its tables are large, and the work on each file is small and only reads them. A forked process
has the tables for nothing; only results travel.
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
    with os.fdopen(ours, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    return list(marshal.loads(data)) if status == 0 else None
