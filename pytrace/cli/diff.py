"""``pytrace diff``: two states side by side."""

from __future__ import annotations

import os

import click

from pytrace.cli import asking, common, output, sides


@click.command("diff")
@click.argument("old")
@click.argument("new", required=False)
@click.option("--exit-code", is_flag=True, help="Exit with 1 when anything differs.")
@common.limit_option(0, "Show at most so many of each kind; 0 shows all.")
@common.format_option("text", "markdown", "json")
@output.output_option
@common.store_options
@click.pass_context
def command(
    ctx: click.Context, old: str, new: str | None, exit_code: bool, limit: int, fmt: str, output_path: str | None
) -> None:
    """Tell what differs between OLD and NEW: operators, schemas, dispatch, kernels, stubs, formulas, backends.

    Each is a revision of the tree's repository (read from git's objects, no second checkout is needed) or an index
    file. Without NEW, OLD is compared with the tree as it is.

    \b
    pytrace diff v2.5.0 v2.6.0
    pytrace diff main --exit-code
    """
    from pytrace.report import diff

    if new is None:
        after = common.open_store(ctx)
        near = after
    else:
        sides.prepare(ctx, [name for name in (old, new) if not os.path.isfile(name)])
        near = None if os.path.isfile(old) and os.path.isfile(new) else sides.near_store(ctx)  # type: ignore[assignment]
        after = sides.open_side(ctx, new, near)
    before = sides.open_side(ctx, old, near)
    found = diff.report(before, after)
    if fmt == "text":
        from pytrace.render import diff_text

        page = asking.page(after)
        diff_text.render(page, found, limit=limit)
        text = page.text()
    elif fmt == "markdown":
        from pytrace.render import diff_markdown

        text = diff_markdown.render(found, limit=limit)
    else:
        from pytrace.render.json_text import dumps

        text = dumps("pytrace/diff/1", found)
    output.deliver(text, output_path)
    if exit_code and not found.empty:
        ctx.exit(1)
