"""Calls under a condition that a template's arguments decide: ``if constexpr (dim == 3)``, ``std::is_same_v<Op, …>``.

A function template is one node, but what it calls may depend on what it is instantiated with. Where every use of the
template says what holds (a literal, a type that is no alias), the call belongs to those uses for which the condition is
true: they get edges, and the template's own starts at a node that stands for some of its instantiations (``Parts``).
Where one use does not say, the call stays what it was, with its condition as guard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytrace.extract.cpp_text import split_top, without_templates
from pytrace.link.cpp_types import kind_of
from pytrace.link.resolved import GIVEN, Row
from pytrace.link.templates import Site, Templates, parameter_names
from pytrace.model import SOME, EdgeKind, NodeKind

if TYPE_CHECKING:
    from pytrace.graph import Graph
    from pytrace.link.functions import Symbol

_KINDS = (EdgeKind.CALLS, EdgeKind.LAUNCHES, EdgeKind.CALLS_OP, EdgeKind.USES_STUB)
#: Templates that hand their arguments on to templates are followed so far.
_DEPTH = 4
_PART = re.compile(r"(else of )?(if|unless) \((?:constexpr )?(.*)\)$", re.S)
#: Between the conditions that a guard joins, not inside one of them.
_PIECES = re.compile(r" && (?=(?:else of )?(?:if|unless|case|default|otherwise|while)\b|(?:#else of )?#)")
_SAME = re.compile(r"(!?)\s*std::is_same(?:_v<(.*)>|<(.*)>::value|<(.*)>\(\))$", re.S)
_EQUAL = re.compile(r"(\w+)\s*([=!]=)\s*([\w:]+)$")
_PLAIN = re.compile(r"(!?)\s*(\w+)$")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_LITERAL = re.compile(r"-?\d+[uUlL]*$|true$|false$")
#: What says by itself which type it is: a type of the language, of c10, an object of <functional>. Anything else may be
#: an alias or a template parameter.
_CONCRETE = re.compile(
    r"(?:u?int(?:8|16|32|64)?(?:_t)?|bool|char|short|long|float|double|(?:at::|c10::)(?:Half|BFloat16|complex)|std::\w+)$"
)
#: Kinds that are one type each, and none of which is another.
_DISTINCT = frozenset(("Tensor", "Scalar", "TensorList", "ScalarList", "SymInt", "Generator", "Storage"))
#: A value that two enumerators have only if they are one.
_ENUMERATOR = re.compile(r"(?:\w+::)+\w+$")


class Condition(NamedTuple):
    """``parameter`` has, or has not (``negated``), this value, or is this type."""

    parameter: str
    value: str
    negated: bool
    is_type: bool


class Conditional(NamedTuple):
    """An edge under conditions that the arguments of the template ``row.src`` decide."""

    path: str
    row: Row


def conditions(guard: str, templates: str) -> tuple[Condition, ...]:
    """The conditions in ``guard`` on parameters of the template parameter list ``templates``.

    >>> conditions("if (dim == 3)", "typename T, int dim")
    (Condition(parameter='dim', value='3', negated=False, is_type=False),)
    """
    if not templates or not guard:
        return ()
    names = parameter_names(templates)
    found = [_condition(part, names) for part in _parts(guard)]
    return tuple([condition for condition in found if condition is not None])


@lru_cache(maxsize=20_000)
def _parts(guard: str) -> tuple[tuple[bool, str], ...]:
    """(negated, condition) of each ``if``, ``else`` and early return in a guard; halves of conditions are left out."""
    found = []
    for part in guard.split(" && "):
        match = _PART.match(part)
        if match and match[3].count("(") == match[3].count(")"):
            found.append(((match[1] is not None) != (match[2] == "unless"), match[3].strip()))
    return tuple(found)


def undecided(guard: str, templates: str) -> str:
    """What of a guard the arguments of the template do not decide: it must hold as well.

    >>> undecided("if (dim == 3) && if (x.is_cuda())", "typename T, int dim")
    'if (x.is_cuda())'
    """
    return " && ".join(piece for piece in _PIECES.split(guard) if not conditions(piece, templates))


def _condition(part: tuple[bool, str], names: tuple[str, ...]) -> Condition | None:
    negated, text = part
    same = _SAME.match(text)
    if same:
        types = split_top(same[2] or same[3] or same[4])
        if len(types) == 2 and (types[0] in names) != (types[1] in names):
            own, other = types if types[0] in names else types[::-1]
            return Condition(own, other, negated != bool(same[1]), True)
        return None
    equal = _EQUAL.match(text)
    if equal and equal[1] in names and (_LITERAL.match(equal[3]) or _ENUMERATOR.match(equal[3])):
        return Condition(equal[1], equal[3], negated != (equal[2] == "!="), False)
    plain = _PLAIN.match(text)
    if plain and plain[2] in names:
        return Condition(plain[2], "true", negated != bool(plain[1]), False)
    return None


def holds(condition: Condition, value: str) -> bool | None:
    """Whether a condition holds for a template argument as written; None when that does not say."""
    value = _COMMENT.sub("", value).strip()
    if condition.is_type:
        same = _same_type(value, condition.value)
    elif _LITERAL.match(value) and _LITERAL.match(condition.value):
        same = _number(value) == _number(condition.value)
    elif _ENUMERATOR.match(value) and _ENUMERATOR.match(condition.value):
        same = value.rpartition("::")[2] == condition.value.rpartition("::")[2]
    else:
        same = None
    return None if same is None else same != condition.negated


def _number(text: str) -> int:
    return int(text == "true") if text in ("true", "false") else int(text.rstrip("uUlL"))


def _same_type(one: str, other: str) -> bool | None:
    if one == "lambda" or other == "lambda":
        return False
    kinds = kind_of(one), kind_of(other)
    if all(kind in _DISTINCT for kind in kinds):
        return kinds[0] == kinds[1]
    plain, known = without_templates(one).strip(), without_templates(other).strip()
    if not _CONCRETE.match(plain) or not _CONCRETE.match(known):
        return None
    # std::plus<scalar_t> is meant to be the caller's std::plus<T>: template arguments are not compared
    return plain.rpartition("::")[2] == known.rpartition("::")[2]


class Parts:
    """Nodes for what holds for some instantiations of a template only, made when they are needed."""

    def __init__(self, graph: Graph, by_id: Mapping[int, Symbol]) -> None:
        self._graph = graph
        self._by_id = by_id
        self._parts: dict[int, int] = {}

    def _of(self, template: int) -> int:
        """The node for some instantiations of the function ``template``."""
        found = self._parts.get(template)
        if found is None:
            symbol = self._by_id[template]
            place, attrs = (symbol.file, symbol.line, symbol.end), {"instantiations": "some"}
            found = self._graph.node(NodeKind.FUNCTION, symbol.name + SOME, *place, owner=symbol.file, attrs=attrs)
            self._parts[template] = found
            self._graph.edge(
                template,
                found,
                EdgeKind.MAY_CALL,
                rule="template-argument",
                file=symbol.file,
                line=symbol.line,
                owner=symbol.file,
            )
        return found

    def placed(self, row: Row) -> Row:
        """The row as it enters the graph: one that holds for some instantiations starts at their node."""
        return row._replace(src=self._of(row.src), key="") if row.key == GIVEN else row

    def handed_on(self, pairs: Iterable[tuple[int, Site]]) -> None:
        """Templates that hand their own parameters on: some instantiations of one are some of the other.

        ``pairs`` are a template and a use of it by another template that gives it a parameter of its own.
        """
        users: dict[int, dict[int, int]] = {}
        for template, site in pairs:
            if site.caller.id == template:
                continue
            users.setdefault(template, {}).setdefault(site.caller.id, site.line)
        todo = list(self._parts)
        for template in todo:  # grows while it is walked
            for user, line in users.get(template, {}).items():
                if user not in self._parts:
                    todo.append(user)
                symbol = self._by_id[user]
                self._graph.edge(
                    self._of(user),
                    self._parts[template],
                    EdgeKind.CALLS,
                    rule="template-argument",
                    file=symbol.file,
                    line=line,
                    owner=symbol.file,
                )


class Instantiations:
    """Collects conditional edges while files are resolved; ``settled`` then says to whom they belong."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self._noted: dict[tuple[int, int, str, str], Conditional] = {}
        self.handed_on: dict[tuple[int, Site], None] = {}  #: a template, and a use that gives it a parameter

    def note(self, path: str, symbol: Symbol, rows: Iterable[Row]) -> None:
        """Keep those of a function template's edges whose guard its arguments may decide."""
        for row in rows:
            if row.kind in _KINDS and conditions(row.guard, symbol.templates):
                self._noted[row.src, row.dst, row.kind, row.guard] = Conditional(path, row)

    def drain(self) -> list[tuple[Any, ...]]:
        """What was noted, as plain values, and forgotten here."""
        found = [tuple(c.row) for c in self._noted.values()]
        self._noted.clear()
        return found

    def absorb(self, path: str, noted: Iterable[tuple[Any, ...]]) -> None:
        """Take in what ``drain`` gave in another process."""
        for values in noted:
            row = Row(*values)
            self._noted[row.src, row.dst, row.kind, row.guard] = Conditional(path, row)

    def holds_back(self, row: Row) -> bool:
        """Whether an edge waits for ``settled``."""
        return (row.src, row.dst, row.kind, row.guard) in self._noted

    def settled(self, by_id: Mapping[int, Symbol]) -> list[Conditional]:
        """The edges that were held back, as they are."""
        found: dict[tuple[int, int, str, str], Conditional] = {}
        for path, row in self._noted.values():
            symbol = by_id[row.src]
            uses = self._uses(symbol, conditions(row.guard, symbol.templates), 0)
            if uses is None or all(true for _, true in uses) or not uses:
                found.setdefault((row.src, row.dst, row.kind, row.guard), Conditional(path, row))
                continue
            given = row._replace(key=GIVEN, rule="template-argument")
            found.setdefault((row.src, row.dst, row.kind, row.guard), Conditional(path, given))
            for caller, line in [(s.caller, s.line) for s, true in uses if true and s.caller.id != row.dst]:
                rest = undecided(row.guard, symbol.templates)
                made = row._replace(src=caller.id, rule="template-argument", line=line, guard=rest)
                found.setdefault((made.src, made.dst, made.kind, rest), Conditional(caller.file, made))
        return list(found.values())

    def _uses(self, symbol: Symbol, asked: tuple[Condition, ...], depth: int) -> list[tuple[Site, bool]] | None:
        """(use, whether all conditions hold there) of each use that is no template itself; None: one does not say."""
        sites = self.templates.function_sites.get(symbol.id)
        if not sites or depth > _DEPTH:
            return None
        names = parameter_names(symbol.templates)
        found: list[tuple[Site, bool]] = []
        for site in sites.values():
            if site.caller.id == symbol.id:
                continue
            rest: list[Condition] = []
            false = False
            for condition in asked:
                value = _argument(symbol, names, condition, site)
                if value is None:
                    return None
                if site.caller.templates and value in parameter_names(site.caller.templates):
                    rest.append(condition._replace(parameter=value))
                    self.handed_on[symbol.id, site] = None
                    continue
                decided = holds(condition, value)
                if decided is None:
                    return None
                false = false or not decided
            if false or not rest:
                found.append((site, not false))
                continue
            further = self._uses(site.caller, tuple(rest), depth + 1)
            if further is None:
                return None
            found += further
        return found


def _argument(symbol: Symbol, names: tuple[str, ...], condition: Condition, site: Site) -> str | None:
    """What a use gives for the parameter of a condition: written, deduced, or its default; None when unknown."""
    index = names.index(condition.parameter)
    declared = split_top(symbol.templates)
    if any("..." in part for part in declared[: index + 1]):
        return None
    given = split_top(site.templates) if site.templates else []
    if index < len(given):
        return given[index].strip()
    if condition.is_type:
        for number, parameter in enumerate(symbol.parameters[: len(site.expressions)]):
            if kind_of(parameter[0]) == condition.parameter:
                expression = site.expressions[number]
                return expression[1:] if expression[:1] in "CT" and len(expression) > 1 else None
    default = declared[index].partition("=")[2].strip()
    return default or None
