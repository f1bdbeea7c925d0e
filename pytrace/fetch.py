"""A shallow, sparse clone of one revision of PyTorch, in the cache folder."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Any

from pytrace.checkout import MARK, is_tree
from pytrace.errors import FetchFailed
from pytrace.files import TOPS
from pytrace.identity import UPSTREAM
from pytrace.paths import trees_dir

#: A tag, branch or commit that is safe as a folder's name and cannot be taken for an option of git.
_REVISION = re.compile(r"[A-Za-z0-9][\w./+-]*\Z")


def fetch(revision: str, *, url: str | None = None, force: bool = False, quiet: bool = False) -> str:
    """Clone ``revision`` from ``url`` (default: GitHub) and return the folder of the tree.

    The clone has one commit, without its submodules, and a sparse checkout of ``TOPS``; where the server can filter,
    only the files that are checked out are downloaded. It is made beside and renamed. Raises ``FetchFailed``.
    """
    if not _REVISION.match(revision) or ".." in revision:
        raise FetchFailed(f"{revision!r} is not the name of a revision. Try a tag: `pytrace fetch v2.6.0`.")
    folder = os.path.join(trees_dir(), revision.replace("/", "-"))
    if is_tree(folder) and not force:
        return folder
    unfinished = f"{folder}.new-{os.getpid()}"
    try:
        os.makedirs(trees_dir(), exist_ok=True)
        _clone(unfinished, revision, url or UPSTREAM + ".git", quiet)
        if not is_tree(unfinished):
            raise FetchFailed(f"{revision} of {url or UPSTREAM} is no PyTorch tree: it has no {MARK}.")
        if os.path.isdir(folder):
            os.rename(folder, f"{unfinished}.old")
        os.rename(unfinished, folder)
    except OSError as error:
        raise FetchFailed(
            f"The clone could not be written to {trees_dir()} ({error.strerror}). Make room or make it writable, "
            "or name another with PYTRACE_CACHE."
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(f"{unfinished}.old", ignore_errors=True)
    return folder


def _clone(folder: str, revision: str, url: str, quiet: bool) -> None:
    try:
        import git
    except ImportError as error:  # GitPython refuses to be imported where there is no git
        raise FetchFailed(f"`pytrace fetch` needs the program git ({error}).") from error

    local = os.path.isdir(os.path.expanduser(url))
    source = os.path.abspath(os.path.expanduser(url)) if local else url
    try:
        repository = git.Repo.init(folder)
        with repository:
            _configure(repository)
            remote = repository.create_remote("origin", source)
            if not quiet:
                print(f"pytrace: fetching {revision} from {source}", file=sys.stderr, flush=True)
            _fetch(remote, revision, local, None if quiet else _Progress())
            # Through the class's own name: git would take a branch called like a folder for the folder.
            repository.git.checkout("--quiet", "--detach", "FETCH_HEAD")
            _name_tag(repository, revision)
    except git.GitCommandError as error:
        raise FetchFailed(_explain(revision, source, error)) from error


def _configure(repository: Any) -> None:
    """Sparse checkout in cone mode: the folders that bear on the graph, and the files at the root."""
    with repository.config_writer() as config:
        config.set_value("core", "sparseCheckout", "true")
        config.set_value("core", "sparseCheckoutCone", "true")
        config.set_value("advice", "detachedHead", "false")
    info = os.path.join(repository.git_dir, "info")
    os.makedirs(info, exist_ok=True)
    with open(os.path.join(info, "sparse-checkout"), "w", encoding="utf-8") as file:
        file.write("/*\n!/*/\n" + "".join(f"/{top}/\n" for top in TOPS))


def _fetch(remote: Any, revision: str, local: bool, progress: Any) -> None:
    options: dict[str, Any] = {"depth": 1, "no_tags": True}
    if not local:
        # A local repository need not allow filters, and gains nothing by them.
        options["filter"] = "blob:none"
    remote.fetch(refspec=revision, progress=progress, **options)


def _name_tag(repository: Any, revision: str) -> None:
    """Keep the revision's name as a tag when it looks like a release, so that permalinks can use it."""
    if re.match(r"v\d+(\.\d+)+", revision):
        repository.create_tag(revision, force=True)


def _explain(revision: str, source: str, error: Any) -> str:
    said = str(error.stderr or "").strip().removeprefix("stderr: '").rstrip("'").strip()
    last = said.splitlines()[-1].strip() if said else f"git ended with {error.status}"
    if "couldn't find remote ref" in said:
        return (
            f"{source} has no revision {revision!r}. Tags look like v2.6.0; `git ls-remote --tags {source}` lists them."
        )
    return f"{revision} could not be fetched from {source}: {last}. --url names a mirror or a local repository."


def _Progress() -> Any:
    """GitPython's progress as one line on a terminal, nothing when piped."""
    import git

    class Line(git.RemoteProgress):
        def update(
            self, op_code: int, cur_count: str | float, max_count: str | float | None = None, message: str = ""
        ) -> None:
            if max_count and sys.stderr.isatty():
                print(
                    f"\r  {float(cur_count) / float(max_count):4.0%} {message:<40}", end="", file=sys.stderr, flush=True
                )

    return Line()
