"""Guards: under which condition a line of C++ runs.

Preprocessor conditions are read from the text, line by line, so that they survive whatever the parser makes of a
half function between ``#if`` and ``#else``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytrace.extract.cpp_text import squeeze

if TYPE_CHECKING:
    from tree_sitter import Node

_HEAD = re.compile(r"#[ \t]*(\w*)")
_REST = re.compile(r"[^\n\\]*(?:\\\n?[^\n\\]*)*")
_INCLUDED = re.compile(r'[ \t]*[<"]([^>"\n]+)[>"]')
_CONDITIONAL = frozenset(("if", "ifdef", "ifndef", "elif", "else", "endif"))
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.S)
_CASE = re.compile(r"\b(?:case\b|default\s*:)")
#: guards longer than this are cut: what is shown is a hint, the line itself is cited
LONGEST = 160


def clip(text: str) -> str:
    """One line, comments and white space folded, at most ``LONGEST`` characters."""
    if "/" in text:
        text = _COMMENT.sub("", text)
    text = squeeze(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


class Directive(NamedTuple):
    """One preprocessor line with its continuation lines: offsets of its ``#`` and of its end, the word behind it."""

    start: int
    end: int
    word: str
    rest: int  #: offset behind the word


def directives(text: str) -> list[Directive]:
    """Every preprocessor line of ``text``, in order; what stands in comments counts as well."""
    rows = []
    skip = 0
    for found in _HEAD.finditer(text):
        start = found.start()
        if start < skip or text[text.rfind("\n", 0, start) + 1 : start].strip(" \t"):
            continue
        rest = _REST.match(text, found.end())
        skip = rest.end() if rest else found.end()
        rows.append(Directive(start, skip, found[1], found.end()))
    return rows


def includes(text: str, rows: Sequence[Directive]) -> list[str]:
    """The included paths, as written."""
    found = (_INCLUDED.match(text, row.rest) for row in rows if row.word == "include")
    return [match[1] for match in found if match]


class PreprocessorGuards:
    """Which ``#if`` conditions hold at an offset.

    ``starts`` and ``guards`` are columns of one table: the conditions from an offset on.
    """

    def __init__(self, text: str) -> None:
        self.rows = directives(text)
        self.starts: list[int] = [0]
        self.guards: list[str] = [""]
        stack: list[tuple[str, str]] = []
        for _, end, word, rest in self.rows:
            if word not in _CONDITIONAL or (not stack and word[0] == "e"):
                continue
            if word == "endif":
                stack.pop()
            elif word == "else":
                shown, condition = stack[-1]
                stack[-1] = (f"#else of {shown}" if shown else "", condition)
            else:
                condition = clip(text[rest:end].replace("\\\n", " "))
                shown = f"#{word} {condition}"
                if word == "elif":
                    stack[-1] = (shown, condition)
                else:
                    # an include guard says nothing about when a line runs
                    guard = word == "ifndef" and condition.endswith(("_H", "_H_", "_HPP", "_INCLUDED"))
                    stack.append(("" if guard else shown, condition))
            self.starts.append(end)
            self.guards.append(" && ".join(g for g, _ in stack if g))

    def at(self, offset: int) -> str:
        """The conditions around ``offset``, joined by `` && ``, outermost first; "" when there are none."""
        if len(self.starts) == 1:
            return ""
        return self.guards[bisect_right(self.starts, offset) - 1]


_last: list[tuple[str, PreprocessorGuards]] = []


def guards_of(text: str) -> PreprocessorGuards:
    """The conditions of ``text``. Several modules read one file after the other: the last one's are kept."""
    if not _last or _last[0][0] != text:
        _last[:] = [(text, PreprocessorGuards(text))]
    return _last[0][1]


#: (start, end, condition) of a region that runs under a condition
Region = tuple[int, int, str]


def regions(text: str, captures: Mapping[str, Iterable[Node]]) -> list[Region]:
    """Every region of code that runs under a condition of the language, by start, the longer first."""
    spans: list[Region] = []
    for node in captures.get("if", ()):
        spans += _branches(text, node)
    for node in captures.get("case", ()):
        value = node.child_by_field_name("value")
        shown = clip(text[value.start_byte : value.end_byte]) if value is not None else ""
        spans.append((node.start_byte, _case_end(text, node), f"case {shown}" if shown else "default"))
    for node in captures.get("ternary", ()):
        condition = node.child_by_field_name("condition")
        then = node.child_by_field_name("consequence")
        other = node.child_by_field_name("alternative")
        if condition is None or then is None or other is None:
            continue
        shown = clip(text[condition.start_byte : condition.end_byte])
        spans.append((then.start_byte, then.end_byte, f"if ({shown})"))
        spans.append((other.start_byte, other.end_byte, f"else of if ({shown})"))
    spans.sort(key=lambda s: (s[0], -s[1]))
    return spans


def _case_end(text: str, node: Node) -> int:
    """Where the statements of a ``case`` end: a directive among them ends the parser's node, not the case."""
    end, following = node.end_byte, node.next_named_sibling
    while following is not None and following.type.startswith("preproc_if"):
        other = _CASE.search(text, following.start_byte, following.end_byte)
        if other:
            return other.start()
        end, following = following.end_byte, following.next_named_sibling
    return end


def _leaves(then: Node) -> bool:
    """Whether a branch ends with ``return`` or ``throw``."""
    last: Node | None = then
    if then.type == "compound_statement":
        index = then.named_child_count - 1
        while index >= 0 and (last := then.named_child(index)) is not None and last.type == "comment":
            index -= 1
        if index < 0:
            return False
    return last is not None and last.type in ("return_statement", "throw_statement")


def _branches(text: str, node: Node) -> list[Region]:
    """The branches of an ``if``; what follows one that ends with a ``return`` runs under the opposite condition."""
    condition = node.child_by_field_name("condition")
    then = node.child_by_field_name("consequence")
    if condition is None or then is None:
        return []
    start, end = then.start_byte, then.end_byte
    shown = clip(text[condition.start_byte : condition.end_byte].strip()[1:-1])
    spans = [(start, end, f"if ({shown})")]
    other = node.child_by_field_name("alternative")
    if other is not None:
        spans.append((other.start_byte, other.end_byte, f"else of if ({shown})"))
        return spans
    if _leaves(then):
        block = node.parent
        if block is not None and block.type == "compound_statement":
            spans.append((node.end_byte, block.end_byte, f"unless ({shown})"))
    return spans
