"""What reports ask git: revisions, differences, trees and contents. Nothing is ever written to the repository.

Programs that a checkout's own configuration names (``core.fsmonitor``, external diffs, text conversions, pagers) are
not run: the checkout may be somebody else's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytrace.errors import BadQuestion

_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=true", "-c", "color.ui=false")


class Entry(NamedTuple):
    """One file of a revision."""

    path: str
    blob: str


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}


def run(root: str, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Output of git. Raises ``BadQuestion`` with what git said when it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", *_SAFE, "-C", root, *arguments],
            env=_environment(),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise BadQuestion(
            f"git could not be started ({error.strerror}). Revisions need git; --files does not."
        ) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise BadQuestion(f"git {arguments[0]} failed: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout


def commit_of(root: str, revision: str) -> str:
    """The commit that ``revision`` means in the repository at ``root``. Raises ``BadQuestion``."""
    if revision.startswith("-") or not revision:
        raise BadQuestion(f"{revision!r} is not a revision. Examples: HEAD~1, main, v2.6.0, a commit.")
    try:
        return run(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except BadQuestion as error:
        if "could not be started" in str(error):
            raise
        raise BadQuestion(
            f"There is no revision {revision} in the repository of {root}. A shallow clone lacks old ones: "
            f"`git fetch --depth=1 origin {revision}` gets one."
        ) from error


def merge_base(root: str, commit: str) -> str:
    """Where HEAD and ``commit`` parted; ``commit`` itself when the history that is there does not tell."""
    try:
        return run(root, "merge-base", commit, "HEAD").decode().strip() or commit
    except BadQuestion:
        return commit


def difference(root: str, old: str, new: str = "") -> str:
    """The patch from ``old`` to ``new``, or to the working tree with its new files, paths relative to ``root``."""
    options = (
        "--unified=0",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--find-renames",
        "--relative",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    )
    text = run(root, "diff", *options, old, *([new] if new else []), "--").decode("utf-8", "surrogateescape")
    return text


def untracked(root: str) -> list[str]:
    """Files that git does not know and does not ignore, relative to ``root``."""
    listed = run(root, "ls-files", "--others", "--exclude-standard", "-z").decode("utf-8", "surrogateescape")
    return [path for path in listed.split("\0") if path]


def tree(root: str, commit: str) -> list[Entry]:
    """All regular files of a commit, paths relative to ``root`` (which may be below the top of its repository)."""
    prefix = run(root, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip()
    listed = run(root, "ls-tree", "-r", "-z", f"{commit}:{prefix}").decode("utf-8", "surrogateescape")
    found = []
    for line in listed.split("\0"):
        about, _, path = line.partition("\t")
        if about.startswith("100"):
            found.append(Entry(path, about.split(" ")[2]))
    return found


def reader(root: str) -> subprocess.Popen[bytes]:
    """A ``git cat-file --batch`` to put to ``ask``."""
    return subprocess.Popen(
        ["git", *_SAFE, "-C", root, "cat-file", "--batch"],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def ask(process: subprocess.Popen[bytes], blob: str) -> bytes | None:
    """The content of a blob, None when the repository does not hold it."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{blob}\n".encode())
    process.stdin.flush()
    head = process.stdout.readline().split()
    if len(head) != 3:
        return None
    content = process.stdout.read(int(head[2]))
    process.stdout.read(1)
    return content if head[1] == b"blob" else None


def contents(root: str, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """(blob, content) of those of ``blobs`` that the repository holds."""
    process = reader(root)
    try:
        for blob in blobs:
            content = ask(process, blob)
            if content is not None:
                yield blob, content
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait()


def content_at(root: str, commit: str, path: str) -> bytes | None:
    """The content of one file of a commit, None when it is not there."""
    prefix = run(root, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip()
    try:
        return run(root, "cat-file", "blob", f"{commit}:{prefix}{path}")
    except BadQuestion:
        return None
