"""Is the index of a tree still true? Asked by every question, so nothing but ``stat`` is done, and little imported.

No folder is listed and no file is opened (but ``.git/HEAD``): a file that was edited has another ctime, a file that
came, went or was renamed changed the mtime of its folder. What changed within the clock's tick of being read was
stored with a stamp of -1 (``index.py``), which equals no real one.
"""

from __future__ import annotations

import os
import sqlite3
import sys

from pytrace import program
from pytrace.checkout import head
from pytrace.paths import index_path
from pytrace.store import SCHEMA_VERSION, Manifest, Store, is_whole

#: A check that ``begin`` started: the tree's root and the process that looks at it.
_begun: tuple[str, int] | None = None


def begin(root: str) -> None:
    """Start the check of ``root`` in a process of its own; ``fresh_store`` asks for its result.

    For the command line, which has a command to import meanwhile: looking at thousands of files takes as long. Does
    nothing where that would gain nothing (one CPU) or where forking is not safe.
    """
    global _begun
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return
    pid = os.fork()
    if pid:
        _begun = (root, pid)
        return
    code = 1
    try:
        store = _checked(root)
        code = 0 if store is not None else 1
    finally:
        os._exit(code)  # nothing of the parent's may be flushed or said twice


def _result(root: str) -> bool | None:
    """The result of the check that was begun for ``root``, None when there is none."""
    global _begun
    if _begun is None or _begun[0] != root:
        return None
    pid, _begun = _begun[1], None
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return None
    return status == 0


def fresh_store(root: str, *, check: bool = True) -> Store | None:
    """The index of ``root``, open, or None when there is none, it cannot be read, or it is not true any more.

    With ``check`` off only what makes it unreadable counts (another schema), not what has changed in the tree.
    """
    result = _result(root) if check else True
    if result is None:
        return _checked(root)
    return _readable(root) if result else None


def _checked(root: str) -> Store | None:
    """The index of ``root``, open, when it is true."""
    store = _readable(root)
    if store is None:
        return None
    try:
        if not why_stale(store, root):
            return store
    except (sqlite3.Error, KeyError, ValueError, OSError):
        pass
    store.close()
    return None


def _readable(root: str) -> Store | None:
    """The index of ``root``, open, when it can be read at all."""
    path = index_path(root)
    if not os.path.exists(path) or not is_whole(path):
        return None
    try:
        store = Store(path)
    except sqlite3.Error:
        return None
    try:
        if store.meta("schema") == str(SCHEMA_VERSION):
            return store
    except (sqlite3.Error, KeyError, ValueError):
        pass
    store.close()
    return None


def why_stale(store: Store, root: str) -> str:
    """What has changed since the index was made, as words; "" when nothing has.

    Raises ``sqlite3.Error``, ``KeyError`` or ``ValueError`` when the index is damaged.
    """
    meta = store.all_meta()
    if meta.get("root") != root:
        return f"it is the index of {meta.get('root')}"
    if meta.get("program_quick") != program.quick_signature() and meta.get("program") != program.full_signature():
        return "it was made by another version of pytrace"
    if meta.get("head", "") != head(root):
        return "another commit is checked out"
    descriptor = os.open(root, os.O_RDONLY)
    try:
        changed = _changed_file(store.manifest("files"), descriptor)
        if changed:
            return f"{changed} has changed"
        changed = _changed_folder(store.manifest("folders"), descriptor)
        return f"a file came or went in {changed}" if changed else ""
    finally:
        os.close(descriptor)


def _changed_file(files: Manifest, root: int) -> str:
    """The first file whose size or ctime is not as noted, "" when there is none."""
    stat = os.stat
    path = ""
    try:
        for path, size, stamp in zip(files.paths, files.sizes, files.stamps, strict=True):
            now = stat(path, dir_fd=root, follow_symlinks=False)
            if now.st_ctime_ns != stamp or now.st_size != size:
                return path
    except OSError:
        return path
    return ""


def _changed_folder(folders: Manifest, root: int) -> str:
    """The first folder whose mtime is not as noted (0: it did not exist), "" when there is none."""
    for path, stamp in zip(folders.paths, folders.stamps, strict=True):
        try:
            now = os.stat(path, dir_fd=root).st_mtime_ns
        except OSError:
            now = 0
        if now != stamp:
            return path
    return ""
