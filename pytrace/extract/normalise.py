"""Same-length rewrite of C++ source, so that a grammar without a preprocessor reads its structure.

``normalise(source)`` returns as many bytes and as many newlines; every identifier that is kept stands at its old
offset, on its old row (one exception, below). Slice names and arguments from the *source* at the offsets of the tree.

What comes out

* Attribute-like macros are spaces (``macro_table``).
* ``NAME(…)`` that stands alone as a statement, without ``;``, gets one: in the blank or comment that follows, else in
  place of its newline, which then moves back into the first blank between its arguments (so the arguments behind that
  blank are one row late; the macro itself and all that follows are not).
* An argument of such a macro that is a type (``int``, ``const A&``, ``void(*)(B)``) becomes one made-up identifier of
  the same length, so that the invocation is a ``call_expression``.
* ``TORCH_IMPL_FUNC(x)(…) {…}`` needs no rewrite: it is a ``function_definition`` whose ``function_declarator`` has a
  ``function_declarator`` as declarator (``TORCH_IMPL_FUNC``, ``parameter_list`` with the name as ``type_identifier``).
  ``TORCH_LIBRARY(x, m) {…}`` likewise is a ``function_definition`` with one ``function_declarator``.
* Preprocessor conditionals: see ``normalise_conditionals``.
"""

from __future__ import annotations

import re

from pytrace.extract.macro_table import ATTRIBUTE_CONTEXT, BLANK_WORDS, Action, action
from pytrace.extract.normalise_conditionals import blank
from pytrace.extract.normalise_conditionals import rewrite as rewrite_conditionals
from pytrace.extract.normalise_gaps import rewrite as rewrite_gaps
from pytrace.extract.normalise_objc import rewrite as rewrite_objc
from pytrace.extract.normalise_statements import rewrite as rewrite_statements

_CAPS = re.compile(rb"[A-Z][A-Z0-9_]{3,}")
_IDENT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_actions: dict[bytes, str] = {}


def normalise(source: bytes) -> bytes:
    """Rewrite ``source`` (any bytes): same length, same number of newlines."""
    out = bytearray(source)
    for word in set(_CAPS.findall(source)):
        what = _actions.get(word)
        if what is None:
            if len(_actions) > 100_000:  # a long-lived process must not collect every word it ever saw
                _actions.clear()
            what = _actions[word] = action(word)
        if what:
            _rewrite_word(source, out, word, what)
    for word, what, _reason in BLANK_WORDS:
        if word in source:
            _rewrite_word(source, out, word, what)
    if b"#" in source:
        rewrite_conditionals(out)
    out = bytearray(rewrite_gaps(rewrite_objc(bytes(out))))
    rewrite_statements(out)
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
            elif what == Action.ATTRIBUTE:
                if ATTRIBUTE_CONTEXT.match(source, end) or source[max(0, at - 40) : at].rstrip().endswith((b"]", b")")):
                    out[at:end] = b" " * size
            elif what == Action.BLANK_CALL:
                close = closing(source, end)
                blank(out, at, end if close < 0 else close)
            elif what == Action.BLANK_ARGS:
                close = closing(source, end)
                if close > 0:
                    blank(out, source.index(b"(", end) + 1, close - 1)
            elif what == Action.SEPARATE:
                if source[at - 1 : at] in (b" ", b"\t") and source[max(0, at - 200) : at].rstrip().endswith(b")"):
                    out[at - 1] = 0x2C
            elif what == Action.UNWRAP:
                close = closing(source, end)
                if close > 0:
                    blank(out, at, source.index(b"(", end) + 1)
                    out[close - 1 : close] = b" "
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
    blank(out, at, opening + 1)
    out[comma : comma + 1] = b" "
    rest = source[close : close + 80].lstrip()
    out[close - 1 : close] = b" " if rest[:1] in (b"=", b";", b"{") else b";"


def closing(source: bytes, at: int, limit: int = 50_000) -> int:
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


def _whole(source: bytes, start: int, end: int) -> bool:
    """Whether no identifier character touches the range."""
    return (start == 0 or source[start - 1] not in _IDENT) and (end >= len(source) or source[end] not in _IDENT)


def _in_directive(source: bytes, at: int) -> bool:
    """Whether the line of ``at`` is a preprocessor directive."""
    start = source.rfind(b"\n", 0, at) + 1
    return source[start:at].lstrip()[:1] == b"#"
