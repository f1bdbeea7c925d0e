"""Revisions and index files, as ``pytrace diff`` and ``pytrace check`` name the other side of a comparison."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import click

from pytrace.cli import common
from pytrace.errors import IndexDamaged, IndexOutdated

if TYPE_CHECKING:
    from pytrace.store import Store


def open_side(ctx: click.Context, name: str, near: Store | None) -> Store:
    """The store of ``name``: an index file, or a revision of the tree's repository (tables and registrations only).

    ``near`` is the index of a similar state. Raises ``BadQuestion`` for an unknown revision.
    """
    if os.path.isfile(name):
        return _index_file(ctx, name)
    from pytrace.checkout import find_root
    from pytrace.pool import default_jobs
    from pytrace.report import git, revision

    root = near.meta("root") if near is not None else find_root(common.setting(ctx, "root"))
    store = revision.store_of(
        root,
        git.commit_of(root, name),
        jobs=common.setting(ctx, "jobs") or default_jobs(),
        quiet=bool(common.setting(ctx, "quiet")),
        near=near,
        calls=False,
        keep=common.KEPT,
    )
    ctx.call_on_close(store.close)
    return store


def prepare(ctx: click.Context, revisions: list[str]) -> None:
    """Make the indexes of several revisions side by side; raises ``BadQuestion`` for an unknown one."""
    if len(revisions) < 2:
        return
    from pytrace.checkout import find_root
    from pytrace.pool import default_jobs
    from pytrace.report import git, revision

    root = find_root(common.setting(ctx, "root"))
    commits = [git.commit_of(root, name) for name in revisions]
    jobs, quiet = common.setting(ctx, "jobs") or default_jobs(), bool(common.setting(ctx, "quiet"))
    revision.prepare(root, commits, jobs=jobs, quiet=quiet)


def _index_file(ctx: click.Context, path: str) -> Store:
    from pytrace.store import SCHEMA_VERSION, Store

    try:
        store = Store(path)
        schema = store.meta("schema")
    except sqlite3.Error as error:
        raise IndexDamaged(f"{path} is not an index of pytrace ({error}).") from error
    ctx.call_on_close(store.close)
    if schema != str(SCHEMA_VERSION):
        raise IndexOutdated(
            f"The index {path} was written by another version of pytrace (schema {schema or 'unknown'}; this one "
            f"reads {SCHEMA_VERSION}). Index that tree again."
        )
    return store


def near_store(ctx: click.Context) -> Store | None:
    """The index of the tree, when there is a readable one, without bringing it up to date."""
    from pytrace.checkout import find_root
    from pytrace.freshness import fresh_store

    store = fresh_store(find_root(common.setting(ctx, "root")), check=False)
    if store is not None:
        ctx.call_on_close(store.close)
    return store
