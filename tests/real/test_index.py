"""The index of the real tree: complete, within its bounds, and read for nothing when nothing changed."""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import pytest

from pytrace.files import list_files
from pytrace.freshness import fresh_store
from pytrace.index import refresh
from pytrace.store import Store

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def root() -> str:
    """The real tree."""
    named = os.environ.get("PYTORCH_SRC")
    if not named:
        pytest.skip("PYTORCH_SRC is not set")
    return os.path.realpath(named)


@pytest.fixture(scope="module")
def path(root: str) -> Path:
    """Its index."""
    return refresh(root, quiet=True)


def test_every_file_is_read(root: str, path: Path) -> None:
    store = Store(path)
    listed = {file.path: file.kind for file in list_files(root).files}
    assert {row[0]: row[1] for row in store.file_rows()} == listed
    assert len(listed) > 6000
    failed = [row for row in store.diagnostics() if row[2] in ("extractor-failed", "lost", "too-large", "unreadable")]
    store.close()
    assert failed == []


def test_bounds(path: Path) -> None:
    assert path.stat().st_size <= 150_000_000


def test_nothing_changed_opens_no_file(root: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.open

    def guarded(file: str, *rest: object, **more: object) -> object:
        assert not str(file).startswith(root) or f"{os.sep}.git{os.sep}" in str(file), f"{file} was opened"
        return real(file, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(builtins, "open", guarded)
    store = fresh_store(root)
    assert store is not None
    store.close()


def test_identity(root: str, path: Path) -> None:
    store = Store(path)
    meta = store.all_meta()
    store.close()
    assert meta["root"] == root
    assert meta["dirty"] in ("no", ""), "the real tree is read only"
    assert meta["version"].startswith("2.")
