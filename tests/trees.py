"""Small trees for tests: a folder that pytrace takes for a PyTorch checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pytrace.checkout import MARK

#: One operator: enough to be a tree.
MINIMAL: dict[str, str | bytes] = {
    MARK: "- func: twice(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: twice_cpu\n",
    "aten/src/ATen/native/tags.yaml": "- tag: core\n  desc: |\n    The core.\n",
    "tools/autograd/derivatives.yaml": "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    "tools/autograd/deprecated.yaml": "",
    "aten/src/ATen/native/Twice.cpp": (
        "namespace at::native {\nTensor twice_cpu(const Tensor& self) {\n  return at::add(self, self);\n}\n}\n"
    ),
    "torch/functional.py": "import torch\n\ndef twice(x):\n    return torch.twice(x)\n",
    "version.txt": "9.9.9\n",
}


def make_tree(folder: Path, more: Mapping[str, str | bytes] | None = None) -> Path:
    """Write a minimal tree, and ``more`` files, into ``folder``; an existing file is replaced."""
    for path, content in {**MINIMAL, **(more or {})}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder``, as nobody, with no configuration but its own."""
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "nobody@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit_all(folder: Path, message: str = "all") -> str:
    """Commit everything in ``folder`` (made a repository when it is none) and return the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def command(*arguments: str) -> list[str]:
    """The command line of ``pytrace ARGUMENTS`` as a process of its own."""
    return [sys.executable, "-m", "pytrace", *arguments]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytrace as a process of its own, from the working folder."""
    source = str(Path(__file__).resolve().parent.parent)
    return subprocess.run(
        command(*arguments),
        env={**os.environ, "PYTHONPATH": source, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
