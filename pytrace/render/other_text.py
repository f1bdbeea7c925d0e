"""``pytrace search`` and ``pytrace api`` as text, and the sentence for an unknown name."""

from __future__ import annotations

from pytrace.render import tree
from pytrace.render.page import Page, Span, printable
from pytrace.trace.answers import ApiAnswer, SearchAnswer, Unknown

#: How many names are told of what calls C++ without an operator, and of what is not read.
_MOST_BINDINGS = 24
_MOST_UNREAD = 4


def render_search(page: Page, answer: SearchAnswer) -> None:
    """One line for each hit."""
    if not answer.hits:
        asked = answer.query[:200].strip()
        page.add((f"Nothing in the index is called like {asked}." if asked else "The name is empty.", ""))
        return
    size = max(len(ref.kind) for ref in answer.hits)
    for ref in answer.hits:
        spans: list[Span] = [(f"{ref.kind.ljust(size)}  ", "dim"), (ref.name, ref.kind)]
        page.row(spans, ref.at, rest=" " * size)
    if answer.more:
        page.add((f"… and {answer.more} more (--limit 0 shows all)", "dim"))


def render_api(page: Page, answer: ApiAnswer, *, why: bool = False) -> None:
    """The tree from the name to its operators, then the operators by distance."""
    if answer.how:
        page.paragraph(answer.how, "", "dim")
    for step in answer.roots:
        tree.draw(page, step, why=why)
    if answer.sentence:
        page.paragraph(answer.sentence, "", "")
    else:
        page.heading(f"Operators ({len(answer.ops)})")
    for making in (False, True):
        ops = [op for op in answer.ops if op.making is making]
        for distance in sorted({op.distance for op in ops}):
            names = [op.op.name for op in ops if op.distance == distance]
            page.paragraph(f"{'when made, ' if making else ''}{_calls_down(distance)}: {', '.join(names)}")
    if answer.ops and answer.cpp:
        page.heading(f"C++ without an operator ({len(answer.cpp)})")
        told = answer.cpp[:_MOST_BINDINGS]
        for distance in sorted({each.distance for each in told}):
            names = [each.ref.name for each in told if each.distance == distance]
            page.paragraph(f"{_calls_down(distance)}: {', '.join(names)}")
        if len(told) < len(answer.cpp):
            page.add((f"  … and {len(answer.cpp) - len(told)} more (--format json has all)", "dim"))
    if answer.unread:
        names = [each.name for each in answer.unread[:_MOST_UNREAD]]
        more = f" and {len(answer.unread) - len(names)} more" if len(names) < len(answer.unread) else ""
        page.paragraph(
            f"Not followed, as only names are read of their files, no calls: {', '.join(names)}{more}", "", "dim"
        )


def _calls_down(distance: int) -> str:
    return "directly" if distance <= 1 else f"{distance} calls down"


def unknown_text(answer: Unknown) -> str:
    """The sentence for stderr: what was looked for, the nearest names, the next command."""
    if not answer.query.strip():
        return f"The name is empty: say which {answer.what} is meant."
    lines = [f"There is no {answer.what} called {answer.query}."]
    if answer.nearest:
        lines[0] += " The nearest names:"
        size = max(len(ref.name) for ref in answer.nearest)
        lines += [f"  {ref.name.ljust(size)}  {ref.kind}{f'  {ref.at}' if ref.at else ''}" for ref in answer.nearest]
    if answer.hint:
        lines.append(answer.hint)
    return "\n".join(printable(line) for line in lines)
