#!/usr/bin/env python3
"""The metric ``bindings``: the names that C++ gives to Python, against those of the running program.

usage: bindings_metric.py INDEX [--data FOLDER] [--show N]

INDEX is an index of PyTorch 2.6.0. FOLDER (or ``PYTRACE_ORACLE``) holds ``python_bindings.json.gz``. For each name of
``TensorBase``, ``_VariableFunctions``, ``_nn``, ``_fft``, ``_linalg``, ``_special``, ``_sparse`` and ``_nested``
rows say what is behind it: generated or by hand, each operator, the generated file, each Python signature, the line of
the table, the C++ function. A second metric, ``public``, asks of each public Python name whether it is a C function
(which one) or a Python function (which file and line).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pytrace.model import EdgeKind, Node, NodeKind
from pytrace.store import Store

Row = tuple[str, ...]

#: Methods that every Python object, or every type, has: the truth leaves them out (``dir(object)``, ``dir(type)``).
OF_ALL_OBJECTS = frozenset((*dir(object), *dir(type)))


class Score(NamedTuple):
    """Truths found and missed, claims that the truth does not confirm."""

    found: list[Row]
    missing: list[Row]
    unproven: list[Row]

    @property
    def recall(self) -> float:
        """Of what the program does, how much the index has."""
        return len(self.found) / max(1, len(self.found) + len(self.missing))

    @property
    def precision(self) -> float:
        """Of what the index claims, how much the program confirms."""
        return len(self.found) / max(1, len(self.found) + len(self.unproven))


def score(truth: Iterable[Row], claims: Iterable[Row]) -> Score:
    """Compare two sets of rows."""
    wanted, got = set(truth), set(claims)
    return Score(sorted(wanted & got), sorted(wanted - got), sorted(got - wanted))


def load(folder: Path) -> dict[str, Any]:
    """The truth about bindings."""
    with gzip.open(folder / "python_bindings.json.gz", "rt") as file:
        return dict(json.load(file))


def wanted_rows(truth: dict[str, Any], claimed: set[Row]) -> Iterator[Row]:
    """What the truth says. It gives all places where a name stands in a table: one must be right."""
    for family, facts in truth["families"].items():
        for name, row in facts["names"].items():
            full = f"torch._C.{family}.{name}"
            yield (full, "from", row["from"])
            for op in row.get("ops", ()):
                yield (full, "op", op)
            if row["from"] == "generated":
                yield (full, "file", row.get("file") or facts["file"])
                for text in row["signatures"]:
                    yield (full, "signature", text)
            elif row.get("table_at"):
                right = [(full, "at", place) for place in row["table_at"] if (full, "at", place) in claimed]
                yield right[0] if right else (full, "at", row["table_at"][0])
            if "impl" in row:
                yield (full, "function", row["impl"])


def claimed_rows(store: Store, truth: dict[str, Any]) -> Iterator[Row]:
    """What the index says of the same families, where the truth has an opinion."""
    rows = {
        f"torch._C.{family}.{name}": row
        for family, facts in truth["families"].items()
        for name, row in facts["names"].items()
    }
    owners = {f"torch._C.{family}" for family in truth["families"]}
    for node in store.all_nodes(NodeKind.BINDING):
        owner, _, name = node.name.rpartition(".")
        if owner not in owners or name in OF_ALL_OBJECTS - {n.rpartition(".")[2] for n in rows}:
            continue
        yield (node.name, "from", str(node.attrs["from"]))
        row = rows.get(node.name, {})
        if node.attrs["from"] == "generated":
            yield (node.name, "file", str(node.attrs["holds"]).rpartition("/")[2])
            for text in node.attrs["signatures"]:
                yield (node.name, "signature", text)
            edges = store.edges_from(node.id, EdgeKind.BINDS)
            ops = store.nodes(e.dst for e in edges if e.rule == "python-binding")
            for op in ops.values():
                yield (node.name, "op", op.name)
        else:
            if "table_at" in row:
                yield (node.name, "at", node.at)
            if "impl" in row:
                yield (node.name, "function", str(node.attrs.get("function") or node.attrs.get("renames")))


def bindings(store: Store, truth: dict[str, Any]) -> Score:
    """The names that C++ gives to Python and what is behind each."""
    claimed = set(claimed_rows(store, truth))
    return score(wanted_rows(truth, claimed), claimed)


def public(store: Store, truth: dict[str, Any]) -> Score:
    """Public Python names: the C function, or the file and line of the Python function.

    Left out: functions that another function returned (the truth names the place of the inner function), and names
    that a module imports for its own use.
    """
    wanted: list[Row] = []
    got: list[Row] = []
    for module, names in truth["public"].items():
        for name, row in names.items():
            full = f"{module}.{name}"
            nodes = store.named(full, NodeKind.PYTHON)
            if not nodes or row["type"] not in ("builtin_function_or_method", "function"):
                continue
            end = _end(store, nodes[0], row.get("is", ""))
            if "is" in row:
                wanted.append((full, row["is"]))
                got.append((full, end.name))
            elif row.get("at") and not row["at"].startswith("torch/_jit_internal.py"):
                wanted.append((full, row["at"]))
                got.append((full, row["at"] if _same(end, row["at"]) else end.at))
    return score(wanted, got)


def _end(store: Store, node: Node, stop: str) -> Node:
    """What a re-exported name is in the end."""
    for _ in range(10):
        edges = store.edges_from(node.id, EdgeKind.ALIAS_OF)
        if not edges or node.name == stop:
            break
        node = store.node(edges[0].dst)
    return node


def _same(node: Node, place: str) -> bool:
    """Whether a function stands at ``place``; Python counts from its first decorator, whose text may be long."""
    path, _, line = place.rpartition(":")
    return node.file == path and 0 <= node.line - int(line) < 60


def main() -> int:
    """Print both metrics."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("PYTRACE_ORACLE"))
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N missing and N unproven rows")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the truth: --data or PYTRACE_ORACLE")
    store, truth = Store(options.index), load(Path(options.data))
    for name, found in (("bindings", bindings(store, truth)), ("public", public(store, truth))):
        wanted, claims = len(found.found) + len(found.missing), len(found.found) + len(found.unproven)
        print(
            f"{name:10s} recall {100 * found.recall:6.2f}%  ({len(found.found)}/{wanted})"
            f"   precision {100 * found.precision:6.2f}%  ({len(found.found)}/{claims})"
        )
        for title, rows in (("missing", found.missing), ("unproven", found.unproven)):
            for row in rows[: options.show]:
                print(f"   {title:8s}", *row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
