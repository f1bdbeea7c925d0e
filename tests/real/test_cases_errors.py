"""Messages that people pasted in public, and what PyTorch 2.6.0 has for them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main

pytestmark = pytest.mark.real

N = "aten/src/ATen/native/"
RUN = "Could not run '{}' with arguments from the '{}' backend."
MPS = "The operator '{}' is not currently implemented for the MPS device."

#: id -> (message, what is said, dispatch rows (operator, keys, place), further places that the answer holds)
CASES: dict[str, tuple[str, str, list[tuple[str, list[str], str]], list[str]]] = {
    "E1": (
        RUN.format("aten::_spdiags", "CUDA"),
        "no kernel for CUDA, only for CPU",
        [("aten::_spdiags", ["CPU"], N + "sparse/SparseFactories.cpp:21")],
        [N + "cpu/SparseFactories.cpp:63", "torch/sparse/__init__.py:342", N + "sparse/SparseFactories.cpp:19"],
    ),
    "E4": (
        RUN.format("aten::to_dense", "CUDA"),
        "composite",
        [("aten::to_dense", ["CompositeImplicitAutograd"], N + "TensorConversions.cpp:601")],
        [N + "native_functions.yaml:7279"],
    ),
    "E5": (
        MPS.format("aten::index.Tensor_out"),
        "it has a kernel for MPS",
        [("aten::index.Tensor_out", ["CPU", "CUDA", "MPS"], N + "TensorAdvancedIndexing.cpp:624")],
        [N + "TensorAdvancedIndexing.cpp:629"],
    ),
    "E6": (
        MPS.format("aten::logspace.out"),
        "no kernel for MPS",
        [
            ("aten::logspace.out", ["CPU", "Meta"], N + "RangeFactories.cpp:87"),
            ("aten::logspace.out", ["CUDA"], N + "cuda/RangeFactories.cu:123"),
        ],
        [],
    ),
    "C3": (
        "derivative for aten::heaviside is not implemented",
        "aten::heaviside",
        [],
        [N + "native_functions.yaml:6964"],
    ),
    "F9": (
        "There is a performance drop because we have not yet implemented the batching rule for "
        "aten::_thnn_fused_lstm_cell_backward.",
        "aten::_thnn_fused_lstm_cell_backward",
        [("aten::_thnn_fused_lstm_cell_backward", ["CompositeImplicitAutograd"], N + "RNN.cpp:1171")],
        [],
    ),
}


def places(value: Any) -> set[str]:
    """Every ``file:line`` in an answer."""
    found: set[str] = set()
    if isinstance(value, dict):
        if value.get("file"):
            found.add(f"{value['file']}:{value.get('line', 0)}")
        value = list(value.values())
    if isinstance(value, list):
        found = found.union(*map(places, value))
    return found


@pytest.mark.parametrize("case", CASES)
def test_message(case: str, real_tree: str, real_index: object) -> None:
    message, told, rows, cited = CASES[case]
    result = CliRunner().invoke(
        main, shlex.split(f"op {shlex.quote(message)} --format json --root {real_tree} --no-refresh")
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.output)
    assert told in answer["how"]
    table = [
        (row["op"], row["keys"], f"{row['function'].get('file')}:{row['function'].get('line')}")
        for row in answer["dispatch"]
    ]
    assert [row for row in rows if row not in table] == []
    assert set(cited) <= places(answer)
