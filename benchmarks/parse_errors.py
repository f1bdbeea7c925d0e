"""What normalisation does to the parse: files with errors before and after, per folder and grammar, and times.

    python benchmarks/parse_errors.py TREE [--list FOLDER]

A file counts under ERROR when its tree has an ERROR node (text that fits no rule), else under MISSING when the parser
had to make up a token (mostly the ``;`` of a macro invocation; the structure around it is right). Kernels that PyTorch
bundles from other projects (QNNPACK, flash-attention, the memory-efficient attention of xFormers) are counted apart.
``--list`` prints the first error of every file under FOLDER. Times are CPU seconds of one core.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import tree_sitter_cpp
import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Tree

from pytrace.extract.normalise import normalise, normalise_common, parse
from pytrace.files import list_files

GRAMMARS = {
    "cuda": Parser(Language(tree_sitter_cuda.language())),
    "cpp": Parser(Language(tree_sitter_cpp.language())),
}
FOLDERS = ("aten/src/ATen/native", "aten/src/ATen", "c10", "torch/csrc", "caffe2", "torch", "tools", "functorch")
BUNDLED = re.compile(r"/(?:quantized/cpu/qnnpack|transformers/cuda/flash_attn|transformers/cuda/mem_eff_attention)/")


class Row(NamedTuple):
    """One file: where it is counted, and per grammar and state (raw, normalised) what was found in it."""

    folder: str
    found: dict[tuple[str, str], str]


def first_error(tree: Tree, *, missing: bool) -> Node | None:
    """The first ERROR node (or, with ``missing``, also the first MISSING one), or None."""
    if not tree.root_node.has_error:
        return None
    todo = [tree.root_node]
    while todo:
        node = todo.pop()
        if node.is_error or (missing and node.is_missing):
            return node
        todo += [child for child in reversed(node.children) if child.has_error or child.is_error or child.is_missing]
    return None


def kind(tree: Tree) -> str:
    """``ERROR``, ``MISSING`` or ``""``."""
    if not tree.root_node.has_error:
        return ""
    return "ERROR" if first_error(tree, missing=False) else "MISSING"


def folder_of(path: str) -> str:
    """The folder a file is counted under."""
    if BUNDLED.search(f"/{path}"):
        return "(bundled kernels)"
    return next((folder for folder in FOLDERS if path.startswith(f"{folder}/")), "(other)")


def cpu(seconds: defaultdict[str, float], what: str, start: float) -> float:
    """Add the time since ``start`` and start anew."""
    now = time.process_time()
    seconds[what] += now - start
    return now


def examine(path: str, source: bytes, seconds: defaultdict[str, float]) -> Row:
    """Parse one file in every way."""
    start = time.process_time()
    clean = normalise(source)
    start = cpu(seconds, "normalise, both tiers", start)
    normalise_common(source)
    start = cpu(seconds, "normalise, first tier", start)
    parse(source, GRAMMARS["cuda"])
    start = cpu(seconds, "cuda: first tier, parse, second tier where needed", start)
    found = {}
    for grammar, parser in GRAMMARS.items():
        for state, text in (("raw", source), ("normalised", clean)):
            start = time.process_time()
            tree = parser.parse(text)
            cpu(seconds, f"{grammar}: parse {state}", start)
            found[grammar, state] = kind(tree)
    return Row(folder_of(path), found)


def report(rows: list[Row], seconds: defaultdict[str, float]) -> None:
    """Print the tables."""
    columns = [(grammar, state) for grammar in GRAMMARS for state in ("raw", "normalised")]
    print(f"{'files with ERROR + with MISSING only':28}{'files':>7}", *(f"{g + ' ' + s:>18}" for g, s in columns))
    for folder in (*FOLDERS, "(other)", "(bundled kernels)"):
        here = [row.found for row in rows if row.folder == folder]
        if here:
            cells = []
            for column in columns:
                counts = Counter(found[column] for found in here)
                cells.append(f"{counts['ERROR']:>6} ({counts['ERROR'] / len(here):5.1%}) +{counts['MISSING']:>4}")
            print(f"{folder:36}{len(here):>6}", *(f"{cell:>19}" for cell in cells))
    floor = seconds["cuda: parse raw"]
    print()
    for what, spent in sorted(seconds.items()):
        print(f"{what:52}{spent:7.2f} s{spent / floor:8.2f} x the parse of the raw bytes")


def list_errors(root: Path, paths: list[str]) -> None:
    """Print the first error of every file."""
    for path in paths:
        source = (root / path).read_bytes()
        tree, _ = parse(source, GRAMMARS["cuda"])
        node = first_error(tree, missing=False)
        if node is not None:
            line = source[source.rfind(b"\n", 0, node.start_byte) + 1 :].split(b"\n", 1)[0]
            print(f"{path}:{node.start_point[0] + 1}: {line.decode('utf-8', 'replace').strip()[:100]}")


def main() -> None:
    """Measure the tree named on the command line."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    paths = [file.path for file in list_files(str(root)).files if file.kind in ("cpp", "template")]
    if "--list" in sys.argv:
        folder = sys.argv[sys.argv.index("--list") + 1]
        return list_errors(root, [path for path in paths if path.startswith(folder)])
    seconds: defaultdict[str, float] = defaultdict(float)
    report([examine(path, (root / path).read_bytes(), seconds) for path in paths], seconds)
    return None


if __name__ == "__main__":
    main()
