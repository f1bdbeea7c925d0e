"""Costs and ranks of overloads."""

from __future__ import annotations

import pytest

from pytrace.link.overloads import IMPOSSIBLE, cost, rank


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
