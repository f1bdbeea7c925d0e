"""Small scanners over C++ text: balanced brackets, template arguments, argument lists.

They work on text decoded as Latin-1, so that an index into the text is an offset into the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

#: The template arguments of a specialisation that does not write them: ``template <> float dot(float* x)``.
DEDUCED = "?"
_BRACKET = re.compile(r"""[()\[\]{},]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'""")
_ANGLE = re.compile(r"[<>()\[\]{}]")
#: comments and strings; only the comments are blanked
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)
_SPLIT = re.compile(r"[(\[{)\]},<\"']")


_T = TypeVar("_T")


class Kept(dict[str, _T]):
    """What was found out about texts and depends on nothing else, kept per process, in bounded memory.

    ``kept[text]`` finds it out by ``make`` when it is not known; ``Kept(make).__getitem__`` is a function that asks
    without the cost of one written in Python.
    """

    _MOST = 100_000
    _LONGEST = 200

    def __init__(self, make: Callable[[str], _T]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, text: str) -> _T:
        return self.keep(text, self.make(text))

    def keep(self, text: str, found: _T) -> _T:
        """Keep what was found for ``text``, and return it."""
        if len(text) <= self._LONGEST:
            if len(self) >= self._MOST:
                self.clear()
            self[text] = found
        return found


def words(text: str) -> frozenset[str]:
    """The words of a text, for tables of names."""
    return frozenset(text.split())


def squeeze(text: str) -> str:
    """``text`` with every run of white space folded to one blank."""
    return " ".join(text.split())


def without_comments(text: str) -> str:
    """``text`` with its comments replaced by a blank."""
    if "//" in text or "/*" in text:
        return _COMMENTS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return text


def close_of(text: str, start: int, limit: int) -> int:
    """Offset just behind the bracket that closes the one at ``start``; ``limit`` when it never closes."""
    depth = 0
    for found in _BRACKET.finditer(text, start, limit):
        mark = found[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if depth <= 0:
                return found.end()
    return limit


def angle_close(text: str, start: int, limit: int) -> int:
    """Offset behind the ``>`` that closes the ``<`` at ``start``, ``start`` when this ``<`` opens no template list."""
    angle = depth = 0
    for found in _ANGLE.finditer(text, start, limit):
        mark = found[0]
        if mark == "<":
            if depth == 0:
                angle += 1
        elif mark == ">":
            if text[found.start() - 1] == "-":
                continue
            if depth == 0:
                angle -= 1
                if angle == 0:
                    return found.end()
        elif mark in "([{":
            depth += 1
        else:
            depth -= 1
            if depth < 0:
                return start
    return start


def split_top(text: str) -> list[str]:
    """The parts of ``text`` between top-level commas, stripped; brackets and plausible template lists stay whole."""
    if "," not in text:
        part = text.strip()
        return [part] if part else []
    if not ("(" in text or "<" in text or "{" in text or "[" in text or '"' in text or "'" in text):
        return [part.strip() for part in text.split(",")]
    parts: list[str] = []
    depth = last = skip = 0
    for found in _SPLIT.finditer(text):
        index = found.start()
        if index < skip:
            continue
        char = found[0]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == ",":
            if depth == 0:
                parts.append(text[last:index].strip())
                last = index + 1
        elif char == "<":
            if depth == 0:
                skip = angle_close(text, index, len(text))
        elif char == '"' or not (index and text[index - 1].isalnum()):
            literal = _BRACKET.match(text, index)
            if literal:
                skip = literal.end()
    tail = text[last:].strip()
    if tail or parts:
        parts.append(tail)
    return parts


def without_templates(name: str) -> str:
    """``name`` without template arguments: ``Foo<T>::bar<int>`` -> ``Foo::bar``; operators keep their symbol."""
    if "<" not in name:
        return name
    operator = name.find("operator")
    head, tail = (name, "") if operator < 0 else (name[:operator], name[operator:])
    if "<" in head:
        out, last, index = [], 0, head.find("<")
        while index >= 0:
            end = angle_close(head, index, len(head))
            if end == index:
                break
            out.append(head[last:index])
            last = end
            index = head.find("<", end)
        head = "".join(out) + head[last:]
    return head.strip() + tail


def template_arguments(name: str) -> str:
    """The text between the last top-level ``<`` … ``>`` of ``name``, or ""."""
    start = name.find("<")
    if start < 0 or not name.rstrip().endswith(">"):
        return ""
    while True:
        end = angle_close(name, start, len(name))
        if end == start:
            return ""
        if end >= len(name.rstrip()):
            return name[start + 1 : end - 1]
        start = name.find("<", end)
        if start < 0:
            return ""
