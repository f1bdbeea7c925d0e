"""The miniature graph, as an opened store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytrace.store import Store
from tests.graphs import MINI, store


@pytest.fixture
def mini(tmp_path: Path) -> Iterator[Store]:
    opened = store(tmp_path, MINI)
    yield opened
    opened.close()
