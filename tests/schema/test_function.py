"""The schema grammar: round trips, kinds, and what groups variants."""

from __future__ import annotations

import pytest

from pytrace.schema import parse_schema

ROUND_TRIPS = [
    "f() -> ()",
    "f(Tensor self) -> Tensor",
    "f(Tensor(a) self, int[2] stride=[1, 1], *, bool? flag=None) -> Tensor(a)",
    "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "f(Tensor(a -> *) self, int chunks=2) -> Tensor(a)[]",
    "f(Tensor x) -> (Tensor first, Tensor second)",
    "f(str a=\"'*, (\", str b='x\\'y') -> Tensor",
    "f(Tensor(a!)? x=None, Tensor(b!)[] y=[]) -> ()",
    "f(Dict(str, Tensor) d, *, Device? device=None) -> (Tensor, Dict(str, int))",
    "f(t[](a!) self, t(c -> *) el) -> t[](a!)",
    "f(Any x, ...) -> ()",
    "f(Tensor self) -> (Tensor)",
    "f(float eps=-1e-05, Scalar s=-1) -> bool",
    "f.g(__torch__.torch.classes.q.P packed, Tensor? x) -> Tensor?",
]


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_round_trip(text: str) -> None:
    assert str(parse_schema(text)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("f", "not a schema"),
        ("f(Tensor self", "not a schema"),
        ("(Tensor self) -> Tensor", "not a schema"),
        ("f(Tensor) -> Tensor", "not an argument"),
        ("f(Tensor self) => Tensor", "not a schema"),
        ("f(Tensor self, *, Tensor(a!) out, int late) -> Tensor", "after an out argument"),
        ("f(int 2x) -> ()", "not an argument"),
    ],
)
def test_broken(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_schema(text)


KINDS = [
    ("add(Tensor self) -> Tensor", "functional", "add"),
    ("add_(Tensor(a!) self) -> Tensor(a!)", "inplace", "add_"),
    ("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "out", "add_out"),
    ("f(Tensor self, Tensor(a!) state) -> Tensor", "mutable", "f"),
    ("f.s(Tensor self, *, Tensor(a!) _scratch_x) -> ()", "scratch", "f_out"),
    ("f(Tensor(a!) self) -> ()", "functional", "f"),  # self written, no trailing underscore: torchgen sees no mutation
]


@pytest.mark.parametrize(("text", "kind", "cpp_name"), KINDS)
def test_kinds(text: str, kind: str, cpp_name: str) -> None:
    schema = parse_schema(text)
    assert (schema.kind, schema.cpp_name) == (kind, cpp_name)


OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def test_tensor_options_are_found_where_they_stand() -> None:
    assert parse_schema(f"f(int n, *, int g, {OPTIONS}, int k) -> Tensor").options_index == 1
    assert parse_schema("f(int n, *, ScalarType? dtype=None, Device? device=None) -> Tensor").options_index == -1


SAME = [
    (
        "add.Tensor(Tensor self, Tensor o, *, Scalar alpha=1) -> Tensor",
        "add_.Tensor(Tensor(a!) self, Tensor o, *, Scalar alpha=1) -> Tensor(a!)",
    ),
    ("add.Tensor(Tensor self) -> Tensor", "add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
    (f"ones(int[] n, *, {OPTIONS}) -> Tensor", "ones.out(int[] n, *, Tensor(a!) out) -> Tensor(a!)"),
    ("f(Tensor s, Tensor(a!) m) -> (Tensor x)", "f_functional(Tensor s, Tensor m) -> (Tensor, Tensor m_out)"),
    ("__or__.Scalar(Tensor self, Scalar o) -> Tensor", "__ior__.Scalar(Tensor(a!) self, Scalar o) -> Tensor(a!)"),
    ("_foreach_x_(Tensor(a!)[] self) -> ()", "_foreach_x(Tensor[] self) -> Tensor[]"),
]
OTHER = [
    ("add(Tensor self) -> Tensor", "sub(Tensor self) -> Tensor"),
    ("add(Tensor self, int n=1) -> Tensor", "add(Tensor self, int n=2) -> Tensor"),
    ("add(Tensor self) -> Tensor", "add(Tensor x) -> Tensor"),
    ("or(Tensor self) -> Tensor", "__or__(Tensor self) -> Tensor"),
    ("add(Tensor self, int n) -> Tensor", "add(Tensor self, *, int n) -> Tensor"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_variants_have_one_group_key(one: str, other: str) -> None:
    assert parse_schema(one).group_key() == parse_schema(other).group_key()


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_operators_have_another(one: str, other: str) -> None:
    assert parse_schema(one).group_key() != parse_schema(other).group_key()
