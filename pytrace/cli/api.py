"""``pytrace api NAME``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.model import NodeKind
from pytrace.trace import api, cpp_api, resolve


@click.command("api")
@click.argument("name", callback=common.as_name)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Draw so many levels of calls; 0 draws what the limit allows.",
)
@common.limit_option(80, "Draw about so many lines; 0 draws all.")
@common.format_option("text", "json")
@common.why_option
@common.store_options
@click.pass_context
def command(ctx: click.Context, name: str, depth: int, limit: int, fmt: str, why: bool) -> None:
    """Go down from NAME, as a user writes it, to the operators it calls.

    NAME is a Python name (torch.nn.LSTM, F.linear, Tensor.add_) or one of the C++ frontend (torch::nn::Linear,
    torch::nn::functional::linear, torch::optim::SGD).
    """
    store = common.open_store(ctx)
    if cpp_api.is_cpp(name):
        nodes = cpp_api.nodes(store, name)
        if not nodes:
            asking.unknown(store, cpp_api.operator_name(name), "name in the C++ frontend", (NodeKind.CPP_CLASS,))
        answer = api.answer(store, name, nodes, depth=depth, limit=limit, through=cpp_api.THROUGH)
    else:
        nodes = resolve.python_nodes(store, name)
        if not nodes:
            asking.unknown(store, name, "Python name", (NodeKind.PYTHON, NodeKind.BINDING))
        answer = api.answer(store, name, nodes, depth=depth, limit=limit)
    if fmt == "json":
        asking.emit_json(store, "pytrace/api/1", answer)
        return
    from pytrace.render import other_text

    page = asking.page(store)
    other_text.render_api(page, answer, why=why)
    common.emit(page.text())
