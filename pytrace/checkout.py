"""A PyTorch checkout: find it, and tell which commit it is at.

Every question does this much, so little is imported and nothing is started: ``.git`` is read as files. What only
indexing needs is in ``files.py`` (the files of a tree, by kind) and ``identity.py`` (tag, dirty or not, permalinks).
"""

from __future__ import annotations

import os

from pytrace.errors import NoTree
from pytrace.paths import trees_dir

#: A folder is a PyTorch tree when it holds this file: without it there are no operators to trace.
MARK = "aten/src/ATen/native/native_functions.yaml"


def is_tree(folder: str) -> bool:
    """Whether ``folder`` is the root of a PyTorch checkout."""
    return os.path.isfile(os.path.join(folder, MARK))


def find_root(named: str | None = None) -> str:
    """The tree to index, as an absolute path without symbolic links.

    In this order: ``named`` (a folder, or the name of a fetched tree such as ``v2.6.0``), ``PYTRACE_ROOT``, the
    tree around the working folder, the tree that was fetched last. Raises ``NoTree``.
    """
    for value, source in ((named, ""), (os.environ.get("PYTRACE_ROOT"), "PYTRACE_ROOT names ")):
        if value:
            return _named_root(value, source)
    try:
        folder = os.getcwd()
    except OSError:  # the working folder was deleted under us
        folder = "/"
    while True:
        if is_tree(folder):
            return os.path.realpath(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    fetched = fetched_trees()
    if fetched:
        return fetched[0]
    raise NoTree(
        "No PyTorch tree was found around the working folder. Name one: `--root DIR` (or the argument of "
        "`pytrace index`), or PYTRACE_ROOT=DIR, or run inside a checkout; "
        "`pytrace fetch v2.6.0` gets one."
    )


def _named_root(value: str, source: str) -> str:
    source = source or "The tree that was named is "
    folder = os.path.expanduser(value)
    if is_tree(folder):
        return os.path.realpath(folder)
    if os.sep not in value and is_tree(os.path.join(trees_dir(), value)):
        return os.path.realpath(os.path.join(trees_dir(), value))
    if not os.path.isdir(folder):
        raise NoTree(f"{source}{value}, which is not a folder. A PyTorch checkout is expected there.")
    above = os.path.abspath(folder)
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
        if is_tree(above):
            raise NoTree(f"{source}{value}, which lies inside a PyTorch tree. Its root is {above}.")
    raise NoTree(f"{source}{value}, which is not the root of a PyTorch checkout: it has no {MARK}.")


def fetched_trees() -> list[str]:
    """Trees that ``pytrace fetch`` made, the latest first."""
    try:
        with os.scandir(trees_dir()) as entries:
            found = [(e.stat().st_mtime_ns, os.path.realpath(e.path)) for e in entries if is_tree(e.path)]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]


def git_dir(root: str) -> str:
    """The git folder of the checkout, following the ``gitdir:`` file of a worktree or submodule; "" when none."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    text = read_text(path)
    if text.startswith("gitdir:"):
        return os.path.normpath(os.path.join(root, text[7:].strip()))
    return ""


def head(root: str) -> str:
    """The commit that is checked out, "" when it cannot be told from the files of ``.git``."""
    folder = git_dir(root)
    if not folder:
        return ""
    text = read_text(os.path.join(folder, "HEAD")).strip()
    if not text.startswith("ref:"):
        return text if _is_commit(text) else ""
    ref = text[4:].strip()
    # Refs of a worktree live in the main repository's folder, which the file ``commondir`` names.
    common = read_text(os.path.join(folder, "commondir")).strip()
    shared = os.path.normpath(os.path.join(folder, common)) if common else folder
    for place in (folder, shared):
        loose = read_text(os.path.join(place, ref)).strip()
        if _is_commit(loose):
            return loose
    for line in read_text(os.path.join(shared, "packed-refs")).splitlines():
        commit, _, name = line.partition(" ")
        if name == ref and _is_commit(commit):
            return commit
    return ""


def _is_commit(text: str) -> bool:
    """Whether this is an object id (SHA-1 or SHA-256)."""
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def read_text(path: str) -> str:
    """The text of a small file, "" when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
