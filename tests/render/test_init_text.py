"""What ``pytrace init`` says of the conditions round an initialiser."""

from __future__ import annotations

import pytest

from pytrace.render.init_text import told_guard


@pytest.mark.parametrize(
    ("guard", "told"),
    [
        ("", ""),
        ("#ifdef USE_CUDA", "#ifdef USE_CUDA"),
        ("if (lazy)", "if (lazy)"),
        ("#ifdef USE_CUDA && if (lazy)", "#ifdef USE_CUDA && if (lazy)"),
        ("unless (PyType_Ready(&T) < 0)", ""),
        ("unless (PyType_Ready(&T) < 0) && if (lazy)", "if (lazy)"),
        ("#ifdef USE_CUDA && unless (!module)", "#ifdef USE_CUDA"),
    ],
)
def test_told_guard(guard: str, told: str) -> None:
    assert told_guard(guard) == told
