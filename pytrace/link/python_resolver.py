"""Evaluates the symbols of ``extract/python_symbols.py``: names to functions, classes, bindings and operators.

The rules are Python's (namespaces, ``from x import *``, method resolution order, properties) and a few of PyTorch's,
each at its place: modules that replace themselves (``torch/_VF.py``), loops that fill ``globals()``
(``torch/__init__.py``), ``torch.ops``, ``autograd.Function.apply``, ``nn.Module.__call__``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pytrace.link.python_modules import Alias, Class, Definition, Import, Module
from pytrace.link.python_objects import (
    Applied,
    Assigned,
    Binding,
    ClassValue,
    Function,
    Instance,
    ModuleValue,
    Native,
    NativeInstance,
    OperatorSpace,
    OperatorValue,
    Place,
    SequenceOf,
    Several,
    Super,
    Value,
    is_callable,
    merge_orders,
    several,
)

NATIVE_ROOT = "torch._C"
TENSOR_BASE = "torch._C.TensorBase"
#: torch/_tensor.py defines the class that users call ``torch.Tensor``.
TENSOR_CLASS = "torch._tensor.Tensor"
#: torch/_ops.py: the class of ``torch.ops``; its attributes are namespaces, theirs are operators.
OPS_CLASS = "torch._ops._Ops"
#: torch/autograd/function.py: ``apply`` runs ``forward`` and records the node.
AUTOGRAD_APPLY = "torch.autograd.function.Function.apply"
#: torch/nn/modules/module.py: ``__call__`` runs the hooks and ``forward``.
MODULE_CLASS = "torch.nn.modules.module.Module"
#: torch/_C: sets the docstring of its first argument and returns it (torch/csrc/Module.cpp: THPModule_addDocStr).
ADD_DOCSTRING = "torch._C._add_docstr"

_NOTHING: tuple[Value | None, tuple[Value, ...]] = (None, ())
_NESTING = 200  #: how deep one symbol may lead into others
_CANDIDATES = 8  #: a name that so many subclasses define says nothing


class Natives(Protocol):
    """What the resolver asks about names that C++ gives to Python."""

    def owner(self, name: str) -> bool:
        """Whether the name stands for a module or class, which has members."""

    def member(self, owner: str, name: str) -> str:
        """The full name of a member, inherited ones included; "" when there is none."""

    def exists(self, name: str) -> bool:
        """Whether there is a binding of this name."""

    def is_property(self, name: str) -> bool:
        """Whether reading the name runs a getter."""

    def result(self, name: str) -> str:
        """The symbol of what calling (or reading) it gives."""


class Resolver:
    """All modules, and what their symbols mean; answers are kept."""

    def __init__(self, modules: Iterable[Module], natives: Natives) -> None:
        self.modules = {module.name: module for module in modules}
        self.natives = natives
        self._places: dict[tuple[str, Class | None, Class | None], Place] = {}
        self.anywhere = Place(Module("", {}), None, None)  #: of symbols that mean the same everywhere
        self._names: dict[tuple[str, str], Value | None] = {}
        self._sources: dict[str, list[tuple[int, Value, frozenset[str], str]]] = {}
        self._members: dict[tuple[Class, str], Value | None] = {}
        self._orders: dict[Class, tuple[Class | Native, ...]] = {}
        self._busy: set[object] = set()
        self._member_names: set[str] = set()
        #: Classes whose ``__getattr__`` asks the one attribute that they have.
        self._forwarders: set[Class | Native] = set()
        for module in self.modules.values():
            for cls in module.classes.values():
                self._member_names |= cls.names
                if "__getattr__" in cls.members and len(cls.attributes) == 1:
                    self._forwarders.add(cls)
                for base in self._base_classes(cls):
                    if isinstance(base, Class):
                        base.subclasses.append(cls)
        tensor = self.absolute(TENSOR_CLASS)
        self.tensor: Value = Instance(tensor.cls) if isinstance(tensor, ClassValue) else NativeInstance(TENSOR_BASE)

    # -- symbols -----------------------------------------------------------------------------------------------------

    def place(self, module: Module, cls: Class | None = None, owner: Class | None = None) -> Place:
        """The place of a module's functions, or of the methods of ``owner`` (else of ``cls``) on a ``cls``."""
        key = (module.name, cls, owner or cls)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Place(module, cls, owner or cls)
        return found

    def evaluate(self, symbol: str, place: Place) -> Value | None:
        """What a symbol means at a place; None when it is not known."""
        return self.read(symbol, place)[0] if symbol else None

    def read(self, symbol: str, place: Place) -> tuple[Value | None, tuple[Value, ...]]:
        """What a symbol means, and the properties that evaluating it reads."""
        first = symbol[0]
        if first == "T" or (first == "@" and symbol[1] != "."):  # ``is_shared``
            place = self.anywhere
        found = place.values.get(symbol)
        if found is not None:
            return found
        key = (place, symbol)
        if key in self._busy or len(self._busy) > _NESTING:
            return _NOTHING
        self._busy.add(key)
        found = self._read(symbol, place)
        self._busy.discard(key)
        place.values[symbol] = found
        return found

    def _read(self, symbol: str, place: Place) -> tuple[Value | None, tuple[Value, ...]]:
        last = symbol[-1]
        if last == ")" and symbol != "super()":
            value, used = self.read(symbol[:-2], place)
            return self.call(value), used
        if last == "]":
            value, used = self.read(symbol[:-2], place)
            return self.element(value), used
        if last == "}":
            value, used = self.read(symbol[:-2], place)
            return SequenceOf(value) if value is not None else None, used
        if "&" in symbol:
            return several(self.evaluate(part, place) for part in symbol.split("&")), ()
        prefix, dot, name = symbol.rpartition(".")
        if not dot or not prefix.strip("@."):
            return self._root(symbol, place), ()
        owner, used = self.read(prefix, place)
        value = self.attribute(owner, name)
        if value is None and symbol[0] == "@" and not isinstance(owner, ModuleValue):
            value = self.attribute(self._hidden(place.module.absolute(prefix[1:])), name)
        if self._is_property(value):
            assert value is not None
            return self._property_value(value), (*used, value)
        return value, used

    def _root(self, symbol: str, place: Place) -> Value | None:
        if symbol == "T":
            return self.tensor
        if symbol == "self":
            return Instance(place.cls) if place.cls else None
        if symbol == "cls":
            return ClassValue(place.cls) if place.cls else None
        if symbol == "super()":
            return Super(place.owner or place.cls, place.cls) if place.cls else None
        if symbol[0] == "@":
            return self.absolute(place.module.absolute(symbol[1:]))
        if symbol[0] == ".":
            owner = place.owner or place.cls
            if owner is not None and symbol[1:] in owner.module.classes.get(owner.qual, owner).members:
                # A name of a class body refers to an earlier one of that body.
                found = self.name(place.module, symbol[1:])
                return found if found is not None else self.member(owner, symbol[1:])
            return self.name(place.module, symbol[1:])
        return None

    # -- names -------------------------------------------------------------------------------------------------------

    def absolute(self, dotted: str) -> Value | None:
        """``torch.nn.functional.relu`` from its parts."""
        parts = dotted.split(".")
        module = self.modules.get(parts[0])
        value: Value | None = ModuleValue(module) if module else None
        for number, part in enumerate(parts[1:], 1):
            owner, value = value, self.attribute(value, part)
            if value is None and not isinstance(owner, ModuleValue):
                value = self.attribute(self._hidden(".".join(parts[:number])), part)
            if value is None:
                return None
        return value

    def _hidden(self, dotted: str) -> Value | None:
        """The module of a name that its package gives to a function: ``from torch.autograd.variable import Variable``.

        ``torch.autograd.variable`` is a function (torch/autograd/__init__.py), but an import asks ``sys.modules``.
        """
        module = self.modules.get(dotted)
        return ModuleValue(module) if module is not None else None

    def name(self, module: Module, name: str) -> Value | None:
        """What a name means in a module."""
        key = (module.name, name)
        if key in self._names:
            return self._names[key]
        if key in self._busy:
            # ``from .cond import cond``: on the way to the function the name still means the module.
            return self._below(module, name)
        self._busy.add(key)
        value = self._name(module, name)
        self._busy.discard(key)
        self._names[key] = value
        return value

    def _name(self, module: Module, name: str) -> Value | None:
        entry = module.entries.get(name)
        value: Value | None = None
        if isinstance(entry, Definition):
            return ClassValue(module.classes[name]) if entry.kind == "c" else Function(entry, None)
        if isinstance(entry, Alias):
            value = self.alias(entry, self.place(module), f"{module.name}.{name}")
        elif isinstance(entry, Import):
            value = self.absolute(entry.target)
        if value is not None:
            return value
        if module.name == "torch" and name == "_C":
            return Native(NATIVE_ROOT)
        return self._below(module, name) or self._spread(module, name) or self._given(module, name)

    def _given(self, module: Module, name: str) -> Value | None:
        """What C++ puts into a Python module itself: types such as ``torch.device``, functions of pybind11."""
        return self.attribute(Native(module.name), name)

    def _below(self, module: Module, name: str) -> Value | None:
        below = self.modules.get(f"{module.name}.{name}")
        return ModuleValue(below) if below is not None else None

    def _spread(self, module: Module, name: str) -> Value | None:
        """A name from a loop over ``dir(…)``, from ``import *``, or from the object that replaces the module."""
        for _, source, excluded, private in self.sources(module):
            value = None
            if isinstance(source, ModuleValue):
                exported = source.module.exported
                if name in exported if exported is not None else not name.startswith("_"):
                    value = self.name(source.module, name)
            elif isinstance(source, Native) and not name.startswith(private) and name not in excluded:
                value = self.attribute(source, name)
            if value is not None:
                return value
        replaced = module.entries.get("")
        if isinstance(replaced, Alias):
            return self.attribute(self.evaluate(replaced.symbol, self.place(module)), name)
        return None

    def sources(self, module: Module) -> list[tuple[int, Value, frozenset[str], str]]:
        """Where a module takes all names from, the last first.

        Rows are (line, source, excluded names, prefix of names that are not taken).
        A later ``import *`` replaces what an earlier one gave (torch/__init__.py: torch.functional comes last).
        """
        found = self._sources.get(module.name)
        if found is None:
            rows: list[tuple[int, Value | None, frozenset[str], str]] = []
            for symbol, line, exceptions in module.facts.get("spreads", ()):
                excluded = frozenset(name for each in exceptions for name in module.lists.get(each, ()))
                rows.append((line, self.evaluate(symbol, self.place(module)), excluded, "__"))
            rows += [(line, self.absolute(target), frozenset(), "_") for target, line in module.stars]
            rows.sort(key=lambda row: -row[0])
            found = [
                (line, source, excluded, private) for line, source, excluded, private in rows if source is not None
            ]
            self._sources[module.name] = found
        return found

    def alias(self, alias: Alias, place: Place, name: str) -> Value | None:
        """What an assignment makes its name mean."""
        if alias.arguments:
            callee = self.evaluate(alias.symbol[:-2], place) if alias.symbol.endswith("()") else None
            values = tuple(
                v
                for a in alias.arguments
                if is_callable(v := self.evaluate(a, place)) and v is not None and v != callee
            )
            if values:
                if alias.symbol == f"@{ADD_DOCSTRING}()":
                    return values[0]
                if not isinstance(callee, (ClassValue, Native)):
                    return Assigned(name, values)
        return self.evaluate(alias.symbol, place)

    # -- attributes --------------------------------------------------------------------------------------------------

    def attribute(self, value: Value | None, name: str) -> Value | None:
        """``value.name``."""
        if value is None:
            return None
        if isinstance(value, ModuleValue):
            return self.name(value.module, name)
        if isinstance(value, (Instance, ClassValue)):
            member = self.member(value.cls, name)
            if member is None and value.cls.name == OPS_CLASS and isinstance(value, Instance) and name[:2] != "__":
                return OperatorSpace(name)  # torch/_ops.py: _Ops.__getattr__
            return member
        if isinstance(value, Native):
            full = self.natives.member(value.name, name)
            if full and self.natives.owner(full):
                return Native(full)
            return Binding(full) if full else None
        if isinstance(value, NativeInstance):
            full = self.natives.member(value.name, name)
            return Binding(full) if full and self.natives.exists(full) else None
        if isinstance(value, Super):
            order = self.order(value.cls)
            after = order[order.index(value.owner) + 1 :] if value.owner in order else order
            return self._member_in(after, value.cls, name)
        if isinstance(value, OperatorSpace):
            return OperatorValue(f"{value.name}::{name}", None) if value.name else OperatorSpace(name)
        if isinstance(value, OperatorValue) and value.overload is None:
            return OperatorValue(value.packet, "" if name == "default" else name)
        if isinstance(value, Several):
            return several(self.attribute(each, name) for each in value.values)
        return None

    def member(self, cls: Class, name: str) -> Value | None:
        """An attribute of a class or of its instances; of a mixin, what its subclasses agree on."""
        key = (cls, name)
        if key in self._members:
            return self._members[key]
        if key in self._busy:
            return None
        self._busy.add(key)
        value = self._member_in(self.order(cls), cls, name)
        if value is None:
            value = self._from_subclasses(cls, name)
        self._busy.discard(key)
        self._members[key] = value
        return value

    def _member_in(self, order: Iterable[Class | Native], cls: Class, name: str) -> Value | None:
        for each in order:
            if isinstance(each, Native):
                full = self.natives.member(each.name, name)
                if full and self.natives.exists(full):
                    return Binding(full)
                continue
            if name not in each.names:
                continue
            definition = each.members.get(name)
            if definition is not None:
                if definition.name == AUTOGRAD_APPLY:
                    return Applied(cls)
                return Function(definition, cls)
            alias = each.aliases.get(name)
            if alias is not None:
                value = self._class_alias(alias, each, cls, name)
                if value is not None:
                    return value
            if name in each.attributes:
                value = self._attribute_value(each, cls, name)
                if value is not None:
                    return value
        return self._forwarded(order, cls, name)

    def _class_alias(self, alias: Alias, owner: Class, cls: Class, name: str) -> Value | None:
        place = self.place(owner.module)
        if alias.symbol.startswith(".") and alias.symbol[1:] in owner.members:
            return Function(owner.members[alias.symbol[1:]], cls)
        return self.alias(alias, place, f"{owner.name}.{name}")

    def _attribute_value(self, owner: Class, cls: Class, name: str) -> Value | None:
        place = self.place(owner.module, cls, owner)
        for symbol, arguments in owner.attributes[name]:
            value = self.evaluate(symbol, place) or self._substituted(symbol, arguments, place)
            if value is not None:
                return value
        return None

    def _substituted(self, symbol: str, arguments: tuple[str, ...], place: Place) -> Value | None:
        """The result of a function that returns (something made of) one of its arguments."""
        if not arguments or not symbol.endswith("()"):
            return None
        callee = self.evaluate(symbol[:-2], place)
        if not isinstance(callee, Function) or not callee.definition.returns.startswith("%"):
            return None
        returned = callee.definition.returns
        index = int(returned[1]) if returned[1:2].isdigit() else -1
        if not 0 <= index < len(arguments) or not arguments[index]:
            return None
        return self.evaluate(arguments[index] + returned[2:], place)

    def _forwarded(self, order: Iterable[Class | Native], cls: Class, name: str) -> Value | None:
        """``__getattr__`` of an object that stands for one module (torch/_VF.py: VFModule)."""
        if name.startswith("__") or self._forwarders.isdisjoint(order):
            return None
        for each in order:
            if isinstance(each, Class) and each in self._forwarders:
                place = self.place(each.module, cls, each)
                (rows,) = each.attributes.values()
                target = self.evaluate(rows[0][0], place)
                if isinstance(target, (Native, ModuleValue)):
                    return self.attribute(target, name)
        return None

    def _from_subclasses(self, cls: Class, name: str) -> Value | None:
        if name not in self._member_names and not self.natives.exists(f"{TENSOR_BASE}.{name}"):
            return None
        found: dict[Value, None] = {}
        todo, seen = list(cls.subclasses), {cls}
        while todo and len(seen) < 500:
            each = todo.pop(0)
            if each in seen:
                continue
            seen.add(each)
            value = self._member_in(self.order(each), each, name)
            if value is not None:
                found[value._replace(bound=cls) if isinstance(value, Function) else value] = None
            else:
                todo += each.subclasses
        if not found or len(found) > _CANDIDATES:
            return None
        values = tuple(found)
        return values[0] if len(values) == 1 else Several(values)

    # -- classes -----------------------------------------------------------------------------------------------------

    def order(self, cls: Class) -> tuple[Class | Native, ...]:
        """The method resolution order; where Python would refuse it, bases in the order of writing."""
        found = self._orders.get(cls)
        if found is None:
            self._orders[cls] = (cls,)  # a class that inherits from itself ends here
            bases = self._base_classes(cls)
            chains: list[list[Class | Native]] = [[*self.order(b)] if isinstance(b, Class) else [b] for b in bases]
            found = self._orders[cls] = (cls, *merge_orders([*chains, bases]))
        return found

    def _base_classes(self, cls: Class) -> list[Class | Native]:
        bases: list[Class | Native] = []
        for symbol in cls.bases:
            value = self.evaluate(symbol, self.place(cls.module))
            if isinstance(value, ClassValue):
                bases.append(value.cls)
            elif isinstance(value, Native):
                bases.append(value)
        return bases

    def is_tensor(self, value: Value | None) -> bool:
        """Whether it is a Tensor."""
        if isinstance(value, NativeInstance):
            return value.name == TENSOR_BASE
        return isinstance(value, Instance) and Native(TENSOR_BASE) in self.order(value.cls)

    # -- calls and elements ------------------------------------------------------------------------------------------

    def call(self, value: Value | None) -> Value | None:
        """What calling a value gives."""
        if isinstance(value, Function):
            return self.returned(value)
        if isinstance(value, Binding):
            return self._native_result(value)
        if isinstance(value, ClassValue):
            return Instance(value.cls)
        if isinstance(value, Native):
            return NativeInstance(value.name)
        if isinstance(value, Instance):
            return self.call(self.entry(value.cls))
        if isinstance(value, Applied):
            forward = self.member(value.cls, "forward")
            return self.call(forward) or self.tensor
        if isinstance(value, Assigned):
            return self.call(value.values[-1])
        if isinstance(value, OperatorValue):
            return self.tensor
        if isinstance(value, Several):
            return next((r for each in value.values if (r := self.call(each)) is not None), None)
        return None

    def entry(self, cls: Class) -> Value | None:
        """What calling an instance runs: ``forward`` of an nn.Module, else ``__call__``."""
        order = self.order(cls)
        if any(isinstance(c, Class) and c.name == MODULE_CLASS for c in order):
            return self.member(cls, "forward")
        return self._member_in(order, cls, "__call__")

    def returned(self, function: Function) -> Value | None:
        """What a function returns, by its annotation or its return statements."""
        definition = function.definition
        if not definition.returns or definition.returns[0] == "%":
            return None
        owner = definition.module.classes.get(definition.qual.rpartition(".")[0])
        return self.evaluate(definition.returns, self.place(definition.module, function.bound or owner, owner))

    def _native_result(self, binding: Binding) -> Value | None:
        symbol = self.natives.result(binding.name)
        if symbol == "T":
            return self.tensor
        return SequenceOf(self.tensor) if symbol == "T{}" else None

    def _is_property(self, value: Value | None) -> bool:
        if isinstance(value, Function):
            return value.definition.kind == "p"
        return isinstance(value, Binding) and self.natives.is_property(value.name)

    def _property_value(self, used: Value) -> Value | None:
        return self.returned(used) if isinstance(used, Function) else self.call(used)

    def element(self, value: Value | None) -> Value | None:
        """An element of a container."""
        if isinstance(value, SequenceOf):
            return value.element
        if self.is_tensor(value):
            return value
        if isinstance(value, Instance):
            return self.call(self._member_in(self.order(value.cls), value.cls, "__getitem__"))
        return None
