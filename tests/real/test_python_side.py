"""The Python side of the real tree against the running program.

``PYTORCH_SRC`` names a PyTorch 2.6.0 checkout, ``PYTRACE_ORACLE`` the folder of the measured truth.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytrace.index import refresh
from pytrace.model import EdgeKind, NodeKind
from pytrace.store import Store
from tests.real import bindings_metric, python_metric

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def store() -> Store:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC is not set")
    return Store(refresh(os.environ["PYTORCH_SRC"], quiet=True))


@pytest.fixture(scope="module")
def truth() -> Path:
    if "PYTRACE_ORACLE" not in os.environ:
        pytest.skip("PYTRACE_ORACLE is not set")
    return Path(os.environ["PYTRACE_ORACLE"])


def test_bindings(store: Store, truth: Path) -> None:
    found = bindings_metric.bindings(store, bindings_metric.load(truth))
    assert found.recall >= 0.999, found.missing[:20]
    assert found.precision >= 0.999, found.unproven[:20]


def test_public_names(store: Store, truth: Path) -> None:
    found = bindings_metric.public(store, bindings_metric.load(truth))
    assert len(found.found) > 1400
    assert found.recall >= 0.995, found.missing[:20]


def test_first_operators(store: Store, truth: Path) -> None:
    found = python_metric.score(store, python_metric.load(truth))
    assert found.recall(modules=False) >= 0.99, found.missing[:20]
    assert found.recall(modules=True) >= 0.99, found.missing[:20]
    assert not found.unknown
    assert found.ratio <= 1.2


def test_pure_python(store: Store) -> None:
    """Storage.cuda is Python over the storage's C++ methods: its helper only allocates, or asks a sparse tensor."""
    (node,) = store.named("torch.storage._StorageBase.cuda", NodeKind.PYTHON)
    assert node.at == "torch/storage.py:87"
    assert python_metric.reached(store, node.name) == {"aten::empty", "aten::_indices", "aten::_values"}
    (helper,) = store.named("torch._utils._to", NodeKind.PYTHON)
    edges = store.edges_from(helper.id)
    assert all(edge.guard for edge in edges), edges


@pytest.mark.parametrize(
    ("name", "place", "target"),
    [
        ("torch.nn.functional.conv2d", "torch/nn/functional.py:92", "torch._C._VariableFunctions.conv2d"),
        ("torch.nn.functional.linear", "torch/nn/functional.py:2309", "torch._C._nn.linear"),
        ("torch.nn.functional.nll_loss", "torch/nn/functional.py:3094", "torch._C._nn.nll_loss_nd"),
        ("torch.nn.modules.rnn.LSTM.forward", "torch/nn/modules/rnn.py:1042", "torch._C._VariableFunctions.lstm"),
        ("torch.linalg.norm", "torch/linalg/__init__.py:1268", "torch._C._linalg.linalg_norm"),
        ("torch.optim.sgd._multi_tensor_sgd", "torch/optim/sgd.py:356", "torch._C._VariableFunctions._foreach_add_"),
    ],
)
def test_places(store: Store, name: str, place: str, target: str) -> None:
    (node,) = store.named(name, NodeKind.PYTHON)
    assert node.at == place
    edges = store.edges_from(node.id, EdgeKind.CALLS, EdgeKind.ALIAS_OF)
    assert target in {n.name for n in store.nodes(e.dst for e in edges).values()}
