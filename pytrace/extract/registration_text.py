"""Reading macro calls in C++ text: arguments, string literals, lines, and the namespace around a place.

Registrations are macro calls, and macro calls are what a parser understands least: ``REGISTER_DISPATCH(a, &b)``
without a semicolon, ``m.impl`` with a lambda that spans fifty lines. They are found in the text, and read by
balancing brackets; the syntax tree is asked only where a place stands (namespace, comment, ``#define`` body).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tree_sitter import Node, Tree

#: What can hide or move a bracket, in the order in which it must be tried: raw strings, strings, characters
#: (one character only: ``1'000`` is a number), comments, arrows and comparisons with ``>``, then brackets.
_TOKEN = re.compile(
    rb'R"(?P<raw>[^()\\\s"]{0,16})\(.*?\)(?P=raw)"'
    rb'|"(?:[^"\\\n]|\\.)*"'
    rb"|'(?:[^'\\\n]|\\.[^'\n]{0,8})'"
    rb"|//[^\n]*|/\*.*?\*/"
    rb"|->|>=|<=|<<=?|[()\[\]{},;<>]",
    re.S,
)
_OPEN, _CLOSE = b"([{", b")]}"
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_SPACE = re.compile(rb"\\\r?\n|\s+")
_STRING = re.compile(
    rb'R"(?P<raw>[^()\\\s"]{0,16})\((?P<body>.*?)\)(?P=raw)"|(?:u8|[LuU])?"(?P<text>(?:[^"\\\n]|\\.)*)"', re.S
)
_ESCAPE = re.compile(r"\\(.)", re.S)
#: A bracket that stays open for more than this many bytes is broken input, not a registration.
_LONGEST = 400_000


class Span(NamedTuple):
    """Half-open byte range."""

    start: int
    end: int


def arguments(source: bytes, opening: int, *, templates: bool = True) -> tuple[list[Span], int]:
    """The arguments of a call whose opening bracket stands at ``opening``, and the offset after its closing one.

    With ``templates``, a comma inside ``f<a, b>`` does not separate (function calls); without, it does
    (the preprocessor knows no templates). Returns ``([], -1)`` when the bracket is never closed.
    """
    spans: list[Span] = []
    depth = angle = 0
    start = opening + 1
    limit = min(len(source), opening + _LONGEST)
    for match in _TOKEN.finditer(source, opening, limit):
        text = match.group()
        if len(text) != 1:
            continue
        if text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth -= 1
            if depth == 0:
                last = Span(start, match.start())
                if spans or source[last.start : last.end].strip():
                    spans.append(last)
                return spans, match.end()
        elif depth == 1:
            if text == b"," and not angle:
                spans.append(Span(start, match.start()))
                start = match.end()
            elif text == b"<" and templates and source[match.start() - 1 : match.start()].strip():
                angle += 1
            elif text == b">" and angle:
                angle -= 1
    return [], -1


def block_end(source: bytes, opening: int) -> int:
    """The offset after the bracket that closes the one at ``opening``; -1 when it is never closed."""
    depth = 0
    for match in _TOKEN.finditer(source, opening, min(len(source), opening + _LONGEST)):
        text = match.group()
        if len(text) == 1:
            if text in _OPEN:
                depth += 1
            elif text in _CLOSE:
                depth -= 1
                if depth == 0:
                    return match.end()
    return -1


def clean(text: bytes) -> str:
    """Source text on one line: without comments, runs of blanks as one blank."""
    if b"/" in text:
        text = _COMMENT.sub(b" ", text)
    return _SPACE.sub(b" ", text).strip().decode("utf-8", "replace")


def literal(text: bytes) -> str | None:
    """The value of adjacent string literals (``"a" "b"``, raw ones too) that are all of ``text``; else None."""
    parts: list[str] = []
    at = 0
    text = _COMMENT.sub(b" ", text) if b"/*" in text or text.lstrip()[:2] == b"//" else text
    for match in _STRING.finditer(text):
        if _SPACE.sub(b"", text[at : match.start()]).strip():
            return None
        body = match.group("body")
        value = (match.group("text") if body is None else body).decode("utf-8", "replace")
        parts.append(_ESCAPE.sub(_unescape, value) if body is None else value)
        at = match.end()
    if not parts or _SPACE.sub(b"", text[at:]).strip():
        return None
    return "".join(parts)


def _unescape(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "\n": ""}.get(match.group(1), match.group(1))


class Lines:
    """Line numbers of ascending offsets, counted from the last one asked for (``bytes.count`` is a memchr)."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._at, self._line = 0, 1

    def of(self, offset: int) -> int:
        """The 1-based line of ``offset``."""
        if offset < self._at:
            self._at, self._line = 0, 1
        self._line += self._source.count(b"\n", self._at, offset)
        self._at = offset
        return self._line


#: Node types in which the text of a registration is no registration: it is quoted, or the body of a macro
#: (whose uses are expanded, and read then).
_DEAD = frozenset(
    {"comment", "string_content", "string_literal", "raw_string_literal", "raw_string_content", "preproc_arg"}
)
_DEFINES = frozenset({"preproc_def", "preproc_function_def"})


def place(tree: Tree, offset: int) -> str | None:
    """The namespaces around ``offset``, joined with ``::``; None inside a comment, a string or a ``#define``.

    Anonymous namespaces and ``CPU_CAPABILITY`` (PyTorch compiles ``native/cpu`` files several times, each into an
    inline namespace of that name) are left out, as in the names of functions.
    """
    cursor = tree.walk()
    names: list[str] = []
    while True:
        node = cursor.node
        if node is None:
            break
        kind = node.type
        if kind in _DEAD or kind in _DEFINES:
            return None
        if kind == "namespace_definition":
            name = _namespace_name(node)
            if name and name != "CPU_CAPABILITY":
                names.append(name)
        if cursor.goto_first_child_for_byte(offset) is None:
            break
    return "::".join(names)


def _namespace_name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return clean(name.text) if name is not None and name.text else ""
