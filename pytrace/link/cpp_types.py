"""Kinds of C++ types: one word for what decides an overload and who a receiver is.

The words are those of ``pytrace.schema.cpp`` (``Tensor``, ``TensorList``, ``int``, ``IntArrayRef``, ``Scalar`` …), with
``X?`` for an optional, ``ptr X`` for a pointer or smart pointer, ``tuple A;B``, ``array X`` for a sequence of X that is
no list of the schema, and for a class of the tree its name as written without template arguments.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pytrace.extract.cpp_text import split_top, template_arguments, without_templates

_STRIP = re.compile(
    r"\b(?:const|volatile|constexpr|static|inline|typename|struct|class|mutable|extern|register|TORCH_API|C10_API)\b"
)
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]")
_NAMESPACE = re.compile(r"^(?:::)?(?:std|c10|at|torch|caffe2|autograd|indexing)::(?=\w+(?:<|$|\s|&|\*))")

#: Spellings of types that mean one kind. Right side: the word of ``pytrace.schema.cpp``.
_SIMPLE = {
    "Tensor": "Tensor",
    "TensorBase": "Tensor",
    "Variable": "Tensor",
    "OptionalTensorRef": "OptTensor",
    "TensorRef": "Tensor",
    "TensorList": "TensorList",
    "ITensorListRef": "TensorList",
    "MaterializedITensorListRef": "TensorList",
    "variable_list": "TensorList",
    "IOptTensorListRef": "OptTensorList",
    "tensor_list": "TensorList",
    "int": "int",
    "int8_t": "int",
    "int16_t": "int",
    "int32_t": "int",
    "int64_t": "int",
    "uint8_t": "int",
    "uint16_t": "int",
    "uint32_t": "int",
    "uint64_t": "int",
    "unsigned": "int",
    "unsigned int": "int",
    "long": "int",
    "long long": "int",
    "unsigned long": "int",
    "short": "int",
    "size_t": "int",
    "ptrdiff_t": "int",
    "auto_int": "int",
    "DeviceIndex": "int",
    "char": "int",
    # the names that AT_DISPATCH_* and its users give to the element type (aten/src/ATen/Dispatch.h, OpMathType.h)
    **dict.fromkeys(
        ("scalar_t", "opmath_t", "acc_t", "accscalar_t", "opmath_type", "scalar_type", "value_t", "at_scalar_t"),
        "float",
    ),
    "index_t": "int",  # the same of AT_DISPATCH_INDEX_TYPES
    "double": "float",
    "float": "float",
    "long double": "float",
    "bool": "bool",
    "SymInt": "SymInt",
    "SymFloat": "float",
    "SymBool": "bool",
    "Scalar": "Scalar",
    "IntArrayRef": "IntArrayRef",
    "IntList": "IntArrayRef",
    "DimVector": "IntArrayRef",
    "SymIntArrayRef": "SymIntArrayRef",
    "SymDimVector": "SymIntArrayRef",
    "OptionalIntArrayRef": "IntArrayRef?",
    "OptionalSymIntArrayRef": "SymIntArrayRef?",
    "OptionalArrayRef": "IntArrayRef?",
    "string": "str",
    "string_view": "str",
    "str": "str",
    "ScalarType": "ScalarType",
    "TypeMeta": "ScalarType",
    "Device": "Device",
    "DeviceType": "Device",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
    "TensorOptions": "TensorOptions",
    "Generator": "Generator",
    "Dimname": "Dimname",
    "DimnameList": "DimnameList",
    "Storage": "Storage",
    "Stream": "Stream",
    "QScheme": "QScheme",
    "nullopt": "nullopt",
    "nullopt_t": "nullopt",
    "nullptr": "nullptr",
    "lambda": "lambda",
    "{}": "{}",
    "void": "void",
}
#: list kinds by the kind of their element (c10::ArrayRef<int64_t> is IntArrayRef, …)
LIST_OF = {
    "Tensor": "TensorList",
    "OptTensor": "OptTensorList",
    "int": "IntArrayRef",
    "SymInt": "SymIntArrayRef",
    "Scalar": "ScalarList",
    "Dimname": "DimnameList",
    "float": "FloatArrayRef",
    "bool": "BoolArray",
    "str": "StrArrayRef",
}
ELEMENT_OF = {v: k for k, v in LIST_OF.items()}
_SEQUENCES = frozenset(
    [
        "ArrayRef",
        "List",
        "vector",
        "SmallVector",
        "array",
        "initializer_list",
        "IListRef",
        "OptionalArrayRef",
        "SmallVectorImpl",
        "unordered_set",
        "set",
        "deque",
        "small_vector",
        "MaterializedIListRef",
    ]
)
_POINTERS = frozenset(
    [
        "unique_ptr",
        "shared_ptr",
        "intrusive_ptr",
        "weak_ptr",
        "MaybeOwned",
        "ExclusivelyOwned",
        "reference_wrapper",
        "strong_pointer",
        # functions of the standard library and of c10 that make one of the class that they are given
        "make_unique",
        "make_shared",
        "make_intrusive",
    ]
)


@lru_cache(maxsize=100_000)
def kind_of(text: str) -> str:
    """The kind of a declared type as written, "" when nothing is known of it (``auto``, a template parameter).

    >>> kind_of("const std::optional<at::Tensor>&")
    'OptTensor'
    >>> kind_of("c10::ArrayRef<int64_t>")
    'IntArrayRef'
    """
    if "[[" in text:
        text = _ATTRIBUTE.sub(" ", text)
    text = _STRIP.sub(" ", text).strip()
    pointer = text.count("*") if "<" not in text else text.rpartition(">")[2].count("*")
    while text and text[-1] in "&* ":
        text = text[:-1]
    while True:
        shorter = _NAMESPACE.sub("", text)
        if shorter == text:
            break
        text = shorter
    text = text.strip()
    if not text or text == "auto":
        return ""
    kind = _SIMPLE.get(text)
    if kind is None and "<" in text:
        kind = _template(text)
    if kind is None:
        kind = without_templates(text).strip()
    if pointer:
        return "str" if text == "char" else f"ptr {kind}"
    return kind


def _template(text: str) -> str | None:
    head = without_templates(text).rpartition("::")[2].strip()
    arguments = split_top(template_arguments(text))
    if not arguments:
        return None
    inner = kind_of(arguments[0])
    if head == "optional":
        return "OptTensor" if inner == "Tensor" else inner if inner.endswith("?") else f"{inner}?"
    if head in _SEQUENCES:
        found = LIST_OF.get(inner, f"array {inner}")
        return f"{found}?" if head == "OptionalArrayRef" else found
    if head in ("tuple", "pair"):
        return "tuple " + ";".join(kind_of(a) for a in arguments)
    if head in _POINTERS:
        return f"ptr {inner}"
    return None


def element(kind: str) -> str:
    """Kind of an element (``x[i]``, ``*x``, range-for) of something of ``kind``."""
    found = ELEMENT_OF.get(kind)
    if found:
        return found
    for prefix in ("ptr ", "array "):
        if kind.startswith(prefix):
            return kind[len(prefix) :]
    if kind == "OptTensor":
        return "Tensor"
    if kind.endswith("?"):
        return kind[:-1]
    return "Tensor" if kind == "Tensor" else ""


#: What the methods of Tensor that do not dispatch return (aten/src/ATen/core/TensorBase.h, TensorBody.h).
TENSOR_METHODS = {
    **dict.fromkeys(
        (
            "dim",
            "ndimension",
            "numel",
            "size",
            "stride",
            "storage_offset",
            "itemsize",
            "element_size",
            "nbytes",
            "get_device",
            "use_count",
            "sparse_dim",
            "dense_dim",
            "_nnz",
            "output_nr",
            "_version",
            "q_zero_point",
            "q_per_channel_axis",
        ),
        "int",
    ),
    **dict.fromkeys(("sizes", "strides"), "IntArrayRef"),
    **dict.fromkeys(("sym_sizes", "sym_strides"), "SymIntArrayRef"),
    **dict.fromkeys(("sym_size", "sym_numel", "sym_stride", "sym_storage_offset", "sym_nbytes"), "SymInt"),
    **dict.fromkeys(("scalar_type", "dtype"), "ScalarType"),
    "device": "Device",
    "layout": "Layout",
    "options": "TensorOptions",
    "suggest_memory_format": "MemoryFormat",
    "names": "DimnameList",
    "opt_names": "DimnameList?",
    "storage": "Storage",
    "item": "Scalar",
    "q_scale": "float",
    "qscheme": "QScheme",
    **dict.fromkeys(
        [
            "defined",
            "is_contiguous",
            "is_contiguous_or_false",
            "is_cuda",
            "is_cpu",
            "is_sparse",
            "is_sparse_csr",
            "is_complex",
            "is_floating_point",
            "is_quantized",
            "is_mkldnn",
            "is_meta",
            "is_mps",
            "is_xpu",
            "is_nested",
            "is_conj",
            "is_neg",
            "is_same",
            "requires_grad",
            "has_names",
            "is_leaf",
            "is_non_overlapping_and_dense",
            "is_hip",
            "is_ipu",
            "is_vulkan",
            "is_signed",
            "is_inference",
            "is_view",
            "is_zerotensor",
            "is_pinned",
            "is_alias_of",
            "has_storage",
            "is_privateuseone",
            "is_metal",
            "is_xla",
            "is_lazy",
            "is_hpu",
            "is_mtia",
            "is_maia",
            "equal",
            "is_nonzero",
            "is_set_to",
            "is_coalesced",
        ],
        "bool",
    ),
    **dict.fromkeys(("data_ptr", "mutable_data_ptr", "const_data_ptr"), "ptr "),
    **dict.fromkeys(("tensor_data", "variable_data", "grad", "mutable_grad", "_fw_grad", "_base"), "Tensor"),
    "unsafeGetTensorImpl": "ptr TensorImpl",
    "getIntrusivePtr": "ptr TensorImpl",
    "key_set": "DispatchKeySet",
}
#: Methods of c10 types by kind of the receiver.
_OTHER_METHODS = {
    ("TensorOptions", ""): "TensorOptions",
    ("TensorOptions", "dtype"): "",
    ("TensorOptions", "device"): "",
    ("TensorOptions", "device_opt"): "Device?",
    ("TensorOptions", "dtype_opt"): "ScalarType?",
    ("TensorOptions", "layout_opt"): "Layout?",
    ("TensorOptions", "pinned_memory_opt"): "bool?",
    ("TensorOptions", "memory_format_opt"): "MemoryFormat?",
    ("TensorOptions", "has_dtype"): "bool",
    ("Device", "type"): "Device",
    ("Device", "index"): "int",
    ("Scalar", "type"): "ScalarType",
    ("str", "size"): "int",
}
_SAME = frozenset(("value", "value_or", "get", "move", "toDense", "reverse"))


#: Methods of std::optional and its like; any other method of an optional Tensor is called through ``->``.
_OF_OPTIONAL = frozenset(("value", "value_or", "has_value", "reset", "emplace", "swap", "operator*", "getTensorRef"))


def pointed(kind: str, name: str) -> str:
    """The kind that has the method ``name`` of something of ``kind``: a Tensor of an optional one, the pointee."""
    if kind == "OptTensor" and name not in _OF_OPTIONAL:
        return "Tensor"
    if kind.startswith("ptr ") and name not in ("get", "value", "operator*"):
        return kind[4:]
    return kind


def method(kind: str, name: str, arguments: int) -> str:
    """Kind of ``x.name(…)`` for an x of ``kind`` when nothing of the tree answers it; "" when unknown."""
    if kind == "Tensor":
        # Tensor has no get(): a std::reference_wrapper of one has (MaterializedITensorListRef, ATen/core/IListRef.h)
        return "Tensor" if name == "get" else TENSOR_METHODS.get(name, "")
    if name in ("size", "ndim", "count", "length") and not arguments:
        return "int"
    if name in (
        "empty",
        "has_value",
        "defined",
        "isComplex",
        "isFloatingPoint",
        "isIntegral",
        "isBoolean",
        "is_cuda",
        "is_cpu",
        "equal",
    ):
        return "bool"
    if name in ("value", "value_or", "get", "operator*"):
        inner = element(kind)
        return (
            inner
            if kind.endswith("?") or kind.startswith(("Opt", "ptr "))
            else kind
            if name != "get"
            else inner or kind
        )
    if name in ("front", "back", "at"):
        return element(kind)
    if name in ("slice", "vec", "drop_back", "drop_front", "reverse", "take_back"):
        return kind
    if name == "sizes":
        return "IntArrayRef"
    if name == "toTensor":
        return "Tensor"
    if name == "getTensorRef" and kind == "OptTensor":
        return "Tensor"
    found = _OTHER_METHODS.get((kind, name)) if kind != "TensorOptions" or not arguments else None
    if found is not None:
        return found
    if kind == "TensorOptions":
        # TensorOptions' setters return TensorOptions; its getters take no argument
        return "TensorOptions" if arguments else {"layout": "Layout"}.get(name, "")
    if kind == "Scalar" and name.startswith("to"):
        return (
            "float"
            if name in ("toDouble", "toFloat")
            else "int"
            if name in ("toLong", "toInt")
            else "bool"
            if name == "toBool"
            else ""
        )
    return ""
