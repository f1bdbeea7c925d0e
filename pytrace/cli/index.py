"""``pytrace index``: index a tree, or bring its index up to date."""

from __future__ import annotations

import click

from pytrace.cli import common


@click.command()
@click.argument("tree", required=False, metavar="[ROOT]")
@click.option("--force", is_flag=True, help="Read every file anew, whatever the caches say.")
@common.root_option
@common.index_options
@click.pass_context
def command(ctx: click.Context, tree: str | None, force: bool) -> None:
    """Index the PyTorch tree at ROOT, or bring its index up to date.

    ROOT is a checkout, or the name of a fetched tree (v2.6.0). Questions do this by themselves; this command is for
    scripts, for CI, and for --force. Prints the path of the index.
    """
    from pytrace.checkout import find_root
    from pytrace.freshness import fresh_store

    folder = find_root(tree or common.setting(ctx, "root"))
    store = None if force else fresh_store(folder)
    if store is not None:
        store.close()
        path = str(store.path)
        if not common.setting(ctx, "quiet"):
            click.echo("pytrace: the index is up to date", err=True)
    else:
        from pytrace.index import refresh

        quiet = bool(common.setting(ctx, "quiet"))
        path = str(refresh(folder, jobs=common.setting(ctx, "jobs"), quiet=quiet, force=force, keep=common.KEPT))
    click.echo(path)
