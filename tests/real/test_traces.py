"""Kernels that profilers recorded on GPUs: what the index says they are, against the operators around the launches.

The recordings stand in the folder ``traces`` beside that of the measured truth.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytrace.model import NodeKind
from pytrace.names import read
from pytrace.store import Store
from pytrace.trace import kernel, resolve

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def traces(oracle: Path) -> Path:
    folder = oracle.parent / "traces"
    if not folder.exists():
        pytest.skip("no recordings beside the measured truth")
    return folder


def base(operator: str) -> str:
    """``aten::mul_.Tensor`` -> ``mul``"""
    return operator.rpartition("::")[2].partition(".")[0].rstrip("_")


def told(store: Store, name: str) -> tuple[set[str], bool] | None:
    """Base names of the operators told for a kernel, whether it is the tree's; None when there is no answer."""
    found = resolve.kernels(store, name)
    if not found.nodes:
        return None
    answer = kernel.answer(store, name, found, up=True, limit=0)
    names = {*answer.bases, *(n for r in answer.up for n in (r.op.name, *r.overloads))}
    return {base(n) for n in names}, found.nodes[0].kind != NodeKind.LIBRARY


def test_every_name_is_read(traces: Path) -> None:
    names = [line.partition("\t")[0] for line in (traces / "kernel_names.txt").read_text().splitlines()]
    assert len(names) > 600
    assert [name for name in names if " " in read(name).name or not read(name).name] == []


def test_verified_kernels(real_store: Store, traces: Path) -> None:
    kernels: list[dict[str, Any]] = json.loads((traces / "verified_kernels.json").read_text())["kernels"]
    wrong = []
    for entry in kernels:
        seen = {base(op) for op in entry["ops_observed"] if op.startswith("aten::")}
        found = told(real_store, entry["kernel"])
        if found is None or not seen <= found[0]:
            wrong.append((entry["id"], seen))
    assert wrong == []


def test_pairs(real_store: Store, traces: Path) -> None:
    """Where the index answers for a kernel that ran below an ATen operator, the operator is in the answer."""
    answer = cache(lambda name: told(real_store, name))
    right, wrong = 0, []
    for pair in json.loads((traces / "op_kernel_pairs.json").read_text()):
        around = {base(op) for op in (pair["op"], *pair["op_stack"], *pair["other_ops"]) if op.startswith("aten::")}
        found = answer(pair["kernel"])
        if not around or found is None:
            continue
        if around & found[0]:
            right += 1
        else:
            wrong.append((found[1], sorted(around), pair["kernel"][:120]))
    assert [entry for entry in wrong if entry[0]] == [], "a kernel of the tree, and a confident wrong match"
    assert right > 600
    assert len(wrong) <= 4
