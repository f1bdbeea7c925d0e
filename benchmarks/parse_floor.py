"""The floor of indexing: read every file and parse it with tree-sitter, with as many processes, and nothing else.

    python benchmarks/parse_floor.py TREE JOBS

Prints the seconds, start of the processes included, without the start of Python and the imports.
"""

from __future__ import annotations

import sys
import time

import tree_sitter_cuda
import tree_sitter_python
from tree_sitter import Language, Parser

from pytrace import pool
from pytrace.files import list_files
from pytrace.reading import batches

#: kind of file -> the parser of its language.
PARSERS = {
    "cpp": Parser(Language(tree_sitter_cuda.language())),
    "python": Parser(Language(tree_sitter_python.language())),
}
PARSERS["template"] = PARSERS["cpp"]
PARSERS["python_outline"] = PARSERS["python"]


def parse(item: tuple[str, str]) -> bool:
    """Read and parse one file."""
    path, kind = item
    with open(path, "rb") as file:
        source = file.read()
    return PARSERS[kind].parse(source).root_node.has_error if kind in PARSERS else False


def main() -> None:
    """Parse the tree named on the command line."""
    root, jobs = sys.argv[1], int(sys.argv[2])
    start = time.perf_counter()
    files = [file._replace(path=f"{root}/{file.path}") for file in list_files(root).files]
    for _ in pool.run(batches(files), parse, jobs=jobs):
        pass
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
