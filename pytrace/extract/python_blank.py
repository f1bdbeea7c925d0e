"""Blanking the bodies of functions in Python source of which only the outline is read: a parse goes by the token.

A body is blanked when its lines tell by themselves where it ends. Offsets, newlines and the ends of the functions stay.
"""

from __future__ import annotations

import re
from functools import cache

_DEF = re.compile(rb"\n([ \t]*)(?:async[ \t]+)?def[ \t]+\w+")
_HEAD = re.compile(rb"""[()\[\]{}:]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*""")
_QUOTES = (b'"""', b"'''")
_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_SPACES = bytes(10 if byte == 10 else 32 for byte in range(256))


def blank_bodies(source: bytes) -> bytes:
    """``source`` with ``0`` for the last character of each function's body, and spaces for the rest of it."""
    parts: list[bytes] = []
    done = 0
    found = _DEF.search(source)
    while found is not None:
        start = after = _head_end(source, found.end())
        if start < 0:
            after = found.end()
        else:
            body = _body(found[1]).match(source, start)
            text = body[0] if body else b""
            last = _last(text)
            if last >= 0 and _whole(text):
                blank = text.translate(_SPACES)
                parts += (source[done:start], blank[:last], b"0", blank[last + 1 :])
                done = after = start + len(text)
        found = _DEF.search(source, after)
    return b"".join((*parts, source[done:]))


def _head_end(source: bytes, start: int) -> int:
    """Offset behind the line that ends a function's head; -1 when its body stands on the same line."""
    depth = 0
    for found in _HEAD.finditer(source, start):
        mark = found[0]
        if mark in b"([{":
            depth += 1
        elif mark in b")]}":
            depth -= 1
        elif mark == b":" and depth == 0:
            end = source.find(b"\n", found.end())
            rest = source[found.end() : end].strip()
            return end if end >= 0 and (not rest or rest[:1] == b"#") else -1
    return -1


@cache
def _body(indent: bytes) -> re.Pattern[bytes]:
    """The lines that are blank or indented further than ``indent``."""
    return re.compile(rb"(?:\n+" + indent + rb"[ \t][^\n]*)*")


def _last(body: bytes) -> int:
    """Offset of the last character of the last statement; -1 when it is not plain."""
    end = len(body)
    while end > 0:
        line = body.rfind(b"\n", 0, end)
        text = body[line + 1 : end].rstrip()
        if text:  # the grammar counts some comments as part of the body before them
            return -1 if b"#" in text or text.endswith(b"\\") else line + len(text)
        end = line
    return -1


def _whole(body: bytes) -> bool:
    """Whether strings and brackets that begin in the body end in it: no line of theirs was taken for the next."""
    return all(body.count(quote) % 2 == 0 for quote in _QUOTES) and all(
        body.count(opening) == body.count(closing) for opening, closing in _PAIRS
    )
