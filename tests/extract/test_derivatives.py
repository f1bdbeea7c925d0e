"""Facts of derivatives.yaml."""

from __future__ import annotations

import marshal

import pytest

from pytrace.extract.derivatives import extract

ENTRY = b"""\
# head
- name: f(Tensor self, Tensor other) -> (Tensor, Tensor)
  self: grad * other
  other: "a ? b :
    c"
  result0: auto_linear
  output_differentiability: [True, False]

- name: g(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad
    AutogradNestedTensor:
      # why
      self: g_nested(grad)
      result: auto_linear
"""


def test_entries_with_lines() -> None:
    made = extract(ENTRY)
    assert marshal.loads(marshal.dumps(made)) == made
    assert made == {
        "entries": [
            (
                2,
                "f(Tensor self, Tensor other) -> (Tensor, Tensor)",
                [True, False],
                [
                    (
                        "Default",
                        [("self", "grad * other", 3), ("other", "a ? b : c", 4), ("result0", "auto_linear", 6)],
                    )
                ],
            ),
            (
                9,
                "g(Tensor self) -> Tensor",
                None,
                [
                    ("Default", [("self", "grad", 12)]),
                    ("AutogradNestedTensor", [("self", "g_nested(grad)", 15), ("result", "auto_linear", 16)]),
                ],
            ),
        ],
        "diagnostics": [],
    }


NAME = b"- name: f() -> ()\n"
ODD = [
    # source, number of entries, line and word of each diagnostic
    (b"- self: grad\n", 0, [(1, "under 'name'")]),
    (NAME + b"  self: [grad]\n", 1, [(2, "not a text")]),
    (NAME + b"  output_differentiability: yes\n", 1, [(2, "not a list of booleans")]),
    (NAME + b"  dispatch: none\n", 1, [(2, "not a table of formulas")]),
    (NAME + b"  self: grad\n  dispatch:\n    Default: {}\n", 1, [(2, "beside 'dispatch'")]),
    (NAME + b"  self: 'grad\n" + NAME, 1, [(3, "")]),
]


@pytest.mark.parametrize(("source", "count", "said"), ODD)
def test_odd_entries(source: bytes, count: int, said: list[tuple[int, str]]) -> None:
    made = extract(source)
    assert len(made["entries"]) == count
    got = [(line, message) for line, _, message in made["diagnostics"]]
    assert [line for line, _ in got] == [line for line, _ in said]
    for (_, message), (_, word) in zip(got, said):
        assert word in message


def test_conditions() -> None:
    (row,) = extract(NAME + b"  output_differentiability: ['!dtype', True]\n")["entries"]
    assert row[2] == ["!dtype", True]
    (row,) = extract(NAME + b"  output_differentiability: []\n")["entries"]
    assert row[2] is None
