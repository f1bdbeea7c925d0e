"""The operator language: schemas, names, types, dispatch keys, generated variants, C++ signatures.

Equal to torchgen where torchgen has an opinion; nothing here knows of files or of a graph.
"""

from pytrace.schema.cpp import (
    CppArgument,
    CppSignature,
    cpp_name,
    kind_of,
    native_default_name,
    native_signature,
    signature,
    signature_flags,
)
from pytrace.schema.function import FUNCTIONAL, INPLACE, MUTABLE, OUT, SCRATCH, Argument, Schema, parse_schema
from pytrace.schema.generate import functional_variant, generated_kernel_name, out_variant
from pytrace.schema.keys import alias_sources, canonical, device, kernel_key, key_kind, parse_keys
from pytrace.schema.names import BaseName, OperatorName, parse_name, split_namespace
from pytrace.schema.types import Annotation, Type, parse_annotation, parse_type

__all__ = [
    "FUNCTIONAL",
    "INPLACE",
    "MUTABLE",
    "OUT",
    "SCRATCH",
    "Annotation",
    "Argument",
    "BaseName",
    "CppArgument",
    "CppSignature",
    "OperatorName",
    "Schema",
    "Type",
    "alias_sources",
    "canonical",
    "cpp_name",
    "device",
    "functional_variant",
    "generated_kernel_name",
    "kernel_key",
    "key_kind",
    "kind_of",
    "native_default_name",
    "native_signature",
    "out_variant",
    "parse_annotation",
    "parse_keys",
    "parse_name",
    "parse_schema",
    "parse_type",
    "signature",
    "signature_flags",
    "split_namespace",
]
