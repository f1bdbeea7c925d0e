"""Which PyTorch is this? Commit, tag, version, dirty or not; and links to its lines on the web.

``identify`` runs only while indexing, and may start ``git``; the commit alone is read by ``checkout.head``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from pytrace.checkout import head, read_text
from pytrace.files import TOPS, kind_of

#: Where permalinks point when the checkout's own remote is not a GitHub repository.
UPSTREAM = "https://github.com/pytorch/pytorch"


class Identity(NamedTuple):
    """Who a tree is. Every field is "" when it is not known (no git, no ``version.txt``).

    ``dirty`` is "yes", "no" or "": whether a file that bears on the graph differs from the commit.
    """

    commit: str
    tag: str
    version: str
    dirty: str
    url: str


def identify(root: str, blobs: Mapping[str, str]) -> Identity:
    """The identity of the tree at ``root``; ``blobs`` maps the path of every indexed file to its blob id in hex."""
    commit = head(root) or (_git(root, "rev-parse", "HEAD") or "").strip()
    version = read_text(os.path.join(root, "version.txt")).strip()[:80]
    if not commit:
        return Identity("", "", version, "", "")
    tag = (_git(root, "describe", "--tags", "--exact-match", "HEAD") or "").strip()
    remote = (_git(root, "config", "--get", "remote.origin.url") or "").strip()
    return Identity(commit, tag, version, _dirty(root, blobs), _web_url(remote))


def _git(root: str, *arguments: str, stdin: str | None = None) -> str | None:
    """Output of git, or None when there is no git, or it fails, or takes longer than a minute."""
    import subprocess

    # fsmonitor would start a program that the checkout's own configuration names.
    command = ["git", "-c", "core.fsmonitor=false", "-C", root, *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            input=os.fsencode(stdin) if stdin is not None else None,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _dirty(root: str, blobs: Mapping[str, str]) -> str:
    """ "yes" when a file that we index differs from the commit.

    The ids of what we read are compared with the commit's own; only for those that differ is git asked (it knows
    about line endings and sparse checkouts), and only for unknown files whether they are ignored (a build writes
    ``torch/version.py``).
    """
    listed = _git(root, "ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", *TOPS)
    if listed is None:
        return ""
    committed: dict[str, str] = {}
    for entry in listed.split("\0"):
        facts, _, path = entry.partition("\t")
        if facts.startswith("100") and kind_of(path):
            committed[path] = facts.split(" ")[2]
    differing = [path for path, blob in committed.items() if blobs.get(path) != blob]
    unknown = [path for path in blobs if path not in committed]
    if len(differing) > 500:
        # Too many for one command line; either a sparse checkout (some of them are there as committed) or not ours.
        differing = [path for path in differing if path in blobs]
    if differing and _git(root, "diff", "--quiet", "--no-ext-diff", "HEAD", "--", *differing[:500]) is None:
        return "yes"
    if unknown:
        ignored = (_git(root, "check-ignore", "-z", "--stdin", stdin="\0".join(unknown) + "\0") or "").split("\0")
        if set(unknown).difference(ignored):
            return "yes"
    return "no"


def _web_url(remote: str) -> str:
    """The web page of a GitHub remote (https or ssh form), else PyTorch's own."""
    found = re.search(r"github\.com[:/]+([\w.-]+)/([\w.-]+?)(?:\.git)?/?$", remote)
    return f"https://github.com/{found.group(1)}/{found.group(2)}" if found else UPSTREAM


def permalink(identity: Identity, path: str, line: int = 0) -> str:
    """The web address of ``path:line`` at this tag or commit, "" when neither is known."""
    revision = identity.tag or identity.commit
    if not revision or not path:
        return ""
    from urllib.parse import quote

    return f"{identity.url or UPSTREAM}/blob/{quote(revision)}/{quote(path)}" + (f"#L{line}" if line else "")


def describe(identity: Identity) -> str:
    """One line for people: ``v2.6.0 (8b60a09, clean)``."""
    name = identity.tag or identity.version or "unknown version"
    state = {"yes": ", with local changes", "no": ""}.get(identity.dirty, "")
    return f"{name} ({identity.commit[:9]}{state})" if identity.commit else name
