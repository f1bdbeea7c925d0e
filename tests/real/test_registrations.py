"""Registrations of the real tree against those of the running dispatcher.

``PYTORCH_SRC`` names a PyTorch 2.6.0 checkout, ``PYTRACE_ORACLE`` the folder of the measured truth.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytrace.index import refresh
from pytrace.store import Store
from tests.real.bindings_metric import Score
from tests.real.registrations_metric import scores

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def measured() -> dict[str, Score]:
    missing = [name for name in ("PYTORCH_SRC", "PYTRACE_ORACLE") if name not in os.environ]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not set")
    store = Store(refresh(os.environ["PYTORCH_SRC"], quiet=True))
    return scores(store, Path(os.environ["PYTRACE_ORACLE"]))


@pytest.mark.parametrize(
    ("metric", "recall", "precision"),
    [
        ("registrations", 0.999, 0.999),
        ("registrations cpp", 0.999, 0.999),
        ("registrations python", 0.999, 0.999),
        ("definitions cpp", 1, 1),
        # torch.library.define is wrapped by functools.singledispatch: one call is reported to stand there
        ("definitions python", 0.99, 0.99),
        ("functions python", 0.999, 0.99),
        ("decomposition", 1, 1),
        ("meta", 1, 1),
        # some lowerings are made when Inductor runs, some modules were not imported when the truth was measured
        ("lowering", 0.998, 0.97),
        ("fallback", 1, 0.99),
    ],
)
def test_floor(measured: dict[str, Score], metric: str, recall: float, precision: float) -> None:
    found = measured[metric]
    assert found.recall >= recall, found.missing[:20]
    assert found.precision >= precision, found.unproven[:20]
