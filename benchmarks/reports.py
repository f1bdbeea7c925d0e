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

#: A file whose change is reached by a few operators, a line of a kernel in it, and a registration.
EDITED = "aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu"
LINE = "auto diff = a - b;"
REGISTRATION = "REGISTER_DISPATCH(huber_stub, &huber_kernel_cuda)"


def git(folder: Path, *arguments: str) -> None:
    """Run git in a clone of our own."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def clone(tree: str, work: Path) -> Path:
    """A shared clone of ``tree`` with two more commits that each change one file, and an edit of that file."""
    folder = work / "clone"
    subprocess.run(["git", "clone", "--quiet", "--shared", tree, str(folder)], check=True, capture_output=True)
    file = folder / EDITED
    for word in ("one", "two"):
        file.write_text(f"{file.read_text()}\n// {word} more\n")
        git(folder, "commit", "--quiet", "--all", "-m", word)
    edit(file, LINE, "auto diff = b - a;")
    return folder


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text; ``RuntimeError`` when the file lacks it: nothing would be measured."""
    text = file.read_text()
    if old not in text:
        raise RuntimeError(f"{file} has no {old!r}: this tree is of another version, choose another edit")
    file.write_text(text.replace(old, new, 1))


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
    page = measure.best(measure.pytrace("report", *common, "--format", "html"), env, rounds)
    yield Row("report as HTML, warm", page, "s", 3.0, "the time in a browser: tests/render/test_pictures.py")
    yield Row("impact of one line, warm", _impact(common, env, rounds), "s", 1.0, "against HEAD, by git")
    edit(Path(folder, EDITED), REGISTRATION, "")
    yield Row("impact of a deletion, warm", _impact(common, env, rounds), "s", 1.0, "a registration is gone")
    with_jobs = (*common, "--jobs", str(jobs))
    diff = measure.run(measure.pytrace("diff", *with_jobs, "HEAD~2"), env).seconds
    yield Row("diff against an unseen revision / cold index", diff / cold, "x", 0.2, f"{diff:.2f} s / {cold:.2f} s")
    again = measure.best(measure.pytrace("diff", *common, "HEAD~2"), env, rounds)
    yield Row("diff against a seen revision", again, "s", 3.0, "both indexed")
    both = measure.run(measure.pytrace("diff", *with_jobs, "HEAD~1", "HEAD"), env).seconds
    yield Row("diff of two unseen revisions / cold index", both / cold, "x", 0, f"{both:.2f} s / {cold:.2f} s")


def _impact(common: tuple[str, ...], env: dict[str, str], rounds: int) -> float:
    """Seconds of ``impact``, the index being made; ``RuntimeError`` when it finds nothing."""
    command = measure.pytrace("impact", *common, "--base", "HEAD")
    if "Operators, nearest first" not in measure.run(command, env).output:
        raise RuntimeError("impact found no operator: nothing is measured")
    return measure.best(command, env, rounds)


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
            mark = "" if not row.bound or row.value <= row.bound else "  MISSED"
            missed += bool(mark)
            bound = f"≤ {row.bound:g} {row.unit}" if row.bound else ""
            print(f"{row.what:<62}{row.value:>9.2f} {row.unit:<3}{bound:<11}{row.detail}{mark}", flush=True)
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
