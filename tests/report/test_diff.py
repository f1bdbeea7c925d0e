"""``pytrace diff``: revisions of a repository and index files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytrace.cli.main import main
from pytrace.paths import index_path
from pytrace.report.revision import is_listed
from tests.trees import commit_all

N = "aten/src/ATen/native"


def run(repository: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", "--root", str(repository), "-q", "--jobs", "1", *arguments])


def diff(repository: Path, *arguments: str) -> dict[str, Any]:
    result = run(repository, "--format", "json", *arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def edit(repository: Path, path: str, old: str, new: str) -> None:
    text = (repository / path).read_text()
    assert old in text, old
    (repository / path).write_text(text.replace(old, new, 1))


@pytest.fixture
def changed(repository: Path) -> Path:
    yaml = f"{N}/native_functions.yaml"
    edit(repository, yaml, "    MPS: mul_out_mps\n", "")
    edit(repository, yaml, "- func: chunk(", "- func: chunks(")
    edit(
        repository,
        yaml,
        "str approximate='none') -> Tensor\n  python_module: nn\n  dispatch",
        "str approximate='tanh') -> Tensor\n  python_module: nn\n  dispatch",
    )
    edit(repository, "tools/autograd/derivatives.yaml", "self: tanh_backward(grad, result)", "self: grad")
    edit(repository, f"{N}/cpu/Activation.cpp", "void GeluKernelImpl(", "void GeluKernelImpl2(")
    edit(repository, f"{N}/cpu/Activation.cpp", "&GeluKernelImpl<", "&GeluKernelImpl2<")
    commit_all(repository, "changes")
    return repository


def test_everything_that_changed_and_nothing_else(changed: Path) -> None:
    found = diff(changed, "HEAD~1", "HEAD")
    assert [one["name"] for one in found["added"]] == ["aten::chunks"]
    assert [(one["name"], one["like"]) for one in found["removed"]] == [("aten::chunk", ["aten::chunks"])]
    assert [(s["name"], c["what"]) for s in found["schemas"] for c in s["changes"]] == [
        ("aten::gelu_backward", "schema"),
        ("aten::gelu_backward", "autograd"),  # its formula is written for the signature that it had
    ]
    assert [one["name"] for one in found["formulas_removed"]] == ["GeluBackwardBackward0"]
    assert found["lost"] == {"MPS": ["aten::mul.Tensor", "aten::mul.out", "aten::mul_.Tensor"]}
    assert "gained" not in found
    (mul,) = [subject for subject in found["dispatch"] if subject["name"] == "aten::mul.out"]
    assert [(c["what"], c["old"], c.get("new", "")) for c in mul["changes"]] == [
        ("MPS", "at::native::structured_mul_out_mps::impl", "")
    ]
    assert found["formulas"][0]["name"] == "TanhBackward0"
    (moved,) = found["kernels"]
    assert (moved["why"], moved["old"]["name"], moved["new"]["name"]) == (
        "renamed",
        "at::native::GeluKernelImpl",
        "at::native::GeluKernelImpl2",
    )
    assert [subject["name"] for subject in found["stubs"]] == ["GeluKernel"]


def test_a_state_differs_from_itself_in_nothing(changed: Path) -> None:
    found = diff(changed, "HEAD", "HEAD")
    assert set(found) == {"schema", "old", "new"}
    assert run(changed, "HEAD", "HEAD", "--exit-code").exit_code == 0
    assert "No difference" in run(changed, "HEAD", "HEAD").output


def test_the_tree_against_a_revision_and_an_index_file(changed: Path) -> None:
    assert run(changed, "HEAD~1", "--exit-code").exit_code == 1
    by_revision = diff(changed, "HEAD~1")
    assert by_revision["removed"][0]["name"] == "aten::chunk"
    # Moved lines are no difference, and an index made from objects equals one made from files.
    assert set(diff(changed, "HEAD")) == {"schema", "old", "new"}
    by_file = diff(changed, "HEAD~1", index_path(str(changed)))
    assert {k: v for k, v in by_file.items() if k != "new"} == {k: v for k, v in by_revision.items() if k != "new"}


def test_a_moved_kernel(repository: Path) -> None:
    path = f"{N}/cpu/Activation.cpp"
    (repository / f"{N}/cpu/Gelu.cpp").write_text((repository / path).read_text())
    (repository / path).unlink()
    found = diff(repository, "HEAD")
    moved = {(one["old"]["name"], one["why"]): one["new"]["file"] for one in found["kernels"]}
    assert moved["at::native::GeluKernelImpl", "moved"] == f"{N}/cpu/Gelu.cpp"
    assert "stubs" not in found and "dispatch" not in found


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        (("nowhere",), "There is no revision nowhere"),
        (("-x",), "No such option"),
    ],
)
def test_mistakes(repository: Path, arguments: tuple[str, ...], holds: str) -> None:
    result = run(repository, *arguments)
    assert result.exit_code != 0
    assert holds in result.output


def test_a_file_that_is_no_index(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is no database, not at all, whatever its name says")
    result = run(repository, str(tmp_path / "x.db"))
    assert result.exit_code == 1
    assert "is not an index of pytrace" in result.output


def test_a_commit_that_is_no_tree(repository: Path) -> None:
    (repository / f"{N}/native_functions.yaml").rename(repository / "moved.yaml")
    commit_all(repository, "no tree")
    (repository / "moved.yaml").rename(repository / f"{N}/native_functions.yaml")
    result = run(repository, "HEAD")
    assert result.exit_code == 1
    assert "no PyTorch tree" in result.output


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        (f"{N}/native_functions.yaml", True),
        (f"{N}/cuda/Loops.cuh", True),
        ("torch/nn/functional.py", True),
        ("aten/src/ATen/third_party/x.cpp", False),
        ("torch/include/ATen/x.h", False),
        ("docs/x.py", False),
        ("setup.py", False),
        ("torch/.hidden/x.py", False),
    ],
)
def test_which_files_of_a_commit_are_read(path: str, listed: bool) -> None:
    assert is_listed(path) == listed


@pytest.mark.parametrize("fmt", ["text", "markdown"])
def test_formats(changed: Path, fmt: str) -> None:
    text = run(changed, "HEAD~1", "HEAD", "--format", fmt).output
    for word in ("chunks", "MPS", "GeluKernelImpl2", "TanhBackward0"):
        assert word in text
