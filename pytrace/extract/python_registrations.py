"""What a Python file registers: operators, kernels, decompositions, lowerings, symbolics.

Called once for every Python file. Most hold none of the words that matter and give {} at once. Of the others the
top-level statements that register something are kept, and what these use: factories, assignments, imports.
"""

from __future__ import annotations

import ast
import re
from tree_sitter import Node, Tree

from pytrace.extract.python_program import RELEVANT, Statement, class_definition, definition, names, statements
from pytrace.model import Facts

#: Bytes without which a file registers nothing: the API of ``torch/library.py``, ``OpOverload.py_impl``, and the
#: decorators of the tables (decompositions, meta, Inductor, fake tensors, ONNX, flop counting, nested tensors).
KEYWORDS = (
    b"register_decomposition", b"register_meta", b"register_lowering", b"register_op_impl", b"register_fake",
    b"register_flop_formula", b"register_jagged_func", b"py_impl(", b".impl(", b".define(", b"custom_op(",
    b"impl_abstract(", b"onnx_symbolic(", b"onnx_impl(", b"make_fallback(", b"_make_elementwise_", b"_make_prim",
)  # fmt: skip

_RELEVANT = re.compile(rb"\b(?:" + RELEVANT.pattern.encode() + rb")\b")
_DEFINITIONS = ("function_definition", "class_definition")
_IMPORTS = ("import_statement", "import_from_statement")
#: Rounds of "what do the kept statements use?": a factory uses a factory uses a table.
_ROUNDS = 4


def extract(tree: Tree, source: bytes) -> Facts:
    """The registrations of one file; {} for a file that registers nothing.

    ``py_program``: statements of ``python_program`` in source order.
    """
    if not any(word in source for word in KEYWORDS):
        return {}
    return _File(tree.root_node, source).read()


class _File:
    """The top level of one file."""

    def __init__(self, root: Node, source: bytes) -> None:
        self.source = source
        self.diagnostics: list[tuple[int, str, str]] = []
        self.nodes: list[tuple[Node, str, int]] = [(n, n.type, n.start_byte) for n in root.children]
        self.kept: dict[int, list[Statement]] = {}  # index of the node -> statements
        self.defined: dict[str, list[int]] = {}  # name -> indexes of the nodes that define it

    def read(self) -> Facts:
        for index, (node, kind, _) in enumerate(self.nodes):
            self._define(index, node, kind)
        for index, (node, kind, start) in enumerate(self.nodes):
            if kind not in _IMPORTS and self._relevant(node, kind, start):
                self.kept[index] = self._compile(node, kind, body=None)
        used = {name for code in self.kept.values() for name in names(tuple(code))}
        done: set[str] = set()
        for _ in range(_ROUNDS):
            new = used - done
            done |= new
            for index in sorted({i for name in new for i in self.defined.get(name, ())} - self.kept.keys()):
                node, kind, _start = self.nodes[index]
                self.kept[index] = self._compile(node, kind, body=None)
                used.update(names(tuple(self.kept[index])))
        if not any(self.kept.values()):
            return {}
        for index, (node, kind, _) in enumerate(self.nodes):
            if kind in _IMPORTS:
                self.kept[index] = self._compile(node, kind, body=None)
        facts: Facts = {"py_program": [code for index in sorted(self.kept) for code in self.kept[index]]}
        if self.diagnostics:
            facts["diagnostics"] = self.diagnostics
        return facts

    def _text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def _define(self, index: int, node: Node, kind: str) -> None:
        if kind == "decorated_definition" or kind in _DEFINITIONS:
            inner = node.child_by_field_name("definition") if kind == "decorated_definition" else node
            name_node = inner.child_by_field_name("name") if inner is not None else None
            if name_node is not None:
                self.defined.setdefault(self._text(name_node).decode("utf-8", "replace"), []).append(index)
        elif kind == "expression_statement":
            found = re.match(rb"([A-Za-z_]\w*)\s*(?::[^=\n]*)?=(?!=)", self.source[node.start_byte : node.start_byte + 200])
            if found:
                self.defined.setdefault(found.group(1).decode(), []).append(index)

    def _relevant(self, node: Node, kind: str, start: int) -> bool:
        if kind == "decorated_definition":
            inner = node.child_by_field_name("definition")
            head = self.source[start : inner.start_byte] if inner is not None else b""
            if _RELEVANT.search(head):
                return True
            return inner is not None and inner.type == "function_definition" and bool(_RELEVANT.search(self._text(inner)))
        if kind == "class_definition":
            return b"HigherOrderOperator)" in self.source[start : start + 200]
        return bool(_RELEVANT.search(self._text(node)))

    def _compile(self, node: Node, kind: str, body: bool | None) -> list[Statement]:
        """The statements of one top-level node; broken syntax is a diagnostic."""
        text = self._text(node)
        short = self._without_body(node, kind, text)
        try:
            module = ast.parse(short)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.diagnostics.append((node.start_point[0] + 1, "python", f"not parsed: {error}"))
            return []
        ast.increment_lineno(module, node.start_point[0])
        code: list[Statement] = []
        for part in module.body:
            if isinstance(part, ast.FunctionDef):
                made = definition(part, body=body)
                if short is not text:  # the end of the cut body
                    made = (*made[:4], node.end_point[0] + 1, *made[5:])
                code.append(made)
            elif isinstance(part, ast.ClassDef):
                code.append(class_definition(part, text.decode("utf-8", "replace")))
            else:
                code.extend(statements([part]))
        return code

    def _without_body(self, node: Node, kind: str, text: bytes) -> bytes:
        """``text`` with the body of a function cut out when nothing in it registers or makes a function."""
        inner = node.child_by_field_name("definition") if kind == "decorated_definition" else node
        if inner is None or inner.type not in _DEFINITIONS:
            return text
        body = inner.child_by_field_name("body")
        if body is None:
            return text
        if inner.type == "function_definition":
            content = self._text(body)
            if _RELEVANT.search(content) or (b"def " in content and re.search(rb"\n[ \t]+return [A-Za-z_]\w*\s*$", content)):
                return text
        start = body.start_byte - node.start_byte
        return text[:start] + b"pass"
