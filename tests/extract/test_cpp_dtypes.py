"""Element types of AT_DISPATCH_* calls, by the rules of aten/src/ATen/Dispatch.h and Dispatch_v2.h."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp import extract
from pytrace.extract.cpp_dtypes import base_set, dispatch, wrapped


@pytest.mark.parametrize(
    ("macro", "types"),
    [
        ("AT_DISPATCH_FLOATING_TYPES", "Double Float"),
        ("AT_DISPATCH_FLOATING_TYPES_AND2", "Double Float"),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF", "Double Float Half"),
        ("AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES", "Double Float ComplexDouble ComplexFloat"),
        ("AT_DISPATCH_COMPLEX_TYPES_AND", "ComplexDouble ComplexFloat"),
        ("AT_DISPATCH_ALL_TYPES", "Byte Char Int Long Short Double Float"),
        ("AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3", "Byte Char Int Long Short Double Float ComplexDouble ComplexFloat"),
        ("AT_DISPATCH_INTEGRAL_TYPES_AND", "Byte Char Int Long Short"),
        ("AT_DISPATCH_REDUCED_FLOATING_TYPES", "BFloat16 Half"),
        ("AT_DISPATCH_CASE_FLOATING_TYPES", "Double Float"),
        ("AT_DISPATCH_QINT_TYPES", "QInt8 QUInt8 QInt32"),
        ("AT_DISPATCH_INDEX_TYPES", "Int Long"),
        ("AT_DISPATCH_SWITCH", ""),
        ("AT_DISPATCH_V2", ""),
    ],
)
def test_base_set(macro: str, types: str) -> None:
    assert " ".join(base_set(macro)) == types


@pytest.mark.parametrize(
    ("macro", "arguments", "label", "types"),
    [
        ("AT_DISPATCH_FLOATING_TYPES", ["t", '"a"', "[&] { }"], "a", "Double Float"),
        ("AT_DISPATCH_FLOATING_TYPES_AND", ["kHalf", "t", '"a"', "[&] { }"], "a", "Double Float Half"),
        ("AT_DISPATCH_FLOATING_TYPES_AND", ["at::ScalarType::BFloat16", "t", '"a"', "f"], "a", "Double Float BFloat16"),
        ("AT_DISPATCH_V2", ["t", '"a"', "AT_WRAP([&] { })", "kBool", "AT_EXPAND(AT_FLOATING_TYPES)"], "a",
         "Bool Double Float"),
        ("AT_DISPATCH_SWITCH", ["t", '"a"', "AT_DISPATCH_CASE_COMPLEX_TYPES([&] { })"], "a", ""),
        ("AT_DISPATCH_CASE_FLOATING_TYPES", ["[&] { }"], "", "Double Float"),
        ("AT_DISPATCH_CASE", ["kHalf", "[&] { }"], "", "Half"),
        ("AT_DISPATCH_FLOATING_TYPES", [], "", "Double Float"),
    ],
)  # fmt: skip
def test_dispatch(macro: str, arguments: list[str], label: str, types: str) -> None:
    assert dispatch(macro, arguments) == (label, tuple(types.split()))


OWN = """#if !MOBILE
#define _AT_DISPATCH_OWN(TYPE, NAME, ...)   \\
    AT_DISPATCH_FLOATING_TYPES_AND2(        \\
        kHalf, kBFloat16, TYPE, NAME, __VA_ARGS__)
#else
#define _AT_DISPATCH_OWN(TYPE, NAME, ...) AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, __VA_ARGS__)
#endif
#define _AT_DISPATCH_V2(T, N, ...) AT_DISPATCH_V2(T, N, AT_WRAP(__VA_ARGS__), kBool, AT_EXPAND(AT_COMPLEX_TYPES))
#define _AT_DISPATCH_ODD(T) switch (T)
"""


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("_AT_DISPATCH_OWN", "Double Float Half BFloat16"),
        ("_AT_DISPATCH_V2", "Bool ComplexDouble ComplexFloat"),
        ("_AT_DISPATCH_ODD", ""),
        ("_AT_DISPATCH_ELSEWHERE", ""),
    ],
)
def test_macros_of_a_file_of_its_own(name: str, types: str) -> None:
    assert " ".join(wrapped(OWN, name)) == types


def test_the_label_of_such_a_macro() -> None:
    facts = extract(f'{OWN}void f(Tensor t) {{ _AT_DISPATCH_OWN(t.scalar_type(), "own_", [&] {{ g(t); }}); }}'.encode())
    assert [row[2:4] for row in facts["dtypes"]] == [("own_", ("Double", "Float", "Half", "BFloat16"))]
    assert "g" in [row[2] for row in facts["calls"]]
