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
        ("aten::cumsum.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)", ["aten::cumsum.out"]),
        ("cumsum_(Tensor(a!) self, int dim) -> Tensor(a!)", ["aten::cumsum_"]),
        ("TypeError: cumsum_(): argument 'dim' (position 1) must be int, not str", ["aten::cumsum_"]),
        ("TORCH_IMPL_FUNC(cumsum_out)", ["aten::cumsum", "aten::cumsum_", "aten::cumsum.out"]),
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
    assert resolve.operators(mini, "cumsum.out").how == ""
    assert resolve.operators(mini, "torch.ops.aten.cumsum.out").how.endswith(" is the operator aten::cumsum")
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
        ("TORCH_IMPL_FUNC(cumsum_out)", ["at::native::structured_cumsum_out::impl"]),
        ("at::native::cumsum_out", ["at::native::structured_cumsum_out::impl"]),
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


MANY = """
node python torch.nn.functional.resize torch/nn/functional.py:3
node python torch.nn.functional.enlarge torch/nn/functional.py:9
node python torch.cuda.wait torch/cuda.py:3
node binding torch._C._cuda_wait
node binding torch._C._nn.things
edge torch.nn.functional.resize calls torch._C._nn.things @torch/nn/functional.py:4
edge torch.nn.functional.enlarge calls torch._C._nn.things @torch/nn/functional.py:4
edge torch.cuda.wait calls torch._C._cuda_wait @torch/cuda.py:4
"""


@pytest.mark.parametrize(
    ("text", "bases", "told"),
    [
        ("torch.nn.functional.resize", [], "calls 6 operators, and none is called like it: up_0, up_1"),
        ("torch.nn.functional.enlarge", ["enlarge_x"], "calls enlarge_x"),
        (
            "torch.cuda.wait",
            [],
            "No operator stands behind torch.cuda.wait (torch/cuda.py:3): it calls C++ (torch._C._cu",
        ),
    ],
)
def test_many_operators_behind_a_name(tmp_path: Path, text: str, bases: list[str], told: str) -> None:
    lines = [MANY]
    for number, name in enumerate([*(f"up_{i}" for i in range(5)), "enlarge_x"]):
        schema = '{"schema": "aten::x(Tensor self) -> Tensor"}'
        lines.append(f"node op aten::{name} native_functions.yaml:{number + 1} {schema}")
        lines.append(f"edge torch._C._nn.things binds aten::{name} @native_functions.yaml:{number + 1}")
    graph = store(tmp_path, "\n".join(lines))
    found = resolve.operators(graph, text)
    assert [n.bare for n in found.nodes] == bases
    assert told in found.how
    graph.close()


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


CLASSES = """
node python torch.nn.Base torch/nn/modules/module.py:5 {"kind": "class"}
node python torch.nn.Base.to torch/nn/modules/module.py:9
node python torch.nn.rnn.LSTM torch/nn/modules/rnn.py:5 {"kind": "class", "bases": ["torch.nn.Base", "torch._C.B"]}
node python torch.nn.rnn.LSTM.forward torch/nn/modules/rnn.py:7
node python torch.nn.m.LSTM torch/nn/modules/__init__.py:1 {"kind": "alias"}
node python torch.nn.LSTM torch/nn/__init__.py:1 {"kind": "alias"}
node binding torch._C.B.raw torch/csrc/base.cpp:3
node python torch.nn.A torch/nn/__init__.py:2 {"kind": "alias"}
node python torch.nn.B torch/nn/__init__.py:3 {"kind": "alias"}
edge torch.nn.m.LSTM alias_of torch.nn.rnn.LSTM @torch/nn/modules/__init__.py:1
edge torch.nn.LSTM alias_of torch.nn.m.LSTM @torch/nn/__init__.py:1
edge torch.nn.A alias_of torch.nn.B @torch/nn/__init__.py:2
edge torch.nn.B alias_of torch.nn.A @torch/nn/__init__.py:3
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("torch.nn.LSTM.forward", "torch.nn.rnn.LSTM.forward"),
        ("nn.LSTM.forward", "torch.nn.rnn.LSTM.forward"),
        ("torch.nn.rnn.LSTM.to", "torch.nn.Base.to"),  # inherited
        ("torch.nn.LSTM.to", "torch.nn.Base.to"),
        ("torch.nn.LSTM.raw", "torch._C.B.raw"),  # from a class that C++ makes
        ("torch.nn.LSTM.nothing", ""),
        ("torch.nn.A.to", ""),  # names that stand for one another
    ],
)
def test_members_of_classes(tmp_path: Path, text: str, name: str) -> None:
    classes = store(tmp_path, CLASSES)
    assert [n.name for n in resolve.python_nodes(classes, text)] == ([name] if name else [])
    classes.close()
