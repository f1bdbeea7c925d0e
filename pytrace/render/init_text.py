"""``pytrace init`` as text: the order of the import, what each initialiser puts into Python."""

from __future__ import annotations

from pytrace.render.page import Page, Span
from pytrace.trace.guards import compact, conditions
from pytrace.trace.init import InitAnswer, Initialiser, Later, Provided

_WORDS = {"function": "functions", "class": "classes", "property": "properties", "type": "type", "module": "module"}


def render(page: Page, answer: InitAnswer, *, limit: int = 6) -> None:
    """Put the answer on the page; ``limit`` bounds the names told of one group (0: all)."""
    if answer.entry is None:
        page.paragraph(answer.sentence, "")
        return
    page.add(("import torch", "title"), (f"  {answer.initialisers} initialisers, {answer.names} names", "dim"))
    for via in answer.imported:
        page.row([("from torch._C import *", "python")], via.at, indent="  ", rest="  ")
    page.row([(answer.entry.name, "function")], answer.entry.at, indent="  ", rest="  ")
    if answer.root is not None:
        page.row([(answer.root.ref.name, "function")], answer.root.ref.at, indent="  ", rest="  ")
        page.heading(f"In the order of {answer.root.ref.name}")
        _root(page, answer.root, limit)
    if answer.later:
        page.heading("Later, when Python calls")
        for entry in answer.later:
            _later(page, entry, limit)


def _root(page: Page, root: Initialiser, limit: int) -> None:
    """The first initialiser: its own statements and its calls, by line."""
    rows: list[tuple[int, int, Provided | Initialiser | tuple[str, str]]] = []
    rows += [(p.at, 1, p) for p in root.provides]
    rows += [(c.via.line if c.via else 0, 0, c) for c in root.calls]
    rows += [(int(other.at.rpartition(":")[2]), 2, (other.name, other.at)) for other in root.others]
    for line, _, row in sorted(rows, key=lambda r: r[:2]):
        if isinstance(row, Initialiser):
            _initialiser(page, row, "  ", limit, root.ref.file)
        elif isinstance(row, Provided):
            _provided(page, row, "  ", limit, f":{line} ")
        else:
            page.row([(f":{line} ", "place", row[1]), (row[0], "dim")], indent="  ", rest="    ")
    _unnamed(page, root, "  ")


def _initialiser(page: Page, told: Initialiser, indent: str, limit: int, file: str) -> None:
    spans: list[Span] = []
    if told.via is not None:
        own = told.via.file == file
        spans.append((f":{told.via.line} " if own else f"{told.via.at} ", "place", told.via.at))
    spans.append((told.ref.name, "function"))
    if told.via is not None and told.via.candidates > 1:
        spans.append((f"  one of {told.via.candidates}", "warn"))
    if told.seen:
        spans.append(("  (see above)", "dim"))
    guard = told_guard(told.via.guard) if told.via is not None else ""
    page.row(spans, told.ref.at, indent=indent, rest=indent, guard=guard)
    inner = indent + "    "
    for group in told.provides:
        _provided(page, group, inner, limit, "")
    _unnamed(page, told, inner)
    for call in told.calls:
        _initialiser(page, call, inner, limit, told.ref.file)


def _provided(page: Page, group: Provided, indent: str, limit: int, before: str) -> None:
    names = group.names[:limit] if limit else group.names
    more = f" +{len(group.names) - len(names)}" if len(group.names) > len(names) else ""
    left: list[Span] = [(before, "place", f"{group.file}:{group.line}")] if before else []
    if group.kind in ("type", "module", "object"):
        word = "" if group.kind == "object" else f"{group.kind} "
        left += [(word, "dim"), (f"{group.owner}.{group.names[0]}", "binding")]
        if group.members:
            generated = f", {group.generated} of them generated" if group.generated else ""
            left.append((f"  {group.members} member{'s' if group.members > 1 else ''}{generated}", "dim"))
    else:
        count = len(group.names)
        word = _WORDS.get(group.kind, group.kind) if count != 1 else group.kind
        table = f" of {group.table}" if group.table else ""
        left += [(f"{count} {word}{table} in ", "dim"), (group.owner, "binding"), (f": {', '.join(names)}{more}", "")]
    page.row(left, f"{group.file}:{group.line}", indent=indent, rest=indent, guard=told_guard(group.guard))


def told_guard(guard: str) -> str:
    """What the build decides, and the ``if``s round a line; ``if (failed) return`` before it is in every initialiser.

    >>> told_guard("#ifdef USE_CUDA && unless (PyType_Ready(&T) < 0) && if (lazy)")
    '#ifdef USE_CUDA && if (lazy)'
    >>> told_guard("#if defined(A) && defined(B) && #ifndef _WIN32")
    '#if defined(A) && defined(B), #ifndef _WIN32'
    """
    text = compact(" && ".join(p for p in conditions(guard) if p != "otherwise" and not p.startswith("unless")))
    return text.replace(" && #", ", #")


def _unnamed(page: Page, told: Initialiser, indent: str) -> None:
    if told.unnamed:
        lines = ", ".join(f":{line}" for line in told.unnamed)
        page.add((indent, ""), (f"names that are computed, at {lines}", "dim"))


def _later(page: Page, entry: Later, limit: int) -> None:
    caller = entry.callers[0]
    more = f" and {len(entry.callers) - 1} more" if len(entry.callers) > 1 else ""
    page.row(
        [(entry.binding.name, "binding"), (f"  called by {entry.caller_names[0]}{more}", "dim")],
        caller.at,
        indent="  ",
        rest="  ",
    )
    _initialiser(page, entry.fills, "    ", limit, "")
