"""Measuring whole processes: wall time, and the memory of a process with all its children."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent


class Run(NamedTuple):
    """One run of a command."""

    seconds: float
    peak: int
    output: str


def environment(cache: Path, **more: str) -> dict[str, str]:
    """The environment in which this checkout's pytrace runs, with a cache folder of its own."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTRACE_CACHE": str(cache), "NO_COLOR": "1", **more}


def pytrace(*arguments: str) -> list[str]:
    """The command line of pytrace: what the installed script does."""
    script = "import sys; from pytrace.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", script, *arguments]


def run(command: Sequence[str], env: Mapping[str, str], *, memory: bool = False) -> Run:
    """Run a command to its end; with ``memory`` sample the resident memory of all its processes together.

    Raises ``RuntimeError`` with what it said when it fails.
    """
    start = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        sampler = _Sampler(process.pid) if memory else None
        out, err = process.communicate()
        seconds = time.perf_counter() - start
        peak = sampler.stop() if sampler else 0
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {err.strip()[-500:]}")
    return Run(seconds, peak, out)


def best(command: Sequence[str], env: Mapping[str, str], times: int) -> float:
    """The shortest of several runs, in seconds: what the machine's other work disturbs least."""
    return min(run(command, env).seconds for _ in range(times))


def paired(one: Sequence[str], two: Sequence[str], env: Mapping[str, str], times: int) -> tuple[float, float]:
    """Medians of two commands that are run in turns, so that both meet the same machine."""
    seconds = [(run(one, env).seconds, run(two, env).seconds) for _ in range(times)]
    return statistics.median(a for a, _ in seconds), statistics.median(b for _, b in seconds)


class _Sampler:
    """Samples the sum of the resident sizes of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._stopped.wait(0.02):
            self._peak = max(self._peak, sum(_resident(pid) for pid in _family(self._pid)))

    def stop(self) -> int:
        """End sampling; the peak in bytes."""
        self._stopped.set()
        self._thread.join()
        return self._peak


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        try:
            todo += [int(c) for c in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
        except (OSError, ValueError):
            continue
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
