"""Is a patch applied to the tree? Decides which side of it the index knows."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pytrace.report.patches import FileChange, Line


def is_applied(root: str, changes: Sequence[FileChange]) -> bool:
    """Whether the tree at ``root`` is the state after the patch (as CI checks out) rather than before.

    The side whose lines stand in the files where the patch says decides; with neither, the patch is taken as applied
    and its line numbers as they are.
    """
    after = before = 0
    for change in changes:
        if change.status == "added":
            exists = os.path.exists(os.path.join(root, change.path))
            after, before = after + exists, before + (not exists)
            continue
        if change.status == "deleted":
            exists = os.path.exists(os.path.join(root, change.old_path))
            after, before = after + (not exists), before + exists
            continue
        after += _matching(_lines(root, change.path), change.added)
        before += _matching(_lines(root, change.old_path), change.removed)
        if not change.removed:  # only additions: their absence is what tells the old state
            before += len(change.added) - _matching(_lines(root, change.path), change.added)
        if not change.added:
            after += len(change.removed) - _matching(_lines(root, change.old_path), change.removed)
    return after >= before


def _lines(root: str, path: str) -> list[str]:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as file:
            return file.read().split("\n")
    except (OSError, ValueError):
        return []


def _matching(source: Sequence[str], lines: Sequence[Line]) -> int:
    return sum(
        0 < line.number <= len(source) and source[line.number - 1].rstrip() == line.text.rstrip() for line in lines
    )


def old_text(root: str, change: FileChange) -> str | None:
    """The text of a file before a patch that is applied to the tree; None when the patch does not tell."""
    if change.whole or change.binary:
        return None
    added = {line.number for line in change.added}
    source = [] if change.status == "deleted" else _lines(root, change.path)
    kept = [text for number, text in enumerate(source, 1) if number not in added]
    for line in sorted(change.removed, key=lambda line: line.number):
        kept.insert(line.number - 1, line.text)
    return "\n".join(kept)


def reversed_change(change: FileChange) -> FileChange:
    """The same change seen from the state before it."""
    status = {"added": "deleted", "deleted": "added"}.get(change.status, change.status)
    return FileChange(
        change.old_path or change.path,
        change.path,
        status,
        added=change.removed,
        removed=[],
        gaps=change.old_gaps,
        put=change.put,
        binary=change.binary,
        reversed=True,
    )
