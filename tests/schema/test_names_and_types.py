"""Names, types and annotations of the schema language."""

from __future__ import annotations

import pytest

from pytrace.schema import BaseName, parse_annotation, parse_name, parse_type, split_namespace

NAMES = [
    ("add.Tensor", BaseName("add"), "Tensor", "add_Tensor"),
    ("add_", BaseName("add", inplace=True), "", "add_"),
    ("__or__.Scalar", BaseName("or", dunder=True), "Scalar", "__or___Scalar"),
    ("__ior__", BaseName("or", inplace=True, dunder=True), "", "__ior__"),
    ("__int__", BaseName("int", dunder=True), "", "__int__"),
    ("batch_norm_functional", BaseName("batch_norm", functional=True), "", "batch_norm_functional"),
    ("_functional", BaseName("_functional"), "", "_functional"),
    ("_", BaseName("_"), "", "_"),
]


@pytest.mark.parametrize(("text", "base", "overload", "unambiguous"), NAMES)
def test_names(text: str, base: BaseName, overload: str, unambiguous: str) -> None:
    name = parse_name(text)
    assert (name.name, name.overload, name.unambiguous, str(name)) == (base, overload, unambiguous, text)


def test_a_name_needs_text() -> None:
    with pytest.raises(ValueError, match="not an operator name"):
        parse_name(".out")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("aten::add", ("aten", "add")), ("add", ("aten", "add")), ("a::b::add.out", ("a::b", "add.out"))],
)
def test_namespaces(text: str, expected: tuple[str, str]) -> None:
    assert split_namespace(text) == expected


TYPES = [
    # text, base, wraps, optional, list, size
    ("Tensor", "Tensor", (), False, False, None),
    ("SymInt[2]?", "SymInt", ("[2]", "?"), True, False, None),
    ("bool[3]", "bool", ("[3]",), False, True, 3),
    ("Tensor?[]", "Tensor", ("?", "[]"), False, True, None),
    ("Dict(str, Tensor)[]", "Dict(str, Tensor)", ("[]",), False, True, None),
    ("__torch__.torch.classes.quantized.Packed", "__torch__.torch.classes.quantized.Packed", (), False, False, None),
]


@pytest.mark.parametrize(("text", "base", "wraps", "optional", "is_list", "size"), TYPES)
def test_types(text: str, base: str, wraps: tuple[str, ...], optional: bool, is_list: bool, size: int | None) -> None:
    t = parse_type(text)
    assert (t.base, t.wraps, t.is_optional, t.is_list, t.list_size) == (base, wraps, optional, is_list, size)
    assert str(t) == text


@pytest.mark.parametrize("text", ["", "?", "[]"])
def test_no_type(text: str) -> None:
    with pytest.raises(ValueError, match="not a type"):
        parse_type(text)


@pytest.mark.parametrize("text", ["a", "a!", "a -> *", "a|b", "a! -> a|b"])
def test_annotations_round_trip(text: str) -> None:
    annotation = parse_annotation(text)
    assert str(annotation) == text
    assert annotation.is_write == ("!" in text)


@pytest.mark.parametrize("text", ["", "A", "a b", "ab!"])
def test_no_annotation(text: str) -> None:
    with pytest.raises(ValueError, match="alias annotation"):
        parse_annotation(text)
