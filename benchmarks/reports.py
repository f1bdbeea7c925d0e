"""How fast are the reports? ``report`` and ``impact`` warm, ``diff`` of two revisions against a cold index.

    python benchmarks/reports.py [TREE] [--jobs N] [--rounds N] [--check]

TREE defaults to PYTORCH_SRC and must be a git checkout. Nothing is written there: the second revision is made in a
shared clone. Takes a minute or two. With ``--check`` the exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import measure
from run import Row

from pytrace.checkout import find_root
from pytrace.pool import default_jobs

#: A file whose change is reached by a few operators.
EDITED = "aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu"


def git(folder: Path, *arguments: str) -> None:
    """Run git in a clone of our own."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def clone(tree: str, work: Path) -> Path:
    """A shared clone of ``tree`` with a second commit that changes one file."""
    folder = work / "clone"
    subprocess.run(["git", "clone", "--quiet", "--shared", tree, str(folder)], check=True, capture_output=True)
    file = folder / EDITED
    file.write_text(file.read_text() + "\n// one more line\n")
    git(folder, "commit", "--quiet", "--all", "-m", "one file")
    file.write_text(file.read_text().replace("scalar_t diff = a - b;", "scalar_t diff = b - a;"))
    return folder


def rows(tree: str, jobs: int, rounds: int, work: Path) -> Iterator[Row]:
    """All measurements."""
    folder = str(clone(tree, work))
    env = measure.environment(work / "cache")
    cold = measure.run(measure.pytrace("index", folder, "--quiet", "--jobs", str(jobs)), env).seconds
    common = ("--root", folder, "--quiet")
    text = measure.best(measure.pytrace("report", *common), env, rounds)
    yield Row("report, all operators, warm", text, "s", 3.0, "text")
    table = measure.best(measure.pytrace("report", *common, "--format", "json"), env, rounds)
    yield Row("report with details, warm", table, "s", 3.0, "json")
    impact = measure.best(measure.pytrace("impact", *common, "--base", "HEAD"), env, rounds)
    yield Row("impact of one file, warm", impact, "s", 1.0, "against HEAD, by git")
    diff = measure.run(measure.pytrace("diff", *common, "--jobs", str(jobs), "HEAD~1"), env).seconds
    yield Row("diff against an unseen revision / cold index", diff / cold, "x", 0.2, f"{diff:.2f} s / {cold:.2f} s")
    again = measure.best(measure.pytrace("diff", *common, "HEAD~1"), env, rounds)
    yield Row("diff against a seen revision", again, "s", 3.0, "both indexed")


def main() -> int:
    """Measure, print, and check the bounds when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", default=os.environ.get("PYTORCH_SRC"))
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="pytrace-bench-") as work:
        for row in rows(find_root(given.tree), given.jobs, given.rounds, Path(work)):
            mark = "" if row.value <= row.bound else "  MISSED"
            missed += bool(mark)
            print(
                f"{row.what:<46} {row.value:8.2f} {row.unit:<3} (bound {row.bound:g}{row.unit})  {row.detail}{mark}",
                flush=True,
            )
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
