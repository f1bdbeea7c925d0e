"""What people type -> nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.store import Store
from pytrace.trace import resolve
from tests.graphs import store


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("lstm", ["aten::lstm.input", "aten::lstm.data"]),
        ("lstm.data", ["aten::lstm.data"]),
        ("aten::lstm", ["aten::lstm.input", "aten::lstm.data"]),
        ("cumsum", ["aten::cumsum", "aten::cumsum_", "aten::cumsum.out"]),
        ("cumsum_", ["aten::cumsum_"]),
        ("at::cumsum_out", ["aten::cumsum", "aten::cumsum_", "aten::cumsum.out"]),
        ("torch.ops.aten.cumsum.default", ["aten::cumsum"]),
        ("torch.ops.aten.cumsum.out", ["aten::cumsum.out"]),
        ("torch.nn.LSTM", ["aten::lstm.input", "aten::lstm.data"]),
        ("nn.LSTM", ["aten::lstm.input", "aten::lstm.data"]),
        ("torch.lstm", ["aten::lstm.input", "aten::lstm.data"]),
        ("Tensor.cumsum_", ["aten::cumsum_"]),
        ("torch._C._VariableFunctions.cumsum", ["aten::cumsum", "aten::cumsum.out"]),
        ("CumsumBackward0", ["aten::cumsum"]),
        ("torch.storage.cuda", []),
        ("no_such_thing", []),
        ("quantized::lstm", []),
        ("", []),
        ("%_'\"", []),
    ],
)
def test_operators(mini: Store, text: str, names: list[str]) -> None:
    assert [n.name for n in resolve.operators(mini, text).nodes] == names


def test_how_it_was_understood(mini: Store) -> None:
    assert resolve.operators(mini, "lstm").how == ""
    assert resolve.operators(mini, "nn.LSTM").how == "nn.LSTM (torch.nn.LSTM) calls lstm"
    assert resolve.operators(mini, "CumsumBackward0").how == "CumsumBackward0 is the autograd node of aten::cumsum"
    assert "pure Python" in resolve.operators(mini, "torch.storage.cuda").how


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("scan_kernel", ["at::native::scan_kernel"]),
        ("void at::native::scan_kernel<float, 4>(float*, int)", ["at::native::scan_kernel"]),
        ("void at::native::(anonymous namespace)::scan_kernel<float>(float*)", ["at::native::scan_kernel"]),
        ("native::scan_kernel", ["at::native::scan_kernel"]),
        ("at::native::old_place::scan_kernel", ["at::native::scan_kernel"]),
        ("cumsum_stub", ["cumsum_stub"]),
        ("cublasSgemm", ["cublasSgemm"]),
        ("lstm", ["at::native::lstm"]),
        ("nothing_at_all", []),
        ("<>", []),
    ],
)
def test_kernels(mini: Store, text: str, names: list[str]) -> None:
    assert [n.name for n in resolve.kernels(mini, text).nodes] == names


def test_a_moved_kernel_is_said_to_be_one(mini: Store) -> None:
    assert resolve.kernels(mini, "at::native::old_place::scan_kernel").how.startswith(
        "there is no at::native::old_place"
    )


@pytest.mark.parametrize(
    ("base", "name", "likeness"),
    [
        ("lstm", "LSTM", 3),
        ("cross_entropy_loss", "CrossEntropyLoss", 3),
        ("batch_norm", "BatchNorm2d", 2),
        ("nll_loss_nd", "nll_loss", 2),
        ("_native_multi_head_attention", "MultiheadAttention", 1),
        ("add", "addmm", 0),
        ("mm", "mm", 3),
        ("empty", "cuda", 0),
    ],
)
def test_alike(base: str, name: str, likeness: int) -> None:
    assert resolve._alike(base, name) == likeness


def test_a_kernel_function_by_its_qualified_name(mini: Store) -> None:
    found = resolve.operators(mini, "at::native::step_cpu")
    assert [n.name for n in found.nodes] == ["aten::step"]
    assert found.how == "at::native::step_cpu is a kernel function of aten::step"
    assert resolve.operators(mini, "step_cpu").nodes == []


def test_a_library_function_by_the_name_in_the_source(tmp_path: Path) -> None:
    renamed = store(tmp_path, "node library cublasSgemm_v2")
    found = resolve.kernels(renamed, "cublasSgemm")
    assert [n.name for n in found.nodes] == ["cublasSgemm_v2"]
    assert found.how == "cublasSgemm is exported as cublasSgemm_v2"
    renamed.close()
