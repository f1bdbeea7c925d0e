"""A small pool of processes for work on foreign input: one that dies or hangs loses its item, not the run.

``multiprocessing.Pool`` hangs when a worker is killed, and ``ProcessPoolExecutor`` ends all work; a crash in a
parser must cost one file. So: the parent deals out batches over pipes, a worker answers a batch at once, and when a
worker dies or overruns the time limit, its batch is dealt out again item by item: the item that ends a worker when
it is alone is the culprit.
"""

from __future__ import annotations

import gc
import marshal
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

#: An item and its result: what ``marshal`` can write.
Item = Any
Result = Any
Work = Callable[[Item], Result]


class Lost(NamedTuple):
    """In place of a result: why there is none."""

    reason: str


_Batch = list[Item]


class _Worker:
    """One process with the batches that it was given and has not answered."""

    def __init__(self, start: Callable[[Any], Any], others: Sequence[_Worker]) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        inherited = [self.connection, *(other.connection for other in others)]
        self.process = start((theirs, inherited))
        theirs.close()
        self.given: deque[_Batch] = deque()
        self.since = 0.0

    def give(self, batch: _Batch) -> None:
        if not self.given:
            self.since = time.monotonic()
        self.given.append(batch)
        self.connection.send_bytes(marshal.dumps(batch))

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def default_jobs() -> int:
    """One process for each CPU that we may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def run(
    batches: Sequence[Sequence[Item]],
    work: Work,
    *,
    jobs: int,
    timeout: float = 60.0,
    meanwhile: Callable[[], None] = lambda: None,
) -> Generator[tuple[Item, Result | Lost], None, None]:
    """Yield (item, result) of every item of every batch, in the order in which they get done.

    ``work`` must be a module-level function (or a ``functools.partial`` of one). ``timeout`` is in seconds per
    batch. ``meanwhile`` is called once, when all processes have work. Closing the iterator, or an exception
    (Ctrl-C), ends the processes.
    """
    pool = _Pool(work, min(jobs, len(batches)), timeout)
    try:
        yield from pool.run(batches, meanwhile)
    finally:
        pool.stop()


class _Pool:
    def __init__(self, work: Work, jobs: int, timeout: float) -> None:
        # Fork is the quickest (the extractors are imported once), and safe here: nothing runs in threads yet.
        # On macOS the system's own libraries do not survive it.
        method = "fork" if sys.platform == "linux" else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        self._forks = method == "fork"
        self._work = work
        self._timeout = timeout
        self._workers: list[_Worker] = []
        for _ in range(jobs):
            self._add()

    def _add(self) -> None:
        self._workers.append(_Worker(self._start, self._workers))

    def _start(self, ends: tuple[Connection, list[Connection]]) -> Any:
        theirs, inherited = ends
        process = self._context.Process(
            target=_serve, args=(theirs, inherited if self._forks else [], self._work), daemon=True
        )
        process.start()
        return process

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def run(
        self, batches: Sequence[Sequence[Item]], meanwhile: Callable[[], None]
    ) -> Iterator[tuple[Item, Result | Lost]]:
        todo: deque[_Batch] = deque(list(items) for items in batches)
        if todo:
            self._deal(todo)
            meanwhile()
        while todo or any(worker.given for worker in self._workers):
            self._deal(todo)
            yield from self._collect(todo)

    def _deal(self, todo: deque[_Batch]) -> None:
        for worker in self._workers:
            # One batch ahead, so that a worker does not wait for the parent. Not so for the single items of a
            # batch that was lost: the culprit must be alone.
            while todo and len(worker.given) < 2 and not (worker.given and len(todo[0]) == 1):
                try:
                    worker.give(todo.popleft())
                except OSError:
                    break  # dead: seen when its answers are collected

    def _collect(self, todo: deque[_Batch]) -> Iterator[tuple[Item, Result | Lost]]:
        busy = [worker for worker in self._workers if worker.given]
        ready = wait([worker.connection for worker in busy], timeout=min(1.0, self._timeout / 4))
        now = time.monotonic()
        for worker in busy:
            if worker.connection in ready:
                try:
                    results = marshal.loads(worker.connection.recv_bytes())
                except (EOFError, OSError, ValueError):
                    yield from self._replace(worker, todo, "the process that read it died")
                    continue
                batch = worker.given.popleft()
                worker.since = now
                yield from zip(batch, results, strict=True)
            elif now - worker.since > self._timeout:
                yield from self._replace(worker, todo, f"reading it took longer than {self._timeout:g} s")

    def _replace(self, worker: _Worker, todo: deque[_Batch], reason: str) -> Iterator[tuple[Item, Lost]]:
        """Give back what a worker had not answered; a single item that was alone is lost."""
        worker.process.join(0.2)
        code = worker.process.exitcode
        if code is not None and code < 0:
            reason += f" ({signal.Signals(-code).name})"
        first, *rest = worker.given
        worker.given.clear()
        worker.stop()
        self._workers.remove(worker)
        self._add()
        todo.extendleft(reversed(rest))
        if len(first) == 1:
            yield first[0], Lost(reason)
        else:
            todo.extendleft([item] for item in reversed(first))


def _serve(connection: Connection, inherited: Sequence[Connection], work: Work) -> None:
    """A worker's life: batches in, results out, until the parent closes the pipe."""
    # The parent alone decides about Ctrl-C; without this every worker would print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()  # else the death of the parent would go unnoticed
    gc.disable()  # facts are trees of tuples, without cycles
    try:
        while True:
            items = marshal.loads(connection.recv_bytes())
            connection.send_bytes(marshal.dumps([work(item) for item in items]))
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        os._exit(1)  # ``work`` is expected to catch what it can; the parent finds the culprit
