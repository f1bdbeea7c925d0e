"""The real tree and its index, shared by all tests of this stage.

``PYTORCH_SRC`` names a PyTorch 2.6.0 checkout, ``PYTRACE_ORACLE`` the folder of the measured truth (with ``score.py``).
The index is made once; it stays in ``PYTRACE_CACHE`` when that is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytrace.index import refresh
from pytrace.store import Store


@pytest.fixture(scope="session")
def real_tree() -> str:
    """The real tree."""
    named = os.environ.get("PYTORCH_SRC")
    if not named:
        pytest.skip("PYTORCH_SRC is not set")
    return os.path.realpath(named)


@pytest.fixture(scope="session")
def real_index(real_tree: str) -> Path:
    """The index of the real tree, up to date."""
    return refresh(real_tree, quiet=True)


@pytest.fixture(scope="session")
def real_store(real_index: Path) -> Iterator[Store]:
    """The opened index."""
    store = Store(real_index)
    yield store
    store.close()


@pytest.fixture(scope="session")
def oracle() -> Path:
    """The folder of the measured truth."""
    named = os.environ.get("PYTRACE_ORACLE")
    if not named:
        pytest.skip("PYTRACE_ORACLE is not set")
    return Path(named)
