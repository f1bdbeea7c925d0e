"""``pytrace binding NAME``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common
from pytrace.model import NodeKind
from pytrace.trace import binding


@click.command("binding")
@click.argument("name", callback=common.as_name)
@common.limit_option(20, "Show at most so many definitions, callers and callees; 0 shows all.")
@common.format_option("text", "json")
@common.why_option
@common.store_options
@click.pass_context
def command(ctx: click.Context, name: str, limit: int, fmt: str, why: bool) -> None:
    """Show where NAME of the binding layer stands, who calls it, and which name of Python it is.

    NAME is a C++ name of torch/csrc (THPVariable_Wrap, torch::autograd::initTorchFunctions) or a name that C++ gives
    to Python (torch._C._nn.gelu, Tensor.add_, torch.lstm).
    """
    store = common.open_store(ctx)
    answer = binding.answer(store, name, limit=limit)
    if not answer.cpp and not answer.python:
        asking.unknown(store, name, "name in the binding layer", (NodeKind.BINDING, NodeKind.FUNCTION))
    if fmt == "json":
        asking.emit_json(store, "pytrace/binding/1", answer)
        return
    from pytrace.render import binding_text

    page = asking.page(store)
    binding_text.render(page, answer, why=why)
    common.emit(page.text())
