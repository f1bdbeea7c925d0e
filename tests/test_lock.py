"""One indexer at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytrace.errors import CannotWrite, IndexLocked
from pytrace.lock import locked

HOLDER = """
import sys
from pytrace.lock import locked
with locked(sys.argv[1], print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin closes."""
    source = str(Path(__file__).resolve().parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "x.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_held_lock_is_waited_for_and_said_once(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    said: list[str] = []

    def say(message: str) -> None:
        said.append(message)
        holder.communicate("")

    with locked(str(tmp_path / "x.lock"), say):
        assert holder.returncode == 0
    assert said == [f"waiting for another pytrace (process {holder.pid}) that is indexing this tree"]


def test_a_lock_held_too_long(holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTRACE_LOCK_TIMEOUT", "0.2")
    with pytest.raises(IndexLocked) as caught, locked(str(tmp_path / "x.lock"), lambda message: None):
        pass
    assert f"(process {holder.pid})" in str(caught.value)
    assert "--no-refresh" in str(caught.value)
    holder.communicate("")


def test_a_killed_holder_leaves_the_lock_free(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.kill()
    holder.communicate()
    with locked(str(tmp_path / "x.lock"), lambda message: pytest.fail(message)):
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="PYTRACE_CACHE"), locked(str(tmp_path / "file" / "x.lock"), print):
        pass
