"""Which tree a report speaks of."""

from __future__ import annotations

from collections.abc import Mapping

from pytrace import __version__
from pytrace.report.rows import Stamp
from pytrace.store import Store


def stamp(store: Store) -> Stamp:
    """The stamp of the tree that ``store`` is the index of."""
    return of_meta(store.all_meta())


def of_meta(meta: Mapping[str, str]) -> Stamp:
    """The stamp of a tree by what its index says of it."""
    fields = {name: meta.get(name, "") for name in ("version", "tag", "commit", "dirty", "url")}
    return Stamp(**fields, pytrace=__version__)


def permalink(stamp: Stamp, path: str, line: int = 0) -> str:
    """The web address of ``path:line`` at the stamp's tag or commit; "" when neither is known.

    A tree with local changes has none: its lines are not those of the commit.
    """
    if stamp.dirty == "yes":
        return ""
    from pytrace.identity import Identity
    from pytrace.identity import permalink as link

    path = path.encode("utf-8", "replace").decode()  # a patch may name a path that is no UTF-8
    return link(Identity(stamp.commit, stamp.tag, stamp.version, stamp.dirty, stamp.url), path, line)
