"""``pytrace impact`` as a comment for a pull request: short on top, the rest folded, under GitHub's limit."""

from __future__ import annotations

from collections.abc import Sequence

from pytrace.render.impact_text import count, headline
from pytrace.render.markdown import COMMENT_LIMIT, code, link, place, table, text
from pytrace.render.report_text import short
from pytrace.report.impact import Affected, ImpactReport
from pytrace.report.rows import Stamp

#: The first line of the comment: by it a workflow finds and replaces its own.
MARKER = "<!-- pytrace impact -->"


def render(report: ImpactReport, *, limit: int = 20, size: int = COMMENT_LIMIT) -> str:
    """The comment. When it would be longer than ``size``, fewer operators and names are told, and it says so."""
    most = limit or 10_000
    while True:
        made = _made(report, most)
        if len(made) <= size:
            return made
        if most <= 1:
            return made[: size - 60].rsplit("\n", 1)[0] + "\n\n*Cut: too long for a comment.*\n"
        most = max(1, most * 2 // 3)


def _made(report: ImpactReport, most: int) -> str:
    lines = [MARKER, "### pytrace: what this change touches", "", f"**{text(headline(report))}**", ""]
    lines += [f"Compared with {text(report.against)} · {text(str(report.stamp))}"]
    if report.unbounded:
        lines += ["", "> [!WARNING]", "> Run all tests:", *(f"> * {text(reason)}" for reason in report.unbounded[:8])]
    lines += _operators(report, most)
    lines += _tests(report, most)
    lines += _touched(report, most)
    lines += _names(report, most)
    for note in report.notes:
        lines += ["", text(note)]
    return "\n".join(lines) + "\n"


def _operators(report: ImpactReport, most: int) -> list[str]:
    if not report.operators:
        return []
    rows = [_operator(report.stamp, one) for one in report.operators[:most]]
    lines = ["", *table(["operator", "for", "path from the change", "Python"], rows)]
    if len(report.operators) > most:
        lines += ["", f"… and {count(len(report.operators) - most, 'more group', 'more groups')} of operators."]
    if report.beyond:
        lines += ["", f"{count(report.beyond, 'function')} more call these operators and were not followed."]
    return lines


def _operator(stamp: Stamp, one: Affected) -> list[str]:
    name = link(code(one.op.name), stamp, one.op.file, one.op.line)
    if one.overloads:
        name += f" +{len(one.overloads)}"
    notes = [text(", ".join(one.keys))]
    if not one.certain:
        notes.append("*possibly*")
    if one.base:
        notes.append("*gone*")
    way = " ← ".join(_step(stamp, step.name, step.file, step.line) for step in reversed(one.way[1:]))
    names = ", ".join(code(name) for name in one.python[:3]) + (" …" if len(one.python) > 3 else "")
    return [name, " ".join(note for note in notes if note), way or "changed itself", names]


def _step(stamp: Stamp, name: str, file: str, line: int) -> str:
    return link(code(short(name)), stamp, file, line)


def _tests(report: ImpactReport, most: int) -> list[str]:
    lines: list[str] = []
    if report.tests:
        commands = [run.command for run in report.tests]
        lines += ["", "**Tests to run**", "", "```sh", *(c.replace("```", "") for c in commands), "```"]
    if report.entries:
        shown = ", ".join(code(entry) for entry in report.entries[: most * 2])
        more = f" and {len(report.entries) - most * 2} more" if len(report.entries) > most * 2 else ""
        lines += ["", f"OpInfo and ModuleInfo: {shown}{more}"]
    if report.benchmarks:
        lines += ["", f"Benchmarks: {', '.join(code(path) for path in report.benchmarks[:most])}"]
    return lines


def _folded(title: str, rows: Sequence[str]) -> list[str]:
    return ["", "<details>", f"<summary>{title}</summary>", "", *rows, "", "</details>"] if rows else []


def _touched(report: ImpactReport, most: int) -> list[str]:
    rows = []
    for one in report.touched[: most * 2]:
        lines = f", lines {', '.join(one.lines[:6])}" if one.lines else ""
        where = place(report.stamp, one.file, one.line)
        rows.append(f"* {code(short(one.name))} ({text(one.how + lines)}) {where}")
    if len(report.touched) > most * 2:
        rows.append(f"* … and {len(report.touched) - most * 2} more")
    files = []
    for row in report.files[: most * 2]:
        note = f": {row['note']}" if "note" in row else ""
        files.append(f"* {code(row['path'])} {text(row['status'] + note)}")
    if len(report.files) > most * 2:
        files.append(f"* … and {len(report.files) - most * 2} more")
    return _folded(f"{len(report.touched):,} changed things", rows) + _folded(count(len(report.files), "file"), files)


def _names(report: ImpactReport, most: int) -> list[str]:
    rows = [f"* {code(one.name)} through {code(one.through)}" for one in report.python[: most * 2]]
    if len(report.python) > most * 2:
        rows.append(f"* … and {len(report.python) - most * 2} more")
    return _folded(count(len(report.python), "public Python name"), rows)
