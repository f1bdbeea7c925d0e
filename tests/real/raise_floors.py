#!/usr/bin/env python3
"""Raise the floors of the accuracy stage to what is measured now. They are never lowered.

usage: PYTORCH_SRC=… PYTRACE_ORACLE=… python tests/real/raise_floors.py [--show] [--lower METRIC]

``--show`` prints what is measured beside the floors and writes nothing. ``--lower METRIC`` takes what is measured even
where it is less: for a truth that was corrected, with the reason in the commit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytrace.index import refresh
from pytrace.store import Store
from tests.real import scores


def raised(floors: scores.Metrics, measured: scores.Metrics, lower: frozenset[str] = frozenset()) -> scores.Metrics:
    """New floors: what is measured, less the slack, but never below the old ones."""
    new: scores.Metrics = {}
    for metric, sides in measured.items():
        new[metric] = {}
        for side, value in sides.items():
            floor = value if value == 1 else max(0.0, value - scores.SLACK)
            old = 0.0 if metric in lower else floors.get(metric, {}).get(side, 0.0)
            new[metric][side] = max(old, int(floor * 10_000) / 10_000)
    return new


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--lower", action="append", default=[])
    options = parser.parse_args()
    store = Store(refresh(os.environ["PYTORCH_SRC"]))
    measured = scores.measure(store, Path(os.environ["PYTRACE_ORACLE"]))
    store.close()
    old = scores.floors() if scores.FLOORS.exists() else {}
    for metric, sides in measured.items():
        told = "   ".join(f"{side} {100 * v:6.2f} %" for side, v in sides.items())
        floor = "  ".join(f"{100 * v:.2f}" for v in old.get(metric, {}).values())
        print(f"{metric:32} {told:42} floor {floor}")
    if not options.show:
        new = raised(old, measured, frozenset(options.lower))
        scores.FLOORS.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
