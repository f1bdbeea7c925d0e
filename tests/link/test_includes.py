"""Which files a file sees."""

from __future__ import annotations

import pytest

from pytrace.link.includes import Includes

TREE = {
    "aten/src/ATen/native/A.cpp": ["ATen/native/A.h", "B.h", "c10/C.h", "vector", "nowhere/N.h"],
    "aten/src/ATen/native/A.h": ["ATen/Loop1.h"],
    "aten/src/ATen/native/B.h": [],
    "aten/src/ATen/native/cuda/K.cu": ["../A.h"],
    "aten/src/ATen/Loop1.h": ["ATen/Loop2.h"],
    "aten/src/ATen/Loop2.h": ["ATen/Loop1.h", "ATen/End.h"],
    "aten/src/ATen/End.h": [],
    "c10/C.h": [],
    "torch/csrc/api/include/torch/nn.h": [],
    "torch/csrc/T.cpp": ["torch/nn.h", "T.h"],
}


@pytest.mark.parametrize(
    ("path", "direct"),
    [
        # beside the file, then from the include folders of PyTorch's build; what is in no file of the tree is left out
        ("aten/src/ATen/native/A.cpp", ["aten/src/ATen/native/A.h", "aten/src/ATen/native/B.h", "c10/C.h"]),
        ("aten/src/ATen/native/cuda/K.cu", ["aten/src/ATen/native/A.h"]),
        ("torch/csrc/T.cpp", ["torch/csrc/api/include/torch/nn.h"]),
        ("aten/src/ATen/End.h", []),
        ("unknown.h", []),
    ],
)
def test_direct(path: str, direct: list[str]) -> None:
    assert Includes(TREE).direct(path) == direct


@pytest.mark.parametrize(
    ("path", "other", "sees"),
    [
        ("aten/src/ATen/native/A.cpp", "aten/src/ATen/native/A.cpp", True),
        ("aten/src/ATen/native/A.cpp", "aten/src/ATen/native/A.h", True),
        ("aten/src/ATen/native/A.cpp", "aten/src/ATen/End.h", True),
        ("aten/src/ATen/native/cuda/K.cu", "aten/src/ATen/Loop2.h", True),
        ("aten/src/ATen/native/A.h", "aten/src/ATen/native/A.cpp", False),
        ("aten/src/ATen/End.h", "aten/src/ATen/Loop1.h", False),
        ("aten/src/ATen/native/A.cpp", "unknown.h", False),
    ],
)
def test_sees(path: str, other: str, sees: bool) -> None:
    assert Includes(TREE).sees(path, other) is sees


@pytest.mark.parametrize("first", ["aten/src/ATen/Loop1.h", "aten/src/ATen/Loop2.h"])
def test_files_that_include_each_other_see_the_same(first: str) -> None:
    includes = Includes(TREE)
    includes.sees(first, "x")  # whichever is asked about first
    for one in ("aten/src/ATen/Loop1.h", "aten/src/ATen/Loop2.h"):
        for other in ("aten/src/ATen/Loop1.h", "aten/src/ATen/Loop2.h", "aten/src/ATen/End.h"):
            assert includes.sees(one, other)


def test_the_answer_does_not_depend_on_what_was_asked_before() -> None:
    # A includes B and C, B includes A: the closure of B is known when C's is not
    tree = {"A.h": ["B.h", "C.h"], "B.h": ["A.h"], "C.h": ["D.h"], "D.h": []}
    pairs = [(a, b) for a in tree for b in tree]
    answers = [Includes(tree).sees(a, b) for a, b in pairs]
    for start in range(len(pairs)):
        includes = Includes(tree)
        turned = pairs[start:] + pairs[:start]
        found = {pair: includes.sees(*pair) for pair in turned}
        assert [found[pair] for pair in pairs] == answers
