"""``pytrace backward NAME``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.model import NodeKind
from pytrace.trace import backward, backward_names, resolve


@click.command("backward")
@click.argument("name", callback=common.as_name)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Open the operators that the formula calls, so many levels down.",
)
@common.limit_option(80, "Draw about so many lines of paths; 0 draws all.")
@common.format_option("text", "json")
@common.why_option
@common.store_options
@click.pass_context
def command(ctx: click.Context, name: str, depth: int, limit: int, fmt: str, why: bool) -> None:
    """Show the backward of NAME: formula, functions, kernels, double backward.

    NAME is an operator, an autograd node (MulBackward0), an autograd function written by hand (CopyBackwards,
    torch.utils.checkpoint.CheckpointFunction), or a message ("derivative for '…' is not implemented").
    """
    store = common.open_store(ctx)
    answer = backward_names.by_hand(store, name, limit=limit) if "." in name else None
    if answer is None:
        found = resolve.operators(store, name)
        if not found.nodes:
            found = backward_names.by_message(store, name)
        if found.nodes:
            answer = backward.answer(store, name, found.how, found.nodes, depth=depth, limit=limit)
        else:
            answer = backward_names.by_hand(store, name, limit=limit)
    if answer is None:
        asking.unknown(store, name, "operator or autograd node", (NodeKind.OP, NodeKind.FORMULA))
    if fmt == "json":
        asking.emit_json(store, "pytrace/backward/1", answer)
        return
    from pytrace.render import backward_text

    page = asking.page(store)
    backward_text.render(page, answer, why=why)
    common.emit(page.text())
