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
from collections.abc import Callable

from pytrace.extract.macro_table import ATTRIBUTE_CONTEXT, BLANK_WORDS, Action, action
from pytrace.extract.normalise_conditionals import blank
from pytrace.extract.normalise_conditionals import rewrite as rewrite_conditionals
from pytrace.extract.normalise_objc import rewrite as rewrite_objc

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
    out = bytearray(_gaps(rewrite_objc(bytes(out))))
    _statements(out)
    return bytes(out)


_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
Replacement = Callable[[re.Match[bytes]], bytes]


def _blank_groups(match: re.Match[bytes]) -> bytes:
    """The match with its groups blanked."""
    text = bytearray(match[0])
    base = match.start()
    for index in range(1, match.re.groups + 1):
        start, end = match.span(index)
        if start >= 0:
            blank(text, start - base, end - base)
    return bytes(text)


def _blank_comments(match: re.Match[bytes]) -> bytes:
    """The match without ``/* … */``."""
    text = match[0]
    return _COMMENT.sub(lambda m: re.sub(rb"[^\n\\]", b" ", m[0]), text) if b"/*" in text else text


def _braces_to_parens(match: re.Match[bytes]) -> bytes:
    """``= {x}`` → ``= (x)``, ``= {}`` → ``= 0 ``."""
    inner = match[1]
    return b"= (" + inner + b")" if inner.strip() else b"= 0 " + inner


def _decltype_value(match: re.Match[bytes]) -> bytes:
    """``decltype(x){0}`` → ``(x)(0)``, behind blanks."""
    return b" " * 8 + match[1] + b"(" + match[2] + b")"


# What the grammar lacks: (key bytes, pattern, replacement). The pattern is tried only where the key occurs.
_GAPS: tuple[tuple[bytes, re.Pattern[bytes], Replacement], ...] = (
    # default argument `= {}`, `= {1, 2}`: the grammar wants a type before the braces
    (b"= {", re.compile(rb"= \{([^{}()\n;=]*)\}(?=\s*[,)])"), _braces_to_parens),
    # `decltype(x){0}`: the grammar has decltype as a type only
    (b"decltype", re.compile(rb"\bdecltype(\([\w.:>-]+\))\{([^{}\n]*)\}"), _decltype_value),
    # unnamed pointer template parameter with a default: `enable_if_t<…>* = nullptr`
    (b">* =", re.compile(rb">\s*(\*)\s*=\s*nullptr"), _blank_groups),
    # type parameter whose default is a pointer
    (b"*>", re.compile(rb"(?:typename|class) \w+ = [\w:]+( ?\*)\s*[,>]"), _blank_groups),
    # explicit instantiation of a class
    (b"template ", re.compile(rb"\n[ \t]*((?:extern )?template)(?= (?:class|struct) )"), _blank_groups),
    # attributes of a lambda
    (b"__device__", re.compile(rb"\]([ \t]*__(?:device|host)__(?:[ \t]*__(?:device|host)__)?)"), _blank_groups),
    # `offsetof(a, b[0])`: as a plain call
    (b"offsetof", re.compile(rb"\boffsetof\b"), lambda m: b"offset_f"),
    # `typename T::X{}` as an expression
    (b"typename ", re.compile(rb"(?:[(,=]\s*|return )(typename) [\w:]+(?:<[\w, ]*>)?(?:::\w+)+[({]"), _blank_groups),
    (b"using typename", re.compile(rb"\busing (typename) "), _blank_groups),
    # `inline friend`: the grammar wants friend first
    (b" friend ", re.compile(rb"((?:(?:inline|constexpr|static|__\w+__) )+)friend "), _blank_groups),
    # a specialised call operator
    (b"operator()<", re.compile(rb"operator\(\)(<[^<>()]*>)(?=\s*\()"), _blank_groups),
    (b".template operator", re.compile(rb"\.(template )operator\b"), _blank_groups),
    # `A::x >= 80 && …` between template arguments: `>` closes them
    (b"Capability >", re.compile(rb"::\w+Capability( >=?) \d"), lambda m: m[0].replace(b">=", b"==").replace(b">", b"<")),
    # an operator as an argument
    (b", <", re.compile(rb", (<=?|>=?)(?=\))"), lambda m: b", " + b"_" * len(m[1])),
    # `static MACRO(…);`
    (b"\nstatic ", re.compile(rb"\n(static )(?=[A-Z][A-Z0-9_]{3,}\()"), _blank_groups),
    # comments in a macro's body end it for the grammar
    (b"#define", re.compile(rb"\n[ \t]*#define [^\n\\]*(?:\\(?:\r?\n|[^\n])[^\n\\]*)*"), _blank_comments),
    # `enable_if<A::x >= 75>`: the comparison closes the template's arguments
    (b"enable_if", re.compile(rb"enable_if(?:_t)?<[^<>;{}]*?( >=? \d+)\s*(?=>|&&)"), _blank_groups),
    # one macro call after the other among arguments: AT_DISPATCH_SWITCH(…, AT_DISPATCH_CASE(…) AT_DISPATCH_CASE(…))
    (b"_DISPATCH_CASE", re.compile(rb"\)(\s*)[ \t](?=[A-Z]+_DISPATCH_CASE\w*\()"), lambda m: b")" + m[1] + b","),
    # pragmas stand where no statement may
    (b"#pragma ", re.compile(rb"\n[ \t]*(#pragma (?!once)(?:[^\n\\]|\\\n|\\)*)"), _blank_groups),
)


def _gaps(out: bytes) -> bytes:
    """What the grammar lacks, rewritten."""
    for key, pattern, replacement in _GAPS:
        if key in out:
            out = pattern.sub(replacement, out)
    return out


_STATEMENT = re.compile(
    rb"\n[ \t]*([A-Z][A-Z0-9_]{2,})"
    rb"(\((?:[^()\"';{}\\]|\"(?:[^\"\\\n]|\\.)*\"|\((?:[^();{}\\]|\((?:[^();{}\\]|\([^();{}\\]*\))*\))*\))*\))"
    rb"(;?)([ \t]*)(?=\n)"
)
_NEXT = re.compile(rb"\s*(?:(//|/\*)|(?=[A-Za-z_:~}#]|\[\[|\Z))")
_TYPE = re.compile(
    rb"\s*(?:(?:const|unsigned|signed|void|int|float|double|bool|char|short|long|u?int\d+_t|size_t)\b[^()\"]*"
    rb"|[\w:<>]+\s*[*&]+|[\w:<>]+\s*\(\*?\)\s*\(.*\)|[-<>=!+*/|&^%]{1,2})\s*$",
    re.DOTALL,
)
_NOT_WORD = re.compile(rb"[^\w\n]")


def _statements(out: bytearray) -> None:
    """``;`` behind macro invocations that stand alone on their line; type arguments become identifiers."""
    source = bytes(out)
    for match in _STATEMENT.finditer(source):
        start, end = match.span(2)
        if source[match.start() - 1 : match.start()] == b"\\":
            continue
        _type_arguments(source, out, start + 1, end - 1)
        after = match.end()
        if not match[3]:
            follow = _NEXT.match(source, after)
            if follow is None:
                continue
            if after > end:
                out[end] = 0x3B
            elif follow[1]:
                spot = follow.start(1)
                if source[spot + 2 : spot + 3] not in b"\n":
                    out[spot : spot + 3] = b";//" if follow[1] == b"//" else b";/*"
            elif follow.end() - 1 > after and source[follow.end() - 1] in b" \t":
                out[follow.end() - 1] = 0x3B
            else:
                comma = out.find(b", ", start, end)
                quote = out.find(b'"', start, end)
                if comma > 0 and (quote < 0 or comma < quote):
                    out[comma + 1] = 0x0A
                    out[end] = 0x3B


def _type_arguments(source: bytes, out: bytearray, start: int, end: int) -> None:
    """Turn arguments that are types (or operators) into identifiers of the same length."""
    depth = 0
    begin = start
    for at in range(start, end + 1):
        char = source[at]
        if char in b"(<[{":
            depth += 1
        elif char in b")>]}" and at < end:
            depth -= 1
        elif (char == 0x2C and depth == 0) or at == end:
            text = source[begin:at]
            if _TYPE.match(text):
                lead = len(text) - len(text.lstrip())
                body = b"_" + _NOT_WORD.sub(b"_", text[lead + 1 :])
                out[begin + lead : at] = body
            begin = at + 1


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
                if ATTRIBUTE_CONTEXT.match(source, end) or source[:at].rstrip().endswith(b"]"):
                    out[at:end] = b" " * size
            elif what == Action.BLANK_CALL:
                close = closing(source, end)
                blank(out, at, end if close < 0 else close)
            elif what == Action.BLANK_ARGS:
                close = closing(source, end)
                if close > 0:
                    blank(out, source.index(b"(", end) + 1, close - 1)
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
