"""``pytrace search TEXT``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.errors import BadQuestion
from pytrace.model import NodeKind
from pytrace.trace import search


@click.command("search")
@click.argument("text", nargs=-1, required=True, callback=common.as_name)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only op, function, cuda_kernel, stub, python, …")
@common.limit_option(20)
@common.format_option("text", "json")
@common.store_options
@click.pass_context
def command(ctx: click.Context, text: tuple[str, ...], kinds: tuple[str, ...], limit: int, fmt: str) -> None:
    """Find names of every kind that hold all words of TEXT; when there are none, names that are close."""
    known = [value for name, value in vars(NodeKind).items() if name.isupper()]
    for kind in kinds:
        if kind not in known:
            raise BadQuestion(f"There is no kind {kind}. Known ones: {', '.join(known)}.")
    store = common.open_store(ctx)
    answer = search.answer(store, " ".join(text), limit=limit, kinds=kinds)
    if fmt == "json":
        asking.emit_json(store, "pytrace/search/1", answer)
    else:
        from pytrace.render import other_text

        page = asking.page(store)
        other_text.render_search(page, answer)
        common.emit(page.text())
    if not answer.hits:
        ctx.exit(1)
