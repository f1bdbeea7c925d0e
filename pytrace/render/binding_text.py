"""``pytrace binding`` as text."""

from __future__ import annotations

from pytrace.render.page import Page, Span
from pytrace.trace.binding import BindingAnswer, CppName, End, PythonBinding
from pytrace.trace.guards import compact

_MOST_NAMES = 12


def render(page: Page, answer: BindingAnswer, *, why: bool = False) -> None:
    """C++ definitions first, then the names of Python."""
    for sentence in (answer.how, answer.note):
        if sentence:
            page.paragraph(sentence, "", "dim")
    for definition in answer.cpp:
        page.blank()
        _cpp(page, definition, why)
    for binding in answer.python:
        page.blank()
        _python(page, binding, why)


def _cpp(page: Page, told: CppName, why: bool) -> None:
    page.row([(told.ref.name, "title"), (f"  C++ {told.ref.kind}", "dim")], told.ref.at)
    if told.bound:
        _ends(page, "bound to Python as", told.bound, 0, why, own="binding")
    elif not told.provides:
        page.add(("  Not bound to a name of Python itself: it is called by what is.", "dim"))
    if told.provides:
        more = f" +{len(told.provides) - _MOST_NAMES}" if len(told.provides) > _MOST_NAMES else ""
        page.paragraph(f"puts into Python: {', '.join(told.provides[:_MOST_NAMES])}{more}", "  ")
    _ends(page, "called by", told.callers, told.more_callers, why)
    _ends(page, "calls", told.calls, told.more_calls, why)


def _python(page: Page, told: PythonBinding, why: bool) -> None:
    word = "generated" if told.how == "generated" else f"by hand ({told.how})" if told.how else "by hand"
    page.row([(told.ref.name, "title"), (f"  {word}", "dim")], told.ref.at)
    if told.generator:
        page.row([("generated into ", "dim"), (told.holds, "")], indent="  ", rest="  ")
        page.row([("by ", "dim"), (told.generator, "")], indent="  ", rest="  ")
        page.row([("from ", "dim"), (told.template, "place", told.template)], indent="  ", rest="  ")
    if told.function:
        setter = f", set by {told.setter}" if told.setter else ""
        page.row([("C++ function ", "dim"), (told.function, "function"), (setter, "dim")], indent="  ", rest="  ")
    for text in told.signatures:
        page.row([("signature ", "dim"), (text, "")], indent="  ", rest="    ")
    if told.members:
        page.add((f"  {told.members} members", "dim"))
    _ends(page, "defined by", told.implemented_by, 0, why, own="function")
    _ends(page, "its lambda calls", told.calls, 0, why, own="function")
    _ends(page, "operators", told.ops, 0, why, own="op")
    _ends(page, "put into Python by", told.provided_by, 0, why)
    _ends(page, "the same object as", told.aliases, 0, why, own="python")
    _ends(page, "called by", told.callers, told.more_callers, why)


def _ends(page: Page, title: str, ends: list[End], more: int, why: bool, own: str = "") -> None:
    """A list of names; with ``own`` the place of the name itself, else where it is used."""
    if not ends:
        return
    page.add((f"  {title}", "dim"))
    for end in ends:
        spans: list[Span] = [(end.ref.name, end.ref.kind)]
        if end.via.candidates > 1:
            spans.append((f"  one of {end.via.candidates}", "warn"))
        lines = "".join(f", :{line}" for line in end.via.lines[:4])
        place = (end.ref.at or end.via.at) if own else end.via.at
        page.row(
            [*spans, ("" if own else lines, "place")], place, indent="    ", rest="    ", guard=compact(end.via.guard)
        )
        if why:
            page.row([(f"why: {end.via.rule}", "dim")], end.via.at, indent="        ", rest="    ")
    if more:
        page.add((f"    … and {more} more (--limit 0 shows all)", "dim"))
