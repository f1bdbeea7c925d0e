"""What an expression of a Python file is: nodes to symbols, with the names that the scopes around it give.

``Values`` is the part of the reader that evaluates; it changes nothing but the names that a comprehension binds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import tree_sitter_python
from tree_sitter import Language, Node

from pytrace.extract import python_tables as tables
from pytrace.extract.python_symbols import MAX_LENGTH, TENSOR, UNKNOWN, annotation, bounded, element

DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
#: How deep an expression is followed; written by hand none is.
_DEPTH = 50
_SPACE = re.compile(r"\s+")
#: ``isinstance(x, Tensor)``, of a name, an attribute or an element.
_ISINSTANCE = re.compile(r"(\bnot )?\bisinstance\(\s*(\w+(?:\.\w+)*(?:\[[^\[\]]*\])?), *\(?([\w.]+)")
_REMARK = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|#[^\n]*")

#: Kind of expression -> method that says what it is; identifiers are looked up, all other kinds are unknown.
_EVALUATORS = {
    "attribute": "_value_attribute",
    "call": "_value_call",
    "subscript": "_value_subscript",
    "parenthesized_expression": "_value_inner",
    "await": "_value_inner",
    "list_splat": "_value_inner",
    "named_expression": "_value_last",
    "binary_operator": "_value_either",
    "boolean_operator": "_value_default",
    "comparison_operator": "_value_comparison",
    "unary_operator": "_value_last",
    "conditional_expression": "_value_conditional",
    "list": "_value_sequence",
    "tuple": "_value_sequence",
    "expression_list": "_value_sequence",
    "list_comprehension": "_value_comprehension",
    "generator_expression": "_value_comprehension",
}


class Kinds(NamedTuple):
    """The grammar's numbers for the kinds of node that are compared often (a number compares faster than a name)."""

    identifier: int
    attribute: int
    call: int
    subscript: int
    string: int
    comment: int
    comparison_operator: int
    boolean_operator: int
    parenthesized_expression: int
    expression_list: int
    tuple: int
    pattern_list: int
    tuple_pattern: int
    list_pattern: int
    for_in_clause: int


class Dotted(NamedTuple):
    """What the text of a dotted name says by itself."""

    root: str
    rest: str
    field: bool  #: whether a Tensor's attribute of this name is no Tensor
    special: bool  #: whether a call of it is not simply "the result of calling it"


@lru_cache(maxsize=20_000)
def split(text: str) -> Dotted | None:
    """The parts of ``a.b.c``; None for any other text."""
    if not DOTTED.fullmatch(text):
        return None
    root, _, rest = text.partition(".")
    special = text == "super" or text in tables.IDENTITY or text.rpartition(".")[2] in tables.CONTAINERS
    return Dotted(root, rest, rest in tables.NOT_TENSORS, special)


@lru_cache(maxsize=1)
def language() -> Language:
    """The Python grammar."""
    return Language(tree_sitter_python.language())


@lru_cache(maxsize=1)
def kinds() -> Kinds:
    """The numbers of ``Kinds`` in the installed grammar."""
    return Kinds(*(language().id_for_node_kind(name, True) or -1 for name in Kinds._fields))


@lru_cache(maxsize=1)
def equals_sign() -> int:
    """The number of ``=``."""
    return language().id_for_node_kind("=", False) or -1


def methods_by_kind(cls: type, table: dict[str, str]) -> dict[int, Callable[..., Any]]:
    """The methods of a class by the grammar's numbers for the kinds of a table.

    They are not bound: an object that held its own methods would never be freed, as nothing collects cycles here.
    """
    return {language().id_for_node_kind(kind, True) or -1: getattr(cls, method) for kind, method in table.items()}


@lru_cache(maxsize=1)
def _evaluators() -> dict[int, Callable[..., Any]]:
    return methods_by_kind(Values, _EVALUATORS)


def prose(source: str, is_ascii: bool, start: int = 0, end: int | None = None) -> str:
    """Source text (its bytes, one to one) between two offsets on one line, as people read it."""
    text = source[start:end]
    if not is_ascii:
        text = text.encode("latin-1").decode("utf-8", "replace")
    if "#" in text and "\n" in text:
        text = _REMARK.sub(lambda found: found[1] or "", text)  # a comment inside an expression
    return _SPACE.sub(" ", text)


class Scope:
    """A module, class or function while its nodes pass by."""

    __slots__ = (
        *("cls", "declared", "end", "env", "events", "kind", "parameters", "qual", "returns", "silent", "used_as"),
    )

    def __init__(self, kind: str, qual: str, end: int, cls: str, env: dict[str, str]) -> None:
        self.kind = kind  #: "module", "class", "function"; "inner" for what stands inside a function
        self.qual = qual
        self.end = end
        self.cls = cls  #: the class whose instance ``self`` is, "" outside of classes
        self.env = env
        self.silent = kind in ("module", "class")  #: whether uses are not recorded here
        self.events: dict[tuple[str, int], int] = {}
        self.returns = UNKNOWN  #: symbol of the result; several functions that may be returned are joined by "&"
        self.used_as: dict[str, str] = {}  #: ``%0`` -> what the parameter is used as, for its name
        self.parameters: frozenset[str] = frozenset()
        self.declared = False  #: whether an annotation says what is returned


class Values:
    """Evaluates expressions of one file to symbols (``python_symbols``)."""

    def __init__(self, source: bytes) -> None:
        # Latin-1 maps bytes to characters one to one: offsets of the tree are offsets of this string.
        self.source = source.decode("latin-1")
        self.ascii = source.isascii()
        self.imports: dict[str, str] = {}
        self.stars: list[tuple[str, int]] = []
        #: Names that the module's own body gives; what is indented (under try, if) is added when it is met.
        self.names: set[str] = set()
        self.scope = Scope("module", "", len(source) + 1, "", {})
        self.scopes = [self.scope]
        self.kinds = kinds()
        self.identifier = self.kinds.identifier
        self.attribute = self.kinds.attribute
        self.equals = equals_sign()
        self.narrowed: set[str] = set()  #: attributes and elements that some condition says to be Tensors
        self.depth = 0  #: of the expression that is being evaluated
        self._evaluators = _evaluators()

    def text(self, node: Node) -> str:
        """The source of a node, good for names; see ``prose`` for what people read."""
        return self.source[node.start_byte : node.end_byte]

    def value(self, node: Node | None) -> str:
        """The symbol of an expression; "" when nothing is known."""
        if node is None:
            return UNKNOWN
        kind = node.kind_id
        if kind == self.identifier:
            return self.lookup(self.source[node.start_byte : node.end_byte])
        evaluate = self._evaluators.get(kind)
        if evaluate is None or self.depth > _DEPTH:
            return UNKNOWN
        self.depth += 1
        symbol: str = evaluate(self, node)
        self.depth -= 1
        return symbol

    def lookup(self, name: str) -> str:
        """The symbol of a plain name: local, import, or name of this module."""
        value = self.scope.env.get(name)
        if value is None:
            value = self.imports.get(name)
            if value is None:
                if name in self.names or (self.stars and name not in tables.BUILTINS):
                    return "." + name
                return UNKNOWN
        return value

    def dotted(self, text: str) -> str:
        """The symbol of ``a.b.c``."""
        parts = split(text)
        return self.resolve(parts) if parts is not None else UNKNOWN

    def resolve(self, parts: Dotted) -> str:
        """The symbol of a dotted name."""
        root, rest, field, _ = parts
        if self.narrowed and rest:
            whole = f"{root}.{rest}"
            for name in self.narrowed:
                if (whole == name or whole.startswith(f"{name}.")) and (known := self.scope.env.get(name)):
                    return self.member(known, whole[len(name) + 1 :]) if whole != name else known
        base = self.scope.env.get(root)
        if base is None:
            base = self.lookup(root)
        if not base or not rest:
            return base
        if field and (base[0] == TENSOR or "(" in base):
            return UNKNOWN
        symbol = f"{base}.{rest}"
        return symbol if len(symbol) <= MAX_LENGTH else bounded(symbol)

    def member(self, base: str, name: str) -> str:
        """The symbol of an attribute (or of a chain of them) of a value."""
        if name in tables.NOT_TENSORS and (base[0] == TENSOR or "(" in base):
            return UNKNOWN
        return bounded(f"{base}.{name}")

    def annotated(self, text: str) -> str:
        """The symbol of a value with this annotation."""
        symbol, name = annotation(text)
        if not name:
            return symbol
        bare = name.rstrip("{}")
        value = self.dotted(bare)
        return f"{value}(){name[len(bare) :]}" if value and value[0] in "@." else UNKNOWN

    def arguments(self, call: Node) -> list[Node]:
        """The arguments of a call, comments left out."""
        arguments, comment = call.child(1), self.kinds.comment
        return [c for c in arguments.named_children if c.kind_id != comment] if arguments is not None else []

    def tested(self, text: str) -> Iterator[tuple[bool, str, str]]:
        """The names that a condition asks whether they are Tensors, and that are not known to be something else.

        Rows are (whether it asks for the contrary, name, its symbol so far).
        """
        for negated, name, kind in _ISINSTANCE.findall(text):
            # Of a name that is not assigned here nothing is known; an attribute or element is what it is asked to be.
            before = self.scope.env.get(name, TENSOR if name.isidentifier() else UNKNOWN)
            if (not before or before[0] == "%") and annotation(kind)[0] == TENSOR:
                if not name.isidentifier():
                    self.narrowed.add(name)
                yield bool(negated), name, before

    def loops(self, node: Node) -> list[str]:
        """Bind the names of a comprehension; the symbols of what its loops iterate over, as ``iterate`` gives them."""
        found = []
        for child in node.named_children:
            if child.kind_id == self.kinds.for_in_clause:
                symbol = self.iterate(child.child_by_field_name("left"), child.child_by_field_name("right"))
                if symbol:
                    found.append(symbol)
            elif child.type == "if_clause" and "isinstance(" in (text := self.text(child)):
                for negated, name, _ in self.tested(text):
                    if not negated:
                        self.scope.env[name] = TENSOR
        return found

    def iterate(self, left: Node | None, right: Node | None) -> str:
        """Bind the targets of a loop; the symbol of what is iterated over, "" when its iteration is of no interest."""
        if left is None or right is None:
            return UNKNOWN
        if right.kind_id == self.kinds.call and left.kind_id != self.identifier:
            callee = self.text(right.child(0) or right)
            if callee in ("zip", "enumerate"):
                arguments = self.arguments(right)
                targets = left.named_children
                if callee == "zip":
                    for target, argument in zip(targets, arguments):
                        self.bind(target, element(self.value(argument)))
                elif len(targets) == 2 and arguments:
                    self.bind(targets[1], element(self.value(arguments[0])))
                return UNKNOWN
        symbol = self.value(right)
        self.bind(left, element(symbol))
        return UNKNOWN if symbol.endswith("{}") else symbol

    def bind(self, target: Node, symbol: str) -> None:
        """Give the names of an assignment target their values."""
        kind = target.kind_id
        kinds = self.kinds
        if kind == self.identifier:
            self.scope.env[self.text(target)] = symbol
        elif kind in (kinds.pattern_list, kinds.tuple_pattern, kinds.list_pattern):
            inner = element(symbol)
            for child in target.named_children:
                self.bind(child, inner)

    # -- one method per kind of expression ---------------------------------------------------------------------

    def _value_attribute(self, node: Node) -> str:
        parts = split(self.source[node.start_byte : node.end_byte])
        if parts is not None:
            return self.resolve(parts)
        base = self.value(node.child(0))
        attribute = node.child(2)
        return self.member(base, self.text(attribute)) if base and attribute is not None else UNKNOWN

    def _value_call(self, node: Node) -> str:
        callee = node.child(0)
        if callee is None:
            return UNKNOWN
        text = self.source[callee.start_byte : callee.end_byte]
        parts = split(text)
        if parts is not None:
            if parts.special:
                return "super()" if text == "super" else self._value_passed(node, text)
            base = self.resolve(parts)
        elif text.rpartition(".")[2] in tables.CONTAINERS:
            return self._value_passed(node, text)
        else:
            base = self.value(callee)
        return bounded(base + "()") if base else UNKNOWN

    def _value_passed(self, node: Node, text: str) -> str:
        arguments = self.arguments(node)
        index = tables.IDENTITY.get(text)
        if index is None:
            symbol = self.value(arguments[0]) if arguments else UNKNOWN
            return symbol if symbol.endswith("{}") or not symbol else symbol + "{}"
        return self.value(arguments[index]) if len(arguments) > index else UNKNOWN

    def _value_subscript(self, node: Node) -> str:
        if self.narrowed and (known := self.scope.env.get(self.text(node))):
            return known
        key = node.child(2)
        if key is not None and key.kind_id == self.kinds.string:
            known = tables.PARAMETER_GROUP.get(self.text(key).strip("\"'"))
            if known and "group" in self.text(node.children[0]):
                return known
        return element(self.value(node.child(0)))

    def _value_inner(self, node: Node) -> str:
        return self.value(node.named_child(0))

    def _value_last(self, node: Node) -> str:
        return self.value(node.child(node.child_count - 1))

    def _value_default(self, node: Node) -> str:
        """``group or _default_group()``: of a parameter that nothing is known of the default says what it is."""
        found = self._value_either(node)
        if (
            found[:1] == "%"
            and (default := node.child(2)) is not None
            and default.kind_id != self.kinds.boolean_operator
        ):
            return self.value(default) or found
        return found

    def _value_either(self, node: Node) -> str:
        first = self.value(node.child(0))
        if first == TENSOR:
            return first
        second = self.value(node.child(2))
        return second if second == TENSOR or not first else first

    def _value_comparison(self, node: Node) -> str:
        operator = node.child(1)
        return self._value_either(node) if operator is not None and operator.type in tables.COMPARISON else UNKNOWN

    def _value_conditional(self, node: Node) -> str:
        children = node.named_children
        if len(children) != 3:
            return UNKNOWN
        test = self.text(children[1])
        tested = [*self.tested(test)] if "isinstance(" in test else []
        if not tested:
            known = [symbol for index in (0, 2) if (symbol := self.value(children[index]))]
            # ``group if group is not None else _default_group()``: as with ``or``
            return next((symbol for symbol in known if symbol[0] != "%"), known[0] if known else UNKNOWN)
        sides = []
        for index in (0, 2):
            for negated, name, before in tested:
                self.scope.env[name] = TENSOR if negated == (index == 2) else before
            sides.append(self.value(children[index]))
        for _, name, before in tested:
            self.scope.env[name] = before
        return sides[0] or sides[1]

    def _value_sequence(self, node: Node) -> str:
        for child in node.named_children:
            symbol = self.value(child)
            if symbol:
                return symbol if child.type == "list_splat" else bounded(symbol + "{}")
        return UNKNOWN

    def _value_comprehension(self, node: Node) -> str:
        self.loops(node)
        symbol = self.value(node.named_child(0))
        return bounded(symbol + "{}") if symbol else UNKNOWN
