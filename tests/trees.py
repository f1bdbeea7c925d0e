"""Small trees for tests: a folder that pytrace takes for a PyTorch checkout."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
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
    """Make ``folder`` a minimal tree, when it is none yet, and write ``more`` files into it."""
    files = dict(more or {})
    if not (folder / MARK).exists():
        files = {**MINIMAL, **files}
    for path, content in files.items():
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


def environment(**more: str) -> dict[str, str]:
    """The environment in which a process finds this pytrace from any folder."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent), **more}


def run(*arguments: str, before: Callable[[], None] | None = None, cache: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytrace as a process of its own, from the working folder; ``before`` runs in it first."""
    return subprocess.run(
        command(*arguments),
        env=environment(**({"PYTRACE_CACHE": cache} if cache else {})),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=before,
    )


def bound_by_permissions() -> None:
    """Make permissions bind root as well (for ``before``): the next program lacks the capabilities to pass them."""
    if os.getuid() == 0:
        drop_from_bounding_set, cap_dac_override, cap_dac_read_search = 24, 1, 2
        for capability in (cap_dac_override, cap_dac_read_search):
            ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)
