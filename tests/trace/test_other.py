"""``pytrace api``, ``backward``, ``search``, and the nearest names."""

from __future__ import annotations

import pytest

from pytrace.store import Store
from pytrace.trace import api, backward, resolve, search
from pytrace.trace.answers import Step


def names(step: Step) -> list[str]:
    return [step.ref.name, *(name for child in step.steps for name in names(child))]


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (
            "torch.nn.LSTM",
            [
                "torch.nn.LSTM",
                "torch.nn.modules.rnn.LSTM",
                "torch._VF.lstm",
                "torch._C._VariableFunctions.lstm",
                "aten::lstm.input",
                "aten::lstm.data",
            ],
        ),
        ("torch.Tensor.cumsum_", ["torch.Tensor.cumsum_", "torch._C.TensorBase.cumsum_", "aten::cumsum_"]),
    ],
)
def test_api(mini: Store, text: str, way: list[str]) -> None:
    answer = api.answer(mini, text, resolve.python_nodes(mini, text))
    assert [n for root in answer.roots for n in names(root)] == way
    assert [op.op.name for op in answer.ops] == [n for n in way if n.startswith("aten::")]


def test_api_guards_and_distance(mini: Store) -> None:
    answer = api.answer(mini, "torch.nn.LSTM", resolve.python_nodes(mini, "torch.nn.LSTM"))
    assert [(op.distance, op.guards) for op in answer.ops] == [(1, ["if (batch_sizes is None)"])] * 2


def test_api_pure_python(mini: Store) -> None:
    answer = api.answer(mini, "torch.storage.cuda", resolve.python_nodes(mini, "torch.storage.cuda"))
    assert answer.ops == [] and answer.sentence.startswith("Pure Python")


def test_backward_opens_the_formula(mini: Store) -> None:
    found = resolve.operators(mini, "CumsumBackward0")
    answer = backward.answer(mini, "CumsumBackward0", found.how, found.nodes)
    (formula,) = answer.backward.formulas
    below = [n for step in formula.calls for n in names(step)]
    assert below[:2] == ["torch::autograd::generated::details::cumsum_backward", "aten::cumsum"]
    assert "at::native::scan_kernel" in [
        n
        for step in backward.answer(mini, "", "", found.nodes, depth=1, limit=0).backward.formulas[0].calls
        for n in names(step)
    ]
    assert [(v.names, v.formula) for v in formula.forward] == [(["result"], "auto_linear")]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("cumsum", "aten::cumsum"),
        ("cumsum_stub", "cumsum_stub"),
        ("scan", "at::native::scan_kernel"),
        ("native lstm", "at::native::lstm"),
        ("nn LSTM", "torch.nn.LSTM"),
        ("cumsun", "aten::cumsum"),
    ],
)
def test_search(mini: Store, text: str, first: str) -> None:
    assert search.answer(mini, text).hits[0].name == first


def test_search_limits_and_kinds(mini: Store) -> None:
    answer = search.answer(mini, "lstm", limit=2)
    assert len(answer.hits) == 2 and answer.more > 3
    assert {h.kind for h in search.answer(mini, "lstm", kinds=("stub",)).hits} == {"stub"}


@pytest.mark.parametrize("text", ["", " ", "%", "_%_", "zzzzzzzzzzzz", "'; DROP TABLE node; --", "\x00", "é" * 400])
def test_search_of_anything(mini: Store, text: str) -> None:
    assert search.answer(mini, text).hits == []


@pytest.mark.parametrize(
    ("text", "kinds", "names"),
    [
        ("cumsom", ("op",), ["aten::cumsum", "aten::cumsum_"]),
        ("scan_kernal", (), ["at::native::scan_kernel"]),
        ("cumsum_stubb", ("stub",), ["cumsum_stub"]),
        ("LTSM", ("python",), ["torch.nn.LSTM"]),
        ("qqqqqq", (), []),
    ],
)
def test_nearest(mini: Store, text: str, kinds: tuple[str, ...], names: list[str]) -> None:
    assert [n.name for n in search.nearest(mini, text, kinds=kinds)][: len(names)] == names
