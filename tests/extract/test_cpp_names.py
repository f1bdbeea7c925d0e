"""What stands behind the type of a declaration."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp_names import declared_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = f(1);", [("x", "= f(1)", "f(1)", False)]),
        ("x, *y = g(a, b)", [("x", "", "", False), ("y", "= g(a, b)", "g(a, b)", False)]),
        ("x[3][4] = {}", [("x", "= {}", "{}", True)]),
        ("x(1)", [("x", "(1)", "", False)]),
        # half a bracket, as it stands while somebody types
        ("n[ = a.b;", [("n", "[ = a.b", "", True)]),
        ("n[", [("n", "[", "", True)]),
        ("", []),
    ],
)
def test_names(text: str, names: list[tuple[str, str, str, bool]]) -> None:
    assert list(declared_in(text).names) == names
