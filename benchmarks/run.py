"""How fast is pytrace? Ratios against floors that are measured in the same run, on the same machine.

    python benchmarks/run.py [TREE] [--jobs N] [--rounds N] [--check]

TREE defaults to PYTORCH_SRC. Nothing is written there: the edit is made in a copy. Takes a minute or two. With
``--check`` the exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import measure

from pytrace.checkout import find_root
from pytrace.files import TOPS
from pytrace.pool import default_jobs

#: Rounds of the measurements that take milliseconds (``--rounds`` is for those that take seconds).
SHORT = 15

#: A source in the middle of the graph: a kernel file with stubs, launches and callers.
EDITED = "aten/src/ATen/native/ReduceOps.cpp"


class Row(NamedTuple):
    """One measurement and its bound."""

    what: str
    value: float
    unit: str
    bound: float
    detail: str


def cold(tree: str, jobs: int, rounds: int, work: Path) -> Iterator[Row]:
    """Cold index against the parse-only floor, in turns; the peak of memory."""
    floors, colds, peaks = [], [], []
    floor = [sys.executable, str(measure.CHECKOUT / "benchmarks" / "parse_floor.py"), tree, str(jobs)]
    for n in range(rounds):
        cache = work / f"cold{n}"
        floors.append(float(measure.run(floor, measure.environment(cache)).output))
        index = measure.pytrace("index", tree, "--quiet", "--jobs", str(jobs))
        done = measure.run(index, measure.environment(cache), memory=True)
        colds.append(done.seconds)
        peaks.append(done.peak)
        if n:
            shutil.rmtree(cache)
    detail = f"{min(colds):.2f} s / {min(floors):.2f} s, {jobs} processes, best of {rounds}"
    yield Row("cold index / parse-only floor", min(colds) / min(floors), "x", 2.0, detail)
    yield Row("peak memory, all processes", max(peaks) / 1e6, "MB", 1200, "sum of resident sizes")
    size = next((work / "cold0" / "index").glob("*.db")).stat().st_size
    yield Row("size of the index", size / 1e6, "MB", 150, "")
    facts = (work / "cold0" / "facts.db").stat().st_size
    yield Row("size of the fact cache", facts / 1e6, "MB", 0, "shared by all trees")


def warm(tree: str, jobs: int, rounds: int, work: Path) -> Iterator[Row]:
    """Nothing changed, and questions against the floor of starting Python with click and SQLite."""
    env = measure.environment(work / "cold0")
    nothing = measure.best(measure.pytrace("index", tree, "--quiet"), env, SHORT)
    yield Row("index, nothing changed", nothing, "s", 0.5, f"best of {SHORT}")
    floor = [sys.executable, "-c", "import click, sqlite3"]
    for question in (("op", "lstm"), ("op", "add.Tensor"), ("kernel", "vectorized_elementwise_kernel", "--up")):
        command = measure.pytrace(*question, "--root", tree)
        try:
            low, high = measure.paired(floor, command, env, SHORT)
        except RuntimeError as error:
            print(f"not measured: {error}", file=sys.stderr)
            continue
        bound = 2.5 if question == ("op", "lstm") else 0
        detail = f"{high * 1000:.0f} ms / {low * 1000:.0f} ms, medians of {SHORT} in turns"
        yield Row(f"pytrace {' '.join(question)} / query floor", high / low, "x", bound, detail)


def edited(tree: str, jobs: int, rounds: int, work: Path) -> Iterator[Row]:
    """One C++ file edited, in a copy of the tree whose contents are in the fact cache."""
    copy = work / "tree"
    for top in (*TOPS, "version.txt"):
        source = Path(tree, top)
        if source.is_dir():
            shutil.copytree(source, copy / top, symlinks=True)
        elif source.exists():
            shutil.copy(source, copy / top)
    env = measure.environment(work / "cold0")
    command = measure.pytrace("index", str(copy), "--quiet", "--jobs", str(jobs))
    yield Row("second checkout, all contents known", measure.run(command, env).seconds, "s", 0, "")
    seconds = []
    for n in range(rounds):
        path = copy / EDITED
        # A new function before all others: every line of the file moves.
        path.write_text(f"static int pytrace_benchmark_{n}(int x) {{ return x; }}\n" + path.read_text())
        seconds.append(measure.run(command, env).seconds)
    yield Row("index, one C++ file edited", statistics.median(seconds), "s", 1.5, f"median of {rounds}, {EDITED}")


def main() -> int:
    """Measure, print, and judge when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", default=os.environ.get("PYTORCH_SRC"))
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    tree = find_root(options.tree)
    # As an installed pytrace has it: byte code of all modules, even where PYTHONDONTWRITEBYTECODE is set.
    compileall.compile_dir(str(measure.CHECKOUT / "pytrace"), quiet=1)
    missed = 0
    with tempfile.TemporaryDirectory(prefix="pytrace-bench-") as folder:
        for part in (cold, warm, edited):
            for row in part(tree, options.jobs, options.rounds, Path(folder)):
                good = not row.bound or row.value <= row.bound
                missed += not good
                bound = f"≤ {row.bound:g} {row.unit}" if row.bound else ""
                mark = "" if good else "  MISSED"
                print(f"{row.what:<62}{row.value:>9.2f} {row.unit:<3}{bound:<11}{row.detail}{mark}", flush=True)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
