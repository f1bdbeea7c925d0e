"""``pytrace fetch`` against a local repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytrace.checkout import find_root
from pytrace.errors import FetchFailed
from pytrace.fetch import fetch
from pytrace.identity import identify
from tests.trees import commit_all, git, make_tree, run


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """A repository with two releases, a branch, and folders that are not to be fetched."""
    root = make_tree(tmp_path / "upstream", {"docs/big.rst": "x" * 1000, "test/test_ops.py": "", "setup.py": ""})
    commit_all(root, "one")
    git(root, "tag", "v1.0.0")
    (root / "version.txt").write_text("1.1.0\n")
    commit_all(root, "two")
    git(root, "tag", "-a", "-m", "annotated", "v1.1.0")
    git(root, "branch", "release/1.1")
    return root


@pytest.mark.parametrize(
    ("revision", "folder", "version", "tag"),
    [
        ("v1.0.0", "v1.0.0", "9.9.9", "v1.0.0"),
        ("v1.1.0", "v1.1.0", "1.1.0", "v1.1.0"),
        ("main", "main", "1.1.0", ""),
        ("release/1.1", "release-1.1", "1.1.0", ""),
    ],
)
def test_fetch(upstream: Path, tmp_path: Path, revision: str, folder: str, version: str, tag: str) -> None:
    path = Path(fetch(revision, url=str(upstream), quiet=True))
    assert path == tmp_path / "cache" / "trees" / folder
    assert sorted(e for e in os.listdir(path) if e != ".git") == ["aten", "setup.py", "tools", "torch", "version.txt"]
    assert git(path, "rev-list", "--all", "--count") == "1", "shallow"
    found = identify(str(path), {})
    assert (found.version, found.tag) == (version, tag)
    assert git(path, "status", "--porcelain") == "", "the sparse checkout is what git expects"
    assert find_root(folder) == str(path)


def test_a_fetched_tree_is_not_fetched_again(upstream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fetch("v1.0.0", url=str(upstream), quiet=True)
    assert fetch("v1.0.0", url="/nowhere", quiet=True) == first


def test_force_fetches_again(upstream: Path) -> None:
    path = Path(fetch("main", url=str(upstream), quiet=True))
    (upstream / "version.txt").write_text("1.2.0\n")
    commit_all(upstream)
    assert Path(fetch("main", url=str(upstream), quiet=True, force=True)) == path
    assert (path / "version.txt").read_text() == "1.2.0\n"


@pytest.mark.parametrize(
    ("revision", "url", "said"),
    [
        ("v0.0.0", "upstream", "has no revision 'v0.0.0'. Tags look like v2.6.0"),
        ("v1.0.0", "/nowhere/at/all", "could not be fetched from /nowhere/at/all"),
        ("--upload-pack=x", "upstream", "is not the name of a revision"),
        ("../up", "upstream", "is not the name of a revision"),
        ("bare", "empty", "is no PyTorch tree: it has no aten/src/ATen/native/native_functions.yaml"),
    ],
)
def test_failures_say_why_and_leave_nothing(upstream: Path, tmp_path: Path, revision: str, url: str, said: str) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "x").write_text("")
    commit_all(empty)
    git(empty, "branch", "bare")
    with pytest.raises(FetchFailed) as caught:
        fetch(revision, url=url if url.startswith("/") else str(tmp_path / url), quiet=True)
    assert said in str(caught.value)
    trees = tmp_path / "cache" / "trees"
    assert not trees.exists() or os.listdir(trees) == []


def test_the_command(upstream: Path, tmp_path: Path) -> None:
    done = run("fetch", "v1.0.0", "--url", str(upstream))
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/cache/trees/v1.0.0\n")
    assert done.stderr == f"pytrace: fetching v1.0.0 from {upstream}\n"
    failed = run("fetch", "v7.7.7", "--url", str(upstream))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.splitlines()[-1].startswith(f"pytrace: {upstream} has no revision 'v7.7.7'.")
