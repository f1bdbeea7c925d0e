"""Where pytrace keeps things: the cache folder, the index of a tree, the facts of all trees, fetched trees.

Light on purpose: every question asks for the path of its index, so nothing is imported but ``os`` and ``binascii``.
"""

from __future__ import annotations

import os
from binascii import crc32


def cache_dir() -> str:
    """The cache folder: ``PYTRACE_CACHE``, else ``$XDG_CACHE_HOME/pytrace``, else ``~/.cache/pytrace``."""
    named = os.environ.get("PYTRACE_CACHE")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "pytrace")


def index_path(root: str) -> str:
    """The index file of the tree at ``root``: its folder's name for people, a checksum of its path for certainty."""
    real = os.path.realpath(root)
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in os.path.basename(real)) or "root"
    return os.path.join(cache_dir(), "index", f"{name[:40]}-{crc32(os.fsencode(real)):08x}.db")


def lock_path(index: str) -> str:
    """The lock file of an index; it stays when the lock is given back."""
    return index + ".lock"


def facts_path() -> str:
    """The fact cache: facts of files by content, shared by all trees."""
    return os.path.join(cache_dir(), "facts.db")


def trees_dir() -> str:
    """Where ``pytrace fetch`` puts trees, one folder a revision."""
    return os.path.join(cache_dir(), "trees")
