"""What is blanked before a C++ file is parsed, for nothing is read there; a parser's time goes by the token.

* Tables of numbers (``SobolEngineOpsUtils.cpp`` has one of two megabytes).
* Bodies of ``__device__`` and ``__global__`` functions: a kernel is where a path ends. A lambda that is compiled for
  the device belongs to the function around it, so that its body stays.
* Bodies of functions in ``at::vec`` (``aten/src/ATen/cpu/vec``): SIMD values, which compute in registers.

Lengths and newlines stay, and so do the braces: the functions and their last lines are found as before.
"""

from __future__ import annotations

import re

_TABLE = re.compile(rb"\{[\s0-9a-fA-FxXuUlL.,{}+-]{1000,}")
_MARKER = re.compile(rb"__(?:device|global)__")
#: from such a marker to the body
_HEAD = re.compile(rb"[^;{}]*\)[\sa-z_]*\{")
_BODY = re.compile(rb"\)\s*(?:(?:const|noexcept|override|final)\s*)*\{")
_NAMESPACE = re.compile(rb"\bnamespace\s+([\w:]+)\s*\{")
_VECTOR_NAMESPACE = re.compile(rb"(?:at::vec|at|vec|CPU_CAPABILITY|detail|impl)$")
_BRACE = re.compile(rb"""[{}]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_WORD = re.compile(rb"[^\s/*]")
_SPACES = bytes(10 if byte == 10 else 32 for byte in range(256))


def blank_unread(source: bytes) -> bytes:
    """``source`` with spaces where nothing is read."""
    tables = _tables(source) if len(source) > 20_000 else []
    bodies: list[tuple[int, int]] = []
    if b"namespace at::vec" in source and _is_vector_code(source):
        bodies = _bodies(source)
    elif b"__device__" in source or b"__global__" in source:
        bodies = _device_bodies(source)
    if not tables and not bodies:
        return source
    out = bytearray(source)
    for start, end in tables:
        out[start:end] = out[start:end].translate(_SPACES)
    for start, end in bodies:
        out[start:end] = out[start:end].translate(_SPACES)
        # An empty body might be read as an initialiser, ``bool f(A& a) {}``: a statement tells them apart.
        blank = out.find(b" ", start, end)
        if blank >= 0:
            out[blank] = 0x3B
    return bytes(out)


def _tables(source: bytes) -> list[tuple[int, int]]:
    """What stands between the braces of large tables of numbers."""
    spans = []
    for found in _TABLE.finditer(source):
        text = found[0].rstrip(b", \t\r\n")
        if text.endswith(b"}") and text.count(b"{") == text.count(b"}"):
            spans.append((found.start() + 1, found.start() + len(text) - 1))
    return spans


def _is_vector_code(source: bytes) -> bool:
    """Whether the file has no other namespaces than ``at::vec`` and what lies in it."""
    return all(_VECTOR_NAMESPACE.match(name) for name in _NAMESPACE.findall(source))


def _bodies(source: bytes) -> list[tuple[int, int]]:
    """The bodies of all functions, without their braces."""
    spans = []
    found = _BODY.search(source)
    while found is not None:
        end = _body_end(source, found.start(), found.end())
        if end >= 0:
            spans.append((found.end(), end))
        found = _BODY.search(source, max(end, found.end()))
    return spans


def _device_bodies(source: bytes) -> list[tuple[int, int]]:
    """The bodies of functions that run on the device only."""
    spans = []
    after = 0
    for marker in _MARKER.finditer(source):
        start = marker.start()
        if start < after or _in_directive(source, start):
            continue
        found = _HEAD.match(source, marker.end())
        if found is None or b"__host__" in found[0] or b"__host__" in source[_statement(source, start) : start]:
            continue
        if source[max(0, start - 200) : start].rstrip().endswith(b"]"):
            continue
        after = _body_end(source, start, found.end())
        if after >= 0:
            spans.append((found.end(), after))
    return spans


def _in_directive(source: bytes, offset: int) -> bool:
    """Whether ``offset`` stands in a ``#define``."""
    line = source.rfind(b"\n", 0, offset) + 1
    return source[line:offset].lstrip()[:1] == b"#" or source[line - 2 : line - 1] == b"\\"


def _statement(source: bytes, offset: int) -> int:
    """Where the declaration begins that ``offset`` stands in."""
    begin = max(0, offset - 2000)
    text = source[begin:offset]
    start = begin + max(text.rfind(b";"), text.rfind(b"}"), text.rfind(b"{"), text.rfind(b">\n")) + 1
    found = _WORD.search(source, start, offset)
    return found.start() if found else offset


def _body_end(source: bytes, head: int, start: int) -> int:
    """Offset of the brace that closes the body that begins at ``start``; -1 when that is not sure.

    It is sure when the brace stands where the declaration around ``head`` begins, or on the same line, as in all code
    that was laid out by a program: neither macros nor ``#if`` in the body have then been miscounted.
    """
    end = _close(source, start - 1)
    if end < 0:
        return -1
    line = source.rfind(b"\n", 0, end) + 1
    if line > start:
        begin = _statement(source, head)
        indent = source[source.rfind(b"\n", 0, begin) + 1 : begin]
        if source[line:end] != indent or b"\\\n" in source[start:end]:
            return -1
    return end


def _close(source: bytes, start: int) -> int:
    """Offset of the brace that closes the one at ``start``; -1 when there is none."""
    depth = 0
    for found in _BRACE.finditer(source, start):
        mark = found[0]
        if mark == b"{":
            depth += 1
        elif mark == b"}":
            depth -= 1
            if depth == 0:
                return found.start()
    return -1
