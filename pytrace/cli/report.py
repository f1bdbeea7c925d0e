"""``pytrace report``: the table operator x backend, and stub x device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pytrace.cli import asking, common, output
from pytrace.errors import BadQuestion
from pytrace.model import NodeKind
from pytrace.report.filters import SOURCES, Filter

if TYPE_CHECKING:
    from pytrace.report.rows import OperatorReport, StubReport
    from pytrace.store import Store

_FORMATS = ("text", "markdown", "csv", "json", "html")


@click.command("report")
@click.argument("ops", nargs=-1, metavar="[OPERATOR…]")
@click.option("--ops", "patterns", multiple=True, metavar="OPERATOR", help="The same as the argument; may be repeated.")
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NS", help="Only operators of NS (aten, quantized, …)."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only operators with this tag (core, pointwise, …).")
@click.option(
    "--has", multiple=True, metavar="KEY", help="With a kernel for KEY: cpu, cuda, mps, SparseCUDA, quantized, …"
)
@click.option("--lacks", multiple=True, metavar="KEY", help="Without any way to run on KEY, composite ones included.")
@click.option("--missing", multiple=True, metavar="KEY", help="As --lacks, where some other backend has a kernel.")
@click.option("--implement", default="", metavar="KEY", help="What a backend KEY must implement itself.")
@click.option("--composite", is_flag=True, help="Only operators that no backend has a kernel for.")
@click.option("--public", is_flag=True, help="Only names without a leading underscore.")
@click.option(
    "--sources",
    type=click.Choice(("all", *SOURCES)),
    default="all",
    show_default=True,
    help="Whose word counts: all registrations; native_functions.yaml with what it inherits; only rows written there.",
)
@click.option(
    "--backend", "backends", multiple=True, metavar="KEY", help="A column; default CPU, CUDA, MPS, XPU, Meta."
)
@click.option("--stubs", is_flag=True, help="Dispatch stubs instead of operators; with --has and --lacks by device.")
@click.option("--long", "long", is_flag=True, help="Text: functions, stubs, kernels, libraries and dtypes of each key.")
@common.limit_option(0, "Show at most so many; 0 shows all.")
@common.format_option(*_FORMATS)
@output.output_option
@common.store_options
@click.pass_context
def command(
    ctx: click.Context,
    ops: tuple[str, ...],
    patterns: tuple[str, ...],
    namespaces: tuple[str, ...],
    tags: tuple[str, ...],
    has: tuple[str, ...],
    lacks: tuple[str, ...],
    missing: tuple[str, ...],
    implement: str,
    composite: bool,
    public: bool,
    sources: str,
    backends: tuple[str, ...],
    stubs: bool,
    long: bool,
    limit: int,
    fmt: str,
    output_path: str | None,
) -> None:
    """Tell of many operators at once how each backend implements them.

    OPERATOR is a name or a pattern: add, 'aten::conv*', mul.out. Without one, all operators.

    \b
    pytrace report --tag core --missing mps
    pytrace report --implement xpu --format csv -o todo.csv
    pytrace report --stubs --has cuda --lacks xpu
    """
    ops += patterns
    if stubs and (tags or missing or implement or composite or public or namespaces or backends):
        raise BadQuestion(
            "--stubs goes with --has and --lacks (by device: cpu, cuda, mps, xpu, …) and no other filter."
        )
    store = common.open_store(ctx)
    ops = tuple(pattern for text in ops for pattern in _overloads(store, text))
    keep = Filter(
        ops, namespaces, tags, has, lacks, missing, implement, composite, public, "" if sources == "all" else sources
    )
    made = _stubs(store, ops, has, lacks, fmt, limit) if stubs else _operators(store, keep, backends, fmt, long, limit)
    output.deliver(made, output_path)


def _overloads(store: Store, text: str) -> list[str]:
    """A full name without an overload, as the pattern that its overloads match: ``aten::add`` is ``aten::add.*``."""
    namespace, _, bare = text.rpartition("::")
    names = [n.name for n in store.bare(bare, NodeKind.OP)] if namespace and "." not in bare else []
    patterns = [text] if text in names or not names else []
    return patterns + [f"{text}.*"] * any(name.startswith(f"{text}.") for name in names)


def _operators(store: Store, keep: Filter, backends: tuple[str, ...], fmt: str, long: bool, limit: int) -> str:
    from pytrace.report import operators

    found = operators.report(store, keep, backends=backends, details=long or fmt != "text")
    if found.unmatched:
        asking.unknown(store, found.unmatched[0], "operator", (NodeKind.OP,))
    if fmt == "text":
        from pytrace.render import report_text

        page = asking.page(store)
        report_text.render(page, found, long=long, limit=limit)
        return page.text()
    return _formatted(found, fmt, limit)


def _formatted(found: OperatorReport, fmt: str, limit: int) -> str:
    if fmt == "markdown":
        from pytrace.render import markdown

        return markdown.report(found, limit=limit)
    if limit:
        found.rows = found.rows[:limit]
    if fmt == "csv":
        from pytrace.render import csv_text

        return csv_text.report(found)
    if fmt == "html":
        from pytrace.render import html_report

        return html_report.report(found)
    from pytrace.render.json_text import dumps

    return dumps("pytrace/report/1", found)


def _stubs(
    store: Store, names: tuple[str, ...], has: tuple[str, ...], lacks: tuple[str, ...], fmt: str, limit: int
) -> str:
    from fnmatch import fnmatchcase

    from pytrace.report import operators
    from pytrace.report import stubs as stub_reports

    found = stub_reports.report(store, operators=operators.rows(store), has=has, lacks=lacks)
    for glob in names:
        if not any(fnmatchcase(row.name, glob) for row in found.rows):
            asking.unknown(store, glob, "dispatch stub here", (NodeKind.STUB,))
    if names:
        found.rows = [row for row in found.rows if any(fnmatchcase(row.name, glob) for glob in names)]
    if fmt == "text":
        from pytrace.render import report_text

        page = asking.page(store)
        report_text.render_stubs(page, found, limit=limit)
        return page.text()
    return _formatted_stubs(found, fmt, limit)


def _formatted_stubs(found: StubReport, fmt: str, limit: int) -> str:
    if limit:
        found.rows = found.rows[:limit]
    if fmt == "markdown":
        from pytrace.render import markdown

        return markdown.stubs(found)
    if fmt == "csv":
        from pytrace.render import csv_text

        return csv_text.stubs(found)
    if fmt == "html":
        raise BadQuestion("There is no HTML of --stubs; take --format markdown, csv or json.")
    from pytrace.render.json_text import dumps

    return dumps("pytrace/report-stubs/1", found)
