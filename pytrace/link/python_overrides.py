"""Inherited methods: what they call on ``self`` may mean something else in the class of the instance.

``RNNBase.forward`` calls ``self.check_input``; on an ``LSTM`` that is ``LSTM.check_input``. A node of the graph stands
for a method of the class that defines it, so what only the instance's class knows becomes edges of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pytrace.link.python_modules import Class, Definition, Module
from pytrace.link.python_objects import Function, Place, Value
from pytrace.link.python_resolver import MODULE_CLASS, Resolver


class Target(NamedTuple):
    """One end of an edge."""

    kind: str
    id: int
    rule: str
    key: str = ""
    candidates: int = 1
    #: the class of the instance and the method, where the method is inherited
    context: tuple[Class, Definition] | None = None


class Override(NamedTuple):
    """What an inherited method calls in a class, and where it says so."""

    target: Target
    module: Module
    line: int
    guard: int


def owner_of(definition: Definition) -> Class | None:
    """The class in whose body a method stands."""
    return definition.module.classes.get(definition.qual.rpartition(".")[0])


def context_of(value: Value) -> tuple[Class, Definition] | None:
    """(class of the instance, method) when a value is an inherited method."""
    if not isinstance(value, Function) or value.bound is None:
        return None
    owner = owner_of(value.definition)
    if owner is None or owner is value.bound or owner.name == MODULE_CLASS:
        return None
    return value.bound, value.definition


class Overrides:
    """Finds them, each pair of class and method once."""

    def __init__(self, resolver: Resolver, targets: Callable[[str, Place], tuple[Target, ...]]) -> None:
        self._resolver = resolver
        self._targets = targets
        self._found: dict[tuple[Class, tuple[Definition, ...]], tuple[Override, ...]] = {}
        self._own: dict[int, list[tuple[int, str, int]]] = {}  #: by the id of the definition

    def of(self, cls: Class, methods: Iterable[Definition]) -> tuple[Override, ...]:
        """What methods, run on an instance of ``cls``, call there and not in the classes that define them."""
        key = (cls, tuple(methods))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(self._walk(cls, list(key[1])))
        return found

    def _walk(self, cls: Class, todo: list[Definition]) -> Iterator[Override]:
        seen = set(todo)
        place = self._resolver.place
        while todo:
            method = todo.pop()
            owner = owner_of(method)
            if owner is None:
                continue
            here, there = place(method.module, cls, owner), place(method.module, owner, owner)
            for line, symbol, guard in self._uses(method):
                for value in self._self_calls(symbol, here):
                    if value.definition not in seen:
                        seen.add(value.definition)
                        todo.append(value.definition)
                targets = self._targets(symbol, here) if owner is not cls else ()
                if targets:
                    own = {target.id for target in self._targets(symbol, there)}
                    for target in targets:
                        if target.id not in own:
                            yield Override(target, method.module, line, guard)

    def _uses(self, method: Definition) -> list[tuple[int, str, int]]:
        """What a method uses of its instance."""
        found = self._own.get(id(method))
        if found is None:
            rows = method.module.uses(method.qual)
            found = self._own[id(method)] = [row for row in rows if row[1].startswith(("self.", "super()"))]
        return found

    def _self_calls(self, symbol: str, here: Place) -> Iterator[Function]:
        callee = symbol[:-2] if symbol.endswith("()") else symbol
        if callee.count(".") == 1:
            value = self._resolver.evaluate(callee, here)
            if isinstance(value, Function):
                yield value
