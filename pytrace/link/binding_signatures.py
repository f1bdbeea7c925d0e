"""The signature that the Python argument parser reads for an operator, as ``torchgen/api/python.py`` writes it.

``signature_text(schema)`` is ``signature(f).signature_str()`` of torchgen:
``add(Tensor input, Tensor other, *, Scalar alpha=1, Tensor out=None)``.
"""

from __future__ import annotations

from pytrace.schema import Argument, Schema, Type

#: Base type of a schema -> what ``argument_type_str`` calls it; the others keep their name.
_BASES = {"int": "int64_t", "float": "double", "str": "c10::string_view"}
#: Base type of a list's elements -> name of the list type.
_LISTS = {
    "int": "IntArrayRef",
    "SymInt": "SymIntArrayRef",
    "Tensor": "TensorList",
    "Scalar": "ScalarList",
    "Dimname": "DimnameList",
}
#: ``JIT_TO_CPP_DEFAULT`` of torchgen/api/cpp.py, then ``pythonify_default`` and ``argument_str`` on top.
_DEFAULTS = {"[]": "None", "contiguous_format": "c10::MemoryFormat::Contiguous", "long": "at::kLong"}
_DEFAULTS["Mean"] = "at::Reduction::Mean"
#: Keyword arguments that every factory function takes in Python (``signature_from_schema``).
_OPTIONS = (
    "ScalarType? dtype=None",
    "Layout? layout=None",
    "Device? device=None",
    "bool? pin_memory=False",
    "bool? requires_grad=False",
)
_OPTION_NAMES = frozenset(("dtype", "layout", "device", "pin_memory"))


def type_text(type_: Type) -> str:
    """``argument_type_str``: ``int[2]`` -> ``IntArrayRef[2]``, ``Tensor?`` -> ``Tensor?``."""
    if type_.is_optional:
        return f"{type_text(type_.elem)}?"
    if type_.is_list:
        elem = type_.elem
        size = type_.list_size
        if elem.base == "bool":
            return f"::std::array<bool,{size}>"
        if str(elem) == "Tensor?":
            return "c10::List<::std::optional<Tensor>>"
        name = _LISTS.get(str(elem))
        if name is None:
            return f"ArrayRef<{type_text(elem)}>"
        return name if size is None else f"{name}[{size}]"
    return _BASES.get(type_.base, type_.base)


def _default(text: str, type_: Type) -> str:
    if type_.is_optional and text != "None":
        return _default(text, type_.elem)
    if type_.base == "str" and text[:1] == "'":
        return '"' + text[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    if type_.is_list and text != "[]" and text.startswith("["):
        return "{" + text[1:-1] + "}"
    return _DEFAULTS.get(text, text)


def _argument(argument: Argument, method: bool) -> str:
    kind = type_text(argument.type)
    name = "input" if argument.name == "self" and kind in ("Tensor", "Number") and not method else argument.name
    if argument.default is None:
        return f"{kind} {name}"
    return f"{kind} {name}={_default(argument.default, argument.type)}"


def _out(schema: Schema) -> list[str]:
    if not schema.out:
        return []
    if len(schema.out) == 1:
        return [f"{type_text(schema.out[0].type)} {schema.out[0].name}=None"]
    return [f"TensorList[{len(schema.out)}] out=None"]


def _takes_options(schema: Schema, category: str) -> bool:
    """Whether dtype, layout, device … are added: factories, ``_like`` and ``new_`` functions."""
    if category == "dummy":
        return False
    name = schema.cpp_name
    if category in ("factory", "new", "like") or name.startswith("new_") or name.endswith("_like"):
        return True
    takes = any(a.type.is_tensor_like for a in schema.non_out)
    return any(r.type.is_tensor_like for r in schema.returns) and not takes


def signature_text(schema: Schema, *, method: bool = False, category: str = "", deprecated: bool = False) -> str:
    """The signature of an operator's Python function, or of its method (then without self).

    ``category`` is ``category_override`` of the YAML entry.
    """
    positional = [_argument(a, method) for a in schema.positional if not (method and a.name == "self")]
    at = schema.options_index
    options = schema.kwarg_only[at : at + len(_OPTION_NAMES)] if at >= 0 else ()
    keyword = [_argument(a, method) for a in schema.kwarg_only if a not in options]
    keyword += _out(schema)
    if _takes_options(schema, category):
        keyword += _OPTIONS
    text = ", ".join([*positional, "*", *keyword] if keyword else positional)
    return f"{schema.name.name}({text}){'|deprecated' if deprecated else ''}"
