"""dtype sets of ``AT_DISPATCH_*``: which element types a kernel function supports, and under which name it says so.

The macro's name is the rule (aten/src/ATen/Dispatch.h): a base set, then ``_ANDn`` more types as arguments, then the
dtype that is switched on, then the label that the user sees in ``"label" not implemented for 'Half'``.
``AT_DISPATCH_V2`` (Dispatch_v2.h) lists its sets behind the body. Files wrap one of them in a macro of their own, which
by custom is called ``_AT_DISPATCH_…``.
"""

from __future__ import annotations

import re

from pytrace.extract.cpp_text import split_top

#: Base sets by what the macro's name says, longest first (aten/src/ATen/Dispatch.h, Dispatch_v2.h).
SETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "ALL_TYPES_AND_COMPLEX",
        ("Byte", "Char", "Int", "Long", "Short", "Double", "Float", "ComplexDouble", "ComplexFloat"),
    ),
    ("FLOATING_AND_COMPLEX_TYPES", ("Double", "Float", "ComplexDouble", "ComplexFloat")),
    ("BAREBONES_UNSIGNED_TYPES", ("UInt16", "UInt32", "UInt64")),
    ("INTEGRAL_TYPES_V2", ("Byte", "Char", "Int", "Long", "Short", "UInt16", "UInt32", "UInt64")),
    ("REDUCED_FLOATING_TYPES", ("BFloat16", "Half")),
    ("QINT_AND_SUB_BYTE_TYPES", ("QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4")),
    ("QINT_BYTE_TYPES", ("QInt8", "QUInt8")),
    ("SPARSE_VALUE_TYPES", ("Double", "Float", "ComplexDouble", "ComplexFloat")),
    ("NLL_LOSS_INDEX_TYPES", ("Byte", "Long")),
    ("FLOAT8_TYPES", ("Float8_e5m2", "Float8_e5m2fnuz", "Float8_e4m3fn", "Float8_e4m3fnuz")),
    ("FLOATING_TYPES", ("Double", "Float")),
    ("COMPLEX_TYPES", ("ComplexDouble", "ComplexFloat")),
    ("INTEGRAL_TYPES", ("Byte", "Char", "Int", "Long", "Short")),
    ("INDEX_TYPES", ("Int", "Long")),
    ("QINT_TYPES", ("QInt8", "QUInt8", "QInt32")),
    ("BIT_TYPES", ("Bits1x8", "Bits2x4", "Bits4x2", "Bits8", "Bits16")),
    ("MPS_TYPES", ("Float", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool")),
    ("ALL_TYPES", ("Byte", "Char", "Int", "Long", "Short", "Double", "Float")),
)
_DTYPE = re.compile(r"^(?:at::|c10::|torch::)*(?:ScalarType::|k)(\w+)$")
_LABEL = re.compile(r'^"((?:[^"\\]|\\.)*)"$')
_WRAPPED = re.compile(r"\b(AT_DISPATCH_\w+)\s*\((.*)\)\s*;?\s*$")
_EXPAND = re.compile(r"AT_EXPAND\(AT_(\w+)\)")


def base_set(macro: str) -> tuple[str, ...]:
    """The types that the macro's name itself stands for.

    >>> base_set("AT_DISPATCH_FLOATING_TYPES_AND2")
    ('Double', 'Float')
    """
    name = macro.removeprefix("AT_DISPATCH_").removeprefix("CASE_").removeprefix("AT_")
    for word, types in SETS:
        if name.startswith(word):
            return (*types, "Half") if name == "FLOATING_TYPES_AND_HALF" else types
    return ()


def dispatch(macro: str, arguments: list[str]) -> tuple[str, tuple[str, ...]]:
    """(label, types) of one macro call; label "" for a CASE, types empty when nothing is said about them."""
    types = list(base_set(macro))
    label = ""
    for text in arguments:
        if text[:1] == "[":
            continue
        found = _LABEL.match(text)
        if found and not label:
            label = found[1]
            continue
        named = _DTYPE.match(text)
        if named:
            types.append(named[1])
            continue
        for expanded in _EXPAND.findall(text) if "AT_EXPAND" in text else ():
            types += base_set(expanded)
    return label, tuple(dict.fromkeys(types))


def wrapped(source: str, name: str) -> tuple[str, ...]:
    """The types of a file's own macro around an ``AT_DISPATCH_…``, by its first ``#define`` in the file.

    Further ones are for other builds: they stand behind ``#else`` (of ``!defined(C10_MOBILE)``).
    """
    start = re.search(rf"#\s*define\s+{re.escape(name)}\(", source)
    if not start:
        return ()
    lines = []
    for line in source[start.end() :].split("\n"):
        lines.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            break
    call = _WRAPPED.search(" ".join(lines))
    return dispatch(call[1], split_top(call[2]))[1] if call else ()
