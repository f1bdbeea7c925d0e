"""Unified diffs: which lines of which files changed. Reads what ``git diff`` and ``git format-patch`` write."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pytrace.errors import BadQuestion

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
#: So many blank lines at its end a patch may lose: mailers and editors take them away.
_BLANKS = 3
_ESCAPE = re.compile(r'\\([0-7]{3}|["\\abfnrtv])')
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "\\": "\\"}


@dataclass
class Line:
    """One changed line: its number in its file, and its text."""

    number: int
    text: str


@dataclass
class FileChange:
    """What a patch does to one file.

    ``removed`` are lines of the old file, ``added`` of the new one. ``gaps`` are pairs of neighbouring lines of the
    new file between which lines were taken away, ``old_gaps`` pairs of the old file between which lines were put:
    what stands around both is touched, what only begins or ends there is not. ``context`` are unchanged lines of
    the hunks by their number in the new file.
    """

    path: str  #: in the new state; the old path when the file was deleted
    old_path: str
    status: str  #: modified, added, deleted, renamed
    added: list[Line] = field(default_factory=list)
    removed: list[Line] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    old_gaps: list[tuple[int, int]] = field(default_factory=list)
    context: list[Line] = field(default_factory=list)
    put: list[Line] = field(default_factory=list)  #: added lines of ``old_gaps``, by the old line before them
    binary: bool = False
    whole: bool = False  #: the whole file counts as changed (``--files``)
    reversed: bool = False  #: seen from the state before it, where the patch is not applied to the tree yet


def parse(text: str) -> list[FileChange]:
    """The files of a patch, in its order. Text that is no patch gives an empty list.

    Raises ``BadQuestion`` for a patch whose lines cannot be told: cut, or the combined one of a merge.
    """
    changes: list[FileChange] = []
    lines = iter(text.removesuffix("\n").split("\n"))
    current: FileChange | None = None
    for line in lines:
        if line.startswith("diff --git "):
            current = _begun(line)
            changes.append(current)
        elif line.startswith(("diff --cc ", "diff --combined ", "@@@ ")):
            raise BadQuestion(
                "This is the combined diff of a merge, which says against no one side what changed. "
                "`git diff MERGE^1 MERGE` writes one that does."
            )
        elif line.startswith("--- ") and (current is None or current.added or current.removed or current.context):
            current = FileChange("", "", "modified")  # a plain diff, without git's heads
            changes.append(current)
            _old_name(current, line)
        elif current is not None:
            if match := _HUNK.match(line):
                _hunk(current, match, lines)
            else:
                _header(current, line)
    return [change for change in changes if change.path and is_inside(change.path) and is_inside(change.old_path)]


def decoded(data: bytes) -> str:
    """The text of a patch file; PowerShell's ``>`` writes UTF-16, and editors a byte order mark."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def is_inside(path: str) -> bool:
    """Whether a path stays in the tree: a patch is other people's text, and its paths are opened."""
    return not path.startswith("/") and ".." not in path.split("/") and "\0" not in path


def _begun(line: str) -> FileChange:
    """From ``diff --git a/PATH b/PATH``; the lines that follow say it better when the paths differ."""
    rest = line[len("diff --git ") :]
    if rest.startswith('"'):
        names = [_unquoted(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', rest)]
        path = _stripped(names[-1]) if names else ""
        return FileChange(path, _stripped(names[0]) if names else "", "modified")
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " ":
        return FileChange(_stripped(rest[middle + 1 :]), _stripped(rest[:middle]), "modified")
    old, _, new = rest.partition(" b/")
    return FileChange(new, _stripped(old), "modified")


def _header(change: FileChange, line: str) -> None:
    if line.startswith("new file mode"):
        change.status = "added"
    elif line.startswith("deleted file mode"):
        change.status = "deleted"
    elif line.startswith("rename from "):
        change.status, change.old_path = "renamed", _unquoted(line[len("rename from ") :])
    elif line.startswith("rename to "):
        change.status, change.path = "renamed", _unquoted(line[len("rename to ") :])
    elif line.startswith("--- "):
        _old_name(change, line)
    elif line.startswith("+++ "):
        name = _name(line)
        if name == "/dev/null":
            change.status, change.path = "deleted", change.old_path
        else:
            change.path = name
            change.old_path = change.old_path or name
    elif line.startswith(("Binary files ", "GIT binary patch")):
        change.binary = True


def _old_name(change: FileChange, line: str) -> None:
    name = _name(line)
    if name == "/dev/null":
        change.status = "added"
    else:
        change.old_path = name


def _name(line: str) -> str:
    text = line[4:].split("\t")[0].rstrip()
    text = _unquoted(text)
    return text if text == "/dev/null" else _stripped(text)


def _stripped(name: str) -> str:
    """Without the ``a/`` or ``b/`` that git puts before paths."""
    return name[2:] if name[:2] in ("a/", "b/", "i/", "w/", "c/", "o/") else name


def _unquoted(name: str) -> str:
    """A path as git quotes it (``"a/caf\\303\\251.cpp"``) as text."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    plain = _ESCAPE.sub(lambda m: chr(int(m[1], 8)) if len(m[1]) == 3 else _ESCAPES[m[1]], name[1:-1])
    try:
        return plain.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return plain


def _hunk(change: FileChange, match: re.Match[str], lines: Iterator[str]) -> None:
    """Read the lines of one hunk."""
    old, new = int(match[1]), int(match[3])
    left, right = (int(match[2]) if match[2] else 1), (int(match[4]) if match[4] else 1)
    # Git writes the line before when a side is empty.
    old += left == 0
    new += right == 0
    removed_here = added_here = 0
    while left > 0 or right > 0:
        line = next(lines, None)
        if line is None:
            break
        mark, text = line[:1], line[1:].removesuffix("\r")
        if mark == "-" and left > 0:
            change.removed.append(Line(old, text))
            old, left, removed_here = old + 1, left - 1, removed_here + 1
        elif mark == "+" and right > 0:
            change.added.append(Line(new, text))
            new, right, added_here = new + 1, right - 1, added_here + 1
        elif mark == "\\":
            continue
        elif mark in (" ", "") and left > 0 and right > 0:
            _between(change, old, new, removed_here, added_here)
            change.context.append(Line(new, text))
            old, new, left, right, removed_here, added_here = old + 1, new + 1, left - 1, right - 1, 0, 0
        else:
            break
    if left != right or left > _BLANKS:
        raise BadQuestion(f"The patch was cut or wrapped: a hunk of {change.path} ({match[0]}) is not whole.")
    _between(change, old, new, removed_here, added_here)


def _between(change: FileChange, old: int, new: int, removed: int, added: int) -> None:
    if removed and not added:
        change.gaps.append((new - 1, new))
    if added and not removed:
        change.old_gaps.append((old - 1, old))
        change.put += [Line(old - 1, line.text) for line in change.added[-added:]]


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Line numbers as ranges, first and last included."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
