"""What a template parameter stands for: calls through ``func_t f``, ``kernel_t<…>::launch``, ``Stub& stub``.

A function template (or a method of a class template) that calls through one of its parameters is resolved from the
places that use the template: the class, function or stub given as a template argument, or the type of the argument
that the parameter is deduced from. An argument that is itself a template parameter of the caller is followed up.
The edge to what is called starts where the argument is given: there it is certain. Of the template itself it holds for
some instantiations, one of N (``link/instantiations.py``), because which holds depends on who uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytrace.extract.cpp_text import split_top, template_arguments, without_templates
from pytrace.link.choice import choose
from pytrace.link.cpp_types import kind_of
from pytrace.link.resolved import GIVEN, Row
from pytrace.model import EdgeKind

if TYPE_CHECKING:
    from pytrace.link.functions import Symbol
    from pytrace.link.resolver import Resolver

_DEPTH = 4


@lru_cache(maxsize=50_000)
def parameter_names(templates: str) -> tuple[str, ...]:
    """Names of a template parameter list: ``typename T, template <typename> class K, int N = 2`` -> (T, K, N)."""
    names = []
    for part in split_top(templates):
        part = part.partition("=")[0].strip()
        name = part.rpartition(" ")[2].rpartition(">")[2].strip("&*. ")
        names.append(name)
    return tuple(names)


@lru_cache(maxsize=20_000)
def constants(templates: str) -> dict[str, str]:
    """Kinds of the values among template parameters: ``typename T, int N, bool flag = false`` -> N: int, flag: bool."""
    found = {}
    for part in split_top(templates):
        kind, _, name = part.partition("=")[0].strip().rpartition(" ")
        if kind_of(kind) in ("int", "bool", "ScalarType"):
            found[name] = kind_of(kind)
    return found


class Site(NamedTuple):
    """A place that uses a template."""

    caller: Symbol
    templates: str  #: template arguments as written
    expressions: tuple[str, ...]  #: type expressions of the arguments
    line: int


class Deferred(NamedTuple):
    """A call through a template parameter."""

    symbol: Symbol
    parameter: str
    method: str  #: the method called on it; "" when the parameter itself is called or constructed
    line: int
    guard: str
    kinds: tuple[str, ...]  #: of the arguments; empty when they are not known


class Binding(NamedTuple):
    """What a template parameter is bound to, and where."""

    name: str  #: as written at the site
    site: Symbol
    line: int


class Templates:
    """Collects uses and calls while files are resolved; ``rows`` then makes the edges."""

    def __init__(self) -> None:
        self.function_sites: dict[int, dict[tuple[object, ...], Site]] = defaultdict(dict)
        self.class_sites: dict[str, dict[tuple[object, ...], Site]] = defaultdict(dict)
        self._memory: dict[tuple[int, str], list[Binding]] = {}
        self._parameters: dict[tuple[int, str], bool] = {}
        self.deferred: list[Deferred] = []
        self.handed_on: dict[tuple[int, Site], None] = {}  #: a template, and a use that gives it a parameter

    def add_function(self, symbol: Symbol, site: Site) -> None:
        """Note a use of a function template."""
        self.function_sites[symbol.id].setdefault((site.caller.id, site.templates, site.expressions), site)

    def add_class(self, name: str, site: Site) -> None:
        """Note a use of a class template."""
        self.class_sites[name].setdefault((site.caller.id, site.templates), site)

    def drain(self) -> tuple[Any, ...]:
        """What was noted, as plain values, and forgotten here: for the process that links."""
        functions = [
            (callee, s.caller.id, s.templates, s.expressions, s.line)
            for callee, sites in self.function_sites.items()
            for s in sites.values()
        ]
        classes = [
            (name, s.caller.id, s.templates, s.line) for name, sites in self.class_sites.items() for s in sites.values()
        ]
        deferred = [(d.symbol.id, *d[1:]) for d in self.deferred]
        self.function_sites.clear()
        self.class_sites.clear()
        self.deferred.clear()
        return functions, classes, deferred

    def absorb(self, noted: tuple[Any, ...], by_id: Mapping[int, Symbol]) -> None:
        """Take in what ``drain`` gave in another process."""
        functions, classes, deferred = noted
        for callee, caller, templates, expressions, line in functions:
            self.add_function(by_id[callee], Site(by_id[caller], templates, expressions, line))
        for name, caller, templates, line in classes:
            self.add_class(name, Site(by_id[caller], templates, (), line))
        for symbol, *call in deferred:
            self.deferred.append(Deferred(by_id[symbol], *call))

    def parameter_of(self, symbol: Symbol, name: str, resolver: Resolver) -> bool:
        """Whether ``name`` is a template parameter of the function or of its class."""
        key = (symbol.id, name)
        found = self._parameters.get(key)
        if found is None:
            found = self._parameters[key] = self._parameter_of(symbol, name, resolver)
        return found

    def _parameter_of(self, symbol: Symbol, name: str, resolver: Resolver) -> bool:
        if symbol.templates and name in parameter_names(symbol.templates):
            return True
        if symbol.owner:
            return any(
                name in parameter_names(c.templates)
                for c in resolver.functions.classes.get(symbol.owner, ())
                if c.templates
            )
        return False

    def rows(self, resolver: Resolver) -> list[tuple[str, Row]]:
        """(file, edge) for every deferred call that can be resolved."""
        from pytrace.link.instantiations import undecided

        out: dict[tuple[int, int, str, int, str], tuple[str, Row]] = {}
        for call in self.deferred:
            targets: dict[tuple[int, str], list[Binding]] = {}
            for bound in self._bound(call.symbol, call.parameter, resolver, 0):
                for target in self._targets(resolver, bound, call):
                    if target[0] != call.symbol.id:
                        targets.setdefault(target, []).append(bound)
            for (node_id, kind), sites in targets.items():
                key = GIVEN if kind != EdgeKind.USES_STUB or len(targets) > 1 else ""
                row = Row(call.symbol.id, node_id, kind, key, "template-argument", call.line, call.guard, len(targets))
                out.setdefault((row.src, row.dst, row.kind, row.line, row.guard), (call.symbol.file, row))
                for bound in sites:
                    if bound.site.id != node_id:
                        guard = undecided(call.guard, call.symbol.templates)
                        row = Row(bound.site.id, node_id, kind, "", "template-argument", bound.line, guard, 1)
                        out.setdefault((row.src, row.dst, row.kind, row.line, guard), (bound.site.file, row))
        return list(out.values())

    def _targets(self, resolver: Resolver, bound: Binding, call: Deferred) -> list[tuple[int, str]]:
        table = resolver.functions
        name, scope, file = bound.name, bound.site.scope, bound.site.file
        bare = name.rpartition("::")[2]
        if bare in resolver.stubs:
            stub = resolver.stubs.resolve(name, scope)
            return [(stub, EdgeKind.USES_STUB)] if stub is not None else []
        found = []
        owners = table.class_names(name, scope, file)
        for owner in owners:
            methods = table.methods(owner, call.method or "operator()", file)
            if call.kinds and len(methods) > 1:
                methods = choose(methods, call.kinds, "", file, table.classes_by_bare)
            if not call.method:
                methods = methods + table.methods(owner, owner.rpartition("::")[2], file)
            found += [
                (s.id, EdgeKind.LAUNCHES if s.kind == "kernel" else EdgeKind.CALLS)
                for s in methods
                if s.kind != "device"
            ]
        if not owners and not call.method:
            for symbol in table.lookup(name, scope, file):
                if symbol.kind != "device":
                    found.append((symbol.id, EdgeKind.LAUNCHES if symbol.kind == "kernel" else EdgeKind.CALLS))
        return found

    def _bound(self, symbol: Symbol, parameter: str, resolver: Resolver, depth: int) -> list[Binding]:
        """What ``parameter`` of ``symbol`` (or of its class) is bound to at its uses."""
        key = (symbol.id, parameter)
        known = self._memory.get(key)
        if known is not None or depth > _DEPTH:
            return known or []
        self._memory[key] = []  # a template that instantiates itself adds nothing
        found: dict[Binding, None] = {}
        names = parameter_names(symbol.templates) if symbol.templates else ()
        if parameter in names:
            sites = self.function_sites.get(symbol.id, {}).values()
            found.update(dict.fromkeys(self._from_sites(sites, names, parameter, symbol, resolver, depth)))
        if symbol.owner:
            for info in resolver.functions.classes.get(symbol.owner, ()):
                names = parameter_names(info.templates) if info.templates else ()
                if parameter in names:
                    sites = self.class_sites.get(symbol.owner, {}).values()
                    found.update(dict.fromkeys(self._from_sites(sites, names, parameter, None, resolver, depth)))
        self._memory[key] = list(found)
        return self._memory[key]

    def _from_sites(
        self,
        sites: Iterable[Site],
        names: tuple[str, ...],
        parameter: str,
        symbol: Symbol | None,
        resolver: Resolver,
        depth: int,
    ) -> list[Binding]:
        found: list[Binding] = []
        index = names.index(parameter)
        deduced = [] if symbol is None else _deducing(symbol, parameter)
        for site in sites:
            given = split_top(site.templates) if site.templates else []
            written = without_templates(given[index]).strip("& ") if index < len(given) else ""
            candidates = [written] if written else []
            for number, wrapper in deduced:
                if number < len(site.expressions):
                    expression = site.expressions[number]
                    if expression.startswith("V") and not wrapper:
                        candidates.append(expression[1:])
                    else:
                        kind = resolver.types.kind(expression, site.caller.scope, site.caller.file)
                        if kind and kind != "lambda" and kind.startswith(wrapper):
                            candidates.append(kind.removeprefix(wrapper))
            for name in candidates:
                if self.parameter_of(site.caller, name, resolver):
                    if symbol is not None:
                        self.handed_on[symbol.id, site] = None
                    found += self._bound(site.caller, name, resolver, depth + 1)
                else:
                    found.append(Binding(name, site.caller, site.line))
        return found


def _deducing(symbol: Symbol, parameter: str) -> list[tuple[int, str]]:
    """The function parameters whose arguments bind a template parameter: numbers, and what stands around it in their
    kind: "" for ``const T&``, "array " for ``const std::vector<T>&``.
    """
    kinds = [kind_of(row[0]) for row in symbol.parameters]
    return [
        (number, kind.removesuffix(parameter))
        for number, kind in enumerate(kinds)
        if kind == parameter or kind == f"array {parameter}"
    ]


def arguments_of(text: str) -> list[str]:
    """Template arguments of a name as written."""
    return split_top(template_arguments(text))
