"""The variants that ``autogen`` makes."""

from __future__ import annotations

import pytest

from pytrace.schema import functional_variant, generated_kernel_name, out_variant, parse_schema

OUT = [
    ("add_.S(Tensor(a!) self, int n) -> Tensor(a!)", "add.S_out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)"),
    (
        "f(Tensor self) -> (Tensor a, Tensor b)",
        "f.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
    ),
    ("f(Tensor self) -> (Tensor, int)", "f.out(Tensor self, *, Tensor(a!) out0) -> int"),
    ("f(Tensor[] self) -> Tensor[]", "f.out(Tensor[] self, *, Tensor(a!)[] out) -> ()"),
    ("f(Tensor(a!) x, Tensor(b!) y) -> Tensor", "f.out(Tensor(a!) x, Tensor(b!) y, *, Tensor(c!) out) -> Tensor(c!)"),
    (
        "f(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, int k) "
        "-> Tensor",
        "f.out(int n, *, int k, Tensor(a!) out) -> Tensor(a!)",
    ),
]


@pytest.mark.parametrize(("source", "expected"), OUT)
def test_out_variant(source: str, expected: str) -> None:
    assert str(out_variant(parse_schema(source))) == expected


FUNCTIONAL = [
    ("add_.S(Tensor(a!) self, int n=1) -> Tensor(a!)", "add.S(Tensor self, int n=1) -> Tensor"),
    ("f(Tensor s, Tensor(a!) m) -> Tensor r", "f_functional(Tensor s, Tensor m) -> (Tensor r, Tensor m_out)"),
    ("_foreach_x_(Tensor(a!)[] self) -> ()", "_foreach_x(Tensor[] self) -> Tensor[] self_out"),
]


@pytest.mark.parametrize(("source", "expected"), FUNCTIONAL)
def test_functional_variant(source: str, expected: str) -> None:
    assert str(functional_variant(parse_schema(source))) == expected


@pytest.mark.parametrize("source", ["f.out(*, Tensor(a!) out) -> Tensor(a!)", "f(Tensor self) -> int"])
def test_no_out_variant(source: str) -> None:
    with pytest.raises(ValueError, match="it has no out= variant"):
        out_variant(parse_schema(source))


def test_kernel_names() -> None:
    source = parse_schema("f.x(Tensor self, SymInt[] n) -> Tensor")
    assert generated_kernel_name(out_variant(source), source) == "f_x_out_symint"
    inplace = parse_schema("g_.x(Tensor(a!) self) -> Tensor(a!)")
    assert generated_kernel_name(functional_variant(inplace), inplace) == "g"
