"""OpInfo, ModuleInfo and friends, told from text."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.report import testing

OPINFO = """
op_db = [
    OpInfo(
        'nn.functional.mse_loss',
        aten_backward_name='mse_loss_backward',
    ),
    UnaryUfuncInfo("acos", aliases=("arccos",), op=torch.acos),
    OpInfo('sub', op=_helper.sub, inplace_variant=torch.Tensor.sub_, variant_test_name='one'),
    ElementwiseUnaryPythonRefInfo("_refs.acos", torch_opinfo_name="acos"),
    ForeachFuncInfo("exp"),
]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in {
        "torch/testing/_internal/common_methods_invocations.py": OPINFO,
        "torch/testing/_internal/common_modules.py": "db = [\n    ModuleInfo(torch.nn.MSELoss,\n    ),\n]\n",
        "benchmarks/operator_benchmark/pt/loss_test.py": "import torch.nn.functional as F\nF.mse_loss(a, b)\n",
        "test/test_ops.py": "",
        "test/test_foreach.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_entries(root: Path) -> None:
    found = {entry.name: entry for entry in testing.entries(str(root))}
    assert {name: (e.kind, e.line, e.word) for name, e in found.items()} == {
        "nn.functional.mse_loss": ("op", 4, "nn_functional_mse_loss"),
        "acos": ("op", 7, "acos"),
        "sub": ("op", 8, "sub_one"),
        "_refs.acos": ("ref", 9, "_refs_acos"),
        "exp": ("foreach", 10, "_foreach_exp"),
        "torch.nn.MSELoss": ("module", 2, "nn_MSELoss"),
    }
    assert "mse_loss_backward" in found["nn.functional.mse_loss"].operators
    assert "torch.Tensor.sub_" in found["sub"].python
    assert found["exp"].python == {"torch._foreach_exp", "torch._foreach_exp_"}


def test_runs(root: Path) -> None:
    entries = testing.entries(str(root))
    runs = testing.runs(str(root), entries, ["CUDA", "backward"])
    assert [run.command for run in runs] == [
        # `acos` selects `_refs_acos` as well; files that the tree does not have are left out.
        'python -m pytest test/test_ops.py -k "nn_functional_mse_loss or acos or sub_one"',
        'python -m pytest test/test_foreach.py -k "_foreach_exp"',
    ]
    assert testing.runs(str(root), entries, [], most_words=1)[0].command == "python -m pytest test/test_ops.py"


def test_benchmarks(root: Path) -> None:
    found = testing.benchmarks(str(root), ["torch.nn.functional.mse_loss", "torch.add"])
    (loss,) = found
    assert loss[:2] == ("benchmarks/operator_benchmark/pt/loss_test.py", ["torch.nn.functional.mse_loss"])
    assert "F.mse_loss" in (root / loss.file).read_text().splitlines()[loss.line - 1]


def test_a_tree_without_tests(tmp_path: Path) -> None:
    assert testing.entries(str(tmp_path)) == []
    assert testing.benchmarks(str(tmp_path), ["torch.add"]) == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["CUDA"], set()),
        (["backward", "MPS"], {"backward", "MPS"}),
        (["SparseMeta", "fake"], {"Meta"}),
        (["FuncTorchBatched"], {"vmap"}),
    ],
)
def test_aspects(keys: list[str], expected: set[str]) -> None:
    assert testing.aspects(keys) == expected
