"""Messages that name an operator."""

from __future__ import annotations

import pytest

from pytrace.store import Store
from pytrace.trace import messages, resolve


@pytest.mark.parametrize(
    ("text", "op", "key"),
    [
        (
            "Could not run 'aten::_spdiags' with arguments from the 'CUDA' backend. This could be",
            "aten::_spdiags",
            "CUDA",
        ),
        ("Could not run 'aten::x.out' from the 'MPS' device", "aten::x.out", "MPS"),
        (
            "The operator 'aten::index.Tensor_out' is not currently implemented for the MPS",
            "aten::index.Tensor_out",
            "MPS",
        ),
        ("derivative for aten::heaviside is not implemented", "aten::heaviside", ""),
        (
            "we have not yet implemented the batching rule for aten::mse_loss_backward. Please file",
            "aten::mse_loss_backward",
            "",
        ),
        ("something about quantized::linear here", "quantized::linear", ""),
    ],
)
def test_read(text: str, op: str, key: str) -> None:
    assert messages.read(text) == (op, key)


@pytest.mark.parametrize(
    "text",
    ["", "add", "aten::add.Tensor", "not a message", "at::Tensor at::native::add(at::Tensor const&, int)", "a\tb"],
)
def test_other_texts_are_no_messages(text: str) -> None:
    found = messages.read(text)
    assert found is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Could not run 'aten::cumsum.out' with arguments from the 'CUDA' backend", "it has a kernel for CUDA"),
        (
            "Could not run 'aten::cumsum.out' with arguments from the 'MPS' backend",
            "it has no kernel for MPS, only for",
        ),
        ("Could not run 'aten::lstm.input' with arguments from the 'CUDA' backend", "it is composite"),
        ("derivative for aten::cumsum is not implemented", "the message is about aten::cumsum"),
    ],
)
def test_verdict(mini: Store, text: str, told: str) -> None:
    found = resolve.operators(mini, text)
    assert found.nodes
    assert told in found.how


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("Function 'PowBackward0' returned nan values in its 0th output.", "PowBackward0"),
        ("Error detected in MulBackward0. Traceback of forward call", "MulBackward0"),
        ("tensor([1.], grad_fn=<AddmmBackward0>)", "AddmmBackward0"),
        ("MulBackward0", ""),  # a name, no message
        ("what runs backward here", ""),
        ("", ""),
    ],
)
def test_autograd_nodes(text: str, node: str) -> None:
    assert messages.autograd_node(text) == node


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("conv2d() received an invalid combination of arguments - got (Tensor), but expected one of:", "conv2d"),
        ("TypeError: linear(): argument 'input' (position 1) must be Tensor, not list", "linear"),
        ('cumsum() missing 1 required positional arguments: "dim"', "cumsum"),
        ("cumsum()", ""),
        ("at::native::foo() calls bar", ""),
    ],
)
def test_functions_with_wrong_arguments(text: str, function: str) -> None:
    assert messages.python_function(text) == function


def test_a_node_in_a_message(mini: Store) -> None:
    found = resolve.operators(mini, "Function 'CumsumBackward0' returned nan values in its 0th output.")
    assert [n.name for n in found.nodes] == ["aten::cumsum"]


def test_an_operator_that_is_not_there(mini: Store) -> None:
    assert resolve.operators(mini, "Could not run 'aten::gone' with arguments from the 'CUDA' backend").nodes == []
