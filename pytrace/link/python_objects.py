"""What a symbol of Python source turns out to be: the values of the resolver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pytrace.link.python_modules import Class, Definition, Module


class ModuleValue(NamedTuple):
    """A Python module."""

    module: Module


class ClassValue(NamedTuple):
    """A class."""

    cls: Class


class Instance(NamedTuple):
    """An instance of a class."""

    cls: Class


class Super(NamedTuple):
    """``super()`` in a method of ``owner`` of an instance of ``cls``."""

    owner: Class
    cls: Class


class Function(NamedTuple):
    """A function, or a method looked up on an instance or class ``bound``."""

    definition: Definition
    bound: Class | None


class Applied(NamedTuple):
    """``X.apply`` of an ``autograd.Function``."""

    cls: Class


class Assigned(NamedTuple):
    """A name to which the result of a call was assigned, and what the call was given: ``f = wrapper(g, h)``."""

    name: str
    values: tuple[Value, ...]


class Native(NamedTuple):
    """A module or class that C++ makes: ``torch._C._nn``, ``torch._C.TensorBase``."""

    name: str


class NativeInstance(NamedTuple):
    """An instance of such a class."""

    name: str


class Binding(NamedTuple):
    """A name that C++ gives to Python."""

    name: str


class OperatorSpace(NamedTuple):
    """``torch.ops`` ("") or ``torch.ops.aten`` ("aten")."""

    name: str


class OperatorValue(NamedTuple):
    """``torch.ops.aten.mm`` (overload None) or ``torch.ops.aten.mm.default`` (overload "")."""

    packet: str
    overload: str | None


class Several(NamedTuple):
    """One of several functions."""

    values: tuple[Value, ...]


class SequenceOf(NamedTuple):
    """A list, tuple or other container."""

    element: Value


Value = (
    ModuleValue
    | ClassValue
    | Instance
    | Super
    | Function
    | Applied
    | Assigned
    | Native
    | NativeInstance
    | Binding
    | OperatorSpace
    | OperatorValue
    | Several
    | SequenceOf
)


class Place:
    """Where symbols stand: a module, and the class that ``self`` is an instance of. Made by ``Resolver.place``.

    ``owner`` is the class whose body holds the method, where it is not ``cls``. ``values`` and ``targets`` keep what
    was found for a symbol here.
    """

    __slots__ = ("cls", "module", "owner", "targets", "values")

    def __init__(self, module: Module, cls: Class | None, owner: Class | None) -> None:
        self.module = module
        self.cls = cls
        self.owner = owner
        #: symbol -> (its value, the properties that evaluating it reads)
        self.values: dict[str, tuple[Value | None, tuple[Value, ...]]] = {}
        self.targets: dict[str, Any] = {}


def is_shared(symbol: str) -> bool:
    """Whether a symbol means the same everywhere: absolute names and Tensors."""
    first = symbol[0]
    return first == "T" or (first == "@" and symbol[1] != ".")


def several(values: Iterable[Value | None]) -> Value | None:
    known = tuple(dict.fromkeys(v for v in values if v is not None))
    return Several(known) if len(known) > 1 else known[0] if known else None


_CALLABLE = (Function, Binding, Assigned, OperatorValue, Applied, Several)


def is_callable(value: Value | None) -> bool:
    """Whether a value is a function, method, binding or operator."""
    return isinstance(value, _CALLABLE)


def merge_orders(chains: list[list[Class | Native]]) -> list[Class | Native]:
    """The C3 merge; where no head is free, the first head is taken."""
    merged: list[Class | Native] = []
    chains = [chain for chain in chains if chain]
    while chains:
        head = next((c[0] for c in chains if not any(c[0] in other[1:] for other in chains)), chains[0][0])
        merged.append(head)
        chains = [rest for chain in chains if (rest := [c for c in chain if c != head])]
    return merged
