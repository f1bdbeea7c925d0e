#!/usr/bin/env python3
"""The metric ``registrations``: what an index says of registrations, against what the running dispatcher holds.

usage: registrations_metric.py INDEX [--data FOLDER] [--show N]

INDEX is an index of PyTorch 2.6.0. FOLDER (or ``PYTRACE_ORACLE``) holds the measured truth: ``dispatch.json.gz`` for
C++, ``python_registrations.json.gz`` for Python. A registration is right when operator, key, file and line agree; the
line of C++ is that of the ``TORCH_LIBRARY`` block, that of Python the call that registers, as the dispatcher tells.

Of what an index claims only that can be judged which the measured program could have shown: C++ files that were built
into it, Python modules that were imported.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytrace.model import Edge, EdgeKind, NodeKind
from pytrace.store import Store
from tests.real.bindings_metric import Row, Score

#: What counts as a dispatcher registration among the edges of Python.
WHAT = {"python-library-impl": "impl", "python-py-impl": "py_impl"}


def load(folder: Path, name: str) -> dict[str, Any]:
    """One file of the truth."""
    with gzip.open(folder / name, "rt") as file:
        return dict(json.load(file))


def score(truth: Iterable[Row], claims: Iterable[Row]) -> Score:
    """Compare two sets of rows."""
    wanted, got = set(truth), set(claims)
    return Score(sorted(wanted & got), sorted(wanted - got), sorted(got - wanted))


def place_of(edge: Edge) -> str:
    """``path:line`` of an edge's evidence."""
    return f"{edge.file}:{edge.line}"


def path_of(place: str) -> str:
    """``path:line`` -> ``path``."""
    return place.rpartition(":")[0]


def cpp(store: Store, truth: dict[str, Any]) -> Score:
    """(operator, key, file:line of the block) of ``TORCH_LIBRARY`` registrations, fallthroughs included."""
    wanted = {
        (name, row["key"], f"{row['file']}:{row['line']}")
        for name, op in truth["ops"].items()
        for row in op["regs"]
        if row["src"] == "handwritten"
    }
    built = {path_of(row[2]) for row in wanted} | {path_of(place) for place in truth["handwritten_sites"]}
    names = {node.id: node.name for node in store.all_nodes(NodeKind.OP)}
    claims = {
        (names[edge.src], edge.key, f"{edge.file}:{edge.attrs['block']}")
        for edge in store.all_edges(EdgeKind.DISPATCHES)
        if "block" in edge.attrs and edge.src in names and edge.file in built
    }
    return score(wanted, claims)


def cpp_definitions(store: Store, truth: dict[str, Any]) -> Score:
    """(operator, file) of operators that C++ defines outside of the YAML."""
    wanted = {(n, path_of(op["def_at"])) for n, op in truth["ops"].items() if op["def_kind"] == "handwritten"}
    nodes = {node.name: node.file for node in store.all_nodes(NodeKind.OP)}
    return score(wanted, {(name, nodes[name]) for name, _ in wanted if name in nodes})


def python(store: Store, truth: dict[str, Any]) -> Score:
    """(what, operator, key, file:line of the call) of ``Library.impl`` and ``OpOverload.py_impl``."""
    rows = [row for row in truth["registrations"] if row["what"] in WHAT.values()]
    wanted = {(row["what"], row["op"], row["key"], row["call_at"]) for row in rows}
    imported = {path_of(row[key]) for row in rows for key in ("call_at", "fn_at") if row[key]}
    names = {node.id: node.name for node in store.all_nodes(NodeKind.OP)}
    claims = {
        (WHAT[edge.rule], names[edge.src], edge.key, place_of(edge))
        for edge in store.all_edges("registers_python")
        if edge.rule in WHAT
        and edge.file in imported
        and path_of(str(edge.attrs.get("from", place_of(edge)))) in imported
        and not names[edge.src].startswith("higher_order::")  # these are objects of Python, not of the dispatcher
    }
    return score(wanted, claims)


def python_definitions(store: Store, truth: dict[str, Any]) -> Score:
    """(operator, file:line of the call) of operators that Python defines."""
    wanted = {
        ("::".join(part.strip() for part in row["op"].split("::")), row["call_at"])
        for row in truth["registrations"]
        if row["what"] == "def"
    }
    nodes = {node.name: node.at for node in store.all_nodes(NodeKind.OP)}
    return score(wanted, {(name, nodes[name]) for name, _ in wanted if name in nodes})


def python_functions(store: Store, truth: dict[str, Any]) -> Score:
    """(what, operator, key, name of the function): which function is registered.

    Closures that ``torch.library`` itself wraps around a function are left out: the index names the function.
    """
    wanted = {
        (row["what"], row["op"], row["key"], row["fn"])
        for row in truth["registrations"]
        if row["what"] != "def"
        and row["fn_at"]
        and not row["fn_at"].startswith(("torch/library.py", "torch/_library/"))
    }
    keys = {row[:3] for row in wanted}
    names = {node.id: node.name for node in store.all_nodes(NodeKind.OP, NodeKind.PYTHON)}
    claims = set()
    for edge in store.all_edges("registers_python"):
        row = (WHAT.get(edge.rule, ""), names[edge.src], edge.key)
        if row in keys:
            claims.add((*row, names[edge.dst]))
    return score(wanted, claims)


def table(store: Store, key: str, wanted: Iterable[str]) -> Score:
    """Operators in one of the tables (``decomposition``, ``meta``, ``lowering``, ``fallback``)."""
    names = {node.id: node.name for node in store.all_nodes(NodeKind.OP)}
    claims = {(names[edge.src],) for edge in store.all_edges("registers_python") if edge.key == key}
    return score({(name if "::" in name else f"higher_order::{name}",) for name in wanted}, claims)


def scores(store: Store, folder: Path) -> dict[str, Score]:
    """All parts of the metric; ``registrations`` joins C++ and Python."""
    dispatcher, registrations = load(folder, "dispatch.json.gz"), load(folder, "python_registrations.json.gz")
    found = {"registrations cpp": cpp(store, dispatcher), "registrations python": python(store, registrations)}
    known = dispatcher["ops"]  # lowerings are also made for overloads that only TorchScript has
    return {
        "registrations": Score(*(a + b for a, b in zip(*found.values()))),
        **found,
        "definitions cpp": cpp_definitions(store, dispatcher),
        "definitions python": python_definitions(store, registrations),
        "functions python": python_functions(store, registrations),
        "decomposition": table(store, "decomposition", registrations["decomp"]["decomposition_table"]),
        "meta": table(store, "meta", registrations["decomp"]["meta_table"]),
        "lowering": table(store, "lowering", (n for n in registrations["inductor"]["lowerings"] if n in known)),
        "fallback": table(store, "fallback", (n for n in registrations["inductor"]["fallbacks"] if n in known)),
    }


def main() -> int:
    """Print the scores of one index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("PYTRACE_ORACLE"))
    parser.add_argument("--show", type=int, default=0, help="rows to list of what is missing or unproven")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the measured truth: --data, or PYTRACE_ORACLE")
    for name, found in scores(Store(options.index), Path(options.data)).items():
        truths, claims = len(found.found) + len(found.missing), len(found.found) + len(found.unproven)
        print(
            f"{name:22} recall {found.recall:8.2%} ({len(found.found)}/{truths})"
            f"   precision {found.precision:8.2%} ({len(found.found)}/{claims})"
        )
        for word, rows in (("missing", found.missing), ("unproven", found.unproven)):
            for row in rows[: options.show]:
                print(f"   {word:9}", *row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
