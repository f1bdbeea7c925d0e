"""What a Python file defines, imports and assigns: the part of the reader that is about module and class bodies."""

from __future__ import annotations

import re
from functools import lru_cache

from tree_sitter import Node

from pytrace.extract import python_tables as tables
from pytrace.extract.python_symbols import FOLLOWED, PARAMETERS, UNKNOWN, USED_AS, split_types
from pytrace.extract.python_values import DOTTED, Scope, Values

#: Parameters without brackets, strings and comments: commas separate them.
_PLAIN_PARAMETERS = re.compile(r"\([^\[\](){}#\"'\\]*\)")
_TYPE_COMMENT = re.compile(r"# type: \((.*)\) *-> *(.*)")


#: A parameter: its name, its annotation, whether it takes several, its default if that is a dotted name.
_Parameter = tuple[str, str, bool, str]


def _parameter(text: str) -> _Parameter | None:
    """What the text of a parameter says; None for ``*`` and ``/``."""
    head, _, default = text.partition("=")
    name, _, declared = head.partition(":")
    name = name.strip()
    bare = name.lstrip("*")
    if not bare or name == "/":
        return None
    default = default.strip() if "." in default else ""
    return bare, declared, bare != name, default if DOTTED.fullmatch(default) else ""


@lru_cache(maxsize=5_000)
def _plain_parameters(text: str) -> list[_Parameter]:
    return [row for part in text[1:-1].split(",") if (row := _parameter(part)) is not None]


class Definitions(Values):
    """Collects the facts of definitions; ``python_reader`` calls its methods in source order."""

    def __init__(self, source: bytes, *, outline: bool) -> None:
        super().__init__(source)
        self._is_outline = outline
        self.import_rows: list[tuple[str, str, int]] = []
        self.definitions: list[tuple[str, str, int, int, list[str]]] = []
        self.bases: list[tuple[str, list[str]]] = []
        self.aliases: list[tuple[str, int, str, list[str]]] = []
        self.attributes: list[tuple[str, str, str, list[str]]] = []
        self.strings: list[tuple[str, int, list[str]]] = []
        self.spreads: list[tuple[str, int, list[str]]] = []
        self.functions: list[tuple[str, Scope]] = []
        self._typed = b"# type: (" in source
        self._decorating: list[str] = []
        self._skip = 0  #: what starts before this offset was read with what encloses it

    # -- definitions -------------------------------------------------------------------------------------------

    def on_decorator(self, node: Node, start: int) -> None:
        """``@name`` or ``@name(arguments)``: kept for the definition that follows."""
        expression = node.named_child(0)
        if expression is not None:
            callee = expression.child(0) if expression.kind_id == self.kinds.call else expression
            self._decorating.append(self.value(callee) or self.text(callee or expression))
        self._skip = node.end_byte

    def on_class(self, node: Node, start: int) -> None:
        """A class: its bases; a class inside a function is part of that function."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return
        outer = self.scope
        name = self.text(name_node)
        qual = f"{outer.qual}.{name}" if outer.qual else name
        decorators, self._decorating = self._decorating, []
        scope = Scope("class", qual, node.end_byte, qual, {})
        if outer.kind in ("function", "inner"):
            scope = Scope("inner", qual, node.end_byte, "", dict(outer.env))
            scope.events = outer.events
            outer.env[name] = UNKNOWN
        else:
            if outer.kind == "module":
                self.names.add(name)
            supers = node.child_by_field_name("superclasses")
            values = [self.value(c) for c in supers.named_children if c.type != "keyword_argument"] if supers else []
            self.bases.append((qual, [value for value in values if value]))
            self.definitions.append((qual, "c", node.start_point[0] + 1, node.end_point[0] + 1, decorators))
        self.scopes.append(scope)
        self.scope = scope
        self._skip = body.start_byte

    def on_function(self, node: Node, start: int) -> None:
        """A function: its parameters; a function inside a function is part of the outer one."""
        decorators, self._decorating = self._decorating, []
        children = node.named_children  # name, parameters, perhaps the type of the result, perhaps a comment, body
        name_node, parameters, body = children[0], children[1], children[-1]
        if parameters.type != "parameters" or body.type != "block":
            return
        outer = self.scope
        name = self.text(name_node)
        qual = f"{outer.qual}.{name}" if outer.qual else name
        end = node.end_byte
        if outer.kind in ("function", "inner"):
            scope = Scope("inner", qual, end, outer.cls, dict(outer.env))
            scope.events, scope.used_as = outer.events, outer.used_as
            outer.env[name] = UNKNOWN
            self._parameters(scope, parameters, "")
        else:
            scope = Scope("function", qual, end, outer.cls, {})
            if outer.kind == "module":
                self.names.add(name)
                kind = "f"
            else:
                kind = _method_kind(decorators)
                outer.env[name] = "." + name  # for ``__rtruediv__ = __rdiv__`` in the class body
            self._parameters(scope, parameters, _FIRST_PARAMETER.get(kind, ""))
            if self._typed:
                self._type_comment(scope, parameters.end_byte, body.start_byte)
            if len(children) > 3 and children[2].type == "type":
                scope.returns = self.annotated(self.text(children[2]))
                scope.declared = bool(scope.returns)
            if not decorators or tables.DECLARATIONS.isdisjoint([d.lstrip("@.") for d in decorators]):
                self.definitions.append((qual, kind, node.start_point[0] + 1, node.end_point[0] + 1, decorators))
                self.functions.append((qual, scope))
        if self._is_outline:
            self._skip = end
            return
        self.scopes.append(scope)
        self.scope = scope
        self._skip = body.start_byte

    def _parameters(self, scope: Scope, node: Node, first: str) -> None:
        text = self.source[node.start_byte : node.end_byte]
        if _PLAIN_PARAMETERS.fullmatch(text):
            rows = _plain_parameters(text)
        else:
            rows = [
                row
                for child in node.named_children
                if child.kind_id != self.kinds.comment and (row := _parameter(self.text(child))) is not None
            ]
        env = scope.env
        scope.parameters = frozenset(row[0] for row in rows)
        for index, (name, declared, starred, default) in enumerate(rows):
            if index == 0 and first:
                value = first if scope.cls else UNKNOWN
            elif declared:
                value = self.annotated(declared)
            elif starred:
                value = UNKNOWN
            else:
                value = PARAMETERS.get(name) or f"%{index - 1 if first else index}"
                if name in USED_AS:
                    scope.used_as[value] = USED_AS[name]
            env[name] = value + "{}" if starred and value else value
            if default:
                # ``activation=F.relu``: the function may call its default.
                symbol = self.dotted(default)
                if symbol.startswith("@"):
                    scope.events.setdefault((symbol, -1), node.start_point[0] + 1)

    def _type_comment(self, scope: Scope, start: int, end: int) -> None:
        """``# type: (Tensor, int) -> Tensor`` below the head, in code that TorchScript compiles."""
        found = _TYPE_COMMENT.search(self.source, start, end)
        if found is None:
            return
        names = [name for name, value in scope.env.items() if value not in ("self", "cls")]
        for name, text in zip(names, split_types(found[1])):
            scope.env[name] = self.annotated(text) or scope.env[name]
        scope.returns = self.annotated(found[2])
        scope.declared = bool(scope.returns)

    # -- imports -----------------------------------------------------------------------------------------------

    def on_import(self, node: Node, start: int) -> None:
        """``import a.b`` binds a; ``import a.b as c`` binds c."""
        for child in node.named_children:
            if child.type == "aliased_import":
                name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
                if name is not None and alias is not None:
                    self._import(self.text(alias), self.text(name), node)
            else:
                root = self.text(child).partition(".")[0]
                self._import(root, root, node)
        self._skip = node.end_byte

    def on_import_from(self, node: Node, start: int) -> None:
        """``from a import b as c, d``, ``from . import b``, ``from a import *``."""
        children = node.named_children
        module = self.text(children[0]).replace(" ", "")
        glue = "" if module.endswith(".") else "."
        for child in children[1:]:
            kind = child.type
            if kind == "wildcard_import":
                if FOLLOWED.match(module):
                    self.stars.append((module, node.start_point[0] + 1))
            elif kind == "aliased_import":
                name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
                if name is not None and alias is not None:
                    self._import(self.text(alias), f"{module}{glue}{self.text(name)}", node)
            elif kind == "dotted_name":
                text = self.text(child)
                self._import(text, f"{module}{glue}{text}", node)
        self._skip = node.end_byte

    def _import(self, local: str, target: str, node: Node) -> None:
        value = "@" + target if FOLLOWED.match(target) else UNKNOWN
        if self.scope.kind in ("function", "inner"):
            self.scope.env[local] = value
            return
        if value or local not in self.imports:
            self.imports[local] = value
        if value and self.scope.kind == "module":
            self.import_rows.append((local, target, node.start_point[0] + 1))

    # -- assignments of module and class bodies ----------------------------------------------------------------------

    def static_assignment(self, left: Node, right: Node | None, declared: str) -> None:
        """An assignment of a module or class body."""
        scope = self.scope
        line = left.start_point[0] + 1
        name = self.text(left)
        if left.kind_id != self.identifier:
            if right is not None and name.replace(" ", "") == "sys.modules[__name__]":
                self.aliases.append(("", line, self.value(right), []))
            return
        if scope.kind == "module":
            self.names.add(name)
        elif declared:
            self.attributes.append((scope.qual, name, declared, []))
        if right is None:
            return
        kind = right.type
        if scope.kind == "module" and self.strings_of(name, right):
            return
        value = self.value(right)
        passed: list[str] = []
        if kind == "call":
            values = (self.value(c.child_by_field_name("value") or c) for c in self.arguments(right))
            passed = [v for v in values if v and v[0] in "@."]
        if value or passed:
            self.aliases.append((f"{scope.qual}.{name}" if scope.qual else name, line, value, passed))

    def strings_of(self, name: str, node: Node) -> bool:
        """Keep a list of strings that a name of the module is given; whether it is one."""
        if node.type not in ("list", "tuple", "set"):
            return False
        literals = [self.text(c).strip("\"'") for c in node.named_children if c.kind_id == self.kinds.string]
        if not literals or len(literals) * 2 <= node.named_child_count:
            return False
        self.strings.append((name, node.start_point[0] + 1, literals))
        return True

    def spread(self, node: Node, left: Node, right: Node) -> None:
        """``for name in dir(X): … globals()[name] = …`` gives the module the names of X (torch/__init__.py)."""
        if right.kind_id != self.kinds.call or self.text(right.child(0) or right) != "dir":
            return
        body = self.text(node)
        arguments = self.arguments(right)
        if arguments and "globals()[" in body:
            excluded = re.findall(rf"(?<!for )\b{re.escape(self.text(left))} in (\w+)", body)
            symbol = self.value(arguments[0])
            if symbol:
                self.spreads.append((symbol, node.start_point[0] + 1, excluded))


#: What the first parameter of a kind of method is.
_FIRST_PARAMETER = {"m": "self", "p": "self", "w": "self", "k": "cls"}


def _method_kind(decorators: list[str]) -> str:
    """m method, s static, k class method, p property, w property setter."""
    for name in decorators:
        last = name.rpartition(".")[2]
        if last == "staticmethod":
            return "s"
        if last == "classmethod":
            return "k"
        if last in ("setter", "deleter"):
            return "w"
        if last.endswith("property"):
            return "p"
    return "m"
