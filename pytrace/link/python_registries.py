"""Registries of Python functions: a decorator that stores what it decorates, and the functions that look it up.

``@register_kl(Beta, Beta)`` puts its function into a dictionary of the module (torch/distributions/kl.py), and
``kl_divergence`` runs one that it finds there. Which one is decided by the arguments: edges ``may_call`` from what
reads the container to each function, rule ``python-registry``, key = the decorator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pytrace.link.python_modules import Definition, Module
from pytrace.link.python_objects import Function
from pytrace.link.python_resolver import Resolver


class Entry(NamedTuple):
    """One function that a reader of a container may run."""

    reader: str  #: full name
    path: str
    line: int  #: where the container is read
    registrar: str  #: full name of the decorator
    function: Definition
    candidates: int


def entries(resolver: Resolver) -> Iterator[Entry]:
    """What the readers of all containers may run."""
    registrars = {
        f"{module.name}.{function}": (module, container)
        for module in resolver.modules.values()
        for function, container in module.facts.get("stores", ())
        if "." not in container[1:]
    }
    members: dict[str, list[Definition]] = {name: [] for name in registrars}
    last_names = {name.rpartition(".")[2] for name in registrars}
    for module in resolver.modules.values():
        for definition in module.definitions:
            for symbol in dict.fromkeys(definition.decorators):
                if symbol.rpartition(".")[2] in last_names and symbol[:1] in "@.":
                    found = resolver.evaluate(symbol, resolver.place(module))
                    if isinstance(found, Function) and found.definition.name in registrars:
                        members[found.definition.name].append(definition)
    for registrar, (module, container) in registrars.items():
        functions = members[registrar]
        for reader, line in _readers(module, container) if functions else ():
            if f"{module.name}.{reader}" != registrar:
                for each in functions:
                    yield Entry(f"{module.name}.{reader}", module.path, line, registrar, each, len(functions))


#: What follows a container where one of its values is taken: a key, a loop, ``get`` (``in`` and ``pop`` run none).
_TAKES = re.compile(r"(?:\[\]|\.(?:__getitem__|get|items|values)\(\))")


def _readers(module: Module, container: str) -> Iterator[tuple[str, int]]:
    """The functions of a module that read a container, with the line."""
    for qual, rows in module.facts.get("uses", {}).items():
        lines = [
            line for line, symbol, _ in rows if symbol.startswith(container) and _TAKES.match(symbol, len(container))
        ]
        if lines:
            yield qual, min(lines)
