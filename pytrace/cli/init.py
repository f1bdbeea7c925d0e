"""``pytrace init``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.trace import init


@click.command("init")
@common.limit_option(6, "Tell at most so many names of each group; 0 tells all.")
@common.format_option("text", "json")
@common.store_options
@click.pass_context
def command(ctx: click.Context, limit: int, fmt: str) -> None:
    """Show how `import torch` fills torch._C: each initialiser in order, where it is called, under which #if,
    and what it registers: method tables, types, pybind11 classes and functions.
    """
    store = common.open_store(ctx)
    answer = init.answer(store)
    if fmt == "json":
        asking.emit_json(store, "pytrace/init/1", answer)
        return
    from pytrace.render import init_text

    page = asking.page(store)
    init_text.render(page, answer, limit=limit)
    common.emit(page.text())
