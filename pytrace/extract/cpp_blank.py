"""What is blanked before a C++ file is parsed, for nothing is read there; a parser's time goes by the token.

* Tables of numbers (``SobolEngineOpsUtils.cpp`` has one of two megabytes).
* Statements that compute in SIMD registers (``cpp_simd``).
* Bodies of ``__device__`` and ``__global__`` functions: a kernel is where a path ends. A lambda that is compiled for
  the device belongs to the function around it, so that its body stays.
* Bodies of functions in the namespaces of ``LEAVES``, in files that hold no others and do not speak Python's C API: who
  calls a function of the binding layer is asked for (`pytrace binding`).

Lengths and newlines stay, and so do the braces: the functions and their last lines are found as before.
"""

from __future__ import annotations

import re
from functools import cache

from pytrace.extract import cpp_simd

_TABLE = re.compile(rb"\{[\s0-9a-fA-FxXuUlL.,{}+-]{1000,}")
_MARKER = re.compile(rb"__(?:device|global)__")
#: from such a marker to the body
_HEAD = re.compile(rb"[^;{}]*\)[\sa-z_]*\{")
_BODY = re.compile(rb"\)\s*(?:(?:const|noexcept|override|final)\s*)*\{")
#: Blocks that register operators: what they hold is read.
_REGISTERS = re.compile(rb"\s*(?:static\s+)?TORCH_LIBRARY\w*\s*\($")
#: What only the initialisers of ``torch._C`` hold: `pytrace init` tells the order in which they call one another.
_INITIALISES = re.compile(rb"PyModule_Create\b")
_PYTHON_HEADER = re.compile(rb"#[ \t]*include[ \t]*[<\"][\w/.]*(?:[Pp]ython|pybind|THP)[\w/.]*[>\"]")
_NAMESPACE = re.compile(rb"namespace\s+([\w:]+)\s*\{")

#: Namespaces that no call passes through on its way to an operator: their functions are known, what these call is not.
LEAVES: tuple[tuple[bytes, str], ...] = (
    (b"at::vec", "SIMD values, which compute in registers: aten/src/ATen/cpu/vec"),
    (b"torch::jit", "the compiler and interpreter of TorchScript, which run programs that they made themselves"),
    (b"torch::dynamo", "guards of compiled programs"),
    (b"torch::inductor", "runs compiled programs"),
    (b"torch::aot_inductor", "runs compiled programs"),
    (b"torch::profiler", "watches programs"),
    (b"torch::unwind", "reads stacks"),
    (b"torch::data", "data loaders of the C++ frontend"),
)
_LEAF = re.compile(b"|".join(name + rb"(?:::|$)" for name, _ in LEAVES))
#: Namespaces that hold others than leaves.
_BRANCHES = frozenset((b"at", b"c10", b"torch", b"caffe2", b"native"))
_BRACE = re.compile(
    rb"""[{}]|R"([^()\s\\"]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/""", re.DOTALL
)
#: a line of a declaration's head: no blank line, no directive, no ``public:``
_CODE = re.compile(rb"\s*(?!#|(?:public|protected|private)\s*:)\S")
_SPACES = bytes(10 if byte == 10 else 32 for byte in range(256))


def is_leaf(scope: str) -> bool:
    """Whether nothing is read in the functions of this namespace or class."""
    return _LEAF.match(scope.encode("latin-1", "replace")) is not None


def blank_unread(source: bytes) -> bytes:
    """``source`` with spaces where nothing is read."""
    tables = _tables(source) if len(source) > 20_000 else []
    bodies: list[tuple[int, int]] = []
    simd: list[tuple[int, int]] = []
    if _holds_leaves_only(source) and not _speaks_python(source):
        bodies = _bodies(source)
    elif b"__device__" in source or b"__global__" in source:
        bodies = _device_bodies(source)
    else:
        simd = cpp_simd.statements(source)
    if not tables and not bodies and not simd:
        return source
    out = bytearray(source)
    for start, end in (*tables, *simd):
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


def _holds_leaves_only(source: bytes) -> bool:
    """Whether the file has namespaces of ``LEAVES`` and, beside what lies in them, no others."""
    names = set(_NAMESPACE.findall(source))
    leaves = {name for name in names if _LEAF.match(name)}
    return bool(leaves) and not any(b"::" in name or name in _BRANCHES for name in names - leaves)


def _speaks_python(source: bytes) -> bool:
    """Whether the file uses Python's C API or pybind11. (``PyObject`` is the name of a type of TorchScript as well.)"""
    return (
        b"py::" in source
        or b"pybind11::" in source
        or (b"PyObject" in source and _PYTHON_HEADER.search(source) is not None)
    )


def _bodies(source: bytes) -> list[tuple[int, int]]:
    """The bodies of all functions, without their braces."""
    spans = []
    initialises = _INITIALISES.search(source) is not None
    found = _BODY.search(source)
    while found is not None:
        start, end = found.end(), -1
        if not _is_no_code(source, start) and not _registers(source, found.start()):
            end = _body_end(source, found.start(), start)
            if end >= 0 and not (initialises and _INITIALISES.search(source, start, end)):
                spans.append((start, end))
        found = _BODY.search(source, max(end, start))
    return spans


def _registers(source: bytes, close: int) -> bool:
    """Whether the parenthesis at ``close`` ends the head of a block that registers operators."""
    opening = source.rfind(b"(", 0, close) + 1
    return _REGISTERS.match(source, source.rfind(b"\n", 0, opening) + 1, opening) is not None


def _device_bodies(source: bytes) -> list[tuple[int, int]]:
    """The bodies of functions that run on the device only."""
    spans = []
    after = 0
    for marker in _MARKER.finditer(source):
        start = marker.start()
        if start < after or _is_no_code(source, start):
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


def _is_no_code(source: bytes, offset: int) -> bool:
    """Whether ``offset`` stands in a comment, or in a ``#define``."""
    line = source.rfind(b"\n", 0, offset) + 1
    before = source[line:offset]
    return b"//" in before or before.lstrip()[:1] in (b"#", b"*") or source[line - 2 : line - 1] == b"\\"


def _statement(source: bytes, offset: int) -> int:
    """Offset behind the end of the declaration before the one that ``offset`` stands in."""
    begin = max(0, offset - 2000)
    text = source[begin:offset]
    return begin + max(text.rfind(b";"), text.rfind(b"}"), text.rfind(b"{")) + 1


def _body_end(source: bytes, head: int, start: int) -> int:
    """Offset of the brace that closes the body that begins at ``start``; -1 when that is not sure.

    It is sure when the brace stands in the line of the body's beginning, or below the beginning of the declaration
    around ``head``, and all lines between further in, as in all code that was laid out by a program. Nothing has then
    been miscounted, for the branches of an ``#if`` may open a brace each and close one together.
    """
    end = _close(source, start - 1, source.find(b"\n", start) + 1)
    if end >= 0:
        return end
    lines = source[_statement(source, head) : start].split(b"\n")
    indents = [len(text) - len(text.lstrip()) for text in lines[1:] or lines if _CODE.match(text)]
    if not indents:
        return -1
    indent = min(indents)
    found = _shallow(indent).search(source, start)
    if found is None or found[0][-1:] != b"}" or found.end() - found.start() != indent + 2:
        return -1
    end = found.end() - 1
    if source.find(b"\\\n", start, end) >= 0:
        return -1
    return end if _is_balanced(source, start, end) or _close(source, start - 1, len(source)) == end else -1


def _is_balanced(source: bytes, start: int, end: int) -> bool:
    """Whether a glance tells that the braces are balanced; those in strings and comments make it say no."""
    close = source.find(b"}", start, end)
    return (
        source.count(b"{", start, end) == source.count(b"}", start, end)
        and (close < 0 or source.find(b"{", start, close) >= 0)
        and source.find(b'R"', start, end) < 0
    )


@cache
def _shallow(indent: int) -> re.Pattern[bytes]:
    """A line that is indented no further than ``indent``."""
    return re.compile(rb"\n[ \t]{0,%d}[^\s#]" % indent)


def _close(source: bytes, start: int, limit: int) -> int:
    """Offset of the brace before ``limit`` that closes the one at ``start``; -1 when there is none."""
    depth = 0
    for found in _BRACE.finditer(source, start, limit):
        mark = found[0]
        if mark == b"{":
            depth += 1
        elif mark == b"}":
            depth -= 1
            if depth == 0:
                return found.start()
    return -1
