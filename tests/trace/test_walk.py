"""What the trees say of the ends of edges."""

from __future__ import annotations

import pytest

from pytrace.model import Edge, Node
from pytrace.trace.walk import builds

Ends = list[tuple[str, str, int, int]]


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        # (name, guard of the definition, line of the call, candidates)
        ([("f", "#if A", 3, 2), ("f", "#else of #if A", 3, 2)], ["in #if A", "in #if !A"]),
        ([("f", "", 3, 2), ("f", "#if A", 3, 2)], ["", "in #if A"]),
        ([("f", "#if A", 3, 2), ("f", "#if A", 3, 2)], ["", ""]),  # two overloads of one build
        ([("f", "#if A", 3, 1), ("f", "#if B", 4, 1)], ["", ""]),  # certain
        ([("f", "#if A", 3, 2), ("g", "#if B", 3, 2)], ["", ""]),  # two functions
    ],
)
def test_functions_that_different_builds_have(ends: Ends, told: list[str]) -> None:
    pairs = [
        (
            Node(number, "function", name, "F.cpp", number, number, {"guard": guard} if guard else {}),
            Edge(99, number, "calls", "", "call", "G.cpp", line, "", candidates, {}),
        )
        for number, (name, guard, line, candidates) in enumerate(ends)
    ]
    found = builds(pairs)
    assert [found.get(number, "") for number in range(len(ends))] == told
