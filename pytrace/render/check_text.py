"""``pytrace check`` as text, as GitHub's annotations, and as Markdown."""

from __future__ import annotations

from pytrace.render.impact_text import count
from pytrace.render.markdown import COMMENT_LIMIT, bounded, code, place, table, text
from pytrace.render.page import Page, printable
from pytrace.report.check import CheckReport

_ROLES = {"error": "warn", "warning": "guard", "note": "dim"}
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


def render(page: Page, report: CheckReport, *, limit: int = 0) -> None:
    """Rule by rule: how many were checked, and ``path:line: level: message`` for each violation."""
    page.add((str(report.stamp), "dim"))
    if report.base:
        page.add((f"Compared with {report.base}", "dim"))
    for rule in report.rules:
        page.blank()
        state = "skipped" if rule.skipped else count(len(rule.violations), rule.level)
        role = _ROLES[rule.level] if rule.violations else "cuda_kernel"
        page.add((rule.id, "title"), (f"  {state}", "dim" if rule.skipped else role))
        page.paragraph(rule.sentence, "  ", "dim")
        if rule.skipped:
            page.paragraph(f"not checked: {rule.skipped}", "  ", "guard")
            continue
        for violation in rule.violations[: limit or None]:
            page.add(
                (f"  {violation.at}: " if violation.at else "  ", "place", violation.at),
                (violation.level, role),
                (f": {violation.message}", ""),
            )
        if limit and len(rule.violations) > limit:
            page.add((f"  … and {len(rule.violations) - limit:,} more (--limit 0 shows all)", "dim"))
        excepted = f", {rule.excepted:,} excepted" if rule.excepted else ""
        page.add((f"  {rule.checked:,} checked{excepted}", "dim"))
    page.blank()
    page.add((summary(report), "title"))


def summary(report: CheckReport) -> str:
    """The answer in one line."""
    levels = [violation.level for violation in report.violations]
    parts = [count(levels.count(level), level) for level in ("error", "warning", "note") if level in levels]
    return f"{', '.join(parts) or 'No violations'} of {count(len(report.rules), 'rule')}."


def github(report: CheckReport, prefix: str = "") -> str:
    """Workflow commands: GitHub shows them at the lines of the pull request.

    ``prefix`` is the folder of the tree below the repository: GitHub reads paths from there.
    """
    lines = []
    for violation in report.violations:
        where = f"file={_property(prefix + violation.file)}," if violation.file else ""
        where += f"line={violation.line}," if violation.file and violation.line else ""
        title = _property(f"pytrace: {violation.rule}")
        lines.append(f"::{_GITHUB[violation.level]} {where}title={title}::{_data(violation.message)}")
    lines.append(printable(summary(report)))
    return "\n".join(lines) + "\n"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


def markdown(report: CheckReport, *, size: int = COMMENT_LIMIT) -> str:
    """A table of violations, within the length of a comment."""
    head = ["### pytrace check", "", f"**{text(summary(report))}**", "", text(str(report.stamp))]
    skipped = [f"* {code(rule.id)} was not checked: {text(rule.skipped)}" for rule in report.rules if rule.skipped]
    rows = [
        f"| {code(v.rule)} | {text(v.level)} | {text(v.message)} | {place(report.stamp, v.file, v.line)} |"
        for v in report.violations
    ]
    if rows:
        head += ["", *table(["rule", "level", "what", "where"], [])]
    return bounded(head, rows, ["", *skipped] if skipped else [], size, lambda left: f"… and {left:,} more.")
