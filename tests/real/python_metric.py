#!/usr/bin/env python3
"""The metric ``api_ops``: the first operators that a public Python name called, against what the index claims.

usage: python_metric.py INDEX [--data FOLDER] [--show N]

INDEX is an index of PyTorch 2.6.0. FOLDER (or ``PYTRACE_ORACLE``) holds ``api_ops.json.gz``. Overloads are left out, as
one call may use another overload than the samples did. ``ratio`` is operators claimed / operators seen, per name.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pytrace.model import EdgeKind, NodeKind
from pytrace.store import Store

#: Python names that stand for a module of torch.nn.
MODULES = "torch.nn.modules."


class Score(NamedTuple):
    """(name, operator) found and missed; names that are unknown; ratios per name."""

    found: list[tuple[str, str]]
    missing: list[tuple[str, str]]
    unknown: list[str]
    ratios: dict[str, float]

    def recall(self, *, modules: bool) -> float:
        """Of the operators seen, how many the index has, for the modules or for all other names."""
        found = [row for row in self.found if row[0].startswith(MODULES) == modules]
        missing = [row for row in self.missing if row[0].startswith(MODULES) == modules]
        return len(found) / max(1, len(found) + len(missing))

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios.values()) if self.ratios else 0


def load(folder: Path) -> dict[str, list[str]]:
    """Public name -> the operators seen."""
    with gzip.open(folder / "api_ops.json.gz", "rt") as file:
        return dict(json.load(file)["apis"])


def reached(store: Store, name: str) -> set[str] | None:
    """The packets of the operators that a Python name reaches before C++; None when it is unknown."""
    level = {node.id for node in store.named(name, NodeKind.PYTHON, NodeKind.BINDING)}
    if not level:
        return None
    seen, ops = set(level), set()
    while level:
        edges = store.edges_from(level)
        ops |= {e.dst for e in edges if e.kind in (EdgeKind.BINDS, EdgeKind.CALLS_OP)}
        below = {e.dst for e in edges if e.kind in (EdgeKind.CALLS, EdgeKind.ALIAS_OF)} - seen
        kinds = store.nodes(below)
        level = {i for i in below if kinds[i].kind in (NodeKind.PYTHON, NodeKind.BINDING)}
        seen |= level
    return {node.name.partition(".")[0] for node in store.nodes(ops).values()}


def score(store: Store, truth: dict[str, list[str]]) -> Score:
    """Compare what the index reaches with what was seen."""
    result = Score([], [], [], {})
    for name, seen in truth.items():
        wanted = {op.partition(".")[0] for op in seen if op.startswith("aten::")}
        got = reached(store, name)
        if got is None:
            result.unknown.append(name)
        for op in sorted(wanted):
            (result.found if op in (got or ()) else result.missing).append((name, op))
        if wanted and got:
            result.ratios[name] = len(got) / len(wanted)
    return result


def main() -> int:
    """Print the metric."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("PYTRACE_ORACLE"))
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N missing rows and N highest ratios")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the truth: --data or PYTRACE_ORACLE")
    found = score(Store(options.index), load(Path(options.data)))
    for title, modules in (("torch names", False), ("modules", True)):
        print(f"api_ops {title:12s} recall {100 * found.recall(modules=modules):6.2f}%")
    print(f"unknown names {len(found.unknown)}   median of claimed / seen {found.ratio:.2f}")
    rows: list[Any] = [*found.missing[: options.show], *found.unknown[: options.show]]
    rows += sorted(found.ratios.items(), key=lambda row: -row[1])[: options.show]
    for row in rows:
        print("  ", row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
