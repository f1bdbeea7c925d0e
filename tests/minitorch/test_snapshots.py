"""What is extracted and linked of each file of the miniature tree, as a text that is read as a diff.

``PYTRACE_UPDATE=1 python -m pytest tests/minitorch`` writes the snapshots anew; see ``snapshots.py`` for their form.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.minitorch.snapshots import render
from tests.minitorch.tree import mini

FOLDER = Path(__file__).resolve().parents[1] / "snapshots"
UPDATE = bool(os.environ.get("PYTRACE_UPDATE"))


@pytest.mark.parametrize("path", sorted(mini().kinds))
def test_snapshot(path: str) -> None:
    file = FOLDER / f"{path}.txt"
    text = render(mini(), path)
    if UPDATE:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"no snapshot of {path}: PYTRACE_UPDATE=1 writes it"
    assert text == file.read_text()


def test_no_snapshot_without_a_source() -> None:
    known = {f"{path}.txt" for path in mini().kinds}
    found = {str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.txt")}
    for stale in found - known if UPDATE else ():
        (FOLDER / stale).unlink()
    assert (found - known if not UPDATE else set()) == set()
