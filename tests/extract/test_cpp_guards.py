"""Preprocessor conditions around a line."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp_guards import LONGEST, PreprocessorGuards, clip


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("X", ""),
        ("#if A\nX\n#endif", "#if A"),
        ("#if A\n#endif\nX", ""),
        ("#ifdef A\nX\n#endif", "#ifdef A"),
        ("#ifndef A\nX\n#endif", "#ifndef A"),
        ("#if A\n#else\nX\n#endif", "#else of #if A"),
        ("#if A\n#elif B\nX\n#endif", "#elif B"),
        ("#if A\n#elif B\n#else\nX\n#endif", "#else of #elif B"),
        ("#if A\n#if B\nX\n#endif\n#endif", "#if A && #if B"),
        ("#if A\n#if B\n#endif\nX\n#endif", "#if A"),
        ("  #  if  A\nX\n# endif", "#if A"),
        ("#if A && \\\n    B\nX\n#endif", "#if A && B"),
        ("#if A // why\nX\n#endif", "#if A"),
        ("#if A /* why */\nX\n#endif", "#if A"),
        # an include guard says nothing about when a line runs
        ("#ifndef ATEN_A_H\n#define ATEN_A_H\nX\n#endif", ""),
        ("#ifndef A_H_\nX\n#else\n#endif", ""),
        # broken files
        ("#endif\n#else\nX", ""),
        ("#if\nX", "#if "),
        ("#if A\n#elif\nX", "#elif "),
    ],
)
def test_guard_at(text: str, guard: str) -> None:
    assert PreprocessorGuards(text).at(text.index("X")) == guard


def test_clip() -> None:
    assert clip("a  &&\n b // why\n") == "a && b"
    assert len(clip("x" * 500)) == LONGEST and clip("x" * 500).endswith("…")
