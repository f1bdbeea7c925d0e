"""Every metric of the accuracy stage, as numbers: those of the truth's own ``score.py``, and the project's.

``measure`` exports an index, runs ``score.py`` (from the folder of the measured truth) on it, and adds the metrics
``bindings``, ``public``, ``registrations``, …. Each metric has ``recall`` and, where claims can be judged,
``precision``, both between 0 and 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from pytrace.render.jsonl import lines
from pytrace.store import Store
from tests.real import bindings_metric, registrations_metric

FLOORS = Path(__file__).with_name("floors.json")
#: A floor stands so much below what was measured when it was raised: a few rows of thousands, one of a small sample.
SLACK = 0.002

Metrics = dict[str, dict[str, float]]


def measure(store: Store, oracle: Path) -> Metrics:
    """All metrics of an index. Raises ``subprocess.CalledProcessError`` when ``score.py`` fails."""
    found = _scored(store, oracle)
    truth = bindings_metric.load(oracle)
    found["bindings"] = _both(bindings_metric.bindings(store, truth))
    found["public"] = {"recall": bindings_metric.public(store, truth).recall}
    for name, score in registrations_metric.scores(store, oracle).items():
        found[name if name.startswith("registrations") else f"registrations: {name}"] = _both(score)
    return found


def _both(score: bindings_metric.Score) -> dict[str, float]:
    return {"recall": score.recall, "precision": score.precision}


def _scored(store: Store, oracle: Path) -> Metrics:
    """What ``score.py`` says of the index."""
    with tempfile.TemporaryDirectory() as folder:
        graph, told = Path(folder) / "graph.jsonl", Path(folder) / "scores.json"
        with graph.open("w", encoding="utf-8") as stream:
            stream.writelines(lines(store.all_nodes(), store.all_edges()))
        command = [sys.executable, str(oracle / "score.py"), str(graph), "--data", str(oracle), "--json", str(told)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        rows = json.loads(told.read_text())
    return {name: {k: row[k] for k in ("recall", "precision") if k in row} for name, row in rows.items()}


def floors() -> Metrics:
    """The committed floors."""
    return dict(json.loads(FLOORS.read_text()))
