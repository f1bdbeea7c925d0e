"""The macros of ``macro_table``, rewritten where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pytrace.extract.macro_table import ATTRIBUTE_CONTEXT, OTHER_WORDS, RARE_WORDS, TAIL, Action, action, may_act_on
from pytrace.extract.normalise_conditionals import blank

_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LONGEST = 100  #: bytes before a tail that a name is looked for in
_IDENT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_PAREN = re.compile(rb"""[()]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_INNER_CODE = re.compile(rb"\s*\(\s*jiterator_code(?=\()")
_COUNTER_TYPE = re.compile(rb",\s*(?:u?int\d+_t|int|long)\s*\)$")
_CATCH_ALL = b"catch (...) {}"
_COMMA, _SPACE, _SEMICOLON = 0x2C, 0x20, 0x3B


def rewrite(source: bytes) -> bytearray:
    """A copy of ``source`` in which every macro of the table is rewritten."""
    out = bytearray(source)
    # Names are found by their tails: the search for one that begins with `_` is several times as quick as one for
    # capitals.
    for tail in set(TAIL.findall(source)):
        if _known(tail):
            _with_tail(source, out, tail)
    reserved = b"__" in source
    for word, what, _reason in OTHER_WORDS:
        if (reserved or word[:2] != b"__") and word in source:
            _everywhere(source, out, word, what)
    return out


def repair(source: bytes) -> bytes:
    """``source`` with the rare words rewritten; ``source`` itself when there are none."""
    out: bytearray | None = None
    for word, what, _reason in RARE_WORDS:
        if word in source:
            out = out or bytearray(source)
            _everywhere(source, out, word, what)
    return source if out is None or out == source else bytes(out)


@lru_cache(maxsize=100_000)
def _known(tail: bytes) -> bool:
    return may_act_on(tail)


def _with_tail(source: bytes, out: bytearray, tail: bytes) -> None:
    """Rewrite every macro whose name ends with ``tail``."""
    at = source.find(tail)
    while at >= 0:
        end = at + len(tail)
        before = source[max(0, at - _LONGEST) : at]
        start = at - len(before) + len(before.rstrip(_CAPITALS))
        if start < at and _whole(source, start, end) and not _in_directive(source, start):
            what = action(source[start:end])
            if what:
                _APPLY[what](source, out, start, end)
        at = source.find(tail, end)


def _everywhere(source: bytes, out: bytearray, word: bytes, what: str) -> None:
    """Apply ``what`` to every occurrence of ``word`` that is a whole word and not in a directive."""
    apply = _APPLY[what]
    at = source.find(word)
    while at >= 0:
        end = at + len(word)
        if _whole(source, at, end) and not _in_directive(source, at):
            apply(source, out, at, end)
        at = source.find(word, end)


def _blank(source: bytes, out: bytearray, at: int, end: int) -> None:
    out[at:end] = b" " * (end - at)


def _attribute(source: bytes, out: bytearray, at: int, end: int) -> None:
    """Blank what stands before a declaration or behind a head."""
    if ATTRIBUTE_CONTEXT.match(source, end) or source[max(0, at - 40) : at].rstrip().endswith((b"]", b")")):
        out[at:end] = b" " * (end - at)


def _device(source: bytes, out: bytearray, at: int, end: int) -> None:
    out[at:end] = b"__device__".ljust(end - at)


def _blank_call(source: bytes, out: bytearray, at: int, end: int) -> None:
    close = closing(source, end)
    blank(out, at, end if close < 0 else close)


def _blank_args(source: bytes, out: bytearray, at: int, end: int) -> None:
    close = closing(source, end)
    if close > 0:
        blank(out, source.index(b"(", end) + 1, close - 1)


def _separate(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``) NAME`` → ``),NAME``."""
    if source[at - 1 : at] in (b" ", b"\t") and source[max(0, at - 200) : at].rstrip().endswith(b")"):
        out[at - 1] = _COMMA


def _unwrap(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(x)`` → ``x``; before ``::`` it moves one place, so that the name which it begins has no blank in it."""
    close = closing(source, end)
    if close > 0:
        first = source.index(b"(", end) + 1
        blank(out, at, first)
        out[close - 1] = _SPACE
        if source.startswith(b"::", close):
            out[first:close] = b" " + out[first : close - 1]


def _code(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(jiterator_code(code), string)`` → ``code``."""
    inner = _INNER_CODE.match(source, end)
    close, inner_close = closing(source, end), closing(source, inner.end()) if inner else -1
    if inner is not None and 0 < inner_close <= close:
        blank(out, at, inner.end() + 1)
        blank(out, inner_close - 1, close)


def _field(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(type, name)`` → ``type  name``, with ``;`` in place of ``)`` unless an initialiser or ``;`` follows."""
    close = closing(source, end)
    comma = source.rfind(b",", end, close) if close > 0 else -1
    if comma < 0:
        return
    blank(out, at, source.index(b"(", end) + 1)
    out[comma] = _SPACE
    following = source[close : close + 80].lstrip()[:1]
    out[close - 1] = _SPACE if following in (b"=", b";", b"{") else _SEMICOLON


def _loop(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(i, n) {`` → ``while (i, n) {``."""
    close = closing(source, end)
    if close < 0 or source[close : close + 80].lstrip()[:1] != b"{":
        return
    out[at:end] = b"while".ljust(end - at)
    counter = _COUNTER_TYPE.search(source, end, close)
    if counter is not None:
        blank(out, counter.start(), close - 1)


def _catch(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(statement)`` → ``catch (...) {}``."""
    close = closing(source, end)
    if close - at >= len(_CATCH_ALL) and b"\n" not in source[at:close]:
        out[at:close] = _CATCH_ALL.ljust(close - at)


def _struct(source: bytes, out: bytearray, at: int, end: int) -> None:
    """``NAME(8) X`` → ``struct X``."""
    close = closing(source, end)
    if close > 0:
        blank(out, at, close)
        out[at : at + 6] = b"struct"


_APPLY: dict[str, Callable[[bytes, bytearray, int, int], None]] = {
    Action.BLANK: _blank,
    Action.ATTRIBUTE: _attribute,
    Action.DEVICE: _device,
    Action.BLANK_CALL: _blank_call,
    Action.BLANK_ARGS: _blank_args,
    Action.SEPARATE: _separate,
    Action.UNWRAP: _unwrap,
    Action.CODE: _code,
    Action.FIELD: _field,
    Action.LOOP: _loop,
    Action.CATCH: _catch,
    Action.STRUCT: _struct,
}


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


def _whole(source: bytes, start: int, end: int) -> bool:
    """Whether no identifier character touches the range."""
    return (start == 0 or source[start - 1] not in _IDENT) and (end >= len(source) or source[end] not in _IDENT)


def _in_directive(source: bytes, at: int) -> bool:
    """Whether the line of ``at`` is a preprocessor directive."""
    start = source.rfind(b"\n", 0, at) + 1
    return source[start:at].lstrip()[:1] == b"#"
