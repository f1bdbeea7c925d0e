"""Changed lines of the files that hold PyTorch's own test entries: the entries that they are of.

A line belongs to the entry that is written around it; a line of a function (samples, references, skips) to the entries
that name the function, or a function that does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from pytrace.report.testing import Entry

_TOP = re.compile(r"(?:def|class)\s+(\w+)")
#: So many functions may stand between a changed one and the entry that names it.
_CALLS = 3


def of_lines(entries: Iterable[Entry], path: str, source: Sequence[str], numbers: Iterable[int]) -> list[Entry]:
    """The entries of ``path``, whose lines are ``source``, that a change of the lines ``numbers`` is of."""
    own = sorted((entry for entry in entries if entry.file == path), key=lambda entry: entry.line)
    tops = [(number, text) for number, text in enumerate(source, 1) if text[:1] not in ("", " ", "#", ")", "]", "}")]
    starts, heads = [entry.line for entry in own], [number for number, _ in tops]
    found: dict[int, Entry] = {}
    names: set[str] = set()
    for number in numbers:
        place = bisect_right(heads, number) - 1
        function = _TOP.match(tops[place][1]) if place >= 0 else None
        if function:
            names.add(function[1])
            continue
        # The name of an entry may stand on the line behind its bracket.
        entry = bisect_right(starts, number + (source[number - 1].rstrip().endswith("("))) - 1
        if entry >= 0 and place >= 0 and starts[entry] >= heads[place]:
            found[entry] = own[entry]
    if names:
        pattern = _closed(names, source, list(zip(heads, [*heads[1:], len(source) + 1])))
        for at, one in enumerate(own):
            # Up to the next entry, or to what stands behind the list.
            ends = [*starts[at + 1 : at + 2], *heads[bisect_right(heads, one.line) :][:1], len(source) + 1]
            if _named(pattern, source[one.line - 1 : min(ends) - 1]):
                found[at] = one
    return [found[number] for number in sorted(found)]


def _closed(names: set[str], source: Sequence[str], spans: Sequence[tuple[int, int]]) -> re.Pattern[str]:
    """What finds ``names`` and the functions that name them."""
    known = set(names)
    for _ in range(_CALLS):
        pattern = _words(known)
        more = {
            head[1]
            for first, end in spans
            if (head := _TOP.match(source[first - 1])) and head[1] not in known
            if _named(pattern, source[first - 1 : end - 1])
        }
        if not more:
            break
        known |= more
    return _words(known)


def _words(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")


def _named(pattern: re.Pattern[str], lines: Iterable[str]) -> bool:
    return any(pattern.search(line) for line in lines)
