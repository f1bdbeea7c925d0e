"""The C++ declaration of a kernel function, as torchgen writes it into ``NativeFunctions.h``.

The rules are ``torchgen/api/native.py`` (plain kernels), ``torchgen/api/structured.py`` (``TORCH_IMPL_FUNC``) and the
types of ``torchgen/api/cpp.py`` that both start from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from pytrace.schema.function import TENSOR_OPTIONS, Argument, Schema, parse_argument, split_top
from pytrace.schema.types import Type

#: Base types whose C++ name is not their own in ``at`` (``BaseTypeToCppMapping`` in torchgen/api/types/types.py).
_VALUES = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "c10::string_view",
    "SymInt": "c10::SymInt",
    "SymBool": "c10::SymBool",
}
#: Lists with a C++ name of their own.
_LISTS = {"int": "at::IntArrayRef", "SymInt": "c10::SymIntArrayRef", "Dimname": "at::DimnameList"}
_OPTIONAL_LISTS = {"int": "at::OptionalIntArrayRef", "SymInt": "at::OptionalSymIntArrayRef"}

#: Defaults whose C++ spelling differs (``JIT_TO_CPP_DEFAULT`` in torchgen/api/cpp.py).
_DEFAULTS = {
    "False": "false",
    "True": "true",
    "None": "::std::nullopt",
    "Mean": "at::Reduction::Mean",
    "[]": "{}",
    "contiguous_format": "c10::MemoryFormat::Contiguous",
    "long": "at::kLong",
}


@cache
def _value_type(t: Type, symint: bool) -> str:
    """The type without regard to how it is passed."""
    base = "int" if t.base == "SymInt" and not symint else t.base
    if not t.wraps:
        return _VALUES.get(base, f"at::{base}")
    if t.is_optional:
        if t.elem.is_list and base in _OPTIONAL_LISTS and len(t.wraps) == 2:
            return _OPTIONAL_LISTS[base]
        return f"::std::optional<{_value_type(t.elem, symint)}>"
    if len(t.wraps) == 1:
        if base == "bool" and t.list_size is not None:
            return f"::std::array<bool,{t.list_size}>"
        if base in _LISTS:
            return _LISTS[base]
    return f"at::ArrayRef<{_value_type(t.elem, symint)}>"


def argument_type(a: Argument, *, symint: bool, const_ref_mutable: bool = False, tensor_list_ref: bool = False) -> str:
    """The type of a plain kernel's argument.

    ``const_ref_mutable`` is the YAML key ``use_const_ref_for_mutable_tensors``; ``tensor_list_ref`` is set for the
    members of structured groups, whose lists are ``ITensorListRef``.
    """
    text = str(a.type)
    reference = "&" if a.is_write and not const_ref_mutable else ""
    if text in ("Tensor", "Tensor?"):
        value = _value_type(a.type, symint)
        return f"{value} &" if reference else f"const {value} &"
    if text == "Tensor?[]":
        return "const c10::List<::std::optional<at::Tensor>> &"
    if text in ("Scalar", "Scalar?"):
        return f"const {_value_type(a.type, symint)} &"
    if text == "Tensor[]":
        return "const at::ITensorListRef &" if tensor_list_ref else "at::TensorList"
    return _value_type(a.type, symint)


def value_type(a: Argument, *, symint: bool = True, tensor_list_ref: bool = False) -> str:
    """The type in which the public C++ API takes an argument, without const and reference (``remove_const_ref``)."""
    text = str(a.type)
    if text == "Tensor[]":
        return "at::ITensorListRef" if tensor_list_ref else "at::TensorList"
    if text == "Tensor?[]":
        return "c10::List<::std::optional<at::Tensor>>"
    if text == "Tensor?" and a.is_write:
        return "at::Tensor"  # "TODO: fix this discrepancy" in torchgen/api/cpp.py
    return _value_type(a.type, symint)


def return_value_type(r: Argument) -> str:
    """The type of one return, without reference."""
    return f"::std::vector<{_value_type(r.type.elem, True)}>" if r.type.is_list else _value_type(r.type, True)


def return_names(schema: Schema) -> list[str]:
    """What generated code calls the returns: ``self``, the out argument, their own name, ``result``, ``result1``.

    The rule is ``return_names`` in torchgen/api/cpp.py.
    """
    names = []
    arguments = {a.name for a in schema.arguments}
    for i, r in enumerate(schema.returns):
        if schema.name.name.inplace:
            names.append("self")
        elif i < len(schema.out):
            names.append(schema.out[i].name)
        elif r.name:
            names.append(f"{r.name}_return" if r.name in arguments else r.name)
        else:
            names.append("result" if len(schema.returns) == 1 else f"result{i}")
    return names


def returns_type(returns: Sequence[Argument], *, const_ref_mutable: bool = False) -> str:
    """The return type of a kernel; SymInt is always returned as such."""
    if not returns:
        return "void"
    types = []
    for r in returns:
        value = return_value_type(r)
        if str(r.type) == "Tensor" and r.is_write:
            value = f"const {value} &" if const_ref_mutable else f"{value} &"
        types.append(value)
    return types[0] if len(types) == 1 else f"::std::tuple<{','.join(types)}>"


def default_expression(default: str, t: Type, *, symint: bool) -> str:
    """A schema's default as C++ (``default_expr`` in torchgen/api/cpp.py)."""
    if default == "None":
        return "{}" if str(t) == "Tensor?" else "::std::nullopt"
    if t.is_optional:
        return default_expression(default, t.elem, symint=symint)
    if str(t) == "str" and len(default) >= 2 and default[0] == default[-1] == "'":
        return '"' + default[1:-1].replace('\\"', '"').replace('"', '\\"').replace("\\'", "'") + '"'
    if t.is_list:
        if default.startswith("[") and default.endswith("]"):
            return "{" + default[1:-1] + "}"
        if symint and default.isdigit() and str(t.elem) == "SymInt":
            return f"c10::SymInt({default})"
    return _DEFAULTS.get(default, default)


def declaration(
    schema: Schema, name: str, *, symint: bool, const_ref_mutable: bool = False, tensor_list_ref: bool = False
) -> str:
    """``at::Tensor & add_out(const at::Tensor & self, …, at::Tensor & out)``."""
    parts = []
    at = schema.options_index
    options = {a.name for a in schema.kwarg_only[at : at + len(TENSOR_OPTIONS)]} if at >= 0 else set()
    for a in schema.arguments:
        written = argument_type(a, symint=symint, const_ref_mutable=const_ref_mutable, tensor_list_ref=tensor_list_ref)
        if a.name in options:
            # torchgen/api/native.py gives the four parts of TensorOptions as optional, whatever the schema says.
            written = written if written.startswith("::std::optional") else f"::std::optional<{written}>"
        if not schema.out and (a.default is not None or a.name in options):
            default = "{}" if a.name in options else default_expression(str(a.default), a.type, symint=symint)
            parts.append(f"{written} {a.name}={default}")
        else:
            parts.append(f"{written} {a.name}")
    return f"{returns_type(schema.returns, const_ref_mutable=const_ref_mutable)} {name}({', '.join(parts)})"


def impl_arguments(schema: Schema, precomputed: Iterable[str] = ()) -> list[str]:
    """The arguments of ``TORCH_IMPL_FUNC`` for a structured out= schema, with what the meta function precomputes.

    ``precomputed`` holds lines such as ``kernel_size -> int kH, int kW``; a last line without arrow adds arguments.
    """
    replaced: dict[str, list[Argument]] = {}
    added: list[Argument] = []
    for line in precomputed:
        name, arrow, right = line.partition(" -> ")
        parsed = [parse_argument(part) for part in split_top(right if arrow else line)]
        if arrow:
            replaced[name] = parsed
        else:
            added += parsed
    arguments = [new for a in schema.non_out for new in replaced.get(a.name, [a])]
    return [f"{_structured_type(a)} {a.name}" for a in (*arguments, *added, *schema.out)]


def _structured_type(a: Argument) -> str:
    text = str(a.type)
    special = {
        "Tensor": "const at::Tensor &",
        "Scalar": "const at::Scalar &",
        "Tensor?": "at::OptionalTensorRef",
        "Scalar?": "at::OptionalScalarRef",
        "Tensor[]": "const at::ITensorListRef &",
        "Tensor?[]": "at::IOptTensorListRef",
    }
    if a.type.base == "SymInt" and a.type.is_list:
        # torchgen/api/structured.py names IntArrayRef for `int` alone; the two are the same type.
        return "at::ArrayRef<int64_t>"
    return special.get(text) or _value_type(a.type, False)
