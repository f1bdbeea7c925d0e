"""Macros: reading ``#define`` lines and splitting arguments; ``macro_expand`` has the expansion, re-exported here.

PyTorch defines kernel functions (``FOREACH_BINARY_OP_SCALAR(all_types, add, std::plus, true);``), registers them
(``REGISTER_CUDA_DISPATCH(NAME##_cudnn_stub, &NAME##_cudnn)``) and lists operators (``AT_FORALL_FP32(KERNEL_CUDA)``) by
macros. The expanded text is parsed like any other source; its facts belong to the line of the invocation.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pytrace.extract.macro_expand import Lookup, MacroError, expand, expand_text, parse_invocation

__all__ = [
    "Define",
    "Lookup",
    "MacroError",
    "defines",
    "expand",
    "expand_text",
    "parse_invocation",
    "split_arguments",
]


class Define(NamedTuple):
    """One ``#define`` or ``#undef``.

    ``params`` is None for an object-like macro; a variadic macro's last parameter ends with ``...`` (``"..."`` or
    ``"args..."``). ``body`` has comments and line breaks removed and blanks collapsed; it is None for ``#undef``.
    """

    name: str
    params: tuple[str, ...] | None
    body: str | None
    line: int


# --- reading ---------------------------------------------------------------------------------------------------------

_DEFINE = re.compile(
    rb"\n[ \t]*#[ \t]*(?:(undef)[ \t]+([A-Za-z_]\w*)|define[ \t]+([A-Za-z_]\w*)(\([^()\n]*(?:\\\r?\n[^()\n]*)*\))?"
    rb"([^\n\\]*(?:\\(?:[ \t]*\r?\n|[^\n])[^\n\\]*)*))"
)
_CONTINUATION = re.compile(r"\\[ \t]*\r?\n")
_COMMENT_OR_LITERAL = re.compile(
    r"(?://.*|/\*.*?(?:\*/|\Z)|\s)+|R\"([^()\s\\\"]{0,16})\(.*?\)\1\"|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'",
    re.DOTALL,
)
_RAW_STRING = re.compile(rb"R\"([^()\s\\\"]{0,16})\(.*?\)\1\"", re.DOTALL)


def defines(source: bytes) -> list[tuple[str, tuple[str, ...] | None, str | None, int]]:
    """All ``#define`` and ``#undef`` lines of ``source`` as ``Define`` rows (plain tuples), in order.

    A later row of the same name wins from its line on; that is left to the caller. What stands in block comments and
    raw strings is no directive.
    """
    if b"define" not in source and b"undef" not in source:
        return []
    text = b"\n" + source
    literals = [match.span() for match in _RAW_STRING.finditer(text)] if b'R"' in text else []
    rows: list[tuple[str, tuple[str, ...] | None, str | None, int]] = []
    line, counted, commented = 0, 0, False
    for match in _DEFINE.finditer(text):
        start = match.start()
        line += text.count(b"\n", counted, start)
        commented = _in_comment(text, counted, start, commented)
        counted = start
        if commented or any(begin < start < end for begin, end in literals):
            continue
        undef, undefined, name, params, body = match.groups()
        if undef:
            rows.append((undefined.decode(), None, None, line + 1))
        else:
            rows.append((name.decode(), _params(params), _body(body), line + 1))
    return rows


def _in_comment(text: bytes, start: int, end: int, before: bool) -> bool:
    """Whether ``end`` stands in a block comment, given whether ``start`` does."""
    opened, closed = text.rfind(b"/*", start, end), text.rfind(b"*/", start, end)
    if opened < 0 and closed < 0:
        return before
    if opened > closed:
        line = text[text.rfind(b"\n", 0, opened) + 1 : opened]
        return b"//" not in line and line.count(b'"') % 2 == 0
    return False


def _params(text: bytes | None) -> tuple[str, ...] | None:
    """``(a, b, ...)`` → its names."""
    if text is None:
        return None
    inner = _CONTINUATION.sub(" ", text[1:-1].decode("utf-8", "replace"))
    inner = _COMMENT_OR_LITERAL.sub(" ", inner).strip()
    return tuple(part.strip().replace(" ", "") for part in inner.split(",")) if inner else ()


def _body(text: bytes) -> str:
    """A macro's body: continuations joined, comments gone, blanks collapsed outside of literals."""
    body = text.decode("utf-8", "replace")
    if "\\" in body:
        body = _CONTINUATION.sub("", body)

    def replace(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] in "\"'R" else " "

    return _COMMENT_OR_LITERAL.sub(replace, body).strip()


# --- arguments -------------------------------------------------------------------------------------------------------

_OPEN, _CLOSE = "([{", ")]}"
_ARGUMENT_TOKEN = re.compile(
    r"R\"([^()\s\\\"]{0,16})\(.*?\)\1\"|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|//[^\n]*|/\*.*?\*/"
    r"|->|<<=?|>=|<=|\w+|[()\[\]{}<>,;]",
    re.DOTALL,
)
_OPERATORS_BEFORE = frozenset("&|?;")


def split_arguments(text: str) -> list[str]:
    """The arguments of a C++ call or template: ``text`` (without its parentheses) split at top-level commas.

    Parentheses, brackets, braces, literals and comments protect their commas; so does ``name<…>`` when a matching
    ``>`` follows with nothing between that only an expression can hold (``&&``, ``||``, ``;``). Arguments are
    stripped; empty text has no arguments.
    """
    if not text.strip():
        return []
    parts: list[str] = []
    depth = begin = 0
    skip = -1
    for match in _ARGUMENT_TOKEN.finditer(text):
        token = match[0]
        at = match.start()
        if at < skip:
            continue
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif token == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
        elif token == "<" and at and (text[at - 1].isalnum() or text[at - 1] == "_"):
            skip = max(skip, _template_end(text, at))
    parts.append(text[begin:].strip())
    return parts


def _template_end(text: str, at: int) -> int:
    """Offset behind the ``>`` that closes the ``<`` at ``at``, or ``at`` when it is a comparison."""
    depth = angle = 0
    for match in _ARGUMENT_TOKEN.finditer(text, at):
        token = match[0]
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
            if depth < 0:
                return at
        elif depth == 0:
            if token == "<":
                angle += 1
            elif token == ">":
                angle -= 1
                if angle == 0:
                    inner = text[at : match.start()]
                    return at if "&&" in inner or "||" in inner else match.end()
            elif token == ";":
                return at
    return at
