"""What the bodies of one file's functions reach for: calls, launches, constructions, Tensor operators.

The captures of the query are events in order of position. On the way through a function the type expressions of its
locals are noted (its *environment*), so that an event knows those of all names before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytrace.extract import cpp_dtypes
from pytrace.extract.cpp_callee import (
    CHECK,
    INNER,
    LAUNCH,
    LOOKUPS,
    MACRO,
    MAKE,
    METHOD,
    QUIET,
    STD,
    Callee,
)
from pytrace.extract.cpp_events import (
    ASSIGNMENT,
    BINARY,
    CALL,
    CONSTRUCTED,
    DECLARATION,
    LAMBDA,
    RANGE_FOR,
    UNARY,
    Event,
)
from pytrace.extract.cpp_guards import PreprocessorGuards, regions
from pytrace.extract.cpp_heads import Parameter, parameter_rows
from pytrace.extract.cpp_lambdas import made_tuple
from pytrace.extract.cpp_names import (
    CONSTANT_NAME,
    PLAIN_TYPES,
    POINTERS,
    REFERENCE,
    Reference,
    Written,
    arguments_in,
    arguments_of,
    declared_in,
    may_be_tensor,
    named,
    parts_of,
    reference_of,
    references_of,
    returned_by,
    written_type,
)
from pytrace.extract.cpp_scopes import Scopes
from pytrace.extract.cpp_text import (
    close_of,
    split_top,
    squeeze,
    template_arguments,
    without_comments,
    without_templates,
)
from pytrace.extract.cpp_types import UNKNOWN, Form, fill, open_of, type_of

if TYPE_CHECKING:
    from tree_sitter import Node

_IDENT = re.compile(r"[A-Za-z_]\w*")
_TEMPLATE_NAME = re.compile(r"&?\s*((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)")
#: ``&kernel<A``: the template list holds a comparison (``B && N <= 128``), so the parser took its ``<`` for one too.
_CUT_ADDRESS = re.compile(r"&\s*((?:::)?[A-Za-z_]\w*(?:::\w+)*)\s*<[^<>]*$")
_CHOICES = re.compile(r"\?|(?<!:):(?!:)")
_QUALIFIED_END = re.compile(r"((?:[\w~]+(?:<[^()]*>)?::)*(?:operator\s*(?:\(\s*\)|[^\s(]+|\s[\w:<>&* ]+)|~?\w+))\s*$")
#: Argument lists from this length on are taken apart by the tree.
_LONG = 400
_SIMPLE_OPERATION = re.compile(r"([A-Za-z_]\w*|\d[\w.]*)\s*([-+*/%<>=!&|^]{1,2})\s*([A-Za-z_]\w*|\d[\w.]*)$")

#: Operators that Tensors have (aten/src/ATen/TensorOperators.h, templates/TensorBody.h).
_BINARY_MARKS = frozenset(["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&", "|", "^"])
_ASSIGN_MARKS = frozenset(["+=", "-=", "*=", "/=", "&=", "|=", "^="])

#: function, kind, name, line, guard, type expressions of the arguments, receiver, template arguments, raw arguments
CallRow = tuple[int, str, str, int, str, tuple[str, ...], str, str, str]
Environment = dict[str, str]


class Body(NamedTuple):
    """What is known of one function before its body is read."""

    start: int
    end: int
    body: int  #: where the body begins
    is_host: bool  #: whether it runs on the host: only then its calls are read
    guard: str  #: the preprocessor guard around it
    parameters: tuple[Parameter, ...]


class Bodies:
    """The calls of all functions of a file, and what stands outside of functions."""

    def __init__(
        self,
        text: str,
        captures: Mapping[str, Sequence[Node]],
        events: Sequence[Event],
        bodies: Sequence[Body],
        outer: Sequence[Mapping[str, str]],
        guards: PreprocessorGuards,
        scopes: Scopes,
        line: Callable[[int], int],
    ) -> None:
        """``outer``: for each function the type expressions of the names that it sees from outside."""
        self.text, self.bodies, self.outer, self.scopes, self.line = text, bodies, outer, scopes, line
        self.calls: list[CallRow] = []
        self.globals: list[tuple[str, str]] = []
        self.dtypes: list[tuple[int, str, str, tuple[str, ...], int]] = []
        self.prototypes: list[tuple[str, str, tuple[Parameter, ...]]] = []
        self.environments: dict[int, Environment] = {}
        self._strings: dict[str, str] = {}
        self._given: Node | None = None  #: the argument list of the call that is being read
        self._owner = 0
        self._guard = ""
        self._env: Environment = {}
        self._read(captures, events, guards)

    # -- the way through the events -----------------------------------------------------------------------------

    def _read(
        self, captures: Mapping[str, Sequence[Node]], events: Sequence[Event], preprocessor: PreprocessorGuards
    ) -> None:
        bodies = self.bodies
        ahead = _Regions(regions(self.text, captures) if bodies and events else [])
        starts, conditions = [*preprocessor.starts, len(self.text) + 1], preprocessor.guards
        environments: dict[int, Environment] = {}
        stack: list[int] = []
        next_function, end_of_function, body_at = 0, -1, 0
        next_start = bodies[0].start if bodies else len(self.text) + 1
        condition_at, condition, changed = 0, "", True
        for start, what, end, _, node, callee in events:
            if start >= next_start or start >= end_of_function:
                next_function = self._enter(stack, next_function, start)
                next_start = bodies[next_function].start if next_function < len(bodies) else len(self.text) + 1
                end_of_function, changed = -1, True
                if stack:
                    self._owner = stack[-1]
                    function = bodies[stack[-1]]
                    end_of_function = function.end if function.is_host else -1
                    body_at = function.body
            if not stack:
                if what == DECLARATION:
                    self._outside(node, start, end)
                continue
            if end_of_function < 0 or (start < body_at and what != CALL):
                continue
            if starts[condition_at + 1] <= start:
                while starts[condition_at + 1] <= start:
                    condition_at += 1
                condition = conditions[condition_at]
                changed = True
            if changed:
                found = environments.get(self._owner)
                if found is None:
                    found = environments[self._owner] = self._environment(environments, stack)
                self._env = found
            if changed or start >= ahead.next_change:
                self._guard = self._shared(_joined(condition, function.guard, ahead.at(start, function.start)))
                changed = False
            if what == CALL:
                self._call(start, end, node, callee)
            elif what == DECLARATION:
                self._declaration(node, start, end)
            elif what <= ASSIGNMENT and what >= BINARY:
                self._operation(what, node, start, end)
            elif what == LAMBDA:
                self._lambda(start, end)
            elif what == RANGE_FOR:
                self._range_for(node)
            elif what == CONSTRUCTED:
                self._constructed(start, end)
            else:
                self._prefix(what, start, end)
        # what a macro call in a body may see of the names around it
        self.environments = {row[0]: environments[row[0]] for row in self.calls if row[8]}

    def _enter(self, stack: list[int], next_function: int, offset: int) -> int:
        """Make ``stack`` the functions around ``offset``, innermost last; return the first that begins behind it."""
        bodies = self.bodies
        while next_function < len(bodies) and bodies[next_function].start <= offset:
            while stack and bodies[stack[-1]].end <= bodies[next_function].start:
                stack.pop()
            stack.append(next_function)
            next_function += 1
        while stack and bodies[stack[-1]].end <= offset:
            stack.pop()
        return next_function

    def _environment(self, environments: Mapping[int, Environment], stack: Sequence[int]) -> Environment:
        """What the parameters of the innermost function say, on top of what is seen from outside."""
        env = dict(environments.get(stack[-2], {})) if len(stack) > 1 else {}
        if stack[-1] < len(self.outer):
            env.update(self.outer[stack[-1]])
        for type_text, name, _ in self.bodies[stack[-1]].parameters:
            if name:
                env[name] = self._shared("T" + type_text)
        return env

    def _shared(self, text: str) -> str:
        """One object per distinct string: smaller when marshalled."""
        return self._strings.setdefault(text, text)

    def _add(
        self,
        kind: str,
        name: str,
        offset: int,
        arguments: tuple[str, ...],
        receiver: str,
        templates: str = "",
        raw: str = "",
    ) -> None:
        line = self.line(offset)
        self.calls.append((self._owner, kind, name, line, self._guard, arguments, receiver, templates, raw))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, start: int, end: int, arguments: Node, callee: Callee) -> None:
        text = self.text
        self._given = arguments
        opening = arguments.start_byte
        if opening != end and "<<<" in text[end:opening]:
            self._launch(text[start:end], start)
            return
        how, name, templates = callee[:3]
        if how == QUIET:
            return
        a_start, a_end = opening + 1, arguments.end_byte - 1
        env = self._env
        if how == METHOD:
            kinds = self._kinds(a_start, a_end)
            form = callee.receiver
            if name in LOOKUPS:
                templates = squeeze(text[a_start:a_end])
            self._add("m", name, start, kinds, form if form.__class__ is str else self._filled(form), templates)
        elif how <= MACRO and name not in env:
            kinds = self._kinds(a_start, a_end)
            if templates:
                self._template_references(squeeze(templates), start)
            elif callee.owner:
                # Class<T>::method(…): a use of the class template
                self._add("c", callee.owner, start, (), "", callee.owner_templates)
                self._template_references(callee.owner_templates, start)
            raw = (text[a_start:a_end] or " ") if how == MACRO and a_end - a_start < 1500 else ""
            self._add("f", name, start, kinds, "", templates, raw)
        elif how == STD:
            self._handed_on(a_start, a_end)
        elif how == CHECK:
            body = self.bodies[self._owner]
            if "Tensor" in text[body.start : body.body]:
                self._message(a_start, a_end, start)
        elif how == MAKE:
            self._add("n", name, start, self._kinds(a_start, a_end), "", templates)
        elif how == INNER:
            # Foo<T>(…)(x), (*f)(x), Foo{}(x): the inner call is an event of its own; what is called is its operator()
            kind = self._filled(callee.receiver)
            kinds = self._kinds(a_start, a_end)
            if kind not in (UNKNOWN, "Tlambda"):
                self._add("m", "operator()", start, kinds, kind)
        elif name in env:
            # a local object is called: a lambda (its body is ours already), a functor, a function pointer
            known = env[name]
            kinds = self._kinds(a_start, a_end)
            if known != "Tlambda" and not known.startswith("Tauto"):
                self._add("m", "operator()", start, kinds, known)
        elif how == LAUNCH:
            for part in self._parts(a_start, a_end)[:2]:
                self._launch(part.removeprefix("(void*)").removeprefix("(const void*)").strip(" &"), start)
        else:
            parts = self._parts(a_start, a_end)
            self._refer_all(arguments_in(parts)[1], a_start)
            label, types = cpp_dtypes.dispatch(name, parts)
            if label and not types and name[0] == "_":
                types = cpp_dtypes.wrapped(self.text, name)
            if label or types:
                self.dtypes.append((self._owner, name, label, types, self.line(start)))

    def _constructed(self, start: int, end: int) -> None:
        """``Foo<T>{…}``."""
        kind = written_type(self.text[start:end])
        if kind.is_class and kind.plain:
            self._add("n", kind.plain, start, (), "", kind.templates)
            self._template_references(kind.templates, start)

    def _message(self, start: int, end: int, offset: int) -> None:
        """Tensors among the parts of a TORCH_CHECK's message: they are printed."""
        for part in split_top(self.text[start:end])[1:]:
            if part and part[0] != '"' and len(part) < 80:
                kind = type_of(part, self._env)
                if may_be_tensor(kind):
                    self._add("p", "operator<<", offset, (), kind)

    def _launch(self, callee: str, offset: int) -> None:
        name = without_templates(squeeze(callee)).strip("()& ")
        known = self._env.get(name)
        names = [(name, callee)]
        if known is not None and known.startswith("R"):
            names = [(without_templates(n), n) for n in known[1:].split("\x02")]
        for plain, full in names:
            if plain:
                templates = template_arguments(squeeze(full))
                self._add("k", plain.removeprefix("::"), offset, (), "", templates)
                self._template_references(templates, offset)

    def _kinds(self, start: int, end: int) -> tuple[str, ...]:
        """Type expressions of the arguments in ``text[start:end]``; functions named among them become references."""
        if start >= end:
            return ()
        if end - start < _LONG:
            forms, references, closed = arguments_of(self.text[start:end])
        else:
            forms, references, closed = arguments_in(self._parts(start, end))
        if references:
            self._refer_all(references, start)
        if closed is not None:
            return closed
        env = self._env
        kinds = []
        for form in forms:
            if form.__class__ is str:
                kinds.append(form)
            elif form[0] == "V":
                kinds.append(env.get(form[1], form[2]))
            else:
                kinds.append(self._shared(fill(form, env)))
        return tuple(kinds)

    def _handed_on(self, start: int, end: int) -> None:
        """References to the functions that are named among the arguments in ``text[start:end]``."""
        if start < end:
            self._refer_all(references_of(self.text[start:end]), start)

    def _parts(self, start: int, end: int) -> list[str]:
        """The arguments in ``text[start:end]``. Long ones hold lambdas, whose ends the tree knows."""
        node = self._given
        assert node is not None
        if end - start < _LONG or node.has_error:
            return parts_of(self.text[start:end])
        text = self.text
        parts = [text[c.start_byte : c.end_byte] for c in node.named_children if c.type != "comment"]
        return [part if part[:1] in "[{" else without_comments(part).strip() for part in parts]

    def _refer_all(self, references: Sequence[Reference], offset: int) -> None:
        for found in references:
            if found.written not in self._env:
                self._refer(found, offset)

    def _filled(self, form: Form) -> str:
        """The type expression of a form here, one object per distinct string."""
        return self._shared(fill(form, self._env))

    def _referred(self, part: str, offset: int) -> None:
        """A reference, when ``part`` names something that is no local."""
        found = reference_of(part)
        if found.written not in self._env:
            self._refer(found, offset)

    def _refer(self, found: Reference, offset: int) -> None:
        if found.plain:
            self._add("r", found.plain, offset, (), "", found.templates)
            if found.templates:
                self._template_references(squeeze(found.templates), offset)

    def _template_references(self, templates: str, offset: int) -> None:
        """What is named among template arguments."""
        for part in split_top(templates):
            found = _TEMPLATE_NAME.match(part)
            if not found:
                continue
            plain = found[1]
            bare = plain.rpartition("::")[2]
            if bare in PLAIN_TYPES or plain in self._env or plain.startswith("std::") or bare.endswith("_t"):
                continue
            if bare in ("true", "false", "typename") or (CONSTANT_NAME.match(bare) and not _IDENT.match(bare[1:])):
                continue
            inner = template_arguments(part)
            self._add("t", plain.removeprefix("::"), offset, (), "", inner)
            if "<" in part:
                self._template_references(template_arguments(squeeze(part)), offset)

    # -- locals ---------------------------------------------------------------------------------------------------

    def _declaration(self, node: Node, start: int, end: int) -> None:
        text, env = self.text, self._env
        kind = node.child_by_field_name("type")
        if kind is None:
            return
        type_end = kind.end_byte
        written = written_type(text[kind.start_byte : type_end])
        if written.elaborated:
            return
        declared = declared_in(text[type_end:end])
        if declared.elements:
            self._bind(declared.elements, declared.value)
            return
        marks = declared.marks
        constructs = written.is_class and not written.is_auto and "*" not in marks and "&" not in marks
        for name, tail, value, array in declared.names:
            if written.is_auto or ("(*" in marks and tail.startswith("=")):
                env[name] = self._auto(value or tail[1:-1])
                env[f"{name}("] = returned_by(value, env) if env[name] == "Tlambda" else ""
                if env[name][0] == "R":
                    for reference in env[name][1:].split("\x02"):
                        self._refer(named(reference), start)
            else:
                # an array is a pointer where it is handed on
                env[name] = self._shared(f"T{written.text}*" if array or "*" in marks else f"T{written.text}")
            if constructs:
                self._construction(written, tail, value, start)
            if "(*" in written.text and (filled := value or tail).startswith("{"):
                # std::array<Tensor (*)(const Tensor&), 2> steps = {one, two<scalar_t>};
                self._refer_all(references_of(filled[1:-1]), start)

    def _construction(self, written: Written, tail: str, value: str, start: int) -> None:
        """``Foo x(…)``: an object of a class is made."""
        arguments: tuple[str, ...] = ()
        if tail.startswith(("(", "{")):
            parts = split_top(tail[1:-1])
            arguments = tuple([self._shared(type_of(p, self._env)) for p in parts])
            for part in parts:
                if part.startswith("&"):
                    self._referred(part, start)
        self._add("n", written.plain.removeprefix("::"), start, arguments, "", written.templates)
        self._template_references(written.templates, start)
        if value.startswith("&") or (value and REFERENCE.fullmatch(value)):
            self._referred(value, start)

    def _bind(self, names: str, text: str, value: str = "") -> None:
        """Structured bindings: each name is an element of ``text``, or of the type expression ``value``."""
        parts = split_top(made_tuple(text))
        value = value or (type_of(text, self._env) if text else UNKNOWN)
        for number, name in enumerate(names.split(",")):
            part = type_of(parts[number], self._env) if number < len(parts) else f"G{number}|{value}"
            self._env[name.strip()] = self._shared(part)

    def _auto(self, value: str) -> str:
        """Type expression of an initialiser; ``R`` + names when it names functions (``auto k = &kernel<T>``)."""
        if not value:
            return UNKNOWN
        if value[0] != "[" and ("&" in value or "<" in value) and "(" not in value:
            names = []
            for piece in _CHOICES.split(value):
                found = REFERENCE.match(piece.strip())
                if found and found[1] not in self._env and not found[1].startswith("std::"):
                    names.append(squeeze(found[1]))
            cut = _CUT_ADDRESS.match(value)
            if cut and cut[1] not in self._env:
                names.append(cut[1])
            if names:
                return self._shared("R" + "\x02".join(names))
        if value[0] != "[" and len(value) > 600:
            return UNKNOWN
        return self._shared(type_of(value, self._env))

    def _lambda(self, start: int, end: int) -> None:
        text = self.text[start:end]
        if not text.startswith("("):
            return
        for type_text, name, _ in parameter_rows(text[1 : close_of(text, 0, len(text)) - 1]):
            if name:
                self._env[name] = self._shared("T" + type_text)

    def _range_for(self, node: Node) -> None:
        text = self.text
        kind, declarator, right = (node.child_by_field_name(f) for f in ("type", "declarator", "right"))
        if kind is None or declarator is None or right is None:
            return
        head = text[declarator.start_byte : declarator.end_byte].strip("&* \n")
        value = "T" + squeeze(text[kind.start_byte : kind.end_byte])
        if value == "Tauto":
            value = "I" + type_of(text[right.start_byte : right.end_byte], self._env)
        if head.startswith("["):
            self._bind(head[1:-1], "", value)
        else:
            self._env[head] = self._shared(value)

    # -- operators on Tensors ---------------------------------------------------------------------------------------

    def _operation(self, what: int, node: Node, start: int, end: int) -> None:
        """``a + b``, ``a += b`` where one of them may be a Tensor."""
        env, text = self._env, self.text
        simple = _SIMPLE_OPERATION.match(text, start, end)
        if simple is not None:
            left_text, mark, right_text = simple.groups()
            if not (_maybe(left_text, env) or _maybe(right_text, env)):
                return
        else:
            mark_node = node.child(1)
            if mark_node is None or node.child_count < 3:
                return
            mark_start, mark_end = mark_node.start_byte, mark_node.end_byte
            mark = text[mark_start:mark_end]
            left_text, right_text = text[start:mark_start].strip(), text[mark_end:end].strip()
            if len(left_text) > 300 or len(right_text) > 300:
                return
        if mark not in (_BINARY_MARKS if what == BINARY else _ASSIGN_MARKS):
            return
        left, right = type_of(left_text, env), type_of(right_text, env)
        if may_be_tensor(left) or may_be_tensor(right):
            left = self._shared(left)
            self._add("b", mark, start, (left, self._shared(right)), left)

    def _prefix(self, what: int, start: int, end: int) -> None:
        """``x[i]`` and ``-x`` where x may be a Tensor: methods of Tensor (aten/src/ATen/templates/TensorBody.h)."""
        if end - start > 300:
            return
        text, env = self.text[start:end], self._env
        if what == UNARY:
            kind = type_of(text[1:], env)
            if may_be_tensor(kind):
                self._add("m", f"operator{text[0]}", start, (), self._shared(kind))
            return
        bracket = open_of(text)
        kind = type_of(text[:bracket], env)
        if may_be_tensor(kind):
            index = self._shared(type_of(text[bracket + 1 : -1], env))
            self._add("m", "operator[]", start, (index,), self._shared(kind))

    # -- outside of functions -----------------------------------------------------------------------------------------

    def _outside(self, node: Node, start: int, end: int) -> None:
        """A declaration outside of functions: a prototype with default arguments, a variable or constant."""
        text = self.text[start : min(end, start + 4001)]
        paren = text.find("(")
        equals = text.find("=")
        if 0 <= paren < equals and end - start <= 4000:
            found = _QUALIFIED_END.search(text[:paren])
            if found:
                rows = tuple(parameter_rows(text[paren + 1 : close_of(text, paren, len(text)) - 1]))
                scope, name = self.scopes.at(start), without_templates(found[1])
                self.prototypes.append((f"{scope}::{name}" if scope else name, squeeze(text[: found.start()]), rows))
        kind = node.child_by_field_name("type")
        if kind is None:
            return
        k_start, k_end = kind.start_byte, kind.end_byte
        rest = self.text[k_end : min(end, k_end + 200)]
        match = POINTERS.match(rest)
        found = _IDENT.match(rest, match.end() if match else 0)
        if found is None or rest[found.end() :].lstrip()[:1] not in ("=", ";", "{", "["):
            return
        type_text = squeeze(self.text[k_start:k_end])
        if type_text not in ("auto", "class", "struct") and len(type_text) <= 60:
            self.globals.append((self._shared(found[0]), self._shared(type_text)))


class _Regions:
    """The conditions of the language that hold, asked for in order of position."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self._rows = rows
        self._at = 0
        self._open: list[tuple[int, int, str]] = []
        self.next_change = rows[0][0] if rows else 1 << 60

    def at(self, offset: int, since: int) -> str:
        """The conditions around ``offset`` that begin behind ``since``, outermost first."""
        rows = self._rows
        while self._at < len(rows) and rows[self._at][0] <= offset:
            self._open.append(rows[self._at])
            self._at += 1
        self._open = [row for row in self._open if row[1] > offset]
        ahead = rows[self._at][0] if self._at < len(rows) else 1 << 60
        self.next_change = min([ahead, *(row[1] for row in self._open)])
        return " && ".join([row[2] for row in self._open if row[0] >= since])


def _joined(condition: str, known: str, guard: str) -> str:
    """The guard of a line: its preprocessor condition, without the ``known`` one around the function, and ``guard``."""
    if not condition or condition == known:
        return guard
    if known:
        condition = condition.removeprefix(known).removeprefix(" && ")
    return f"{condition} && {guard}" if guard else condition


def _maybe(name: str, env: Mapping[str, str]) -> bool:
    """Whether an operand that is one word may be a Tensor."""
    known = env.get(name)
    return known is not None and may_be_tensor(known)
