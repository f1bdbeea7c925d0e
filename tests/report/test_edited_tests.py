"""Changed lines of OpInfo files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.report import edited_tests, testing

TEXT = """\
def helper(x):
    return x

def sample_inputs_a(op):
    yield helper(1)

def unused():
    pass

op_db = [
    OpInfo(
        "a",
        sample_inputs_func=sample_inputs_a,
    ),
    OpInfo("b", dtypes=all_types()),
    OpInfo("c",
           dtypes=none()),
]

def sample_inputs_d(op):
    pass

python_ref_db = [
    PythonRefInfo("_refs.d", sample_inputs_func=sample_inputs_d),
]
"""


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (2, ["a"]),  # a function that is named by one that the entry names
        (5, ["a"]),
        (8, []),
        (11, ["a"]),  # the bracket above the name
        (13, ["a"]),
        (15, ["b"]),
        (17, ["c"]),
        (21, ["_refs.d"]),
        (24, ["_refs.d"]),
    ],
)
def test_lines(tmp_path: Path, line: int, names: list[str]) -> None:
    path = "torch/testing/_internal/common_methods_invocations.py"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(TEXT)
    found = edited_tests.of_lines(testing.entries(str(tmp_path)), path, TEXT.split("\n"), [line])
    assert [entry.name for entry in found] == names
