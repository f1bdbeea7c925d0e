"""``pytrace fetch``: get a release of PyTorch to index."""

from __future__ import annotations

import click


@click.command()
@click.argument("revision", metavar="REVISION")
@click.option("--url", metavar="URL", help="Clone from this mirror or local repository instead of GitHub.")
@click.option("--force", is_flag=True, help="Clone anew, even when this revision is there.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def command(revision: str, url: str | None, force: bool, quiet: bool) -> None:
    """Clone REVISION (a tag or a branch: v2.6.0, main), shallow and sparse, into the cache folder.

    Only the folders that bear on the graph are checked out. Prints the folder of the tree; it can then be named by
    its revision: `pytrace index v2.6.0`, `pytrace op lstm --root v2.6.0`.
    """
    from pytrace.fetch import fetch

    click.echo(fetch(revision, url=url, force=force, quiet=quiet))
