"""``pytrace diff`` as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytrace.render.impact_text import count, some
from pytrace.render.page import Page, Span
from pytrace.render.report_text import short
from pytrace.report.diff import Change, DiffReport, Moved, Single, Subject


def render(page: Page, report: DiffReport, *, limit: int = 0) -> None:
    """The whole comparison, section by section; sections without a difference are left out."""
    page.add(("old  ", "dim"), (str(report.old), ""))
    page.add(("new  ", "dim"), (str(report.new), ""))
    if report.empty:
        page.blank()
        page.add(("No difference in operators, dispatch, kernels, stubs or formulas.", ""))
        return
    _singles(page, "Operators added", "+", report.added, "op", limit)
    _singles(page, "Operators removed", "-", report.removed, "op", limit)
    _backends(page, "Backends gained", "+", report.gained, limit)
    _backends(page, "Backends lost", "-", report.lost, limit)
    _subjects(page, "Schemas changed", report.schemas, "op", limit)
    _subjects(page, "Dispatch changed", report.dispatch, "op", limit)
    _moved(page, report.kernels, limit)
    _singles(page, "Kernels added", "+", report.kernels_added, "function", limit)
    _singles(page, "Kernels removed", "-", report.kernels_removed, "function", limit)
    _subjects(page, "Stubs registered otherwise", report.stubs, "stub", limit)
    _subjects(page, "Formulas changed", report.formulas, "formula", limit)
    _singles(page, "Formulas added", "+", report.formulas_added, "formula", limit)
    _singles(page, "Formulas removed", "-", report.formulas_removed, "formula", limit)


def _head(page: Page, title: str, number: int) -> None:
    page.heading(f"{title}: {number:,}")


def _more(page: Page, number: int, limit: int) -> None:
    if limit and number > limit:
        page.add((f"  … and {number - limit:,} more (--limit 0 shows all)", "dim"))


def _singles(page: Page, title: str, mark: str, entries: Sequence[Single], role: str, limit: int) -> None:
    if not entries:
        return
    _head(page, title, len(entries))
    for entry in entries[: limit or None]:
        page.row([(f"{mark} ", "dim"), (short(entry.name), role)], entry.place, indent="  ", rest="  ")
        if role == "op" and entry.text:
            page.paragraph(entry.text, "      ", "dim")
        if entry.like:
            word = "like the removed" if mark == "+" else "did it become"
            page.paragraph(
                f"{word} {' or '.join(map(short, entry.like))}{'?' if mark == '-' else ''}", "      ", "warn"
            )
    _more(page, len(entries), limit)


def _backends(page: Page, title: str, mark: str, backends: Mapping[str, Sequence[str]], limit: int) -> None:
    if not backends:
        return
    page.heading(title)
    for backend, names in backends.items():
        page.add((f"  {mark} ", "dim"), (backend, "key"), (f"  {count(len(names), 'operator')}", "dim"))
        page.paragraph(some(names, limit or len(names)), "      ", "op")


def _subjects(page: Page, title: str, subjects: Sequence[Subject], role: str, limit: int) -> None:
    if not subjects:
        return
    _head(page, title, len(subjects))
    for subject in subjects[: limit or None]:
        page.row([(subject.name, role)], subject.place, indent="  ", rest="  ")
        for change in subject.changes:
            _change(page, change)
    _more(page, len(subjects), limit)


def _change(page: Page, change: Change) -> None:
    for mark, text, place in (("-", change.old, change.old_place), ("+", change.new, change.new_place)):
        if text:
            role = "warn" if mark == "-" else "cuda_kernel"
            spans: list[Span] = [(f"{mark} ", role), (f"{change.what}  ", "key"), (short(text), "")]
            page.row(spans, place, indent="      ", rest="      ")


def _moved(page: Page, kernels: Sequence[Moved], limit: int) -> None:
    if not kernels:
        return
    _head(page, "Kernels moved or renamed", len(kernels))
    for one in kernels[: limit or None]:
        page.row([(f"{one.why} ", "dim"), (short(one.old.name), one.kind)], one.old.at, indent="  ", rest="  ")
        page.row([("to ", "dim"), (short(one.new.name), one.kind)], one.new.at, indent="      ", rest="      ")
        if one.operators:
            page.paragraph(f"kernel of {some(one.operators, 5)}", "      ", "dim")
    _more(page, len(kernels), limit)
