"""Macro invocations that stand alone on their line as statements, declarations or elements of a list.

* Without ``;`` they get one (``,`` in a list): in the blank or comment that follows, else in place of their newline,
  which then moves back into the last blank between their arguments.
* Arguments that are types or operators become identifiers of the same length: the invocation is then a call, where the
  grammar would see a declaration without a type.
"""

from __future__ import annotations

import re

from pytrace.extract.normalise_conditionals import line_before

_STRING = rb"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\""
_PLAIN = rb"[^()\"';{}\\]*"


def _parens(inner: bytes) -> bytes:
    """A pattern for ``(…)`` around plain text, strings and ``inner``; unrolled, so that it never backtracks far."""
    return rb"\(" + _PLAIN + rb"(?:(?:" + _STRING + rb"|\{[^(){};\\]*\}|" + inner + rb")" + _PLAIN + rb")*\)"


#: A whole line, or several up to the one that ends with the ``)``. Braces end the attempt: what holds code is left.
_INVOCATION = re.compile(
    rb"\n[ \t]*[A-Z_][A-Z0-9_]{2,}("
    + _parens(_parens(_parens(rb"\([^();{}\\]*\)")))
    + rb")([;,]?)([ \t]*)(?://[^\n]*)?(?=\n)"
)
#: What a statement may follow; not ``(``, ``{``, ``:``, an operator: those continue a head or an expression.
_FOLLOWING = re.compile(rb"(?:\s|//[^\n]*|/\*.*?\*/)*(?=[A-Za-z_~}#]|::|\[\[|\Z)", re.DOTALL)
_TYPE_WORDS = rb"(?:const|unsigned|signed|void|int|float|double|bool|char|short|long|u?int\d+_t|size_t)\b"
_MAY_HOLD_TYPE = re.compile(
    rb"[(,]\s*(?:" + _TYPE_WORDS + rb"|operator\b|[-<>=!+*/|&^%]+\s*[,)])|[\w>]\s*[*&]+\s*[,)]|\(\*?\)\s*\("
)
_TYPE = re.compile(
    rb"\s*(?:" + _TYPE_WORDS + rb"[^()\"]*"
    rb"|operator\s*\W+|\(" + _TYPE_WORDS + rb"[^()]*\)"
    rb"|[\w:<>]+\s*[*&]+|[\w:<>]+\s*\(\*?\)\s*\(.*\)|[-<>=!+*/|&^%]{1,2})\s*$",
    re.DOTALL,
)
#: Conditions and messages: the bulk of all invocations, never with a type among their arguments.
_CHECK = re.compile(rb"\s*(?:TORCH_(?:CHECK|INTERNAL|WARN)|EXPECT_|ASSERT_|AT_ASSERT|GRAPH_|LOG)")
_DIRECTIVE = re.compile(rb"\s*#")
_NOT_WORD = re.compile(rb"[^\w\n]")
_BRACKET_OR_COMMA = re.compile(rb"operator\s*[^\w\s,()]+|[(<\[{]|[)>\]}]|,")
_COMMA, _SEMICOLON, _NEWLINE = 0x2C, 0x3B, 0x0A


def rewrite(out: bytearray) -> None:
    """Rewrite, in place, the invocations of macros that stand alone."""
    source = bytes(out)
    last, mark = -1, _SEMICOLON  # where the invocation before ends, and how it was ended
    for match in _INVOCATION.finditer(source):
        start, end = match.span(1)
        if source[match.start() - 1 : match.start()] == b"\\":  # the last line of a macro's body
            continue
        unfinished = not match[2]
        if unfinished and not _FOLLOWING.match(source, match.end()):
            continue
        if not _CHECK.match(source, match.start()) and _MAY_HOLD_TYPE.search(source, start, end):
            _type_arguments(out, source, start + 1, end - 1)
        if unfinished:
            if last < 0 or source[last : match.start()].strip():
                before = line_before(source, match.start() + 1)[0][-1:]
                mark = _COMMA if before in (b",", b"(") else _SEMICOLON
            _terminate(out, source, start, end, match.end(3), mark)
            last = match.end(3)


def _terminate(out: bytearray, source: bytes, start: int, end: int, line_end: int, mark: int) -> None:
    """Put ``mark`` behind the invocation whose arguments are ``start:end``; leave it when there is no room."""
    at = end
    while source[at : at + 1] == b"\n":
        at += 1
    following = source[at : at + 1]
    if following in b" \t\r" and following:
        if not _DIRECTIVE.match(source, at):
            out[at] = mark
    elif following == b"/":
        if source[at + 2 : at + 3] not in b"\n":  # the comment gives up its first character
            out[at : at + 3] = bytes((mark,)) + source[at : at + 2]
    elif source[line_end + 1 : line_end + 2] != b"#":
        blank = out.rfind(b" ", start, end)
        if blank > out.rfind(b'"', start, end):
            out[blank] = _NEWLINE
            out[line_end] = mark
        elif source[end - 2 : end] == b'")' and source[end - 3] not in b'"\\':
            out[end - 3 : end] = b'")' + bytes((mark,))  # the message gives up its last character


def _type_arguments(out: bytearray, source: bytes, start: int, end: int) -> None:
    """Turn the arguments in ``start:end`` that are types or operators into identifiers of the same length."""
    depth = 0
    begin = start
    for match in _BRACKET_OR_COMMA.finditer(source, start, end):
        token = match[0]
        if token in b"(<[{":
            depth += 1
        elif token in b")>]}":
            depth -= 1
        elif token == b"," and depth <= 0:
            _type_argument(out, source, begin, match.start())
            begin = match.end()
    _type_argument(out, source, begin, end)


def _type_argument(out: bytearray, source: bytes, start: int, end: int) -> None:
    text = source[start:end]
    if _TYPE.match(text):
        lead = len(text) - len(text.lstrip())
        out[start + lead : end] = b"_" + _NOT_WORD.sub(b"_", text[lead + 1 :])
