"""Commit, tag, version, dirty or not; permalinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.checkout import head
from pytrace.files import list_files
from pytrace.identity import Identity, describe, identify, permalink
from pytrace.reading import blob_id
from tests.trees import commit_all, git, make_tree


def blobs(root: Path) -> dict[str, str]:
    return {f.path: blob_id((root / f.path).read_bytes()).hex() for f in list_files(str(root)).files}


def dirty(root: Path) -> str:
    return identify(str(root), blobs(root)).dirty


def test_no_git(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t")
    assert head(str(root)) == ""
    assert identify(str(root), {}) == Identity("", "", "9.9.9", "", "")


@pytest.mark.parametrize("how", ["loose", "packed", "detached", "annotated tag", "worktree"])
def test_head_is_what_git_says(tmp_path: Path, how: str) -> None:
    root = make_tree(tmp_path / "t")
    commit = commit_all(root)
    if how == "packed":
        git(root, "pack-refs", "--all")
    elif how == "detached":
        git(root, "checkout", "--quiet", "--detach")
    elif how == "annotated tag":
        git(root, "tag", "-a", "-m", "x", "v9.9.9")
    elif how == "worktree":
        git(root, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "w"))
        root = tmp_path / "w"
    assert head(str(root)) == commit
    found = identify(str(root), blobs(root))
    assert found.commit == commit
    assert found.tag == ("v9.9.9" if how == "annotated tag" else "")
    assert found.dirty == "no"


def test_dirty(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t", {".gitignore": "/torch/version.py\n"})
    commit_all(root)
    assert dirty(root) == "no"
    (root / "README.md").write_text("not ours to index")
    (root / "torch/version.py").write_text("generated and ignored")
    assert dirty(root) == "no"
    (root / "torch/new.py").write_text("")
    assert dirty(root) == "yes", "an unknown file"
    (root / "torch/new.py").unlink()
    (root / "torch/functional.py").write_text("pass\n")
    assert dirty(root) == "yes", "a changed file"
    git(root, "checkout", "--quiet", ".")
    assert dirty(root) == "no"
    (root / "torch/functional.py").unlink()
    assert dirty(root) == "yes", "a deleted file"


def test_a_sparse_checkout_is_not_dirty(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t", {"c10/a.cpp": "int a;\n"})
    commit_all(root)
    git(root, "sparse-checkout", "set", "aten", "torch", "tools")
    assert not (root / "c10").exists()
    assert dirty(root) == "no"


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("https://github.com/someone/pytorch.git", "https://github.com/someone/pytorch"),
        ("git@github.com:someone/fork", "https://github.com/someone/fork"),
        ("/local/mirror", "https://github.com/pytorch/pytorch"),
    ],
)
def test_permalink(tmp_path: Path, remote: str, url: str) -> None:
    root = make_tree(tmp_path / "t")
    commit = commit_all(root)
    git(root, "remote", "add", "origin", remote)
    found = identify(str(root), {})
    assert permalink(found, "aten/a b.cpp", 7) == f"{url}/blob/{commit}/aten/a%20b.cpp#L7"
    git(root, "tag", "v9.9.9")
    assert permalink(identify(str(root), {}), "aten/x.cpp") == f"{url}/blob/v9.9.9/aten/x.cpp"


def test_no_permalink_without_a_commit() -> None:
    assert permalink(Identity("", "", "2.6.0", "", ""), "aten/x.cpp", 1) == ""


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (Identity("0123456789abcdef", "v2.6.0", "2.6.0a0", "no", ""), "v2.6.0 (012345678)"),
        (Identity("0123456789abcdef", "", "2.6.0a0", "yes", ""), "2.6.0a0 (012345678, with local changes)"),
        (Identity("", "", "", "", ""), "unknown version"),
    ],
)
def test_describe(identity: Identity, text: str) -> None:
    assert describe(identity) == text
