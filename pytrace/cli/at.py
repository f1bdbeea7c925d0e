"""``pytrace at FILE:LINE``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.trace import at


@click.command("at")
@click.argument("place", callback=common.as_name, metavar="FILE:LINE")
@common.limit_option(8, "Show at most so many operators; 0 shows all.")
@common.format_option("text", "json")
@common.why_option
@common.store_options
@click.pass_context
def command(ctx: click.Context, place: str, limit: int, fmt: str, why: bool) -> None:
    """Say what stands at FILE:LINE, which crossings were read there, and which operators reach it.

    FILE is relative to the tree, absolute, or any path whose end names one indexed file (as in a stack trace).
    """
    path, line = at.parse(place)
    store = common.open_store(ctx)
    answer = at.answer(store, at.locate(store, path, store.meta("root")), line, limit=limit)
    if fmt == "json":
        asking.emit_json(store, "pytrace/at/1", answer)
        return
    from pytrace.render import kernel_text

    page = asking.page(store)
    kernel_text.render_at(page, answer, why=why)
    common.emit(page.text())
