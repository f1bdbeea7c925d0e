"""Same-length rewrite of C++ source, so that a grammar without a preprocessor reads its structure.

``normalise(source)`` returns as many bytes, with every newline where it was: offsets and rows of the tree are those
of the source. Text that is read from the tree (a name, an argument) should be sliced from the *normalised* bytes;
what is blanked is never a part of a name.

What comes out

* Attribute-like macros are spaces (``macro_table``).
* ``NAME(…)`` that stands alone as a statement gets its ``;`` when a blank or a comment follows that can hold it.
"""

from __future__ import annotations

import re

from pytrace.extract.macro_table import BLANK_WORDS, Action, action

_CAPS = re.compile(rb"[A-Z][A-Z0-9_]{3,}")
_NOT_NEWLINE = re.compile(rb"[^\n]")
_IDENT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_actions: dict[bytes, str] = {}


def normalise(source: bytes) -> bytes:
    """Rewrite ``source`` (any bytes): same length, same newlines."""
    out = bytearray(source)
    for word in set(_CAPS.findall(source)):
        what = _actions.get(word)
        if what is None:
            if len(_actions) > 100_000:  # a long-lived process must not collect every word it ever saw
                _actions.clear()
            what = _actions[word] = action(word)
        if what:
            _rewrite_word(source, out, word, what)
    for word, _reason in BLANK_WORDS:
        if word in source:
            _rewrite_word(source, out, word, Action.BLANK)
    return bytes(out)


def _rewrite_word(source: bytes, out: bytearray, word: bytes, what: str) -> None:
    """Apply ``what`` to every occurrence of ``word`` that is a whole word and not in a directive."""
    size = len(word)
    at = source.find(word)
    while at >= 0:
        end = at + size
        if _whole(source, at, end) and not _in_directive(source, at):
            if what == Action.BLANK:
                out[at:end] = b" " * size
            elif what == Action.BLANK_CALL:
                close = closing(source, end)
                _blank(out, at, end if close < 0 else close)
            elif what == Action.FIELD:
                _field(source, out, at, end)
        at = source.find(word, end)


def _field(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(type, name)`` → ``type  name``, with ``;`` in place of ``)`` unless an initialiser or ``;`` follows."""
    close = closing(source, end)
    comma = source.rfind(b",", end, close) if close > 0 else -1
    if comma < 0:
        return
    opening = source.index(b"(", end)
    _blank(out, at, opening + 1)
    out[comma : comma + 1] = b" "
    rest = source[close : close + 80].lstrip()
    out[close - 1 : close] = b" " if rest[:1] in (b"=", b";", b"{") else b";"


def closing(source: bytes, at: int, limit: int = 20_000) -> int:
    """Offset behind the ``)`` that closes the ``(`` which follows ``at`` after blanks; -1 when there is none."""
    stop = min(len(source), at + limit)
    while at < stop and source[at] in b" \t\r\n":
        at += 1
    if at >= stop or source[at] != 0x28:
        return -1
    depth = 0
    for match in _PAREN.finditer(source, at, stop):
        kind = match[0]
        if kind == b"(":
            depth += 1
        elif kind == b")":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


_PAREN = re.compile(rb"""[()]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|//[^\n]*|/\*.*?\*/""", re.DOTALL)


def _blank(out: bytearray, start: int, end: int) -> None:
    """Blank a range, keeping its newlines."""
    out[start:end] = _NOT_NEWLINE.sub(b" ", bytes(out[start:end]))


def _whole(source: bytes, start: int, end: int) -> bool:
    """Whether no identifier character touches the range."""
    return (start == 0 or source[start - 1] not in _IDENT) and (end >= len(source) or source[end] not in _IDENT)


def _in_directive(source: bytes, at: int) -> bool:
    """Whether the line of ``at`` is a preprocessor directive."""
    start = source.rfind(b"\n", 0, at) + 1
    return source[start:at].lstrip()[:1] == b"#"
