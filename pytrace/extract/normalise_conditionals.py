"""Preprocessor directives where the C++ grammar has no place for them.

The grammar knows ``#if … #else … #endif`` around whole statements, members and enumerators; there it stays, so that its
guard can be read from the tree. PyTorch also has it inside argument lists, initialiser lists, function heads and
``if``/``else`` chains, and with braces that open in one group and close in another. There the directive lines are
blanked. Branches are kept, all of them, where they can stand one after the other; where they cannot (two heads for
one body) the first is kept and the others are blanked.
"""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(
    rb"#[ \t]*(?:(if|ifdef|ifndef)|(elif|else)|(endif)|(define|undef)|(pragma) (?!once))\b"
    rb"[^\n\\]*(?:\\(?:\r?\n|[^\n]|(?=\n))[^\n\\]*)*"
)
_NOT_NEWLINE = re.compile(rb"[^\n]")
_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
_TO_BLANK = re.compile(rb"[^\n\\]+|\\(?!\r?\n)")  # a backslash before a newline continues a directive
_NOT_JOINT = re.compile(rb"[^\n\\]")
_WORD_OPERATOR = re.compile(rb"(?<![A-Za-z0-9_])(?:and|or|not)(?![A-Za-z0-9_])")
_HAS_INCLUDE = re.compile(rb"(?<=__has_include)\([<\"][^()\n]*[>\"]\)")
_ZERO = re.compile(rb"[ \t]*#[ \t]*if[ \t]+0\b")
_STRING = re.compile(rb"\"[^\"\n]*\"")
_OPERATOR = {b"and": b"&& ", b"or": b"||", b"not": b"!  "}
_SKIPPED = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NOT_CODE = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'|//[^\n]*|/\*.*?\*/", re.DOTALL)
_MACRO = re.compile(rb"[ \t]*[A-Z][A-Z0-9_]{2,}[ \t]*(?:\(.*\))?$", re.DOTALL)
_LABEL = re.compile(rb"[ \t]*(?:public|private|protected|default|case\b.*)[ \t]*:$")
_CONTINUES = re.compile(rb"else\b|[,)\]?.=&|+*/%<>^]|:(?!:)|-[^-]")
_REACH = 4000  # how far back the start of a statement is looked for

#: A group: the spans of its directives in order (if, elif/else …, endif).
Group = list[tuple[int, int]]

_STAYS, _ALL, _FIRST = range(3)


def rewrite(out: bytearray) -> None:
    """Blank, in place, what the grammar cannot place: directives, branches, pragmas, comments in macro bodies."""
    # inner before outer: an inner group that loses its later branches no longer upsets the braces of the outer one
    for group in reversed(_groups(out)):
        _word_operators(out, group)
        placement = _placement(out, group)
        if placement == _STAYS:
            continue
        dead = _ZERO.match(out, *group[0])
        for start, end in group:
            blank_directive(out, start, end)
        if dead:  # and perhaps no code at all
            blank(out, group[0][1], group[1][0])
        elif placement == _FIRST:
            blank(out, group[1][1], group[-1][0])


def _groups(out: bytearray) -> list[Group]:
    """All complete conditional groups, outer before inner; pragmas and comments in macro bodies are blanked."""
    found: list[Group] = []
    stack: list[Group] = []
    source = bytes(out)
    listed = -1  # where the last directive ends that stood inside a list
    for match in _DIRECTIVE.finditer(source):
        start = source.rfind(b"\n", 0, match.start()) + 1
        if source[start : match.start()].strip():
            continue
        span = start, match.end()
        kind = match.lastindex
        if kind == 1:
            found.append([span])
            stack.append(found[-1])
        elif kind == 4:
            if line_before(source, span[0])[0][-1:] in (b",", b"(") or (
                listed >= 0 and source.find(b";", listed, span[0]) < 0
            ):  # inside a list, whose elements may be macro invocations without commas
                blank_directive(out, *span)
                listed = span[1]
            else:
                listed = -1
                if source.find(b"/*", *span) >= 0:  # a comment ends the body for the grammar
                    text = source[span[0] : span[1]]
                    out[span[0] : span[1]] = _COMMENT.sub(lambda m: _NOT_JOINT.sub(b" ", m[0]), text)
        elif kind == 5:  # a pragma may stand where no statement may
            blank_directive(out, *span)
        elif stack:
            stack[-1].append(span)
            if kind == 3:
                stack.pop()
    unfinished = {id(group) for group in stack}
    return [group for group in found if id(group) not in unfinished]


def blank(out: bytearray, start: int, end: int) -> None:
    """Blank a range, keeping its newlines (and what continues a directive over them)."""
    if out.find(b"\n", start, end) < 0:
        out[start:end] = b" " * (end - start)
    else:
        out[start:end] = _TO_BLANK.sub(lambda m: b" " * len(m[0]), bytes(out[start:end]))


def blank_directive(out: bytearray, start: int, end: int) -> None:
    """Blank a directive, its continuations included."""
    out[start:end] = _NOT_NEWLINE.sub(b" ", bytes(out[start:end]))


def statement_may_start(out: bytes | bytearray, at: int) -> bool:
    """Whether what stands before ``at`` (comments aside) ends a statement, a block, a label or a directive."""
    line, start = line_before(out, at)
    if not line:
        return True
    last = line[-1]
    if last in b";{}":
        return True
    if line.lstrip().startswith(b"#") or (start > 1 and out[start - 2] == 0x5C):
        return True
    if last == 0x3A:
        return _LABEL.match(line) is not None
    if last == 0x29:
        line = _invocation(bytes(out[max(0, start - _REACH) : start]) + line)
    return _MACRO.match(line) is not None


def _placement(out: bytearray, group: Group) -> int:
    """Whether a group stays, loses its directives only, or its later branches as well."""
    branches = [(group[i][1], group[i + 1][0]) for i in range(len(group) - 1)]
    if not all(_balanced(out, start, end) for start, end in branches):
        return _FIRST if len(branches) > 1 else _ALL
    if statement_may_start(out, group[0][0]) and all(_whole_statements(out, start, end) for start, end in branches):
        return _STAYS
    if len(branches) == 1 or all(_joinable(bytes(out[start:end])) for start, end in branches):
        return _ALL
    return _FIRST


def _balanced(out: bytearray, start: int, end: int) -> bool:
    """Whether brackets open and close within the range (nested groups count with all their branches)."""
    if out.count(b"{", start, end) == out.count(b"}", start, end) and (
        out.count(b"(", start, end) == out.count(b")", start, end)
    ):
        close = out.find(b"}", start, end)
        return close < 0 or out.find(b"{", start, end) < close
    text = _code(bytes(out[start:end]))
    close = text.find(b"}")
    return (
        text.count(b"{") == text.count(b"}")
        and text.count(b"(") == text.count(b")")
        and (close < 0 or text.find(b"{") < close)
    )


def _whole_statements(out: bytearray, start: int, end: int) -> bool:
    """Whether a branch is whole statements, or nothing."""
    match = _SKIPPED.match(out, start, end)
    first = match.end() if match else start
    if first >= end:
        return True
    return (out[first] == 0x23 or not _CONTINUES.match(out, first, end)) and statement_may_start(out, end)


def _joinable(text: bytes) -> bool:
    """Whether a branch can stand beside another one: it ends or begins with what joins."""
    text = _code(text).strip()
    return not text or text[-1] in b",;&|" or text[0] in b",&|" or text.startswith(b"else")


def line_before(out: bytes | bytearray, at: int) -> tuple[bytes, int]:
    """The last line with code before ``at``, without its comment and trailing blanks, and its start."""
    while True:
        end = _code_end(out, at)
        if end == 0:
            return b"", 0
        start = out.rfind(b"\n", 0, end) + 1
        line = bytes(out[start:end])
        if line.endswith(b"*/"):
            at = out.rfind(b"/*", 0, end)
            if at < 0:
                return b"", 0
        elif b"//" in line:
            line = _code(line).rstrip()
            if line:
                return line, start
            at = start
        else:
            return line, start


def _code_end(out: bytes | bytearray, at: int) -> int:
    """``at`` without the blanks before it."""
    while at > 0:
        start = max(0, at - 256)
        text = out[start:at].rstrip()
        if text:
            return start + len(text)
        at = start
    return 0


def _code(text: bytes) -> bytes:
    """``text`` without comments, its literals empty."""
    return _NOT_CODE.sub(lambda m: b"" if m[0][0] == 0x2F else b'""', text)


def _invocation(text: bytes) -> bytes:
    """The end of ``text``, which ends with ``)``, from the start of the line on that holds the matching ``(``."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        if text[at] == 0x29:
            depth += 1
        elif text[at] == 0x28:
            depth -= 1
            if depth == 0:
                return text[text.rfind(b"\n", 0, at) + 1 :]
    return b""


def _word_operators(out: bytearray, group: Group) -> None:
    """``and``, ``or``, ``not`` in a condition become operators, strings numbers: the grammar knows no others there."""
    for start, end in group[:-1]:
        text = bytes(out[start:end])
        if b"__has_include" in text:
            out[start:end] = text = _HAS_INCLUDE.sub(lambda m: b"(0" + b" " * (len(m[0]) - 3) + b")", text)
        if b'"' in text:
            out[start:end] = text = _STRING.sub(lambda m: b"0" + b" " * (len(m[0]) - 1), text)
        if b"and" in text or b"or" in text or b"not" in text:
            out[start:end] = _WORD_OPERATOR.sub(lambda m: _OPERATOR[m[0]], text)
