"""What the registration API of PyTorch's Python side does, in the words of the symbolic interpreter.

One method per function of the API, with the file that defines it. Whatever registers something ends in ``record``;
``link/python_registrations.py`` turns the events into nodes and edges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pytrace.link.python_builtins import BUILTINS, plain_method
from pytrace.link.python_values import (
    UNKNOWN,
    Argument,
    Bound,
    CustomOp,
    Function,
    Hop,
    Library,
    Native,
    Op,
    OpNamespace,
    Path,
    Record,
    SchemaValue,
    Site,
    Value,
    key_name,
    module_name,
    ops_in,
)

Args = Sequence[Value]
Kwargs = Mapping[str, Value]


class Event(NamedTuple):
    """One registration."""

    rule: str  #: ``python-library-impl``, ``python-py-impl``, ``python-define``, ``python-decomposition``, …
    op: str  #: full name, or ``higher_order::cond``
    key: str  #: dispatch key, or the table: ``decomposition``, ``lowering``, ``fallback``, …
    function: Value  #: Function or Path; None for a definition, UNKNOWN when it is not known
    site: Site
    schema: str = ""


class Operators(Protocol):
    """What is known about operators."""

    def overloads(self, packet: str) -> list[str]:
        """Full names of the overloads of ``aten::add``."""

    def exists(self, name: str) -> bool:
        """Whether this overload is known."""

    def define(self, schema: str, site: Site) -> str:
        """Enter an operator from its schema with namespace; its full name."""

    def has_kernel(self, name: str, key: str) -> bool:
        """Whether a kernel is registered for this key itself."""

    def is_view(self, name: str) -> bool:
        """``OpOverload.is_view``: some argument is aliased, none is written (torch/_ops.py)."""

    def arguments(self, name: str) -> list[tuple[str, str]] | None:
        """(name, type) of the arguments in the schema; None when it is not known."""


#: ``torch.library.impl`` also takes device types; those it knows are keys in another case (torch/library.py).
_COMPOSITE = "CompositeExplicitAutograd"
_CLOSURES = "torch._library"
#: What ``CustomOpDef._register_to_dispatcher`` registers besides the kernel (torch/_library/custom_ops.py).
_AUTOGRAD_CLOSURE = Path("torch._library.autograd.make_autograd_impl")
_FAKE_CLOSURE = Path("torch._library.custom_ops.CustomOpDef._register_to_dispatcher")

#: Decorators that put a function into a table for operators: bare name -> name of the table. Any other function whose
#: name begins with ``register`` and that is given operators makes a table of its own name.
TABLES = {
    "register_op_impl": "fake",  # torch/_subclasses/fake_impls.py
    "register_flop_formula": "flop_formula",  # torch/utils/flop_counter.py
    "register_func": "jagged",  # torch/nested/_internal/ops.py; register_jagged_func is a partial of it
    "onnx_symbolic": "onnx_symbolic",  # torch/onnx/_internal/registration.py
    "_onnx_symbolic": "onnx_symbolic",  # as torch/onnx/symbolic_opset9.py imports it
    "onnx_impl": "onnx",  # torch/onnx/_internal/exporter/_torchlib/_torchlib_registry.py
}
_REGISTER = re.compile(r"_?register_(\w+)")


class Primitives:
    """The API; one per link run."""

    def __init__(self, operators: Operators) -> None:
        self.operators = operators
        #: what a dotted name means; the linker sets it to ``Interpreter.path``
        self.resolve: Callable[[str], Value] = Path
        self.events: list[Event] = []
        #: ``torch._decomp.global_decomposition_table``: type -> operator -> function
        self.tables: dict[str, dict[Value, Value]] = {"post_autograd": {}, "pre_autograd": {}, "meta": {}}
        self._functions: dict[str, Callable[[Args, Kwargs, Site], Value]] = {
            "torch._decomp.register_decomposition": self._register_decomposition,
            "torch._decomp._add_op_to_registry": self._add_op_to_registry,
            "torch._meta_registrations.register_meta": self._register_meta,
            "torch._prims_common.get_aten_op": self._get_aten_op,
            "torch._inductor.lowering._register_lowering": self._register_lowering,
            "torch._inductor.lowering._register_foreach_lowering": self._register_lowering,
            "torch._inductor.lowering.fallback_handler": self._fallback_handler,
            "torch.library.Library": self._library,
            "torch.library._scoped_library": self._library,
            "torch.library.impl": self._impl,
            "torch.library.define": self._define,
            "torch.library.custom_op": self._custom_op,
            "torch._library.custom_ops.custom_op": self._custom_op,
            "torch.library.triton_op": self._custom_op,
            "torch._library.triton.triton_op": self._custom_op,
            "torch.library.register_fake": self._register_fake,
            "torch.library.impl_abstract": self._register_fake,
            "torch.library.register_kernel": self._register_kernel,
            "torch.library.register_autograd": self._register_autograd,
            "torch.library.register_vmap": self._register_vmap,
            "torch._C._dispatch_has_kernel_for_dispatch_key": self._has_kernel,
            "torch._C.parse_schema": lambda args, _k, _s: args[0] if args else UNKNOWN,
            "torch._library.utils.is_functional_schema": self._is_functional,
            "torch._subclasses.fake_impls.contains_tensor_types": self._contains_tensor,
            "torch._running_with_deploy": lambda _a, _k, _s: False,
            "builtins.getattr": self._getattr,
            **BUILTINS,
        }
        self._constants: dict[str, Value] = {
            "torch._decomp.global_decomposition_table": self.tables,
            "typing.TYPE_CHECKING": False,
        }

    def find(self, name: str) -> Callable[[Args, Kwargs, Site], Value] | None:
        """The primitive of this dotted name."""
        found = self._functions.get(name)
        if found is None and name.rpartition(".")[2] in TABLES:
            return lambda args, kwargs, site: self.unknown_call(name, args, kwargs, site)
        return found

    def constant(self, name: str) -> Value:
        """The value of a dotted name; UNKNOWN when it has none of its own."""
        return self._constants.get(name, UNKNOWN)

    def record(self, rule: str, op: str, key: str, function: Value, site: Site, schema: str = "") -> None:
        """Note a registration."""
        self.events.append(Event(rule, op, key, function, site, schema))

    # -- attributes and methods --------------------------------------------------------------------------------------

    def attribute(self, owner: Value, name: str) -> Value:
        """An attribute of a value."""
        if isinstance(owner, Op):
            return self._op_attribute(owner, name)
        if isinstance(owner, CustomOp) and name in ("_lib", "lib"):
            return owner.library
        if isinstance(owner, Record):
            return owner.fields.get(name)  # a field that is not given has a default; mostly None
        if isinstance(owner, (SchemaValue, Argument)):
            return getattr(owner, name, UNKNOWN)
        if isinstance(owner, (Hop, CustomOp, Library)) or type(owner) in (str, list, dict):
            return Bound(owner, name)
        return UNKNOWN

    def _op_attribute(self, op: Op, name: str) -> Value:
        if name == "__name__":
            return op.base if op.overload is None else f"{op.base}.{op.overload or 'default'}"
        if name == "is_view" and op.overload is not None:
            return self.operators.is_view(op.name)
        if name in (
            "default",
            "name",
            "overloads",
            "py_impl",
            "py_functionalize_impl",
            "overloadpacket",
            "_schema",
            "tags",
        ):
            if name == "default":
                return Op(op.namespace, op.base, "")
            if name == "overloadpacket":
                return Op(op.namespace, op.base)
            if name == "_schema":
                found = self.operators.arguments(op.name)
                return UNKNOWN if found is None else SchemaValue([Argument(*row) for row in found])
            return Bound(op, name)
        return Op(op.namespace, op.base, name) if op.overload is None and not name.startswith("__") else UNKNOWN

    def method(self, owner: Value, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A method call."""
        if isinstance(owner, Op) and name == "name":
            return owner.name
        if isinstance(owner, Op) and name == "overloads":
            names = self.operators.overloads(f"{owner.namespace}::{owner.base}")
            return [n.partition(".")[2] or "default" for n in names]
        if isinstance(owner, (Op, Hop)) and name in ("py_impl", "py_functionalize_impl"):
            return self._py_impl(owner, name, args, site)
        if isinstance(owner, Library):
            return self._library_method(owner, name, args, kwargs, site)
        if isinstance(owner, CustomOp):
            return self._custom_op_method(owner, name, args, kwargs, site)
        return plain_method(owner, name, args)

    def unknown_call(self, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A decorator that enters a function into a table for operators, by the rule of its name."""
        bare = name.rpartition(".")[2]
        table = TABLES.get(bare)
        found = _REGISTER.fullmatch(bare)
        if table is None and found is None:
            return UNKNOWN
        given = [*args, *kwargs.values()]
        ops = next(filter(None, (self._named(value, strings=table is not None) for value in given)), [])
        if not ops:
            return Native(lambda inner, _k, _s: inner[0] if inner else UNKNOWN) if table else UNKNOWN
        key = table or (found.group(1) if found else bare)
        functions = [a for a in args[1:] if isinstance(a, Function)]
        if functions:  # register_x(op, function)
            self._table(key, ops, functions[0], site)
            return functions[0]
        return self._decorator(lambda fn, at: self._table(key, ops, fn, site))

    def _named(self, value: Value, *, strings: bool) -> list[Op | Hop]:
        """Operators in a value; with ``strings`` also ``"aten::add"``."""
        if isinstance(value, str):
            if not strings or not re.fullmatch(r"\w+::\w+(\.\w+)?", value):
                return []
            namespace, _, local = value.partition("::")
            base, dot, overload = local.partition(".")
            return [Op(namespace, base, overload if dot else None)]
        if type(value) in (list, tuple):
            return [op for part in value for op in self._named(part, strings=strings)]
        return ops_in(value)

    def _table(self, key: str, ops: Sequence[Op | Hop], function: Value, site: Site) -> None:
        for name in self._expand(ops):
            self.record(f"python-{key.replace('_', '-')}", name, key, function, site)

    def _expand(self, ops: Sequence[Op | Hop]) -> list[str]:
        """Full names; a packet means all of its overloads."""
        names: list[str] = []
        for op in ops:
            if isinstance(op, Hop):
                names.append(f"higher_order::{op.name}")
            elif op.overload is None:
                names += self.operators.overloads(f"{op.namespace}::{op.base}")
            else:
                names.append(op.name)
        return names

    @staticmethod
    def _decorator(register: Callable[[Value, Site], Any]) -> Native:
        def apply(args: Args, _kwargs: Kwargs, site: Site) -> Value:
            function = args[0] if args else UNKNOWN
            register(function, site)
            return function

        return Native(apply)

    # -- torch/_ops.py -----------------------------------------------------------------------------------------------

    def _py_impl(self, op: Op | Hop, name: str, args: Args, site: Site) -> Value:
        def register(function: Value, _: Site) -> None:
            for full in self._expand([op]):
                self.record("python-py-impl", full, key, function, site)

        if name == "py_functionalize_impl":
            key = "Functionalize"
            register(args[0] if args else UNKNOWN, site)
            return args[0] if args else UNKNOWN
        key = key_name(args[0]) if args else ""
        return self._decorator(register)

    # -- torch/_decomp/__init__.py, torch/_meta_registrations.py -----------------------------------------------------

    def _register_decomposition(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        ops = ops_in(_argument(args, kwargs, 0, "aten_op"))
        registry = _argument(args, kwargs, 1, "registry")
        kind = kwargs.get("type", "post_autograd")
        if registry is None:
            table = self.tables.get(kind if isinstance(kind, str) else "")
            key = "decomposition" if kind == "post_autograd" else f"decomposition.{kind}"
        else:
            table = registry if type(registry) is dict else None
            key = f"decomposition:{module_name(site.file)}"  # a table of the module's own
        return self._decorator(lambda function, _: self._enter(table, key, ops, function, site))

    def _register_meta(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        ops = ops_in(_argument(args, kwargs, 0, "op"))
        return self._decorator(lambda function, _: self._enter(self.tables["meta"], "meta", ops, function, site))

    def _add_op_to_registry(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        registry, op, function = (_argument(args, kwargs, i, n) for i, n in enumerate(("registry", "op", "fn")))
        self._enter(registry if type(registry) is dict else None, "decomposition", ops_in(op), function, site)
        return None

    def _enter(
        self, table: dict[Value, Value] | None, key: str, ops: Sequence[Op | Hop], function: Value, site: Site
    ) -> None:
        """``_add_op_to_registry``: a packet enters all overloads that the dispatcher knows."""
        for op in ops:
            entries: list[Op | Hop]
            if isinstance(op, Op) and op.overload is None:
                names = self.operators.overloads(f"{op.namespace}::{op.base}")
                entries = [Op(op.namespace, op.base, n.partition(".")[2]) for n in names]
            else:
                entries = [op] if isinstance(op, Hop) or self.operators.exists(op.name) else []
            for entry in entries:
                if table is not None:
                    table.setdefault(entry, function)
                name = entry.name if isinstance(entry, Op) else f"higher_order::{entry.name}"
                rule = "python-meta" if key == "meta" else "python-decomposition"
                self.record(rule, name, key, function, site)

    # -- torch/_prims_common/__init__.py -----------------------------------------------------------------------------

    def _get_aten_op(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """``torch._refs.special.i0e`` means ``aten.special_i0e``."""
        function, name = (_argument(args, kwargs, i, n) for i, n in enumerate(("fn", "name")))
        if not isinstance(function, Function) or not isinstance(name, str):
            return UNKNOWN
        prefix = function.module.removeprefix("torch._refs").removeprefix(".").replace(".", "_")
        return Op("aten", f"{prefix}_{name}" if prefix else name)

    # -- torch/_inductor/lowering.py ---------------------------------------------------------------------------------

    def _register_lowering(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        ops = ops_in(_argument(args, kwargs, 0, "aten_fn"))
        function = _argument(args, kwargs, 1, "decomp_fn")
        fallback = isinstance(function, Native)
        for name in self._expand(ops):
            self.record("python-lowering", name, "lowering", _FALLBACK if fallback else function, site)
        return function

    def _fallback_handler(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        if _argument(args, kwargs, 1, "add_to_fallback_set") is not False:
            for name in self._expand(ops_in(args[0] if args else None)):
                self.record("python-fallback", name, "fallback", _FALLBACK, site)
        return Native(lambda _a, _k, _s: UNKNOWN)

    # -- torch/library.py, torch/_library/ ---------------------------------------------------------------------------

    def _library(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        namespace, kind, key = (_argument(args, kwargs, i, n) for i, n in enumerate(("ns", "kind", "dispatch_key")))
        return Library(namespace, str(kind), key or "") if isinstance(namespace, str) else UNKNOWN

    def _library_method(self, library: Library, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        if name == "define":
            schema = _argument(args, kwargs, 0, "schema")
            return self._define_schema(library.namespace, schema, site) if isinstance(schema, str) else UNKNOWN
        if name in ("impl", "_register_fake"):
            op, function = (_argument(args, kwargs, i, n) for i, n in enumerate(("op_name", "fn")))
            key = _argument(args, kwargs, 2, "dispatch_key") if name == "impl" else "Meta"
            full = self._full_name(op, library.namespace)
            if full:
                self.record("python-library-impl", full, key_name(key) or library.key, function, site)
        return None

    def _full_name(self, op: Value, namespace: str = "") -> str:
        if isinstance(op, Op):
            return op.name
        if isinstance(op, CustomOp):
            return op.op.name
        if not isinstance(op, str):
            return ""
        return op if "::" in op else f"{namespace}::{op}"

    def _define_schema(self, namespace: str, schema: str, site: Site) -> str:
        text = " ".join(schema.split())
        full = self.operators.define(text if "::" in text.partition("(")[0] else f"{namespace}::{text}", site)
        self.record("python-define", full, "", None, site, text)
        return full

    def _define(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        name, schema = (_argument(args, kwargs, i, n) for i, n in enumerate(("qualname", "schema")))
        if isinstance(name, Library) and isinstance(schema, str):
            self._define_schema(name.namespace, schema, site)
        elif isinstance(name, str) and isinstance(schema, str):
            self._define_schema("", name + schema, site)
        return UNKNOWN

    def _impl(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """``impl(library, name, key)`` or ``impl("ns::name", types)``, as a decorator or with the function last."""
        first, second = (_argument(args, kwargs, i, n) for i, n in enumerate(("qualname", "types")))
        third = args[2] if len(args) > 2 else kwargs.get("func", kwargs.get("dispatch_key"))
        if isinstance(first, Library):
            name, keys, function = self._full_name(second, first.namespace), [key_name(third) or first.key], None
        else:
            name = self._full_name(first)
            keys = [_device_key(t) for t in (second if type(second) in (list, tuple) else [second])]
            function = third

        def register(fn: Value, _: Site) -> None:
            for key in keys:
                self.record("python-library-impl", name, key, fn, site)

        if not name:
            return UNKNOWN
        if function is not None:
            register(function, site)
            return None
        return self._decorator(register)

    def _custom_op(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """``CustomOpDef``: defines the operator and registers its kernel, an autograd kernel and a fake one."""
        name = _argument(args, kwargs, 0, "name")
        function = args[1] if len(args) > 1 else kwargs.get("fn")
        if not isinstance(name, str) or "::" not in name:
            return UNKNOWN

        def make(fn: Value) -> Value:
            schema = kwargs.get("schema")
            namespace, _, local = name.partition("::")
            self._define_schema(namespace, local + (schema if isinstance(schema, str) else ""), site)
            given = kwargs.get("device_types")
            devices: list[Value] = list(given) if isinstance(given, (list, tuple)) else [given or "default"]
            for device in devices:
                self.record("python-library-impl", name, _device_key(device), fn, site)
            self.record("python-library-impl", name, "Autograd", _AUTOGRAD_CLOSURE, site)
            self.record("python-library-impl", name, "Meta", _FAKE_CLOSURE, site)
            base, _, overload = local.partition(".")
            return CustomOp(Op(namespace, base, overload), Library(namespace, "FRAGMENT", ""))

        if function is not None:
            return make(function)
        return Native(lambda inner, _k, _s: make(inner[0] if inner else UNKNOWN))

    def _custom_op_method(self, owner: CustomOp, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        rule_key = _CUSTOM_METHODS.get(name)
        if rule_key is None:
            return UNKNOWN
        rule, key = rule_key
        if name == "register_kernel":
            device = _argument(args, kwargs, 0, "device_types")
            args, key = args[1:], _device_key(device)
        function = args[0] if args else kwargs.get("fn", kwargs.get("func"))
        if function is not None:
            self.record(rule, owner.op.name, key, function, site)
            return function
        return self._decorator(lambda fn, _: self.record(rule, owner.op.name, key, fn, site))

    def _for_operator(self, rule: str, key: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """``register_x(op, function=None)``, as a decorator or not."""
        name = self._full_name(args[0] if args else kwargs.get("op", kwargs.get("qualname")))
        function = args[1] if len(args) > 1 else kwargs.get("func", kwargs.get("backward"))
        if not name:
            return UNKNOWN
        if function is not None:
            self.record(rule, name, key, function, site)
            return function
        return self._decorator(lambda fn, _: self.record(rule, name, key, fn, site))

    def _register_fake(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        return self._for_operator("python-library-impl", "Meta", args, kwargs, site)

    def _register_vmap(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        return self._for_operator("python-library-impl", "FuncTorchBatched", args, kwargs, site)

    def _register_autograd(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        return self._for_operator("python-library-impl", "Autograd", args, kwargs, site)

    def _register_kernel(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        key = _device_key(_argument(args, kwargs, 1, "device_types"))
        rest = [*args[:1], *args[2:]]
        return self._for_operator("python-library-impl", key, rest, kwargs, site)

    # -- torch/_C, torch/_library/utils.py ---------------------------------------------------------------------------

    def _has_kernel(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        known = len(args) == 2 and all(isinstance(a, str) for a in args)
        return self.operators.has_kernel(args[0], args[1]) if known else UNKNOWN

    def _is_functional(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """No argument is written, something is returned, and it aliases no argument."""
        text = args[0] if args else None
        if not isinstance(text, str):
            return UNKNOWN
        return not re.search(r"\w\([a-z]|!|->\s*\(\s*\)", text.partition("(")[2])

    @staticmethod
    def _contains_tensor(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
        """Whether a type of a schema is a Tensor or has one inside."""
        return "Tensor" in args[0] if args and isinstance(args[0], str) else UNKNOWN

    # -- builtins ----------------------------------------------------------------------------------------------------

    def _getattr(self, args: Args, kwargs: Kwargs, site: Site) -> Value:
        if len(args) < 2 or not isinstance(args[1], str):
            return UNKNOWN
        owner, name = args[0], args[1]
        if isinstance(owner, OpNamespace):
            return Op(owner.name, name)
        if isinstance(owner, Path):
            return self.resolve(f"{owner.name}.{name}")
        return self.attribute(owner, name)


_FALLBACK = Path("torch._inductor.lowering.fallback_handler")
#: Methods of ``CustomOpDef`` -> rule and key. A fake or autograd formula replaces what ``custom_op`` registered.
_CUSTOM_METHODS = {
    "register_fake": ("python-fake", "Meta"),
    "register_autograd": ("python-autograd", "Autograd"),
    "register_vmap": ("python-library-impl", "FuncTorchBatched"),
    "register_kernel": ("python-library-impl", ""),
}


def _argument(args: Args, kwargs: Kwargs, index: int, name: str) -> Value:
    return args[index] if index < len(args) else kwargs.get(name)


def _device_key(device: Value) -> str:
    """``cpu`` -> ``CPU``, ``default`` -> CompositeExplicitAutograd; a dispatch key stays itself."""
    text = key_name(device)
    if text in ("default", ""):
        return _COMPOSITE
    return text.upper() if text.islower() and len(text) < 5 else text
