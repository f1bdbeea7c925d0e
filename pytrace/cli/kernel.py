"""``pytrace kernel NAME``."""

from __future__ import annotations

import click

from pytrace.cli import asking, common, pictures
from pytrace.trace import kernel, resolve


@click.command("kernel")
@click.argument("name", callback=common.as_name)
@click.option("--up", is_flag=True, help="Show the paths up to the operators and Python names that reach it.")
@click.option(
    "--paths",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="With --up: show at most so many paths for each operator.",
)
@common.limit_option(12, "Show at most so many operators (or users); 0 shows all.")
@common.format_option("text", "json", *pictures.FORMATS)
@common.why_option
@common.store_options
@click.pass_context
def command(ctx: click.Context, name: str, up: bool, paths: int, limit: int, fmt: str, why: bool) -> None:
    """Show the kernel NAME: where it is defined, who launches it, its dtypes; with --up, the operators above.

    NAME is a __global__ function, a kernel function, a functor, a stub or a library function, bare or qualified,
    or a kernel's name as a profiler prints it (in quotes).
    """
    store = common.open_store(ctx)
    found = resolve.kernels(store, name)
    if not found.nodes:
        asking.unknown(store, name, "kernel, function, functor or stub", resolve.CPP_KINDS, found.how)
    answer = kernel.answer(store, name, found, up=up or fmt in pictures.FORMATS, limit=limit, paths=paths)
    if fmt == "json":
        asking.emit_json(store, "pytrace/kernel/1", answer)
        return
    if fmt in pictures.FORMATS:
        common.emit(pictures.of_kernel(store, answer, fmt))
        return
    from pytrace.render import kernel_text

    page = asking.page(store)
    kernel_text.render(page, answer, why=why)
    common.emit(page.text())
