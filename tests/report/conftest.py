"""The miniature tree: its graph in a store, and a copy of it in a repository of its own."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytrace.store import SCHEMA_VERSION, Store
from pytrace.writer import FileRow, write
from tests.minitorch.tree import ROOT, Mini
from tests.trees import commit_all


@pytest.fixture(scope="session")
def mini_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an index of the miniature tree."""
    mini = Mini()
    path = tmp_path_factory.mktemp("mini") / "index.db"
    meta = {"root": str(ROOT), "version": "9.9", "commit": "c0ffee0" * 5, "dirty": "no", "schema": str(SCHEMA_VERSION)}
    db = sqlite3.connect(path, isolation_level=None)
    rows = [FileRow(p, kind, "0" * 40, 1) for p, kind in sorted(mini.kinds.items())]
    write(db, mini.graph, rows, {}, meta)
    db.close()
    return path


@pytest.fixture
def mini(mini_path: Path) -> Iterator[Store]:
    """The index of the miniature tree, opened."""
    store = Store(mini_path)
    yield store
    store.close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that holds the miniature tree in one commit."""
    folder = tmp_path / "tree"
    shutil.copytree(ROOT, folder)
    commit_all(folder)
    return folder
