"""One sweep over the interesting nodes of a Python file, in source order, with the scopes that enclose them.

``Reader`` turns tree-sitter nodes into the facts that ``extract/python.py`` documents. It evaluates expressions to
symbols (``python_values``) with a light environment per function: what each local name was last assigned.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from tree_sitter import Node

from pytrace.extract import python_tables as tables
from pytrace.extract.python_definitions import Definitions
from pytrace.extract.python_guards import Guards
from pytrace.extract.python_symbols import MAX_LENGTH, TENSOR, UNKNOWN, element
from pytrace.extract.python_values import methods_by_kind, prose, split

_OPERATOR = re.compile(r"@torch\.ops\.|\.aten\.")
_SETTERS = re.compile(r"@(\w+)\.setter")
_ARGUMENTS_LIMIT = 300

#: Kind of node -> method that reacts to it (queries/python/events.scm captures these).
_HANDLERS = {
    "class_definition": "on_class",
    "function_definition": "on_function",
    "decorator": "on_decorator",
    "import_statement": "on_import",
    "import_from_statement": "on_import_from",
    "if_statement": "on_if",
    "elif_clause": "on_elif",
    "else_clause": "on_else",
    "while_statement": "on_condition",
    "for_statement": "on_for",
    "list_comprehension": "on_comprehension",
    "generator_expression": "on_comprehension",
    "set_comprehension": "on_comprehension",
    "dictionary_comprehension": "on_comprehension",
    "assert_statement": "on_assert",
    "raise_statement": "on_raise",
    "return_statement": "on_return",
    "assignment": "on_assignment",
    "augmented_assignment": "on_augmented",
    "named_expression": "on_named",
    "call": "on_call",
    "attribute": "on_reference",
    "subscript": "on_subscript",
    "binary_operator": "on_binary",
    "unary_operator": "on_unary",
    "not_operator": "on_operand",
    "comparison_operator": "on_comparison",
    "conditional_expression": "on_conditional",
    "boolean_operator": "on_boolean",
}


@lru_cache(maxsize=1)
def _handlers() -> dict[int, Callable[..., Any]]:
    return methods_by_kind(Reader, _HANDLERS)


class Reader(Definitions):
    """The state of one sweep; its lists and dicts become the facts."""

    def __init__(self, source: bytes, *, outline: bool = False) -> None:
        """``outline``: the bodies of functions are not read."""
        super().__init__(source, outline=outline)
        self.guards = Guards(partial(prose, self.source, self.ascii))
        self.module_calls: list[tuple[int, str, str]] = []
        self.stores: list[tuple[str, str]] = []  #: see ``extract/python.py``
        self.given: dict[tuple[str, str], None] = {}  #: the same
        self.plain: set[str] = set()  #: attributes that are assigned something of no interest
        self._setters = set(_SETTERS.findall(self.source)) if b".setter" in source else set()
        self._overridable = b"has_torch_function" in source
        self._override = (0, 0)  #: the block that hands the call to __torch_function__
        self._pending: list[tuple[int, str, str]] = []  #: (offset, name, value): bound once the offset is reached
        self._call_end = 0

    # -- the sweep ---------------------------------------------------------------------------------------------

    def sweep(self, events: list[Node]) -> None:
        """Read all nodes; they must be in the order of their start, outer before inner."""
        handlers = _handlers()
        pending = self._pending
        for node in events:
            start = node.start_byte
            if start < self._skip:
                continue
            if start >= self.scope.end:
                self._leave(start)
            if pending and pending[0][0] <= start:
                self._bind_pending(start)
            try:
                handlers[node.kind_id](self, node, start)
            except (IndexError, RecursionError):
                # A node of broken source lacks a child that the grammar promises, or it is nested without end.
                self.depth = 0

    def _leave(self, start: int) -> None:
        while start >= self.scope.end:
            self.scopes.pop()
            self.scope = self.scopes[-1]
        self._pending.clear()

    def _bind_pending(self, start: int) -> None:
        """Give the names their values whose statement, or block, has ended before ``start``."""
        pending = self._pending
        while pending and pending[0][0] <= start:
            _, name, value = pending.pop(0)
            self.scope.env[name] = value

    def _later(self, offset: int, name: str, value: str) -> None:
        """Bind a name once ``offset`` is reached."""
        pending = self._pending
        if pending and pending[-1][0] > offset:
            insort(pending, (offset, name, value))
        else:
            pending.append((offset, name, value))

    def emit(self, symbol: str, start: int, node: Node) -> None:
        """Record that the current function uses ``symbol`` here."""
        scope = self.scope
        if scope.silent or (start < self._override[1] and self._override[0] <= start):
            return
        if symbol[0] == "%":
            used_as = scope.used_as.get(symbol[:2])
            if used_as is None:
                return
            symbol = used_as + symbol[2:]
        key = (symbol, self.guards.number(start))
        if key not in scope.events:
            scope.events[key] = node.start_point[0] + 1

    # -- guards and conditions ---------------------------------------------------------------------------------

    def on_if(self, node: Node, start: int) -> None:
        """The block runs when the condition holds."""
        condition, block = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is not None and block is not None:
            self.guards.statement(node.end_byte, (condition.start_byte, condition.end_byte))
            self._enter(condition, block, start)

    def on_elif(self, node: Node, start: int) -> None:
        """As ``on_if``."""
        condition, block = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is not None and block is not None:
            self.guards.alternative(start, (condition.start_byte, condition.end_byte))
            self._enter(condition, block, start)

    def on_else(self, node: Node, start: int) -> None:
        """The block runs when none of the conditions holds."""
        self.guards.otherwise(start, node.end_byte)

    def _enter(self, condition: Node, block: Node, start: int) -> None:
        text = self.text(condition)
        # torch/overrides.py: "if has_torch_function(...): return handle_torch_function(...)" hands the call to a
        # subclass's __torch_function__; it is not a path of this function.
        if self._overridable and "has_torch_function" in text and not text.startswith("not "):
            self._override = (block.start_byte, block.end_byte)
        else:
            self.guards.block(block.start_byte, block.end_byte, (condition.start_byte, condition.end_byte))
            if "isinstance(" in text:
                self._narrow(text, block)
        self._truth(condition, start)

    def _narrow(self, text: str, block: Node | None) -> None:
        """``if isinstance(x, Tensor):`` says what x is in the block, ``if not …`` what it is behind it."""
        for negated, name, before in self.tested(text):
            if negated and block is not None:
                self._later(block.end_byte, name, TENSOR)
            elif not negated:
                self.scope.env[name] = TENSOR
                if block is not None:
                    self._later(block.end_byte, name, before)

    def on_conditional(self, node: Node, start: int) -> None:
        """``x.item() if isinstance(x, Tensor) else x``: what x is on one of the two sides."""
        children = node.named_children
        if len(children) != 3 or "isinstance(" not in (text := self.text(children[1])):
            return
        for negated, name, before in self.tested(text):
            side = children[2 if negated else 0]
            if negated:
                self._later(side.start_byte, name, TENSOR)
            else:
                self.scope.env[name] = TENSOR
            self._later(side.end_byte, name, before)

    def on_boolean(self, node: Node, start: int) -> None:
        """``isinstance(x, Tensor) and x.is_complex()``: what x is on the right."""
        left, operator, right = node.child(0), node.child(1), node.child(2)
        if left is None or operator is None or right is None or "isinstance(" not in (text := self.text(left)):
            return
        for negated, name, before in self.tested(text):
            if negated == (operator.type == "or"):
                self._later(right.start_byte, name, TENSOR)
                self._later(right.end_byte, name, before)

    def on_condition(self, node: Node, start: int) -> None:
        """``while condition:``."""
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self._truth(condition, start)

    def on_assert(self, node: Node, start: int) -> None:
        """``assert isinstance(x, Tensor)`` says what x is from here on."""
        condition = node.named_child(0)
        if condition is not None:
            self._narrow(self.text(condition), None)
            self._truth(condition, start)

    def on_operand(self, node: Node, start: int) -> None:
        """``not x``."""
        condition = node.named_child(0)
        if condition is not None:
            self._truth(condition, start)

    def _truth(self, node: Node, start: int) -> None:
        """A Tensor used as a condition: ``__bool__``."""
        kind, kinds = node.kind_id, self.kinds
        if kind == kinds.boolean_operator or kind == kinds.parenthesized_expression:
            for side in node.named_children:
                self._truth(side, start)
        elif kind in (kinds.identifier, kinds.call, kinds.comparison_operator, kinds.subscript):
            symbol = self.value(node)
            if symbol == TENSOR or (symbol.endswith("()") and not tables.PREDICATE.search(symbol)):
                self.emit(symbol + ".__bool__()", start, node)

    def on_raise(self, node: Node, start: int) -> None:
        """What the message of an error computes is no path that a reader asks for."""
        self._skip = node.end_byte

    # -- binding names -----------------------------------------------------------------------------------------

    def on_for(self, node: Node, start: int) -> None:
        """A loop; at module level it may fill ``globals()``."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if self.scope.kind == "module" and left is not None and right is not None:
            self.spread(node, left, right)
            return
        symbol = self.iterate(left, right)
        if symbol:
            self.emit(symbol + ".__iter__()", start, node)

    def on_comprehension(self, node: Node, start: int) -> None:
        """The body stands before the loops that bind its names."""
        for symbol in self.loops(node):
            self.emit(symbol + ".__iter__()", start, node)

    def on_named(self, node: Node, start: int) -> None:
        """``name := value``."""
        self.scope.env[self.text(node.children[0])] = self.value(node.children[-1])

    def on_assignment(self, node: Node, start: int) -> None:
        """``left = right``, ``left: type`` or ``left: type = right``."""
        children = node.children
        left, sign = children[0], children[1]
        declared = UNKNOWN
        if sign.kind_id == self.equals:
            right: Node | None = children[-1]
        else:
            right = children[-1] if len(children) == 5 else None
            declared = self.annotated(self.text(children[2]))
            self._skip = children[2].end_byte
        kinds, kind = self.kinds, left.kind_id
        if self.scope.silent:
            self.static_assignment(left, right, declared)
        elif kind == self.identifier:
            value = self.value(right)
            self._later(node.end_byte, self.source[left.start_byte : left.end_byte], declared or value)
            self._name(right, value, start)
        elif kind == self.attribute:
            self._attribute_assignment(left, right, declared, start)
            self._refer(right, start)
        elif kind == kinds.subscript:
            symbol = self.value(left.child(0))
            if symbol:
                self.emit(symbol + ".__setitem__()", start, left)
                if symbol[0] == "." and right is not None and self.value(right)[:1] == "%":
                    self.stores.append((next(s.qual for s in self.scopes if s.kind == "function"), symbol))
            self._skip = max(self._skip, start + 1)  # not a __getitem__
        elif right is not None:
            self._unpack(left, right, start)

    def _unpack(self, left: Node, right: Node, start: int) -> None:
        targets = left.named_children
        if right.kind_id in (self.kinds.expression_list, self.kinds.tuple) and right.named_child_count == len(targets):
            for target, value in zip(targets, right.named_children):
                if target.kind_id == self.attribute:
                    self._attribute_assignment(target, value, UNKNOWN, start)
                else:
                    self.bind(target, self.value(value))
                self._refer(value, start)
            return
        symbol = self.value(right)
        for target in targets if symbol else ():
            if target.kind_id == self.attribute:  # self.loc, self.scale = broadcast_all(loc, scale)
                self._attribute_assignment(target, None, element(symbol), start)
        if symbol and not symbol.endswith("{}"):
            self.emit(symbol + ".__iter__()", start, right)
        self.bind(left, symbol)

    def _attribute_assignment(self, left: Node, right: Node | None, declared: str, start: int) -> None:
        symbol = self.value(left.child(0))
        if not symbol:
            return
        name = self.text(left).rpartition(".")[2].strip()
        if symbol in ("self", "cls"):
            value = declared or self.value(right)
            if value and value[0] != "%":
                passed: list[str] = []
                if right is not None and right.kind_id == self.kinds.call and value.endswith("()"):
                    passed = [self.value(a) for a in self.arguments(right)][:3]
                self.attributes.append((self.scope.cls, name, value, passed))
            else:
                self.plain.add(name)
        if name in tables.TENSOR_SETTERS or name in self._setters:
            self.emit(f"{symbol}.{name}=", start, left)

    def on_augmented(self, node: Node, start: int) -> None:
        """``a += b``; of a subscript also the store."""
        left, operator = node.children[0], node.children[1]
        method = tables.AUGMENTED.get(operator.type)
        if self.scope.kind == "module" and left.kind_id == self.identifier and method == "__iadd__":
            self.strings_of(self.text(left), node.children[-1])  # ``__all__ += ["name"]``
        symbol = self.value(left)
        if symbol and method:
            self.emit(f"{symbol}.{method}()", start, node)
            if left.kind_id == self.kinds.subscript and (owner := self.value(left.child(0))):
                self.emit(f"{owner}.__setitem__()", start, node)

    # -- uses --------------------------------------------------------------------------------------------------

    def on_return(self, node: Node, start: int) -> None:
        """The first return whose value is known says what the function returns, unless it is declared.

        Of functions that are returned all are kept.
        """
        scope = self.scope
        if scope.kind != "function" or node.child_count < 2:
            return
        value = node.child(1)
        symbol = self.value(value)
        if not scope.declared and not self._override[0] <= start < self._override[1]:
            if not scope.returns:
                scope.returns = symbol
            elif symbol and symbol[-1] not in ")}]" and symbol[0] == "@" and len(scope.returns) < MAX_LENGTH:
                scope.returns += "&" + symbol  # ``return F.relu`` here, ``return F.gelu`` there
        self._name(value, symbol, start)

    def on_reference(self, node: Node, start: int) -> None:
        """An attribute passed as an argument; a class is not called by being named."""
        if self.scope.silent or self.source[self.source.rfind(".", start, node.end_byte) + 1].isupper():
            return
        symbol = self.value(node)
        if symbol and not (_OPERATOR.match(symbol) and self._is_registered(node)):
            self._name(node, symbol, start)

    def _is_registered(self, node: Node) -> bool:
        """Whether an argument is given to a function that registers: then it is what something is registered for."""
        around = node.parent
        while around is not None and around.kind_id != self.kinds.call:
            around = around.parent
        callee = around.child(0) if around is not None else None
        return callee is not None and tables.REGISTERING.search(self.text(callee)) is not None

    def _refer(self, node: Node | None, start: int) -> None:
        """A function (or property) named as a value: it may be called by whoever gets it."""
        if node is not None and (node.kind_id == self.attribute or node.kind_id == self.identifier):
            self._name(node, self.value(node), start)

    def _name(self, node: Node | None, symbol: str, start: int) -> None:
        """As ``_refer``, of a node whose value is known."""
        if not symbol or node is None:
            return
        kind = node.kind_id
        if (kind == self.identifier or kind == self.attribute) and (
            (symbol[0] in "@." or "." in symbol) and symbol[-1] not in ")}]"
        ):
            self.emit(symbol, start, node)

    def on_call(self, node: Node, start: int) -> None:
        """A call: of a method, a function, a builtin that stands for a method, an instance."""
        callee = node.child(0)
        if callee is None:
            return
        text = self.source[callee.start_byte : callee.end_byte]
        kind = callee.kind_id
        if kind == self.identifier:
            symbol = self.lookup(text)
            if not symbol or symbol[0] == "%":
                self._parameter_called(text)
            if not symbol:
                if text in tables.BUILTIN_METHODS:
                    self._builtin(node, text, start)
                return
        elif kind == self.attribute and (parts := split(text)) is not None:
            symbol = self.resolve(parts)
            if text.startswith("self.register_") and symbol.startswith("self."):
                self._register(node, text)
        else:
            symbol = self.value(callee)
        if not symbol or (self._overridable and tables.OVERRIDE.search(text)):
            return
        if self.scope.kind == "module":
            if start >= self._call_end:
                self._call_end = node.end_byte
                arguments = self.source[callee.end_byte + 1 : node.end_byte - 1].strip()[:_ARGUMENTS_LIMIT]
                self.module_calls.append((node.start_point[0] + 1, symbol, prose(arguments, self.ascii)))
        else:
            self.emit(symbol + "()", start, node)

    def _parameter_called(self, name: str) -> None:
        """A call of what the function is given; inner functions have parameters of their own."""
        for scope in reversed(self.scopes):
            if name in scope.parameters:
                if scope.kind == "function":
                    self.given[scope.qual, name] = None
                return

    def _register(self, node: Node, text: str) -> None:
        """``self.register_buffer("name", …)`` makes an attribute."""
        if text.rpartition(".")[2] in tables.TENSOR_REGISTRATIONS:
            arguments = self.arguments(node)
            if arguments and arguments[0].kind_id == self.kinds.string:
                self.attributes.append((self.scope.cls, self.text(arguments[0]).strip("\"'"), TENSOR, []))

    def _builtin(self, node: Node, name: str, start: int) -> None:
        arguments = self.arguments(node)
        symbol = self.value(arguments[0]) if arguments else UNKNOWN
        if symbol and not symbol.endswith("{}"):
            self.emit(f"{symbol}.{tables.BUILTIN_METHODS[name]}()", start, node)

    def on_subscript(self, node: Node, start: int) -> None:
        """``x[…]``."""
        if self.scope.silent:
            return
        symbol = self.value(node.child(0))
        if symbol and not symbol.endswith("{}"):
            self.emit(symbol + ".__getitem__()", start, node)

    def on_binary(self, node: Node, start: int) -> None:
        """``a + b``."""
        children = node.children  # a comment may stand among them
        methods = tables.BINARY.get(children[1].type)
        if methods:
            self._operator(self.value(children[0]), self.value(children[-1]), methods, start, node)

    def on_comparison(self, node: Node, start: int) -> None:
        """``a < b``, ``a in b``; of a chain the first."""
        operator = node.child(1)
        if operator is None:
            return
        kind = operator.type
        methods = tables.COMPARISON.get(kind)
        if methods:
            self._operator(self.value(node.child(0)), self.value(node.child(2)), methods, start, node)
        elif kind in ("in", "not in"):
            container = self.value(node.child(2))
            if container and not container.endswith("{}"):
                self.emit(container + ".__contains__()", start, node)

    def _operator(self, left: str, right: str, methods: tuple[str, str], start: int, node: Node) -> None:
        if left.endswith("{}"):
            return
        left, right = ("" if side[:1] == "%" else side for side in (left, right))
        if left == TENSOR or (left and not right):
            self.emit(f"{left}.{methods[0]}()", start, node)
        elif left:
            self.emit(f"{left}.{methods[0]}()|{right}.{methods[1]}()", start, node)
        elif right and not right.endswith("{}"):
            self.emit(f"{right}.{methods[1]}()", start, node)

    def on_unary(self, node: Node, start: int) -> None:
        """``-x``, ``~x``."""
        symbol = self.value(node.child(1))
        operator = node.child(0)
        if symbol and operator is not None and operator.type in tables.UNARY:
            self.emit(f"{symbol}.{tables.UNARY[operator.type]}()", start, node)
