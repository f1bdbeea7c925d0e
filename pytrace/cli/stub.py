"""``pytrace stub NAME``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.model import NodeKind
from pytrace.trace import kernel, resolve


@click.command("stub")
@click.argument("name", callback=common.as_name)
@common.limit_option(20, "Show at most so many users; 0 shows all.")
@common.format_option("text", "json")
@common.why_option
@common.store_options
@click.pass_context
def command(ctx: click.Context, name: str, limit: int, fmt: str, why: bool) -> None:
    """Show the dispatch stub NAME: its registered function for each device, what they launch, who uses it."""
    store = common.open_store(ctx)
    found = resolve.cpp_nodes(store, name, NodeKind.STUB)
    if not found.nodes and not name.endswith("_stub"):
        found = resolve.cpp_nodes(store, f"{name}_stub", NodeKind.STUB)
    if not found.nodes:
        asking.unknown(store, name, "dispatch stub", (NodeKind.STUB,))
    answer = kernel.answer(store, name, found, limit=limit)
    if fmt == "json":
        asking.emit_json(store, "pytrace/kernel/1", answer)
        return
    from pytrace.render import kernel_text

    page = asking.page(store)
    kernel_text.render(page, answer, why=why)
    common.emit(page.text())
