"""One indexer at a time for each index: an advisory lock on a file beside it, given back by the system at exit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytrace.errors import CannotWrite, IndexLocked

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where two indexers at once only waste time
    fcntl = None  # type: ignore[assignment]


def _timeout() -> float:
    try:
        return float(os.environ.get("PYTRACE_LOCK_TIMEOUT", "600"))
    except ValueError:
        return 600.0


@contextmanager
def locked(path: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock at ``path``.

    While another process holds it, ``say`` is told so, once. Raises ``IndexLocked`` after PYTRACE_LOCK_TIMEOUT
    seconds (default 600), ``CannotWrite`` when the lock file cannot be made.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        index = path.removesuffix(".lock")
        still = " The previous index is untouched; --no-refresh asks it." if os.path.exists(index) else ""
        raise CannotWrite(
            f"The index cannot be written in {os.path.dirname(path)} ({error.strerror}). Make the folder writable, or "
            f"name another with PYTRACE_CACHE.{still}"
        ) from error
    try:
        _wait(descriptor, path, say)
        _note_holder(descriptor)
        yield
    finally:
        os.close(descriptor)


def _note_holder(descriptor: int) -> None:
    """Write our process id for those who wait. The lock holds without it (the disk may be full)."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except OSError:
        pass


def _wait(descriptor: int, path: str, say: Callable[[str], None]) -> None:
    if fcntl is None:  # pragma: no cover
        return
    start = time.monotonic()
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waited = time.monotonic() - start
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        if waited > _timeout():
            raise IndexLocked(
                f"Another pytrace (process {holder}) has been indexing this tree for over {waited:.0f} s; gave up "
                f"waiting for {path}. End it, or set PYTRACE_LOCK_TIMEOUT; --no-refresh asks the previous index."
            )
        if not told and waited > 0.3:
            say(f"waiting for another pytrace (process {holder}) that is indexing this tree")
            told = True
        time.sleep(0.05)
