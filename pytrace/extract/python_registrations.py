"""What a Python file registers: operators, kernels, decompositions, lowerings, symbolics.

Called once for every Python file. Most hold none of the words that matter and give {} at once. Of the others the
top-level statements that register something are kept, and what these use: factories, tables, imports.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from tree_sitter import Node, Tree

from pytrace.extract.python_cut import Excerpt, whole
from pytrace.extract.python_program import REGISTERS, RELEVANT, Compiler, Statement, names
from pytrace.model import Facts

#: Bytes without which a file registers nothing: the API of ``torch/library.py``, ``OpOverload.py_impl``, the
#: decorators of the tables (decompositions, meta, Inductor, fake tensors, ONNX, flop counting, nested tensors), and
#: Inductor's table of pointwise functions (``torch/_inductor/codegen/common.py``), which lowerings are made from.
#: Each under what is looked for first, since every file of the tree is searched.
KEYWORDS = {
    b"impl": (b"py_impl(", b".impl(", b"impl_abstract(", b"onnx_impl("),
    b"register_": (
        *(b"register_decomposition", b"register_meta", b"register_lowering", b"register_op_impl", b"register_fake"),
        *(b"register_flop_formula", b"register_jagged_func"),
    ),
    b"make_": (b"make_fallback(", b"_make_elementwise_", b"_make_prim"),
    b".define(": (b".define(",),
    b"custom_op(": (b"custom_op(",),
    b"onnx_symbolic(": (b"onnx_symbolic(",),
    b"OverridesData(": (b"OverridesData(",),
}

_RELEVANT = re.compile(rb"\b(?:" + RELEVANT.pattern.encode() + rb")\b")
_REGISTERS = re.compile(rb"\b(?:" + REGISTERS.pattern.encode() + rb")\b")
_MADE = re.compile(rb"\n[ \t]+return [A-Za-z_]\w*\s*\Z")
_TARGET = re.compile(rb"([A-Za-z_]\w*)\s*(?::[^=\n]*)?=(?!=)")
_DEFINITIONS = ("function_definition", "class_definition")
_IMPORTS = ("import_statement", "import_from_statement")
#: Rounds of "what do the kept statements use?": a factory uses a factory uses a table.
_ROUNDS = 4


def extract(tree: Tree, source: bytes, excerpt: Excerpt | None = None) -> Facts:
    """The registrations of one file; {} for a file that registers nothing.

    ``tree`` is that of the excerpt; without one, of the source.

    ``py_program``: statements of ``python_program`` in source order.
    """
    if not may_register(source):
        return {}
    return _File(tree.root_node, source, (excerpt or whole(source)).offset).read()


def may_register(source: bytes) -> bool:
    """Whether the file holds a word without which it registers nothing."""
    for first, words in KEYWORDS.items():
        if first in source:
            for word in words:
                if word in source:
                    return True
    return False


class _Top(NamedTuple):
    """A statement of the module's body; the offsets are those of the source."""

    kind: str
    start: int
    end: int
    inner: str  #: kind of what is decorated; else ``kind``
    head: int  #: where that begins
    name: str  #: of a function or class
    body: int  #: where a function's body begins, -1 for anything else


def _top(node: Node, source: bytes, offset: Callable[[int], int]) -> _Top:
    kind = node.type
    start, end = offset(node.start_byte), offset(node.end_byte)
    inner = node.child_by_field_name("definition") if kind == "decorated_definition" else node
    if inner is None or inner.type not in _DEFINITIONS:
        return _Top(kind, start, end, inner.type if inner else "", start, "", -1)
    name, body = inner.child_by_field_name("name"), None
    if inner.type == "function_definition":
        body = inner.child_by_field_name("body")
    at = offset(name.start_byte) if name is not None else 0
    text = source[at : at + name.end_byte - name.start_byte].decode("utf-8", "replace") if name is not None else ""
    return _Top(
        kind,
        start,
        end,
        inner.type,
        offset(inner.start_byte),
        text,
        offset(body.start_byte) if body is not None else -1,
    )


def _lines_register(source: bytes, starts: list[int], first: int, last: int) -> bool:
    """Whether the lines from the first to the last use a name that registers."""
    start, end = starts[first - 1], starts[min(last, len(starts) - 1)]
    return bool(_REGISTERS.search(source, start, end)) or source.find(b"yield ", start, end) >= 0


class _File:
    """The top level of one file."""

    def __init__(self, root: Node, source: bytes, offset: Callable[[int], int]) -> None:
        self.source = source
        self.diagnostics: list[tuple[int, str, str]] = []
        self.nodes = [_top(node, source, offset) for node in root.children]
        self.code: dict[int, list[Statement]] = {}  # line -> statements that begin there
        self.done: set[int] = set()  # indexes of the nodes that are compiled
        self.defined: dict[str, list[int]] = {}  # name -> indexes of the nodes that define it
        self.lines = [0, *(found.end() for found in re.finditer(b"\n", source)), len(source)]  # where they begin
        self.compiler = Compiler(partial(_lines_register, source, self.lines))

    def read(self) -> Facts:
        for index, node in enumerate(self.nodes):
            name = self._defines(node)
            if name:
                self.defined.setdefault(name, []).append(index)
        new = [i for i, node in enumerate(self.nodes) if node.kind not in _IMPORTS and self._relevant(node)]
        new = sorted({*new, *self._uses_of_factories(new)})
        seen: set[str] = set()
        for _ in range(_ROUNDS):
            made = self._compile(new)
            used = set(names(tuple(made))) - seen
            seen |= used
            new = sorted({i for name in used for i in self.defined.get(name, ())} - self.done)
            if not new:
                break
        if not self.code:
            return {}
        self._compile([i for i, node in enumerate(self.nodes) if node.kind in _IMPORTS])
        facts: Facts = {"py_program": [part for line in sorted(self.code) for part in self.code[line]]}
        if self.diagnostics:
            facts["diagnostics"] = self.diagnostics
        return facts

    # -- what matters --------------------------------------------------------------------------------------------

    def _defines(self, node: _Top) -> str:
        if node.kind == "expression_statement":
            found = _TARGET.match(self.source, node.start, node.start + 200)
            return found.group(1).decode() if found else ""
        return node.name

    def _relevant(self, node: _Top) -> bool:
        start, end = node.start, node.end
        if node.kind == "class_definition":
            return b"HigherOrderOperator)" in self.source[start : start + 200]
        if node.kind == "function_definition":
            return bool(_REGISTERS.search(self.source, start, end))
        if node.kind == "decorated_definition" and node.inner:
            if node.inner == "function_definition" and _REGISTERS.search(self.source, node.head, end):
                return True
            end = node.head
        return bool(_RELEVANT.search(self.source, start, end))

    def _uses_of_factories(self, indexes: list[int]) -> Iterator[int]:
        """The top-level nodes that use a function which registers something, whatever its name."""
        kept = set(indexes)
        names = [
            re.escape(name.encode())
            for name, where in self.defined.items()
            if kept.intersection(where) and self.nodes[where[-1]].kind == "function_definition"
        ]
        if not names:
            return
        starts = [node.start for node in self.nodes]
        for found in re.finditer(rb"\b(?:" + b"|".join(names) + rb")\s*\(", self.source):
            index = bisect_right(starts, found.start()) - 1
            if index >= 0 and self.nodes[index].kind not in _DEFINITIONS:
                yield index

    # -- compiling -----------------------------------------------------------------------------------------------

    def _compile(self, indexes: list[int]) -> list[Statement]:
        """Compile these top-level nodes: in one go, or one by one when Python cannot parse them together."""
        self.done.update(indexes)
        made: list[Statement] = []
        try:
            body = self._parse(indexes)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            body = []
            for index in indexes:
                try:
                    body += self._parse([index])
                except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                    line = self._line(self.nodes[index].start)
                    self.diagnostics.append((line, "python", f"not parsed: {error}"))
        for node in body:
            try:
                code = list(self.compiler.statements([node]))
            except RecursionError:
                self.diagnostics.append((node.lineno, "python", "nested too deeply"))
                continue
            if code:
                self.code.setdefault(node.lineno, []).extend(code)
                made += code
        return made

    def _parse(self, indexes: list[int]) -> list[ast.stmt]:
        """The syntax trees of these nodes, with the line numbers of the file."""
        parts: list[bytes] = []
        line = 1
        for index in indexes:
            node = self.nodes[index]
            first = self._line(node.start)
            parts.append(b"\n" * (first - line))
            text = self._without_body(node)
            parts.append(text)
            line = first + text.count(b"\n")
        return ast.parse(b"".join(parts)).body

    def _line(self, offset: int) -> int:
        return bisect_right(self.lines, offset)

    def _without_body(self, node: _Top) -> bytes:
        """The text of a node; that of a function whose body does not matter without it, but as long as it was."""
        text = self.source[node.start : node.end]
        if node.body < 0:
            return text
        start = node.body - node.start
        if _REGISTERS.search(text, start) or b"yield " in text or _MADE.search(text, max(start - 1, len(text) - 200)):
            return text
        # `(` … `)` keeps the end of the function at its line.
        return text[:start] + b"(" + b"\n" * text.count(b"\n", start) + b"0)"
