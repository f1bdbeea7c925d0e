"""What the query finds in one file's tree: the nodes by name, and the events in functions' bodies by position.

One walk over the tree gives both. A call is one match that holds its callee and its arguments; what reaches nothing
of interest (``cpp_callee.QUIET``) is dropped here, before anything is sorted.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytrace.extract.cpp_callee import QUIET, callee_of
from pytrace.extract.queries import load

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

#: What an event is; of two at one place the smaller goes first.
DECLARATION, LAMBDA, RANGE_FOR, CALL, CONSTRUCTED, BINARY, ASSIGNMENT, SUBSCRIPT, UNARY = range(9)
#: Captures that are events by themselves; the others are kept by their names. A call is handled on its own.
_EVENTS = {
    "declaration": DECLARATION,
    "lambda_head": LAMBDA,
    "range_for": RANGE_FOR,
    "constructed": CONSTRUCTED,
    "binary": BINARY,
    "assignment": ASSIGNMENT,
    "subscript": SUBSCRIPT,
    "unary": UNARY,
}
#: Those that matter only where there are Tensors, and what a file that has any holds.
_OPERATORS = ("binary", "assignment", "subscript", "unary")
_TENSOR_WORDS = ("Tensor", "ariable", "at::")

#: start, what, end, number (so that nodes are not compared), node, and for a call its ``Callee``. The node of a call
#: is its list of arguments.
Event = tuple[int, int, int, int, "Node", Any]


class Found(NamedTuple):
    """What the query finds."""

    nodes: dict[str, list[Node]]
    events: list[Event]


@cache
def _query(language: Language) -> tuple[Query, tuple[str, ...]]:
    """The query, and for each of its patterns the name of its capture."""
    from tree_sitter import Query

    text = load("cpp/structure")
    query = Query(language, text)
    names = []
    for number in range(query.pattern_count):
        start, end = query.start_byte_for_pattern(number), query.end_byte_for_pattern(number)
        names.append(re.findall(r"@(\w+)", text.encode()[start:end].decode())[-1])
    return query, tuple(names)


def find(root: Node, language: Language, text: str, tensors: bool) -> Found:
    """Run the query over a tree; ``text`` is its source as Latin-1, ``tensors``: there are some, whatever it says."""
    from tree_sitter import QueryCursor

    query, names = _query(language)
    nodes: dict[str, list[Node]] = {name: [] for name in names}
    events: list[Event] = []
    tensors = tensors or any(word in text for word in _TENSOR_WORDS)
    whats = [_EVENTS.get(name, -1) if tensors or name not in _OPERATORS else -2 for name in names]
    call = names.index("arguments")
    number = 0
    for pattern, captured in QueryCursor(query).matches(root):
        if pattern == call:
            node = captured["callee"][0]
            start, end = node.start_byte, node.end_byte
            callee = callee_of(text[start:end])
            if callee[0] != QUIET or text[end] != "(":  # <<<…>>> makes any name a kernel
                number += 1
                events.append((start, CALL, end, number, captured["arguments"][0], callee))
            continue
        what = whats[pattern]
        if what == -2:
            continue
        name = names[pattern]
        node = captured[name][0]
        if what < 0:
            nodes[name].append(node)
        else:
            number += 1
            events.append((node.start_byte, what, node.end_byte, number, node, None))
    events.sort()
    return Found(nodes, events)
