"""Work on data in memory, spread over processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from pytrace.forks import Later, fork_map


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_results_are_in_order(jobs: int, count: int) -> None:
    table = {n: n * n for n in range(count)}
    assert fork_map(lambda n: (n, table[n], str(n)), range(count), jobs) == [(n, n * n, str(n)) for n in range(count)]


def test_several_processes_do_it() -> None:
    pids = fork_map(lambda _: os.getpid(), range(6), 3)
    assert pids[::3] == [os.getpid()] * 2
    assert len(set(pids)) == 3


def test_large_results() -> None:
    assert [len(part) for part in fork_map(lambda n: "x" * n, [3_000_000, 5_000_000], 2)] == [3_000_000, 5_000_000]


def test_a_process_that_dies_is_made_up_for() -> None:
    parent = os.getpid()
    assert fork_map(lambda n: n if os.getpid() == parent else os._exit(1), range(4), 2) == [0, 1, 2, 3]


def test_an_exception_shows(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        fork_map(lambda n: 1 // (n - 1), [0, 1], 2)
    assert "Traceback" not in capfd.readouterr().err


def test_ctrl_c_ends_the_processes() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if os.getpid() == parent:
            raise KeyboardInterrupt
        time.sleep(60)
        return number

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fork_map(work, range(3), 3)
    assert time.monotonic() - start < 10
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("jobs", [1, 2])
def test_later(jobs: int) -> None:
    parent = os.getpid()
    begun = Later(lambda: os.getpid(), jobs)
    assert (begun.result() == parent) == (jobs == 1)
    assert begun.result() == begun.result()


def test_later_is_made_up_for() -> None:
    parent = os.getpid()
    assert Later(lambda: "here" if os.getpid() == parent else os._exit(1), 2).result() == "here"


def test_later_shows_exceptions(capfd: pytest.CaptureFixture[str]) -> None:
    begun = Later(lambda: 1 // 0, 2)
    with pytest.raises(ZeroDivisionError):
        begun.result()
    assert "Traceback" not in capfd.readouterr().err


def test_later_is_not_disturbed_by_ctrl_c(tmp_path: Path) -> None:
    pid, done = tmp_path / "pid", tmp_path / "done"

    def work() -> None:
        pid.write_text(str(os.getpid()))
        time.sleep(0.3)
        done.write_text("all of it")

    begun = Later(work, 2)
    while not pid.exists() or not pid.read_text():
        time.sleep(0.01)
    os.kill(int(pid.read_text()), signal.SIGINT)
    begun.result()
    assert done.exists()


def test_later_can_be_ended(tmp_path: Path) -> None:
    begun = Later(lambda: time.sleep(60), 2)
    begun.end()
    begun.end()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
