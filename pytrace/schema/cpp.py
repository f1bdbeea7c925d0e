"""The C++ face of an operator: names and argument kinds of ``at::foo``, ``tensor.foo`` and ``at::native::foo``.

The rules are ``torchgen/api/cpp.py`` (the public API), ``torchgen/api/native.py`` (kernels) and
``CppSignatureGroup`` in ``torchgen/api/types/signatures.py``.

Kinds of arguments are words, not C++ types: what matters for the choice of an overload is whether an
``int64_t``, a ``Scalar`` or a ``Tensor`` is taken, not how it is passed. ``KINDS`` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pytrace.schema.function import TENSOR_OPTIONS, Argument, Schema
from pytrace.schema.types import Type

#: Base type of a schema -> kind of its list (``torchgen/api/cpp.py: argumenttype_type``).
_LISTS = {
    "Tensor": "TensorList",
    "int": "IntArrayRef",
    "SymInt": "SymIntArrayRef",
    "Scalar": "ScalarList",
    "Dimname": "DimnameList",
    "float": "FloatArrayRef",
    "bool": "BoolArray",
    "str": "StrArrayRef",
}

#: Every kind an argument can have; custom classes and JIT types keep their own text.
KINDS = frozenset(
    (*_LISTS, *_LISTS.values(), "OptTensor", "OptTensorList", "TensorOptions", "SymBool", "ScalarType", "Layout")
) | frozenset(("Device", "DeviceIndex", "MemoryFormat", "QScheme", "Generator", "Storage", "Stream", "GraphModule"))


class CppArgument(NamedTuple):
    """One argument of a C++ signature."""

    name: str
    kind: str
    optional: bool  #: ``std::optional<…>``: ``std::nullopt`` or the plain value may be given
    default: bool  #: whether a call may leave it out
    written: bool = False  #: an out argument, or a tensor that is modified


class CppSignature(NamedTuple):
    """One C++ overload: what ``at::NAME(…)`` or ``x.NAME(…)`` may mean.

    ``args`` has no ``self`` when ``method``. ``required`` is the number of arguments without default.
    """

    name: str
    method: bool
    faithful: bool  #: arguments as in the schema (``_outf``, dtype/layout/device/pin_memory apart), no defaults
    symint: bool  #: takes ``SymInt`` where the other takes ``int64_t``
    args: tuple[CppArgument, ...]
    required: int

    def accepts_count(self, count: int) -> bool:
        """Whether a call with so many arguments can mean this overload."""
        return self.required <= count <= len(self.args)


@cache
def kind_of(type_: Type, symint: bool) -> tuple[str, bool]:
    """(kind, optional) of a schema's type; without ``symint``, SymInt is what it is in the plain overload: an int."""
    if type_.is_optional:
        kind, _ = kind_of(type_.elem, symint)
        return ("OptTensor" if kind == "Tensor" else kind), True
    if type_.is_list:
        elem = type_.elem
        if elem.is_optional:
            return ("OptTensorList" if elem.base == "Tensor" else f"{elem.base}List"), False
        base = "int" if elem.base == "SymInt" and not symint else elem.base
        return _LISTS.get(base, f"{base}List"), False
    return ("int" if type_.base == "SymInt" and not symint else type_.base), False


@cache
def _argument(a: Argument, symint: bool, default: bool) -> CppArgument:
    kind, optional = kind_of(a.type, symint)
    return CppArgument(a.name, kind, optional, default and a.default is not None, a.is_write)


def _kwargs(schema: Schema, *, faithful: bool, symint: bool, no_default: frozenset[str]) -> Iterator[CppArgument]:
    at = -1 if faithful else schema.options_index
    for i, a in enumerate(schema.kwarg_only):
        if i == at:
            group = schema.kwarg_only[at : at + len(TENSOR_OPTIONS)]
            # torchgen/api/cpp.py: `{}` when all four default to None, `at::kLong` when dtype defaults to long.
            default = all(g.default == "None" for g in group) or group[0].default == "long"
            yield CppArgument("options", "TensorOptions", False, default)
        elif not at <= i < at + len(TENSOR_OPTIONS) or at < 0:
            yield _argument(a, symint, not faithful and a.name not in no_default)


def signature(
    schema: Schema, *, method: bool, faithful: bool, symint: bool, no_default: frozenset[str] = frozenset()
) -> CppSignature:
    """One C++ overload of a schema (``CppSignature`` of torchgen).

    ``no_default`` holds the arguments of ``cpp_no_default_args``.
    """
    args: list[CppArgument] = []
    if not faithful:
        args += [_argument(a, symint, False) for a in schema.out]
    self_index = schema.self_index if method else -1
    args += [
        _argument(a, symint, not faithful and a.name not in no_default)
        for i, a in enumerate(schema.positional)
        if i != self_index
    ]
    args += _kwargs(schema, faithful=faithful, symint=symint, no_default=no_default)
    if faithful:
        args += [_argument(a, symint, False) for a in schema.out]
    required = next((i for i in range(len(args), 0, -1) if not args[i - 1].default), 0)
    return CppSignature(
        cpp_name(schema, faithful=faithful, symint=symint), method, faithful, symint, tuple(args), required
    )


def cpp_name(schema: Schema, *, faithful: bool = False, symint: bool = False) -> str:
    """``add``, ``add_out``, ``add_outf``, ``view_symint``, ``view_copy_symint_outf`` (torchgen/api/cpp.py: name)."""
    name = f"{schema.name.name}_symint" if symint else str(schema.name.name)
    if schema.out:
        name += "_outf" if faithful else "_out"
    return name


def signature_flags(schema: Schema) -> list[tuple[bool, bool]]:
    """The (faithful, symint) of every C++ overload that a schema has."""
    faithful = (False, True) if schema.out or schema.options_index >= 0 else (False,)
    return [(f, s) for s in ((False, True) if schema.has_symint else (False,)) for f in faithful]


def native_signature(schema: Schema, name: str, *, symint: bool) -> CppSignature:
    """The signature of a kernel function: schema order, out arguments last, defaults unless it is out=.

    ``symint`` is whether the kernel's name says so (``BackendMetadata.supports_symint``).
    """
    default = not schema.out
    args = tuple([_argument(a, symint, default) for a in schema.arguments])
    required = next((i for i in range(len(args), 0, -1) if not args[i - 1].default), 0)
    return CppSignature(name, False, True, symint, args, required)


def native_default_name(schema: Schema) -> str:
    """The name that a kernel has when nobody says otherwise (torchgen/api/native.py: name)."""
    overload = schema.name.overload
    return f"{schema.cpp_name}_{overload}" if overload else schema.cpp_name
