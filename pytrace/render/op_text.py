"""``pytrace op`` as text."""

from __future__ import annotations

from pytrace.render import around_text, tree
from pytrace.render.backward_text import section as backward_section
from pytrace.render.page import Page, Span, wrap
from pytrace.trace.answers import Dtypes, OpAnswer, Overload, PythonName, Row
from pytrace.trace.devices import is_layer
from pytrace.trace.guards import compact

#: Tags that nearly every operator carries say nothing about this one.
_EVERYWHERE = {"pt2_compliant_tag"}
#: Rules of aliases that merely re-export a binding under its name: where they do so is not worth a line.
_SAME_NAME = {"python-member", "python-import"}
_MOST_OVERLOADS = 14


def render(page: Page, answer: OpAnswer, *, why: bool = False, limit: int = 0, every: bool = False) -> None:
    """Put the answer on the page. ``limit`` 0 shows every overload, ``every`` all that stands round about it."""
    if not answer.overloads:
        page.add((answer.query, "title"))
        page.paragraph(f"{answer.how} `pytrace api {answer.query}` shows what it calls.", "")
        return
    names = list(dict.fromkeys(o.name.partition(".")[0] for o in answer.overloads))
    title: list[Span] = [(", ".join(names), "title")]
    if len(answer.overloads) > 1:
        title.append((f"  {len(answer.overloads)} overloads", "dim"))
    if answer.device:
        title.append((f"  on {answer.device}", "dim"))
    page.add(*title)
    if answer.how:
        page.paragraph(answer.how, "", "dim")
    for note in answer.notes:
        page.paragraph(note, "", "dim")
    _schemas(page, answer.overloads, limit)
    _python(page, answer)
    _dispatch(page, answer.dispatch, why or not limit)
    _paths(page, answer, why)
    _dtypes(page, answer.dtypes)
    if answer.backward is not None:
        page.heading("Backward")
        backward_section(page, answer.backward, why=why)
    around_text.render(page, answer.around, every=every, limit=limit)


def _schemas(page: Page, overloads: list[Overload], limit: int) -> None:
    page.heading("Schema")
    most = _MOST_OVERLOADS if limit else len(overloads)
    for overload in overloads[:most]:
        name, _, rest = overload.schema.partition("(")
        told = [trait for trait in overload.traits if trait not in _EVERYWHERE]
        traits = f"  [{', '.join(told)}]" if told else ""
        text = f"({rest}" if rest else ""  # higher-order operators have a name only
        name = (name or overload.name).removeprefix("aten::")
        place = f"{overload.file}:{overload.line}" if overload.file else ""
        room = page.width - 2 - len(name) - len(place) - 2
        pieces = wrap(text + traits, max(30, room)) or [""]
        if len(pieces) > 1:
            pieces = wrap(text + traits, max(30, page.width - 6))
            page.row([(name, "op")], place, indent="  ", rest="  ")
            for piece in pieces:
                page.add(("      ", ""), (piece, ""))
        else:
            page.row([(name, "op"), (pieces[0], "")], place, indent="  ", rest="  ")
    if len(overloads) > most:
        page.add((f"  … and {len(overloads) - most} more overloads (--limit 0 shows all)", "dim"))


def _python(page: Page, answer: OpAnswer) -> None:
    page.heading("Python")
    if not answer.python and not answer.bindings:
        page.add(("  No Python name leads here (torch.ops has every operator).", "dim"))
        return
    known_as: dict[str, list[PythonName]] = {binding.ref.name: [] for binding in answer.bindings}
    for name in answer.python:
        via = name.via
        if via is not None and via.kind == "alias_of" and via.rule in _SAME_NAME and name.through[0] in known_as:
            known_as[name.through[0]].append(name)
    for binding in answer.bindings:
        names = known_as[binding.ref.name]
        spans: list[Span] = [(", ".join(n.ref.name for n in names), "python"), (" = " if names else "", "dim")]
        spans += [(binding.ref.name, "binding"), (f"  {binding.ref.note}" if binding.ref.note else "", "dim")]
        page.row(spans, binding.ref.at, indent="  ", rest="  ")
    for name in answer.python:
        if not any(name in names for names in known_as.values()):
            _python_name(page, name)
    if answer.more_python:
        page.add((f"  … and {answer.more_python} more Python names lead here", "dim"))
    if answer.python_places:
        page.add((f"  called from {answer.python_places} places in Python", "dim"))
    if answer.used_by:
        page.row([("called by ", "dim"), (", ".join(answer.used_by), "")], indent="  ", rest="  ")


def _python_name(page: Page, name: PythonName) -> None:
    spans: list[Span] = [(name.ref.name, "python")]
    if name.via is not None:
        word = "=" if name.via.kind == "alias_of" else "calls"
        target = name.through[0] if name.through else ""
        if name.ref.note:
            spans.append((f" {name.ref.note}", "dim"))
        if target:
            spans.append((f" {word} {target}", "dim"))
        if word == "calls" and name.via.file:
            same = name.via.file == name.ref.file
            spans.append((f" at :{name.via.line}" if same else f" at {name.via.at}", "place", name.via.at))
            spans += [(f", :{line}", "place", f"{name.via.file}:{line}") for line in name.via.lines[:4]]
    guard = compact(name.via.guard) if name.via is not None else ""
    page.row(spans, name.ref.at, indent="  ", rest="  ", guard=guard)


def _dispatch(page: Page, rows: list[Row], full: bool) -> None:
    page.heading("Dispatch")
    if not rows:
        page.add(("  No kernel is registered for it in the tree.", "dim"))
        return
    for op in dict.fromkeys(row.op for row in rows):
        own = [row for row in rows if row.op == op]
        shared = f"  also {', '.join(own[0].shared_by)} (delegated)" if own[0].shared_by else ""
        page.row([(op, "op"), (shared, "dim")], indent="  ", rest="  ")
        layers = [] if full else [key for row in own for key in row.keys if is_layer(key)]
        for row in own:
            keys = [key for key in row.keys if key not in layers]
            if keys:
                _row(page, row, keys, full)
        if layers:
            page.row([("layers: ", "dim"), (", ".join(layers), "dim")], indent="    ", rest="    ")


def _row(page: Page, row: Row, keys: list[str], why: bool) -> None:
    spans: list[Span] = [(f"{', '.join(keys)}  ", "key"), (tree.short(row.function), "function")]
    if row.function.note:
        spans.append((f"  {row.function.note}", "dim"))
    if row.via.candidates > 1:
        spans.append((f"  one of {row.via.candidates}", "warn"))
    page.row(spans, row.function.at, indent="    ", rest="    ", guard=compact(row.via.guard))
    if why:
        page.row([(f"why: {row.via.rule}", "dim")], row.via.at, indent="        ", rest="    ")


def _paths(page: Page, answer: OpAnswer, why: bool) -> None:
    drawn = [path for path in answer.paths if path.tree.steps or path.tree.folded]
    bare = [path for path in answer.paths if path not in drawn]
    if not answer.paths:
        return
    page.heading("Paths")
    for number, path in enumerate(drawn):
        if number:
            page.blank()
        owner = path.op.rpartition("::")[2]
        tree.draw(page, path.tree, key=f"{', '.join(path.keys)} ({owner})", why=why, indent="")
    for path in bare:
        owner = path.op.rpartition("::")[2]
        state = {"seen": "see above", "cut": "not opened, --limit", "": "calls nothing else worth telling"}.get(
            path.tree.state, ""
        )
        spans: list[Span] = [(f"{', '.join(path.keys)} ({owner})  ", "key"), (tree.short(path.tree.ref), "function")]
        page.row([*spans, (f"  {state}", "dim")], path.tree.ref.at)
    if _cut(answer):
        page.paragraph("… marks what the limit left closed: --limit 0, --depth N or --device cpu show more.", "", "dim")


def _cut(answer: OpAnswer) -> bool:
    todo = [path.tree for path in answer.paths]
    while todo:
        step = todo.pop()
        if step.state == "cut":
            return True
        todo += step.steps
    return False


def _dtypes(page: Page, dtypes: list[Dtypes]) -> None:
    if not dtypes:
        return
    page.heading("Dtypes")
    for entry in dtypes:
        device = f"{entry.device}  " if entry.device else ""
        spans: list[Span] = [(device, "key"), (" ".join(entry.types), ""), (f'  "{entry.label}"', "dim")]
        page.row(spans, f"{entry.file}:{entry.line}" if entry.file else "", indent="  ", rest="  ")
