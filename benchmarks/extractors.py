"""Where does extraction spend its time? CPU per kind of file, against the parse alone, on a sample of the tree.

python benchmarks/extractors.py [TREE] [--every N] [--profile KIND]
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import time

from parse_floor import PARSERS

from pytrace import facts
from pytrace.checkout import find_root
from pytrace.extract import load
from pytrace.files import list_files


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", default=os.environ.get("PYTORCH_SRC"))
    parser.add_argument("--every", type=int, default=20, metavar="N", help="take one file of N (default 20)")
    parser.add_argument("--profile", metavar="KIND", help="profile the extractor of this kind")
    options = parser.parse_args()
    root = find_root(options.tree)
    print(f"{'kind':<18}{'files':>6}{'MB':>7}{'parse':>9}{'extract':>9}{'ratio':>7}{'pack':>7}{'packed MB':>11}")
    for kind in ("cpp", "template", "python", "native_functions", "derivatives", "deprecated", "tags"):
        if options.profile in (None, kind):
            files = [f for f in list_files(root).files if f.kind == kind]
            _measure(kind, [_source(root, f.path) for f in files[:: options.every if len(files) > 100 else 1]], options)


def _source(root: str, path: str) -> bytes:
    with open(os.path.join(root, path), "rb") as file:
        return file.read()


def _measure(kind: str, sources: list[bytes], options: argparse.Namespace) -> None:
    extract = load(kind).extract
    extract(b"")
    parsing = extracting = packing = 0.0
    size = 0
    profile = cProfile.Profile()
    for source in sources:
        start = time.process_time()
        if kind in PARSERS:
            PARSERS[kind].parse(source)
        parsed = time.process_time()
        found = profile.runcall(extract, source) if options.profile else extract(source)
        extracted = time.process_time()
        size += len(facts.pack(found))
        packing += time.process_time() - extracted
        parsing += parsed - start
        extracting += extracted - parsed
    ratio = f"{extracting / parsing:6.2f}x" if parsing else ""
    print(
        f"{kind:<18}{len(sources):>6}{sum(map(len, sources)) / 1e6:>7.2f}{parsing:>8.2f}s{extracting:>8.2f}s"
        f"{ratio:>7}{packing:>6.2f}s{size / 1e6:>11.3f}",
        flush=True,
    )
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
