"""``pytrace kernel`` with the name that an AT_DISPATCH gives, or the message with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytrace.store import Store
from pytrace.trace import kernel, resolve
from tests.graphs import store

GRAPH = """
node function at::native::pad_cpu cpu/Pad.cpp:3
node function at::native::pad_cuda cuda/Pad.cu:3
node function at::native::same cuda/Same.cu:3
node label pad1d cpu/Pad.cpp:4
node label same cuda/Same.cu:4
edge at::native::pad_cpu dtypes label:pad1d @cpu/Pad.cpp:4 {"dtypes": ["Float", "Half"]}
edge at::native::pad_cuda dtypes label:pad1d @cuda/Pad.cu:4 {"dtypes": ["Float"]}
edge at::native::same dtypes label:same @cuda/Same.cu:4 {"dtypes": ["Float"]}
node op aten::pad1d.out native_functions.yaml:1
edge aten::pad1d.out dispatches=CPU at::native::pad_cpu @native_functions.yaml:2
edge aten::pad1d.out dispatches=CUDA at::native::pad_cuda @native_functions.yaml:3
"""


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Store]:
    opened = store(tmp_path, GRAPH)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("text", "names", "told"),
    [
        ("pad1d", ["at::native::pad_cpu", "at::native::pad_cuda"], "cpu/Pad.cpp:4, cuda/Pad.cu:4"),
        ("\"pad1d\" not implemented for 'Half'", ["at::native::pad_cpu", "at::native::pad_cuda"], "cpu/Pad.cpp:4 only"),
        (
            "RuntimeError: \"pad1d\" not implemented for 'Int'",
            ["at::native::pad_cpu", "at::native::pad_cuda"],
            "not among",
        ),
        ("same", ["at::native::same"], ""),  # the function of this name goes first
        ("\"same\" not implemented for 'Float'", ["at::native::same"], "Float is implemented there"),
    ],
)
def test_functions(graph: Store, text: str, names: list[str], told: str) -> None:
    found = resolve.kernels(graph, text)
    assert [n.name for n in found.nodes] == names
    assert told in found.how


def test_operators(graph: Store) -> None:
    answer = kernel.answer(graph, "pad1d", resolve.kernels(graph, "pad1d"), up=True)
    assert [reached.op.name for reached in answer.up] == ["aten::pad1d.out"]
    assert [entry.types for entry in answer.dtypes] == [["Float", "Half"], ["Float"]]


def test_a_label_that_was_not_read_is_said_to_be_none(graph: Store) -> None:
    found = resolve.kernels(graph, "\"pad_cpu\" not implemented for 'Half'")
    assert [n.name for n in found.nodes] == ["at::native::pad_cpu"]
    assert found.how.startswith("no AT_DISPATCH that the index has read")


@pytest.mark.parametrize(
    "text", ["pad2d", "\"pad2d\" not implemented for 'Half'", " not implemented for ", "not implemented"]
)
def test_no_label(graph: Store, text: str) -> None:
    assert resolve.kernels(graph, text).nodes == []
