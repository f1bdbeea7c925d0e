"""``pytrace impact`` as text."""

from __future__ import annotations

from collections.abc import Sequence

from pytrace.render.page import Page, Span
from pytrace.render.report_text import short
from pytrace.render.tree import key_text
from pytrace.report.impact import Affected, AffectedName, ImpactReport, Touched, WayStep
from pytrace.trace.guards import compact

_KINDS = {
    "cuda_kernel": "kernel ",
    "functor": "functor ",
    "stub": "stub ",
    "formula": "formula ",
    "library": "library ",
}


def render(page: Page, report: ImpactReport, *, limit: int = 20, why: bool = False) -> None:
    """The whole answer: files, what they are of, operators, names, tests, benchmarks."""
    page.add((str(report.stamp), "dim"))
    page.add((f"Compared with {report.against}", ""))
    if report.unbounded:
        _unbounded(page, report.unbounded)
    else:
        page.paragraph(headline(report), "", "title")
    _files(page, report.files, limit)
    _touched(page, report.touched, limit)
    _operators(page, report, limit, why)
    _python(page, report.python, limit)
    _tests(page, report, limit)
    for note in report.notes:
        page.blank()
        page.paragraph(note, "", "dim")


def headline(report: ImpactReport) -> str:
    """The answer in one line."""
    direct = sum(1 + len(one.overloads) for one in report.operators if one.hops == 0)
    further = sum(1 + len(one.overloads) for one in report.operators if one.hops > 0)
    if report.unbounded:
        return "Unbounded: everything may feel this change."
    if not report.touched:
        return "Nothing that an operator depends on has changed."
    parts = (
        f"{count(direct, 'operator')} reached directly, {further:,} through other operators",
        count(len(report.python), "public Python name"),
        count(len(report.entries), "test entry", "test entries"),
    )
    return "; ".join(parts) + "."


def count(number: int, word: str, many: str = "") -> str:
    """``1 operator``, ``2 operators``."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def _unbounded(page: Page, reasons: Sequence[str]) -> None:
    page.blank()
    page.add(("Unbounded: everything may feel this change. Run all tests.", "warn"))
    for reason in reasons[:8]:
        page.paragraph(reason)
    if len(reasons) > 8:
        page.add((f"  … and {len(reasons) - 8} more reasons of this kind", "dim"))


def _files(page: Page, files: Sequence[dict[str, str]], limit: int) -> None:
    page.heading(count(len(files), "file"))
    for row in files[: limit or None]:
        moved = f" (was {row['old_path']})" if "old_path" in row else ""
        spans: list[Span] = [(f"{row['status']:<9} ", "dim"), (row["path"] + moved, "")]
        if "note" in row:
            spans.append((f"  {row['note']}", "dim"))
        page.row(spans, indent="  ", rest="  ")
    _more(page, len(files), limit, "files")


def _touched(page: Page, touched: Sequence[Touched], limit: int) -> None:
    if not touched:
        return
    page.heading(f"{len(touched):,} changed")
    for one in touched[: limit or None]:
        name = short(one.name)
        how = "" if one.how in ("changed", "entry") else f"  {one.how}"
        lines = f"  line{'s' if len(one.lines) > 1 or '-' in ''.join(one.lines) else ''} {', '.join(one.lines[:6])}"
        spans: list[Span] = [
            (_KINDS.get(one.kind, ""), "dim"),
            (name, one.kind),
            (how, "warn" if one.how == "gone" else "dim"),
        ]
        if one.lines:
            spans.append((lines, "dim"))
        page.row(spans, f"{one.file}:{one.line}" if one.file else "", indent="  ", rest="  ")
    _more(page, len(touched), limit, "changed things")


def _operators(page: Page, report: ImpactReport, limit: int, why: bool) -> None:
    if not report.operators:
        if report.touched and not report.unbounded:
            page.blank()
            page.add(("No operator is known to reach what has changed.", ""))
        return
    page.heading("Operators, nearest first")
    for one in report.operators[: limit or None]:
        operator(page, one, why=why)
    _more(page, len(report.operators), limit, "groups of operators")
    if report.beyond:
        more = f"  {count(report.beyond, 'function')} more call these operators"
        page.add((f"{more} (--hops {report.hops + 1} follows them)", "dim"))


def operator(page: Page, one: Affected, *, why: bool = False) -> None:
    """One operator, its path down to the change, what else is hit with it."""
    keys = key_text(", ".join(one.keys))
    spans: list[Span] = [(one.op.name, "op"), (f"  {keys}" if keys else "", "key")]
    if not one.certain:
        spans.append(("  possibly", "warn"))
    if one.base:
        spans.append(("  gone", "warn"))
    page.row(spans, one.op.at, indent="  ", rest="  ")
    if why:
        for step in one.way[1:]:
            _step(page, step)
    elif len(one.way) > 1:
        page.paragraph(" ← ".join(_told(step) for step in reversed(one.way[1:])), "    ", "dim")
    if one.overloads:
        page.paragraph(f"also {some(one.overloads, 8)}", "    ", "dim")
    if one.python:
        page.paragraph(f"Python: {some(one.python, 5)}", "    ", "python")


def _told(step: WayStep) -> str:
    key = f"[{key_text(step.key)}]" if step.via == "registers" and step.key else ""
    return short(step.name) + key


def _step(page: Page, step: WayStep) -> None:
    how = {"registers": "registered for", "structured_meta": "structured"}.get(step.via, step.via.replace("_", " "))
    maybe = f"  one of {step.candidates}" if step.candidates > 1 else ""
    spans: list[Span] = [
        (f"{how} {key_text(step.key)}".strip() + " ", "dim"),
        (short(step.name), step.kind),
        (maybe, "warn"),
    ]
    page.row(
        spans,
        step.at or (f"{step.file}:{step.line}" if step.file else ""),
        indent="    ",
        rest="    ",
        guard=compact(step.guard),
    )


def some(names: Sequence[str], most: int) -> str:
    """The first names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _python(page: Page, names: Sequence[AffectedName], limit: int) -> None:
    if not names:
        return
    page.heading(f"{count(len(names), 'public Python name')}, nearest first")
    for one in names[: limit or None]:
        through = f"  through {one.through}" if one.through != one.name else ""
        page.row(
            [(one.name, "python"), (through, "dim"), ("" if one.certain else "  possibly", "warn")],
            f"{one.file}:{one.line}" if one.file else "",
            indent="  ",
            rest="  ",
        )
    _more(page, len(names), limit, "names")


def _tests(page: Page, report: ImpactReport, limit: int) -> None:
    if report.tests:
        page.heading("Tests to run")
        for run in report.tests:
            page.add((f"  {run.command}", "title"))
            page.add((f"      {run.why}", "dim"))
    if report.entries:
        page.paragraph(f"OpInfo, ModuleInfo: {some(report.entries, limit or len(report.entries))}", "  ", "dim")
    if report.benchmarks:
        page.heading("Operator benchmarks")
        for path in report.benchmarks[: limit or None]:
            page.add((f"  {path}", ""))
        _more(page, len(report.benchmarks), limit, "benchmarks")


def _more(page: Page, total: int, limit: int, what: str) -> None:
    if limit and total > limit:
        page.add((f"  … and {total - limit:,} more {what} (--limit 0 shows all)", "dim"))
