"""The worker pool: order, deaths, hangs, exceptions."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from pytrace import pool


def work(item: str) -> str:
    """What the workers of these tests do; the item says how they misbehave."""
    if item.startswith("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if item.startswith("exit"):
        os._exit(3)
    if item.startswith("hang"):
        time.sleep(60)
    if item.startswith("raise"):
        raise RuntimeError(item)
    return item.upper()


def results(batches: list[list[str]], jobs: int = 2, timeout: float = 30) -> dict[str, object]:
    return dict(pool.run(batches, work, jobs=jobs, timeout=timeout))


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_item_once(jobs: int) -> None:
    batches = [[f"{n}-{m}" for m in range(n)] for n in range(12)]
    items = [item for batch in batches for item in batch]
    found = list(pool.run(batches, work, jobs=jobs))
    assert sorted(found) == sorted((item, item.upper()) for item in items)


def test_nothing_to_do() -> None:
    assert results([]) == {}


def tell(item: str) -> str:
    """Say in a file that the work began."""
    Path(item).touch()
    return item


def test_meanwhile_the_workers_work(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    seen: list[bool] = []

    def meanwhile() -> None:
        until = time.monotonic() + 30
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.01)
        seen.append(begun.exists())

    assert list(pool.run([[str(begun)]], tell, jobs=1, meanwhile=meanwhile)) == [(str(begun), str(begun))]
    assert seen == [True]
    assert list(pool.run([], tell, jobs=1, meanwhile=meanwhile)) == []
    assert seen == [True]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("die", "the process that read it died (SIGKILL)"),
        ("exit", "the process that read it died"),
        ("raise", "the process that read it died"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 3])
def test_an_item_that_ends_its_worker_is_lost_alone(bad: str, reason: str, jobs: int) -> None:
    found = results([["a", bad, "b"], ["c", "d"], [bad + "2"], ["e"]], jobs)
    assert found == {
        **{item: item.upper() for item in "abcde"},
        bad: pool.Lost(reason),
        bad + "2": pool.Lost(reason),
    }


def test_an_item_that_hangs_is_lost_alone() -> None:
    found = results([["a", "hang", "b"], ["c"], ["d"]], timeout=0.3)
    assert found.pop("hang") == pool.Lost("reading it took longer than 0.3 s")
    assert found == {item: item.upper() for item in "abcd"}


def test_an_exception_in_the_parent_ends_the_workers() -> None:
    running = pool.run([["a"], ["hang"], ["b"]], work, jobs=2)
    next(running)
    running.close()
    assert not _children()


def _children() -> list[str]:
    """Live children of this process."""
    folder = Path(f"/proc/{os.getpid()}/task")
    if not folder.exists():
        return []
    return [c for task in folder.iterdir() for c in (task / "children").read_text().split()]
