"""Facts of native_functions.yaml, tags.yaml and deprecated.yaml."""

from __future__ import annotations

import marshal
import textwrap
from typing import Any

import pytest

from pytrace.extract.native_functions import extract


def facts(text: str) -> dict[str, Any]:
    made = extract(textwrap.dedent(text).encode())
    assert marshal.loads(marshal.dumps(made)) == made
    return made


def test_an_entry_with_everything() -> None:
    made = facts("""\
        # comment
        - func: add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
          device_check: NoCheck   # TensorIterator
          structured: True
          cpp_no_default_args: ['dim']
          ufunc_inner_loop:
            Generic: add (All)
          dispatch:
            # a comment between
            SparseCPU, SparseMeta: add_out_sparse_cpu
            MPS: mps::add_out
          tags: [core, pointwise]
          autogen: x.out
        """)
    assert made == {
        "entries": [
            (
                2,
                "add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
                {
                    "device_check": "NoCheck",
                    "structured": True,
                    "cpp_no_default_args": ["dim"],
                    "ufunc_inner_loop": [("Generic", "add (All)", 7)],
                    "dispatch": [("SparseCPU, SparseMeta", "add_out_sparse_cpu", 10), ("MPS", "mps::add_out", 11)],
                    "tags": ["core", "pointwise"],
                    "autogen": "x.out",
                    "lines": {"autogen": 13, "ufunc_inner_loop": 6},
                },
            )
        ],
        "diagnostics": [],
    }


def test_tags_and_deprecated_signatures() -> None:
    assert facts("- tag: core\n  desc: |\n      what it says\n")["tags"] == [(1, "core", "what it says")]
    made = facts("\n- name: add(Tensor self) -> Tensor\n  aten: add(self, 1)\n")
    assert made["deprecated"] == [(2, "add(Tensor self) -> Tensor", "add(self, 1)")]


@pytest.mark.parametrize("source", [b"", b"# nothing\n", b"[]", b"---\n"])
def test_empty_files(source: bytes) -> None:
    assert extract(source) == {"diagnostics": []}


GOOD = b"- func: good() -> ()\n"
BROKEN = [
    # source, functions that are still read, lines and words of the diagnostics
    (GOOD + b"- func: [bad\n" + GOOD, ["good() -> ()", "good() -> ()"], [(3, "expected")]),
    (b"- func: a() -> ()\n  tags: {\n- func: b() -> ()\n", ["b() -> ()"], [(3, "")]),
    (b"- func: \xff() -> ()\n", ["\ufffd() -> ()"], [(1, "not UTF-8")]),
    (b"- func: a\x07() -> ()\n", ["a () -> ()"], [(1, "no place in YAML")]),
    (b"func: a() -> ()\n", [], [(1, "expected a list")]),
    (b"- just text\n" + GOOD, ["good() -> ()"], [(1, "expected an entry")]),
    (b"- color: red\n" + GOOD, ["good() -> ()"], [(1, "neither an operator")]),
    (b"- func: a() -> ()\n  func: b() -> ()\n", ["a() -> ()"], [(2, "duplicate key")]),
    (b"- func: a() -> ()\n  colour: red\n", ["a() -> ()"], [(2, "unknown key")]),
    (b"- func: a() -> ()\n  structured: maybe\n", ["a() -> ()"], [(2, "not a flag")]),
    (b"- func: a() -> ()\n  dispatch: CPU\n", ["a() -> ()"], [(2, "not a table")]),
    (b"- func: a() -> ()\n  dispatch:\n    CPU: [x]\n", ["a() -> ()"], [(2, "not a table")]),
    (b"- func: a() -> ()\n  tags: {a: b}\n", ["a() -> ()"], [(2, "not a text or a list")]),
    (b"- func: a() -> ()\n  dispatch:\n    ? [CPU]\n    : x\n    CUDA: y\n", ["a() -> ()"], [(3, "no plain text")]),
    (b"- func: a() -> ()\n  dispatch: {a: {b: {c: {d: e}}}}\n", ["a() -> ()"], [(2, "too deep"), (2, "not a table")]),
    (b"[" * 5000, [], [(1, "maximum nesting")]),
    (b"\x00\x01\x02", [], [(1, "no place in YAML")]),
]


@pytest.mark.parametrize(("source", "functions", "said"), BROKEN)
def test_broken_input_becomes_diagnostics(source: bytes, functions: list[str], said: list[tuple[int, str]]) -> None:
    made = extract(source)
    assert [func for _, func, _ in made.get("entries", [])] == functions
    assert [line for line, _, _ in made["diagnostics"]] == [line for line, _ in said]
    for (_, _, message), (_, word) in zip(made["diagnostics"], said):
        assert word in message


def test_anchors_do_not_explode() -> None:
    bomb = b"- a: &a [x, x]\n  b: &b [*a, *a]\n  c: &c [*b, *b]\n  d: &d [*c, *c]\n  func: f() -> ()\n"
    assert [row[1] for row in extract(bomb)["entries"]] == ["f() -> ()"]


def test_lines_stay_true_after_a_broken_entry() -> None:
    made = extract(b"# head\n- func: [bad\n  more: text\n\n- func: good() -> ()\n  dispatch:\n    CPU: k\n")
    assert made["entries"] == [(5, "good() -> ()", {"dispatch": [("CPU", "k", 7)]})]
