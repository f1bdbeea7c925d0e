"""Lines of source around places, for pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable

#: Lines before and after, and characters of a line, that a snippet holds.
_BEFORE, _AFTER, _WIDEST = 1, 9, 160


def read(root: str, places: Iterable[tuple[str, int]]) -> dict[str, list[tuple[int, str]]]:
    """``path:line`` -> (number, text) of the lines around, for places of the tree at ``root`` that can be read."""
    wanted: dict[str, set[int]] = {}
    for file, line in places:
        if file and line:
            wanted.setdefault(file, set()).add(line)
    found = {}
    for file, lines in sorted(wanted.items()):
        try:
            with open(os.path.join(root, file), encoding="utf-8", errors="replace") as stream:
                source = stream.read().split("\n")
        except (OSError, ValueError):
            continue
        for line in sorted(lines):
            if line <= len(source):
                first, last = max(1, line - _BEFORE), min(len(source), line + _AFTER)
                found[f"{file}:{line}"] = [(n, source[n - 1].rstrip()[:_WIDEST]) for n in range(first, last + 1)]
    return found
