"""Cutting what is not read out of Python source: of an outline the bodies of functions, and tables of numbers.

A parse goes by the token, and pays for each space as well: what is not read is left out, not blanked. A body is cut
when its lines tell by themselves where it ends; ``0`` stands for it. An ``Excerpt`` knows where its parts come from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

#: The head of a function: its indentation, the parameters, what is said of the result. In parameters there may be
#: strings, comments and brackets one level deep; what is nested deeper is left as it is.
_HEAD = re.compile(
    rb"""\n([ \t]*)(?:async[ \t]+)?def[ \t]+\w+[ \t]*\("""
    rb"""([^()"'#\\]*(?:(?:\([^()"'#\\]*\)|"[^"\\\n]*"|'[^'\\\n]*'|#[^\n]*\n)[^()"'#\\]*)*)"""
    rb"""(\)[ \t]*(?:->[^:#\n]+)?:[ \t]*(?:#[^\n]*)?)(?=\n)"""
)
#: A default that is read: ``activation=F.relu``.
_DEFAULT = re.compile(rb"=\s*[A-Za-z_]\w*\.")
_FIRST = re.compile(rb"\n[ \t]*(?=[^\s#])")
#: What stands below the head of a function that TorchScript compiles says what is returned.
_TYPE_COMMENT = b"# type: ("
#: All bytes but brackets.
_OTHERS = bytes(byte for byte in range(256) if byte not in b"()[]{}")


class Excerpt:
    """Source text with parts cut out; ``text`` is what is left.

    Of each stretch that was kept whole: where it begins in the text and in the source, by offset and by line.
    """

    def __init__(self, text: bytes, offsets: list[tuple[int, int]], lines: list[tuple[int, int]]) -> None:
        self.text = text
        self._starts, self._sources = [a for a, _ in offsets], [b for _, b in offsets]
        self.is_whole = len(offsets) == 1
        self._first, self._numbers = [a for a, _ in lines], [b for _, b in lines]

    def offset(self, at: int) -> int:
        """The offset in the source of an offset of the text."""
        index = bisect_right(self._starts, at) - 1
        return self._sources[index] + at - self._starts[index]

    def line(self, number: int) -> int:
        """The line of the source, counted from 1, of a line of the text."""
        index = bisect_right(self._first, number) - 1
        return self._numbers[index] + number - self._first[index]


def whole(source: bytes) -> Excerpt:
    """Nothing is cut."""
    return Excerpt(source, [(0, 0)], [(1, 1)])


def cut_bodies(source: bytes) -> Excerpt:
    """``source`` without the bodies of its functions, and without parameters whose defaults are not read.

    ``0`` on a line of its own stands for a body: the line is the body's last one, the ends are the body's.
    """
    parts: list[bytes] = []
    offsets, lines = [(0, 0)], [(1, 1)]
    done = length = 0  #: what is copied of the source, and what the text has
    number, line = 1, 1  #: of the source and of the text at ``done``
    typed = _TYPE_COMMENT in source
    found = _HEAD.search(source)
    while found is not None:
        indent, parameters, result = found.groups()
        after = start = found.end()
        body = _body(indent).match(source, start)
        text = body[0].rstrip() if body is not None else b""
        if _is_plain(text) and not (typed and _TYPE_COMMENT in text):
            head, closing = found.span(2)
            if b"." in parameters and _DEFAULT.search(source, head - 1, closing):
                head = closing
            kept = source[done:head]
            length += len(kept)
            offsets.append((length, closing))
            parts += (kept, result, b"\n", indent, b" 0")
            length += len(result) + len(indent) + 2
            first = _FIRST.search(text)
            offsets.append((length, start + (first.end() if first is not None else 0)))
            length += 1
            above = kept.count(b"\n")
            line += above + 1
            number += above + parameters.count(b"\n") * (head != closing) + text.count(b"\n")
            lines.append((line, number))
            done = after = start + len(text)
            offsets.append((length, done))
        found = _HEAD.search(source, after)
    return Excerpt(b"".join((*parts, source[done:])), offsets, lines)


#: Rows of a table of numbers, each on lines of its own.
_NUMBERS = re.compile(rb"(?:\n[ \t]*[\d(\[](?:[\d,.:()\[\] eE+-]|True|False|None)*,[ \t]*){8,}(?=\n)")
_DIGITS = b"0123456789"
#: The share of digits in a file that is full of such tables, and how much of the file's middle is looked at.
_SHARE = 0.2
_SAMPLE = 2000


def cut_numbers(source: bytes) -> Excerpt:
    """``source`` without its tables of numbers, if it is full of them (tuned parameters of kernels)."""
    start = max(0, (len(source) - _SAMPLE) // 2)
    middle = source[start : start + _SAMPLE]
    if len(middle.translate(None, _DIGITS)) >= len(middle) * (1 - _SHARE):
        return whole(source)
    parts: list[bytes] = []
    offsets, lines = [(0, 0)], [(1, 1)]
    done = length = 0
    number, line = 1, 1
    for found in _NUMBERS.finditer(source):
        if not _is_plain(found[0]):
            continue
        kept = source[done : found.start()]
        parts.append(kept)
        length += len(kept)
        line += kept.count(b"\n")
        number += kept.count(b"\n") + found[0].count(b"\n")
        done = found.end()
        offsets.append((length, done))
        lines.append((line + 1, number + 1))
    return Excerpt(b"".join((*parts, source[done:])), offsets, lines)


@cache
def _body(indent: bytes) -> re.Pattern[bytes]:
    """The lines that are blank or indented further than ``indent``."""
    return re.compile(rb"(?:\n+" + indent + rb"[ \t][^\n]*)*")


def _is_plain(body: bytes) -> bool:
    """Whether a body ends where its lines seem to end: in a statement, with all its strings and brackets closed."""
    last = body[body.rfind(b"\n") + 1 :].lstrip()
    # The grammar counts some comments as part of the body before them.
    if not last or last.startswith(b"#") or last.endswith(b"\\"):
        return False
    if body.count(b'"""') % 2 or body.count(b"'''") % 2:
        return False
    marks = body.translate(None, _OTHERS)
    return (
        marks.count(b"(") == marks.count(b")")
        and marks.count(b"[") == marks.count(b"]")
        and marks.count(b"{") == marks.count(b"}")
    )
