"""What changed lines are of: functions, entries, registrations, names that others mention."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.report import changed
from pytrace.report.patches import FileChange, Line
from pytrace.store import Store
from tests.minitorch.tree import ROOT

N = "aten/src/ATen/native"


def source(path: str) -> list[str]:
    return (Path(ROOT) / path).read_text().split("\n")


def line_of(path: str, text: str) -> int:
    return next(number for number, line in enumerate(source(path), 1) if text in line)


def seeds(store: Store, path: str, text: str) -> dict[str, str]:
    """name -> how, for a change of the line that holds ``text``."""
    number = line_of(path, text)
    change = FileChange(path, path, "modified", added=[Line(number, source(path)[number - 1])])
    return {
        seed.node.name: seed.how
        for seed in changed.find(store, change, source(path), changed.evidence(store)).seeds.values()
    }


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (f"{N}/cuda/ActivationGeluKernel.cu", "LAUNCH_TWICE(gelu_step", {"at::native::launch_gelu_kernel": "inside"}),
        (
            f"{N}/cuda/ActivationGeluKernel.cu",
            "REGISTER_CUDA_DISPATCH(GeluBack",
            {"GeluBackwardKernel": "registration"},
        ),
        (f"{N}/native_functions.yaml", "CPU: gelu_out_cpu", {"aten::gelu.out": "entry"}),
        (f"{N}/native_functions.yaml", "# ufunc: the kernels", {}),
        ("tools/autograd/derivatives.yaml", "self: gelu_backward(grad, self", {"GeluBackward0": "entry"}),
    ],
)
def test_lines(mini: Store, path: str, text: str, expected: dict[str, str]) -> None:
    assert seeds(mini, path, text) == expected


def test_a_change_in_one_function_does_not_blame_the_file(mini: Store) -> None:
    assert "at::native::gelu_step" not in seeds(mini, f"{N}/cuda/ActivationGeluKernel.cu", "LAUNCH_TWICE(gelu_step")


def test_a_removal_touches_what_stands_around_it(mini: Store) -> None:
    path = f"{N}/cuda/ActivationGeluKernel.cu"
    number = line_of(path, "LAUNCH_TWICE(gelu_step")
    inside = FileChange(path, path, "modified", gaps=[(number, number + 1)])
    assert [s.node.name for s in changed.find(mini, inside, source(path), {}).seeds.values()] == [
        "at::native::launch_gelu_kernel"
    ]
    first = line_of(path, "void launch_gelu_kernel")
    between = FileChange(path, path, "modified", gaps=[(first - 1, first)])
    assert not changed.find(mini, between, source(path), {}).seeds


def test_a_whole_file(mini: Store) -> None:
    path = f"{N}/cuda/ActivationGeluKernel.cu"
    found = changed.find(mini, FileChange(path, path, "modified", whole=True), source(path), {})
    assert {"at::native::gelu_step", "at::native::launch_gelu_kernel"} <= {s.node.name for s in found.seeds.values()}


def test_files_that_bear_on_nothing(mini: Store) -> None:
    found = changed.find(mini, FileChange("docs/x.rst", "docs/x.rst", "modified", added=[Line(1, "x")]), [], {})
    assert (found.kind, found.seeds) == ("", {})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#define THREADS 128", "THREADS"),
        ("static constexpr int kLimit = 4;", "kLimit"),
        ("struct Params {", "Params"),
        ("enum class Mode : uint8_t { A };", "Mode"),
        ("using scalar = float;", "scalar"),
        ("int table[3] = {1, 2, 3};", "table"),
        ("  int64_t size_;", "size_"),
        ("if (x) {", ""),
        ("    1, 2, 3,", ""),
    ],
)
def test_declared_names(text: str, name: str) -> None:
    assert changed.declared(text) == name
