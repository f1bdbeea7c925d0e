"""``pytrace export``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pytrace.cli import common
from pytrace.cli.output import unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command("export")
@common.format_option("jsonl")
@click.option("--output", "-o", type=click.Path(dir_okay=False, writable=True), help="A file instead of stdout.")
@common.store_options
@click.pass_context
def command(ctx: click.Context, fmt: str, output: str | None) -> None:
    """Write every node and edge, one JSON object a line, nodes first, in a stable order.

    The fields are documented in `pytrace.render.jsonl`.
    """
    from pytrace.render.jsonl import lines

    store = common.open_store(ctx)
    if output is None:
        _write(lines(store.all_nodes(), store.all_edges()), sys.stdout.write)
        return
    try:
        with open(output, "w", encoding="utf-8") as stream:
            _write(lines(store.all_nodes(), store.all_edges()), stream.write)
    except OSError as error:
        raise unwritable(output, error) from error


def _write(texts: Iterable[str], write: object) -> None:
    """Write in pieces of some thousand lines: a call for each would take longer than the query."""
    assert callable(write)
    piece: list[str] = []
    for text in texts:
        piece.append(text)
        if len(piece) == 4096:
            write("".join(piece))
            piece.clear()
    write("".join(piece))
