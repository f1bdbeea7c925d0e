"""What stands round about an operator, as text: a line for each section, or all of it (``pytrace op --all``)."""

from __future__ import annotations

from collections.abc import Sequence

from pytrace.render import tree
from pytrace.render.page import Page, Span
from pytrace.trace.around import Item, Section

_TITLE = "Round about"
#: Rules of rows that the dispatch table tells with their lines.
_IN_TABLE = {"yaml-dispatch", "structured-delegate", "structured-meta", "generated-kernel"}
#: Entries of one section that are told with ``--all`` when there is a limit.
_MOST = 12


def render(page: Page, sections: Sequence[Section], *, every: bool = False, limit: int = 0) -> None:
    """The sections under one heading; ``every`` tells all entries, ``limit`` 0 really all of them."""
    if not sections:
        return
    page.heading(_TITLE)
    size = max(len(section.name) for section in sections)
    for section in sections:
        if every:
            _whole(page, section, size, limit)
        else:
            _line(page, section, size)
    if not every:
        page.add(("  (--all tells each entry, and what is missing)", "dim"))


def _line(page: Page, section: Section, size: int) -> None:
    """A section on one line: its first entry, and how many more."""
    title: Span = (f"{section.name.ljust(size)}  ", "key")
    if not section.items:
        page.row([title, (section.sentence, "warn" if section.absent else "dim")], indent="  ", rest=" " * size)
        return
    first = section.items[0]
    more = f"  +{len(section.items) - 1}" if len(section.items) > 1 else ""
    spans = [title, *_told(first, brief=True), (more, "dim")]
    page.row(spans, _place(first), indent="  ", rest=" " * size)


def _whole(page: Page, section: Section, size: int, limit: int) -> None:
    title = section.name.ljust(size)
    shown = section.items[:_MOST] if limit else section.items
    for item in shown:
        page.row([(f"{title}  ", "key"), *_told(item)], _place(item), indent="  ", rest=" " * (size + 4))
        registered = item.via.at
        if registered and registered != _place(item) and item.via.rule not in _IN_TABLE:
            page.row([(f"{' ' * size}    registered at", "dim")], registered, indent="  ", rest=" " * (size + 4))
        title = " " * size
    if len(section.items) > len(shown):
        page.add((f"  {title}  … and {len(section.items) - len(shown)} more (--limit 0)", "dim"))
    if section.sentence:
        role = "warn" if section.absent or section.sentence.startswith("None") else "dim"
        page.row([(f"{title}  ", "key"), (section.sentence, role)], indent="  ", rest=" " * (size + 4))


def _told(item: Item, *, brief: bool = False) -> list[Span]:
    spans: list[Span] = []
    if item.via.kind == "dispatches":
        spans.append((f"{item.via.key}  ", "key"))
    spans.append((tree.short(item.ref), item.ref.kind))
    if item.note:
        spans.append((f"  {item.note}", "dim"))
    if not brief and item.ops and len(item.ops) < 5:
        spans.append((f"  for {', '.join(op.rpartition('::')[2] for op in item.ops)}", "dim"))
    elif not brief and item.ops:
        spans.append((f"  for {len(item.ops)} overloads", "dim"))
    if item.via.candidates > 1 and item.ref.kind != "policy":
        spans.append((f"  one of {item.via.candidates}", "warn"))
    return spans


def _place(item: Item) -> str:
    """Where a person looks: the definition; for what only passes on or is computed, the registration."""
    if item.via.kind in ("alerts", "documented") or item.note.startswith("names pass") or not item.ref.file:
        return item.via.at
    return item.ref.at
