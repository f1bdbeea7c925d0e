"""What a symbol of Python source turns out to be: the values of the resolver."""

from __future__ import annotations

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
