"""What a Python file registers: operators, kernels, decompositions, lowerings, symbolics.

Called once for every Python file. Most hold none of the words that matter and give {} at once. Of the others the
top-level statements that register something are kept, and what these use: factories, tables, imports.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from tree_sitter import Node, Tree

from pytrace.extract.python_program import REGISTERS, RELEVANT, Compiler, Statement, names
from pytrace.model import Facts

#: Bytes without which a file registers nothing: the API of ``torch/library.py``, ``OpOverload.py_impl``, the
#: decorators of the tables (decompositions, meta, Inductor, fake tensors, ONNX, flop counting, nested tensors), and
#: Inductor's table of pointwise functions (``torch/_inductor/codegen/common.py``), which lowerings are made from.
KEYWORDS = (
    b"register_decomposition", b"register_meta", b"register_lowering", b"register_op_impl", b"register_fake",
    b"register_flop_formula", b"register_jagged_func", b"py_impl(", b".impl(", b".define(", b"custom_op(",
    b"impl_abstract(", b"onnx_symbolic(", b"onnx_impl(", b"make_fallback(", b"_make_elementwise_", b"_make_prim",
    b"OverridesData(",
)  # fmt: skip

#: The same, coarser: each file of the tree is searched for these, so they are few.
_FIRST = (b"impl", b"register_", b".define(", b"custom_op(", b"onnx_symbolic(", b"make_", b"OverridesData(")

_RELEVANT = re.compile(rb"\b(?:" + RELEVANT.pattern.encode() + rb")\b")
_REGISTERS = re.compile(rb"\b(?:" + REGISTERS.pattern.encode() + rb")\b")
_MADE = re.compile(rb"\n[ \t]+return [A-Za-z_]\w*\s*\Z")
_TARGET = re.compile(rb"([A-Za-z_]\w*)\s*(?::[^=\n]*)?=(?!=)")
_DEFINITIONS = ("function_definition", "class_definition")
_IMPORTS = ("import_statement", "import_from_statement")
#: Rounds of "what do the kept statements use?": a factory uses a factory uses a table.
_ROUNDS = 4


def extract(tree: Tree, source: bytes) -> Facts:
    """The registrations of one file; {} for a file that registers nothing.

    ``py_program``: statements of ``python_program`` in source order.
    """
    return _File(tree.root_node, source).read() if may_register(source) else {}


def may_register(source: bytes) -> bool:
    """Whether the file holds a word without which it registers nothing."""
    return any(word in source for word in _FIRST) and any(word in source for word in KEYWORDS)


class _File:
    """The top level of one file."""

    def __init__(self, root: Node, source: bytes) -> None:
        self.source = source
        self.diagnostics: list[tuple[int, str, str]] = []
        self.nodes: list[tuple[Node, str]] = [(node, node.type) for node in root.children]
        self.code: dict[int, list[Statement]] = {}  # line -> statements that begin there
        self.done: set[int] = set()  # indexes of the nodes that are compiled
        self.defined: dict[str, list[int]] = {}  # name -> indexes of the nodes that define it
        self.compiler = Compiler(self._lines_register)

    def read(self) -> Facts:
        for index, (node, kind) in enumerate(self.nodes):
            for name in self._defines(node, kind):
                self.defined.setdefault(name, []).append(index)
        new = [i for i, (node, kind) in enumerate(self.nodes) if kind not in _IMPORTS and self._relevant(node, kind)]
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
        self._compile([i for i, (_, kind) in enumerate(self.nodes) if kind in _IMPORTS])
        facts: Facts = {"py_program": [part for line in sorted(self.code) for part in self.code[line]]}
        if self.diagnostics:
            facts["diagnostics"] = self.diagnostics
        return facts

    # -- what matters --------------------------------------------------------------------------------------------

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer(b"\n", self.source)), len(self.source)]

    def _lines_register(self, first: int, last: int) -> bool:
        starts = self._line_starts
        start, end = starts[first - 1], starts[min(last, len(starts) - 1)]
        return bool(_REGISTERS.search(self.source, start, end)) or self.source.find(b"yield ", start, end) >= 0

    def _defines(self, node: Node, kind: str) -> Iterable[str]:
        if kind == "expression_statement":
            found = _TARGET.match(self.source, node.start_byte, node.start_byte + 200)
            return (found.group(1).decode(),) if found else ()
        inner = node.child_by_field_name("definition") if kind == "decorated_definition" else node
        if inner is None or inner.type not in _DEFINITIONS:
            return ()
        name = inner.child_by_field_name("name")
        return (self.source[name.start_byte : name.end_byte].decode("utf-8", "replace"),) if name is not None else ()

    def _relevant(self, node: Node, kind: str) -> bool:
        start, end = node.start_byte, node.end_byte
        if kind == "class_definition":
            return b"HigherOrderOperator)" in self.source[start : start + 200]
        if kind == "function_definition":
            return bool(_REGISTERS.search(self.source, start, end))
        if kind == "decorated_definition":
            inner = node.child_by_field_name("definition")
            head = inner.start_byte if inner is not None else end
            if inner is not None and inner.type == "function_definition" and _REGISTERS.search(self.source, head, end):
                return True
            end = head
        return bool(_RELEVANT.search(self.source, start, end))

    def _uses_of_factories(self, indexes: list[int]) -> Iterator[int]:
        """The top-level nodes that use a function which registers something, whatever its name."""
        kept = set(indexes)
        names = [
            re.escape(name.encode())
            for name, where in self.defined.items()
            if kept.intersection(where) and self.nodes[where[-1]][1] == "function_definition"
        ]
        if not names:
            return
        starts = [node.start_byte for node, _ in self.nodes]
        for found in re.finditer(rb"\b(?:" + b"|".join(names) + rb")\s*\(", self.source):
            index = bisect_right(starts, found.start()) - 1
            if index >= 0 and self.nodes[index][1] not in _DEFINITIONS:
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
                    line = self.nodes[index][0].start_point[0] + 1
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
        line = 0
        for index in indexes:
            node, kind = self.nodes[index]
            parts.append(b"\n" * (node.start_point[0] - line))
            text = self._without_body(node, kind)
            parts.append(text)
            line = node.start_point[0] + text.count(b"\n")
        return ast.parse(b"".join(parts)).body

    def _without_body(self, node: Node, kind: str) -> bytes:
        """The text of a node; that of a function whose body does not matter without it, but as long as it was."""
        text = self.source[node.start_byte : node.end_byte]
        inner = node.child_by_field_name("definition") if kind == "decorated_definition" else node
        body = inner.child_by_field_name("body") if inner is not None and inner.type == "function_definition" else None
        if body is None:
            return text
        start = body.start_byte - node.start_byte
        if _REGISTERS.search(text, start) or b"yield " in text or _MADE.search(text, max(start - 1, len(text) - 200)):
            return text
        # `(` … `)` keeps the end of the function at its line.
        return text[:start] + b"(" + b"\n" * text.count(b"\n", start) + b"0)"
