"""Costs and ranks of overloads."""

from __future__ import annotations

import pytest

from pytrace.link.overloads import IMPOSSIBLE, cost, rank, specialised


@pytest.mark.parametrize(
    ("argument", "better", "worse"),
    [
        # each row: for an argument of this kind the first parameter is the better one
        ("int", "int", "SymInt"),
        ("int", "SymInt", "Scalar"),
        ("int", "Scalar", "Tensor"),
        ("int", "float", "bool"),
        ("int", "Scalar", "IntArrayRef"),
        ("float", "float", "Scalar"),
        ("float", "Scalar", "int"),
        ("bool", "bool", "int"),
        ("Tensor", "Tensor", "OptTensor"),
        ("Tensor", "OptTensor", "TensorList"),
        ("Tensor", "Tensor", "Scalar"),
        ("OptTensor", "OptTensor", "Tensor"),
        ("TensorList", "TensorList", "OptTensorList"),
        ("IntArrayRef", "IntArrayRef", "SymIntArrayRef"),
        ("SymIntArrayRef", "SymIntArrayRef", "IntArrayRef"),
        ("ScalarType", "ScalarType", "TensorOptions"),
        ("str", "str", "Device"),
        ("Dimname", "Dimname", "DimnameList"),
        ("list int", "IntArrayRef", "Tensor"),
        ("list int", "IntArrayRef", "SymIntArrayRef"),
        ("list Tensor", "TensorList", "IntArrayRef"),
        ("list Scalar", "ScalarList", "IntArrayRef"),
        ("list ", "IntArrayRef", "Tensor"),
        ("{}", "IntArrayRef", "Tensor"),
        ("{}", "OptTensor", "Tensor"),
        ("", "Tensor", "Dimname"),
        ("MyEnum", "MyEnum", "Tensor"),
        ("lambda", "MyFunction", "Tensor"),
        ("ptr Foo", "ptr Foo", "Tensor"),
    ],
)
def test_the_better_parameter(argument: str, better: str, worse: str) -> None:
    assert cost(argument, better, False) < cost(argument, worse, False)


@pytest.mark.parametrize(
    ("argument", "parameter", "optional"),
    [
        ("Tensor", "Scalar", False),
        ("Tensor", "int", False),
        ("TensorList", "Tensor", False),
        ("str", "int", False),
        ("nullopt", "int", False),
        ("Storage", "Tensor", False),
        ("list Tensor", "int", False),
        ("int?", "float", False),
        ("tuple Tensor;Tensor", "Tensor", False),
        ("lambda", "int", False),
    ],
)
def test_impossible(argument: str, parameter: str, optional: bool) -> None:
    assert cost(argument, parameter, optional) >= IMPOSSIBLE


@pytest.mark.parametrize(
    ("argument", "parameter"),
    [("nullopt", "int"), ("int?", "int"), ("int", "int"), ("{}", "ScalarType"), ("float", "Scalar")],
)
def test_what_an_optional_takes(argument: str, parameter: str) -> None:
    assert cost(argument, parameter, True) < IMPOSSIBLE


@pytest.mark.parametrize(
    ("arguments", "parameters", "required", "callable_"),
    [
        ("", "", 0, True),
        ("Tensor", "Tensor", 1, True),
        ("Tensor", "Tensor Scalar", 1, True),
        ("Tensor", "Tensor Scalar", 2, False),
        ("Tensor Tensor", "Tensor", 1, False),
        ("Tensor Scalar", "Tensor Tensor", 2, False),
        ("_ _", "Tensor int", 2, True),
    ],
)
def test_what_can_be_called(arguments: str, parameters: str, required: int, callable_: bool) -> None:
    kinds = [kind.replace("_", "") for kind in arguments.split()]
    value = rank(kinds, [(kind, False) for kind in parameters.split()], required)
    assert (value < IMPOSSIBLE) is callable_


def test_rank_adds_the_costs() -> None:
    parameters = [("Scalar", False), ("Scalar", True)]
    assert rank(["int", "float"], parameters, 2) == cost("int", "Scalar", False) + cost("float", "Scalar", True)


@pytest.mark.parametrize(
    ("specials", "templates", "found"),
    [
        # the arguments of the definitions ("" is no specialisation), those of the call, what it may mean
        (["float", "double"], "float", ([0], True)),
        (["float", "c10::complex<float>"], "complex<float>", ([1], True)),
        (["at::Half", "float"], "c10::Half", ([0], True)),
        (["float", "double"], "scalar_t", ([0, 1], False)),
        (["float", "c10::complex<float>, float"], "scalar_t, value_t", ([0, 1], False)),
        (["", "bool"], "scalar_t", ([1], False)),
        (["", "bool"], "int", ([], False)),
        (["float, 32", "float, 64"], "T, 64", ([1], False)),
        (["", ""], "float", ([], False)),
        (["float"], "", ([], False)),
        ([], "float", ([], False)),
    ],
)
def test_specialisations(specials: list[str], templates: str, found: tuple[list[int], bool]) -> None:
    assert specialised(specials, templates) == found
