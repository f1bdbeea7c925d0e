"""Python: a node for each function, method, property and class, the names they are re-exported by, and what they call.

Nodes are of kind ``python``, named where they are defined; ``attrs["kind"]`` is ``class``, ``staticmethod``,
``classmethod``, ``property`` or ``alias``; functions and methods have none. ``attrs["bases"]`` of a class are the
classes after it in its order of resolution, ``attrs["runs"]`` of a function the parameters that it calls. Edges:

* ``calls`` python -> python | binding. Rules: ``python-call``; ``python-construct`` (a class: its ``__init__``);
  ``python-reference`` (a function named as a value, which somebody may call); ``python-property``;
  ``python-operator`` (``a + b``, ``x[i]``, ``if x:``); ``python-assigned`` (``f = wrapper(g, h)``: f may call g and h);
  ``python-class`` (a class to the methods that using an instance runs; the key is the method's name);
  ``python-override`` (the call of an inherited method: what the instance's class overrides of what that calls);
* ``may_call`` python -> python: what a decorator stores and a function looks up (``link/python_registries.py``), rule
  ``python-registry``;
* ``calls_op`` python -> op through ``torch.ops``, rule ``python-op``;
* ``alias_of`` python -> python | binding, rules ``python-import``, ``python-assignment``, ``python-member`` (a member
  of a class under the class's public name: ``torch.Tensor.add``).

``candidates`` counts the functions that one use may mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytrace.extract.python_tables import IMPLICIT
from pytrace.link.context import Context
from pytrace.link.python_modules import Alias, Class, Definition, Import, Module, modules
from pytrace.link.python_natives import BindingTable
from pytrace.link.python_objects import (
    Applied,
    Assigned,
    Binding,
    ClassValue,
    Function,
    Instance,
    ModuleValue,
    Native,
    OperatorValue,
    Place,
    Several,
    Value,
    is_callable,
    is_shared,
)
from pytrace.link.python_overrides import Overrides, Target, context_of
from pytrace.link.python_registries import entries
from pytrace.link.python_resolver import Resolver
from pytrace.model import EdgeKind, NodeKind

#: Folders whose functions users call; the others (torchgen, tools) run before PyTorch exists.
_ROOTS = ("torch/", "functorch/")
_FILE_KINDS = ("python", "python_outline")
#: What tests PyTorch calls everything and is called by no user.
_TESTS = ("torch/testing/", "torch/utils/benchmark/")

#: The package whose names users write.
_TOP = "torch"

#: Kinds of definitions that a node's ``attrs`` tell; a node without is a function or a method.
_KINDS = {
    "c": "class",
    "s": "staticmethod",
    "k": "classmethod",
    "p": "property",
    "w": "property",
}

#: The methods that using an instance of a class runs. ``forward``: nn.Module and autograd.Function; ``step``:
#: torch.optim; the others are Python's, the last two those of ``with``.
_ENTRIES = ("__new__", "__init__", "forward", "step", "__call__", "__enter__", "__exit__")


def link(ctx: Context) -> None:
    """Add the nodes and edges of all Python files."""
    chosen = (
        (path, facts)
        for path, (kind, facts) in ctx.files.items()
        if kind in _FILE_KINDS and path.startswith(_ROOTS) and not path.startswith(_TESTS)
    )
    natives = BindingTable(ctx.graph, ctx.operators)
    resolver = Resolver(modules(chosen), natives)
    linker = Linker(ctx, resolver, natives)
    linker.nodes()
    linker.aliases()
    linker.classes()
    linker.uses()
    linker.registries()


class Linker:
    """Writes what the resolver finds into the graph."""

    def __init__(self, ctx: Context, resolver: Resolver, natives: BindingTable) -> None:
        self.ctx = ctx
        self.graph = ctx.graph
        self.resolver = resolver
        self.natives = natives
        self._overrides = Overrides(resolver, self.targets)

    # -- nodes and names ---------------------------------------------------------------------------------------------

    def nodes(self) -> None:
        """A node for each definition; of several definitions of a name the last."""
        attributes = {kind: {"kind": word} for kind, word in _KINDS.items()}
        shared = self.graph.shared
        for module in self.resolver.modules.values():
            last = {d.qual: d for d in module.definitions if d.kind != "w"}
            prefix, path = module.name + ".", module.path
            given: dict[str, list[str]] = {}
            for qual, parameter in module.facts.get("given", ()):
                given.setdefault(qual, []).append(parameter)
            for qual, d in last.items():
                attrs: Mapping[str, Any] | None = attributes.get(d.kind)
                if qual in given:
                    attrs = {**(attrs or {}), "runs": given[qual]}
                if d.kind == "c" and (bases := [c.name for c in self.resolver.order(module.classes[qual])[1:]]):
                    attrs = {"kind": "class", "bases": bases}
                shared(NodeKind.PYTHON, prefix + qual, path, d.line, end_line=d.end, owner=path, attrs=attrs)

    def id_of(self, value: Value | None) -> int | None:
        """The node that stands for a function, class, binding or assigned name."""
        if isinstance(value, Function):
            return self.graph.find(NodeKind.PYTHON, value.definition.name)
        if isinstance(value, ClassValue):
            return self.graph.find(NodeKind.PYTHON, value.cls.name)
        if isinstance(value, Assigned):
            return self.graph.find(NodeKind.PYTHON, value.name)
        if isinstance(value, (Binding, Native)):
            return self.natives.ids.get(value.name)
        return None

    def aliases(self) -> None:
        """The names under which functions and classes are re-exported."""
        for module in self.resolver.modules.values():
            for name, entry in module.entries.items():
                if isinstance(entry, Alias) and name:
                    self._assigned(module, name, entry)
            for cls in module.classes.values():
                for name, alias in cls.aliases.items():
                    self._class_alias(module, cls, name, alias)
        for module in self.resolver.modules.values():
            for name, line in _exports(module, self.resolver, self.natives):
                value = self.resolver.name(module, name)
                self._alias(module, name, line, value, "python-import")

    def _assigned(self, module: Module, name: str, entry: Alias) -> None:
        value = self.resolver.name(module, name)
        if isinstance(value, Assigned) and value.name == f"{module.name}.{name}":
            self._wrapper(module, name, entry.line, value)
        else:
            self._alias(module, name, entry.line, value, "python-assignment")

    def _class_alias(self, module: Module, cls: Class, name: str, alias: Alias) -> None:
        value = self.resolver.member(cls, name)
        qual = f"{cls.qual}.{name}"
        if isinstance(value, Assigned) and value.name == f"{module.name}.{qual}":
            self._wrapper(module, qual, alias.line, value)
        else:
            self._alias(module, qual, alias.line, value, "python-assignment")

    def _wrapper(self, module: Module, qual: str, line: int, value: Assigned) -> None:
        node = self._alias_node(module, qual, line)
        for each in value.values:
            for target in self.called(each, len(value.values)):
                self._edge(node, target._replace(rule="python-assigned"), module.path, line, "")

    def _alias_node(self, module: Module, qual: str, line: int) -> int:
        name = f"{module.name}.{qual}"
        attrs = {"kind": "alias"}
        return self.graph.shared(NodeKind.PYTHON, name, module.path, line, owner=module.path, attrs=attrs)

    def _alias(self, module: Module, qual: str, line: int, value: Value | None, rule: str) -> None:
        if not is_callable(value) and not isinstance(value, (ClassValue, Native)):
            return
        own = f"{module.name}.{qual}"
        if isinstance(value, OperatorValue):
            node = self._alias_node(module, qual, line)
            for target in self.called(value):
                self._edge(node, target, module.path, line, "")
            return
        target_id = self.id_of(value)
        if target_id is None or target_id == self.graph.find(NodeKind.PYTHON, own):
            return
        node = self._alias_node(module, qual, line)
        self.graph.edge(node, target_id, EdgeKind.ALIAS_OF, rule=rule, file=module.path, line=line, owner=module.path)
        # torch/__init__.py: users write torch.Tensor.add, wherever the class stands.
        if isinstance(value, ClassValue) and "." not in own.removeprefix(f"{_TOP}."):
            self._members(module, qual, line, value.cls)

    def _members(self, module: Module, qual: str, line: int, cls: Class) -> None:
        """``torch.Tensor.add``: the members of a class of a private module, under the class's public name."""
        for name in _member_names(self.resolver.order(cls), self.natives):
            target = self.id_of(self.resolver.member(cls, name))
            if target is not None:
                node = self._alias_node(module, f"{qual}.{name}", line)
                rule = "python-member"
                self.graph.edge(
                    node, target, EdgeKind.ALIAS_OF, rule=rule, file=module.path, line=line, owner=module.path
                )

    # -- classes -----------------------------------------------------------------------------------------------------

    def classes(self) -> None:
        """From a class to the methods that using it runs, inherited ones included."""
        for module in self.resolver.modules.values():
            for cls in module.classes.values():
                node = self.graph.find(NodeKind.PYTHON, cls.name)
                if node is not None:
                    self._entries(module, cls, node)

    def _entries(self, module: Module, cls: Class, node: int) -> None:
        order = [c for c in self.resolver.order(cls) if isinstance(c, Class)]
        todo: list[Definition] = []
        for name in _ENTRIES:
            if name == "__call__" and any(d.qual.endswith(".forward") for d in todo):
                continue  # torch/nn/modules/module.py: __call__ runs hooks and forward
            found = self.resolver.member(cls, name) if any(name in c.members for c in order) else None
            if isinstance(found, Function):
                todo.append(found.definition)
                target = self.id_of(found)
                if target is not None:
                    line = cls.definition.line
                    self._edge(node, Target(EdgeKind.CALLS, target, "python-class", name), module.path, line, "")
        for each in self._overrides.of(cls, todo):
            self._edge(node, each.target, each.module.path, each.line, each.module.guard(each.guard))

    # -- uses --------------------------------------------------------------------------------------------------------

    def uses(self) -> None:
        """What each function calls."""
        find = self.graph.find
        for module in self.resolver.modules.values():
            prefix, path = module.name + ".", module.path
            for qual, rows in module.facts.get("uses", {}).items():
                node = find(NodeKind.PYTHON, prefix + qual)
                if node is None:
                    continue
                cls = module.classes.get(qual.rpartition(".")[0])
                place = self.resolver.place(module, cls, cls)
                seen: set[tuple[int, str, int]] = set()
                for line, symbol, guard in rows:
                    targets = self.targets(symbol, place)
                    if not targets:
                        if symbol[0] == "@":
                            self._unresolved(module, symbol, place, line)
                        continue
                    for target in targets:
                        # One edge per callee and guard: the first line is the evidence.
                        key = (target.id, target.kind, guard)
                        if target.id != node and key not in seen:
                            seen.add(key)
                            self._edge(node, target, path, line, module.guard(guard) if guard >= 0 else "")
                        if target.context is not None:
                            self._inherited(node, target.context, module, seen, guard)

    def registries(self) -> None:
        """What a function finds in a container that decorators fill."""
        find = self.graph.find
        for entry in entries(self.resolver):
            src, dst = find(NodeKind.PYTHON, entry.reader), find(NodeKind.PYTHON, entry.function.name)
            if src is not None and dst is not None and src != dst:
                target = Target(EdgeKind.MAY_CALL, dst, "python-registry", entry.registrar, entry.candidates)
                self._edge(src, target, entry.path, entry.line, "")

    def _unresolved(self, module: Module, symbol: str, place: Place, line: int) -> None:
        """Keep a call of a name that a module of torch should have and, as far as the index can tell, has not."""
        dotted = symbol[1:-2]
        if not symbol.endswith("()") or "(" in dotted or "[" in dotted:
            return
        owner, _, name = symbol[:-2].rpartition(".")
        if self.resolver.evaluate(symbol[:-2], place) is None and owner.strip("@."):
            holder = self.resolver.evaluate(owner, place)
            if isinstance(holder, ModuleValue) and name in holder.module.entries:
                return  # it is there, but what it is was not understood
            if isinstance(holder, (ModuleValue, Native)):
                where = holder.module.name if isinstance(holder, ModuleValue) else holder.name
                self.graph.unresolved_name(module.path, "python", f"{where}.{name}", line, f"no {name!r} in {where}")

    def _inherited(
        self, node: int, context: tuple[Class, Definition], module: Module, seen: set[tuple[int, str, int]], guard: int
    ) -> None:
        """A call of an inherited method also runs what the instance's class overrides of what it calls."""
        cls, method = context
        for each in self._overrides.of(cls, [method]):
            key = (each.target.id, each.target.kind, guard)
            if each.target.id != node and key not in seen:
                seen.add(key)
                target = each.target._replace(rule="python-override")
                self._edge(node, target, each.module.path, each.line, module.guard(guard), owner=module.path)

    def _edge(self, src: int, target: Target, path: str, line: int, guard: str, owner: str = "") -> None:
        kind, dst, rule, key, candidates, _ = target
        # As ``graph.edge`` does: these are most of the edges of Python.
        self.graph.edges.append((src, dst, kind, key, rule, path, line, guard, candidates, owner or path, None))

    def targets(self, symbol: str, place: Place) -> tuple[Target, ...]:
        """The ends of the edges for one use."""
        memo = (self.resolver.anywhere if is_shared(symbol) else place).targets
        found: tuple[Target, ...] | None = memo.get(symbol)
        if found is None:
            ends = self._alternatives(symbol.split("|"), place) if "|" in symbol else self._find(symbol, place)
            found = tuple(dict.fromkeys(ends))
            memo[symbol] = found
        return found

    def _alternatives(self, symbols: list[str], place: Place) -> Iterator[Target]:
        """The first of several symbols that means something; of the others what evaluating their operand reads."""
        found = False
        for symbol in symbols:
            if found:
                yield from self._read(self.resolver.read(symbol.rpartition(".")[0], place)[1])
            else:
                for target in self._find(symbol, place):
                    found = True
                    yield target

    def _find(self, symbol: str, place: Place) -> Iterator[Target]:
        resolver = self.resolver
        if symbol.endswith("()"):
            callee = symbol[:-2]
            value, used = resolver.read(callee, place)
            yield from self._read(used)
            owner, _, method = callee.rpartition(".")
            rule = "python-operator" if method in IMPLICIT else ""
            if rule and isinstance(resolver.evaluate(owner, place), (ClassValue, Native)):
                return  # ``type(x) != torch.Tensor`` compares classes: their metaclass does it
            for target in self.called(value):
                yield target._replace(rule=rule) if rule and target.rule == "python-call" else target
        elif symbol.endswith("="):
            owner, _, name = symbol[:-1].rpartition(".")
            yield from self._written(resolver.evaluate(owner, place), name)
        else:
            value, used = resolver.read(symbol, place)
            yield from self._read(used)
            if is_callable(value):
                for target in self.called(value):
                    yield target._replace(rule="python-reference")

    def _read(self, properties: Iterable[Value]) -> Iterator[Target]:
        for value in properties:
            if isinstance(value, Binding) and not self.natives.leads_on(value.name):
                continue  # ``x.dtype`` reads a field
            target = self.id_of(value)
            if target is not None:
                yield Target(EdgeKind.CALLS, target, "python-property")

    def _written(self, value: Value | None, name: str) -> Iterator[Target]:
        if not isinstance(value, Instance):
            return
        # A mixin's setter may come from the classes that it is mixed into (torch/nn/parameter.py).
        orders = [self.resolver.order(cls) for cls in (value.cls, *value.cls.subclasses)]
        for cls in (each for order in orders for each in order):
            if isinstance(cls, Class) and name in cls.setters:
                target = self.graph.find(NodeKind.PYTHON, cls.setters[name].name)
            elif isinstance(cls, Native) and self.natives.has_setter(f"{cls.name}.{name}"):
                target = self.natives.ids[f"{cls.name}.{name}"]
            else:
                continue
            if target is not None:
                yield Target(EdgeKind.CALLS, target, "python-property", "set")
            return

    def called(self, value: Value | None, candidates: int = 1) -> Iterator[Target]:
        """The ends of the edges for a call of a value."""
        if isinstance(value, (Function, Binding, Assigned)):
            target = self.id_of(value)
            if target is not None:
                yield Target(EdgeKind.CALLS, target, "python-call", "", candidates, context_of(value))
        elif isinstance(value, ClassValue):
            for name in ("__new__", "__init__"):
                method = self.resolver.member(value.cls, name)
                target = self.id_of(method) if isinstance(method, Function) else None
                if target is not None:
                    yield Target(EdgeKind.CALLS, target, "python-construct", "", candidates)
        elif isinstance(value, Instance):
            yield from self.called(self.resolver.entry(value.cls), candidates)
        elif isinstance(value, Applied):
            yield from self.called(self.resolver.member(value.cls, "forward"), candidates)
        elif isinstance(value, OperatorValue):
            yield from self._operators(value)
        elif isinstance(value, Several):
            for each in value.values:
                yield from self.called(each, len(value.values))

    def _operators(self, value: OperatorValue) -> Iterator[Target]:
        names = [op.name for op in self.ctx.operators.overloads(value.packet)]
        if value.overload is not None:
            wanted = f"{value.packet}.{value.overload}" if value.overload else value.packet
            names = [name for name in names if name == wanted]
        for name in names:
            target = self.graph.find(NodeKind.OP, name)
            if target is not None:
                yield Target(EdgeKind.CALLS_OP, target, "python-op", "", len(names))


def _exports(module: Module, resolver: Resolver, natives: BindingTable) -> Iterator[tuple[str, int]]:
    """The imported names that a module offers as its own, with the line of the import."""
    exported = module.exported or ()
    for name, entry in module.entries.items():
        if isinstance(entry, Import) and (module.is_package or name in exported):
            yield name, entry.line
    if not module.is_package:
        return
    seen = set(module.entries)
    for line, source, excluded, private in resolver.sources(module):
        for name in _offered(source, natives, private):
            if name not in seen and name not in excluded:
                seen.add(name)
                yield name, line


def _offered(source: Value, natives: BindingTable, private: str) -> Iterable[str]:
    """The names that ``import *`` (or a loop over ``dir``) takes from a module."""
    if isinstance(source, ModuleValue):
        exported = source.module.exported
        return exported if exported is not None else [n for n in source.module.entries if not n.startswith("_")]
    if isinstance(source, Native):
        return [n for n in natives.below(source.name) if not n.startswith(private)]
    return ()


def _member_names(order: Iterable[Class | Native], natives: BindingTable) -> Iterator[str]:
    names: dict[str, None] = {}
    for cls in order:
        if isinstance(cls, Native):
            names.update(dict.fromkeys(natives.below(cls.name)))
        else:
            names.update(dict.fromkeys([*cls.members, *cls.aliases]))
    return iter(names)
