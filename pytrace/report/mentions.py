"""Where words stand in the sources of a tree, and inside of what."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytrace.report import changed, queries
from pytrace.report.queries import NodeRow
from pytrace.store import Store


class Mention(NamedTuple):
    """A word on a line of a file: what it is inside of (nothing for a line between things)."""

    word: str
    path: str
    line: int
    inside: list[NodeRow]
    source: list[str]  #: all lines of the file


def find(store: Store, words: Iterable[str], paths: Iterable[str]) -> Iterator[Mention]:
    """Every mention of one of ``words`` in the files ``paths`` of the index; a file that is gone mentions nothing."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b".encode("utf-8", "surrogateescape"))
    for path in paths:
        try:
            with open(os.path.join(store.meta("root"), path), "rb") as file:
                content = file.read()
        except OSError:
            continue
        hits = [(content.count(b"\n", 0, hit.start()) + 1, hit[0]) for hit in pattern.finditer(content)]
        if hits:
            source = content.decode("utf-8", "surrogateescape").split("\n")
            cover = changed.Cover(n for n in queries.nodes_of_file(store, path) if n.kind in changed.INSIDE)
            for line, word in hits:
                yield Mention(word.decode("utf-8", "surrogateescape"), path, line, cover.innermost(line), source)
