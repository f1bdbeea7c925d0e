"""``pytrace diff`` as Markdown, within the length of a comment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytrace.render.impact_text import count
from pytrace.render.markdown import COMMENT_LIMIT, code, text
from pytrace.render.report_text import short
from pytrace.report.diff import DiffReport, Moved, Single, Subject


def render(report: DiffReport, *, limit: int = 0, size: int = COMMENT_LIMIT) -> str:
    """The comparison; when it would be longer than ``size`` (0: no bound), each section is cut, and says so."""
    most = limit or 100_000
    while True:
        made = _made(report, most)
        if not size or len(made) <= size:
            return made
        if most <= 1:
            return made[: size - 60].rsplit("\n", 1)[0] + "\n\n*Cut: too long for a comment.*\n"
        most = max(1, min(most, 2000) * 2 // 3)


def _made(report: DiffReport, most: int) -> str:
    lines = [
        "### pytrace: two states side by side",
        "",
        f"* old: {text(str(report.old))}",
        f"* new: {text(str(report.new))}",
    ]
    if report.empty:
        lines += ["", "No difference in operators, dispatch, kernels, stubs or formulas."]
    lines += _singles("Operators added", report.added, most) + _singles("Operators removed", report.removed, most)
    lines += _backends("Backends gained", report.gained, most) + _backends("Backends lost", report.lost, most)
    lines += _subjects("Schemas changed", report.schemas, most) + _subjects("Dispatch changed", report.dispatch, most)
    lines += _moved(report.kernels, most)
    lines += _singles("Kernels added", report.kernels_added, most)
    lines += _singles("Kernels removed", report.kernels_removed, most)
    lines += _subjects("Stubs registered otherwise", report.stubs, most)
    lines += _subjects("Formulas changed", report.formulas, most)
    lines += _singles("Formulas added", report.formulas_added, most)
    lines += _singles("Formulas removed", report.formulas_removed, most)
    return "\n".join(lines) + "\n"


def _section(title: str, number: int, rows: list[str], most: int) -> list[str]:
    if not number:
        return []
    more = [f"* … and {number - most:,} more"] if number > most else []
    return ["", f"#### {title}: {number:,}", "", *rows, *more]


def _singles(title: str, entries: Sequence[Single], most: int) -> list[str]:
    rows = []
    for entry in entries[:most]:
        like = f" (like {', '.join(code(short(name)) for name in entry.like)})" if entry.like else ""
        rows.append(f"* {code(short(entry.name))}{like} {code(entry.place)}".rstrip())
    return _section(title, len(entries), rows, most)


def _backends(title: str, backends: Mapping[str, Sequence[str]], most: int) -> list[str]:
    rows = []
    for backend, names in backends.items():
        shown = ", ".join(code(name) for name in names[:most])
        more = f" and {len(names) - most} more" if len(names) > most else ""
        rows.append(f"* **{text(backend)}** ({count(len(names), 'operator')}): {shown}{more}")
    return ["", f"#### {title}", "", *rows] if rows else []


def _subjects(title: str, subjects: Sequence[Subject], most: int) -> list[str]:
    rows = []
    for subject in subjects[:most]:
        rows.append(f"* {code(subject.name)} {code(subject.place)}".rstrip())
        for change in subject.changes:
            old, new = code(short(change.old)) or "nothing", code(short(change.new)) or "nothing"
            rows.append(f"  * {text(change.what)}: {old} → {new}")
    return _section(title, len(subjects), rows, most)


def _moved(kernels: Sequence[Moved], most: int) -> list[str]:
    rows = [
        f"* {one.why} {code(short(one.old.name))} {code(one.old.at)} → {code(short(one.new.name))} {code(one.new.at)}"
        for one in kernels[:most]
    ]
    return _section("Kernels moved or renamed", len(kernels), rows, most)
