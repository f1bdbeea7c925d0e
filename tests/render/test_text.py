"""Whole answers as text, held in ``golden/``. ``PYTRACE_UPDATE_GOLDEN=1`` writes them anew: read the diff."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytrace.render import backward_text, kernel_text, op_text, other_text
from pytrace.render.page import Page
from pytrace.store import Store
from pytrace.trace import api, at, backward, kernel, op, resolve, search

GOLDEN = Path(__file__).parent / "golden"
Ask = Callable[[Store, Page], None]


def _op(query: str, *, why: bool = False, device: str = "", depth: int = 1, limit: int = 80) -> Ask:
    def run(mini: Store, page: Page) -> None:
        found = resolve.operators(mini, query)
        answer = op.answer(mini, query, found, device=device, depth=depth, limit=limit)
        op_text.render(page, answer, why=why, limit=limit)

    return run


def _kernel(query: str, *, up: bool = False, why: bool = False) -> Ask:
    def run(mini: Store, page: Page) -> None:
        kernel_text.render(page, kernel.answer(mini, query, resolve.kernels(mini, query), up=up), why=why)

    return run


def _api(query: str) -> Ask:
    return lambda mini, page: other_text.render_api(page, api.answer(mini, query, resolve.python_nodes(mini, query)))


def _backward(query: str) -> Ask:
    def run(mini: Store, page: Page) -> None:
        found = resolve.operators(mini, query)
        backward_text.render(page, backward.answer(mini, query, found.how, found.nodes))

    return run


def _at(file: str, line: int) -> Ask:
    return lambda mini, page: kernel_text.render_at(page, at.answer(mini, file, line))


def _search(text: str) -> Ask:
    return lambda mini, page: other_text.render_search(page, search.answer(mini, text, limit=6))


CASES: dict[str, tuple[int, Ask]] = {
    "op_lstm_80": (80, _op("lstm")),
    "op_lstm_160": (160, _op("lstm")),
    "op_lstm_short": (80, _op("lstm", limit=6)),
    "op_lstm_why": (100, _op("lstm", why=True)),
    "op_nn_lstm_cuda": (100, _op("torch.nn.LSTM", device="cuda", depth=2)),
    "op_cumsum": (80, _op("cumsum")),
    "op_cumsum_cpu": (80, _op("cumsum", device="cpu")),
    "op_fused_cell": (100, _op("_fused_cell")),
    "op_step": (80, _op("step")),
    "kernel_scan": (80, _kernel("scan_kernel")),
    "kernel_scan_up": (80, _kernel("scan_kernel", up=True)),
    "kernel_scan_up_why": (120, _kernel("scan_kernel", up=True, why=True)),
    "kernel_stub": (100, _kernel("cumsum_stub")),
    "kernel_library_up": (100, _kernel("cublasSgemm", up=True)),
    "kernel_formula_up": (100, _kernel("cell_differentiable", up=True)),
    "api_lstm": (100, _api("torch.nn.LSTM")),
    "api_pure": (100, _api("torch.storage.cuda")),
    "backward_cumsum": (80, _backward("CumsumBackward0")),
    "backward_lstm": (80, _backward("lstm")),
    "at_launch": (80, _at("cuda/ScanKernels.cu", 48)),
    "at_nothing": (80, _at("RNN.cpp", 9999)),
    "search_cumsum": (80, _search("cumsum")),
    "search_nothing": (80, _search("zzzzzz")),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, mini: Store) -> None:
    width, ask = CASES[name]
    page = Page(width)
    ask(mini, page)
    text = page.text()
    assert all(len(line) <= width for line in text.splitlines())
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PYTRACE_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_is_asked() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == sorted(CASES)
