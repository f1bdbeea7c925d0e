"""``pytrace op NAME``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common, pictures
from pytrace.errors import BadQuestion
from pytrace.model import NodeKind
from pytrace.trace import devices, op, resolve


@click.command("op")
@click.argument("name", callback=common.as_name)
@click.option("--device", metavar="DEVICE", default="", help="Keep one path: cpu, cuda, mps, xpu, …")
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Open the operators that are called, so many levels down.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Tell all that stands round about it: meta, decompositions, lowerings, vmap, autocast, docs, tests, …",
)
@common.limit_option(80, "Draw about so many lines of paths; 0 draws all.")
@common.format_option("text", "json", *pictures.FORMATS)
@common.why_option
@common.store_options
@click.pass_context
def command(
    ctx: click.Context, name: str, device: str, depth: int, every: bool, limit: int, fmt: str, why: bool
) -> None:
    """Trace the operator NAME: schema, Python names, dispatch table, kernels, dtypes, backward.

    NAME is a base name (lstm), an overload (add.Tensor), a Python name (torch.nn.LSTM, F.linear, Tensor.add_,
    torch.ops.aten.mm), a C++ name (at::add) or an autograd node (MulBackward0).
    """
    if device and devices.canonical(device) not in devices.known():
        raise BadQuestion(f"There is no device {device}. Known ones: {', '.join(devices.known())}.")
    store = common.open_store(ctx)
    found = resolve.operators(store, name)
    if not found.nodes and not found.how:
        asking.unknown(store, name, "operator", (NodeKind.OP, NodeKind.PYTHON, NodeKind.FORMULA))
    python_limit = 6 if limit else 0
    answer = op.answer(
        store, name, found, device=device, depth=depth, limit=limit, python_limit=python_limit, every=every
    )
    if fmt == "json":
        asking.emit_json(store, "pytrace/op/1", answer)
        return
    if fmt in pictures.FORMATS:
        common.emit(pictures.of_operator(store, answer, fmt))
        return
    from pytrace.render import op_text

    page = asking.page(store)
    op_text.render(page, answer, why=why, limit=limit, every=every)
    common.emit(page.text())
