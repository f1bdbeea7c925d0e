"""``pytrace kernel``, ``pytrace stub`` and ``pytrace at`` as text."""

from __future__ import annotations

from pytrace.render import tree
from pytrace.render.page import Page, Span
from pytrace.trace.answers import AtAnswer, KernelAnswer, Reached, Ref, Step, UpPath
from pytrace.trace.guards import compact

_KINDS = {
    "cuda_kernel": "CUDA kernel",
    "function": "function",
    "functor": "functor",
    "stub": "dispatch stub",
    "library": "library function",
    "op": "operator",
    "python": "Python",
    "binding": "binding",
    "formula": "derivative formula",
    "macro": "macro",
}
_USES = {
    "calls": "called by",
    "launches": "launched by",
    "instantiates": "given to a launcher by",
    "uses_stub": "used by",
    "registers": "registered for",
    "calls_library": "called by",
    "dispatches": "kernel of",
    "structured_meta": "structured meta function of",
}
_MOST_NODES = 12


def render(page: Page, answer: KernelAnswer, *, why: bool = False) -> None:
    """The thing asked about, then either its neighbourhood or the paths up to operators."""
    if answer.how:
        page.paragraph(answer.how, "", "dim")
    for root in answer.users[:_MOST_NODES]:
        _node(page, root.ref)
        if not answer.asked_up:
            _users(page, root, why)
    if len(answer.users) > _MOST_NODES:
        page.add((f"… and {len(answer.users) - _MOST_NODES} more of this name", "dim"))
    for entry in answer.dtypes:
        types: list[Span] = [("dtypes ", "dim"), (" ".join(entry.types), ""), (f'  "{entry.label}"', "dim")]
        page.row(types, f"{entry.file}:{entry.line}", indent="  ", rest="  ")
    for note in answer.notes:
        page.paragraph(note, "", "dim")
    if not answer.asked_up:
        if answer.below:
            page.heading("Below")
            for step in answer.below:
                tree.draw(page, step, why=why)
        page.blank()
        page.add(("`--up` shows the operators and Python names that reach it.", "dim"))
        return
    _up(page, answer, why)


def _node(page: Page, ref: Ref) -> None:
    spans: list[Span] = [(f"{_KINDS.get(ref.kind, ref.kind)} ", "dim"), (ref.name, ref.kind)]
    if ref.note:
        spans.append((f"  {ref.note}", "dim"))
    page.row(spans, ref.at)


def _users(page: Page, root: Step, why: bool) -> None:
    if not root.steps:
        page.add(("  nothing in the tree uses it by name", "dim"))
    for step in root.steps:
        via = step.via
        assert via is not None
        word = _USES.get(via.kind, via.kind)
        if via.key:
            word = f"registered for {via.key} in" if via.kind == "registers" else f"{word} ({via.key})"
        more = f" +{len(via.lines)}" if via.lines else ""
        spans: list[Span] = [(f"{word} ", "dim"), (tree.short(step.ref), step.ref.kind), (more, "dim")]
        page.row(spans, via.at or step.ref.at, indent="  ", rest="  ", guard=compact(via.guard))
        if why:
            page.row([(f"why: {via.rule}", "dim")], step.ref.at, indent="      ", rest="  ")
    if root.state.isdigit():
        page.add((f"  … and {root.state} more", "dim"))


def _up(page: Page, answer: KernelAnswer, why: bool) -> None:
    page.blank()
    count = answer.operators
    if answer.generic:
        page.paragraph(
            f"Generic: {count} operators reach it, so that its name alone tells no operator. The functor in its"
            " template arguments would: `pytrace kernel FUNCTOR --up`.",
            "",
        )
        if answer.functors:
            page.paragraph(f"For example {', '.join(answer.functors)}.", "", "dim")
        page.blank()
        page.paragraph(f"{', '.join(answer.bases)}", "  ", "op")
        if answer.stopped:
            page.paragraph(answer.stopped, "", "warn")
        return
    elif not count:
        page.add(("No operator reaches it, as far as the index can tell.", ""))
    else:
        page.add((f"Reached by {count} operator{'s' if count != 1 else ''}", "title"))
    for entry in answer.up:
        reached(page, entry, why=why)
    if len(answer.up) < count:
        page.blank()
        page.add((f"… and {count - len(answer.up)} more operators (--limit 0 shows all)", "dim"))
    if answer.stopped:
        page.paragraph(answer.stopped, "", "warn")


def reached(page: Page, entry: Reached, *, why: bool = False) -> None:
    """An operator, who calls it, and the paths down to what was asked about."""
    page.blank()
    page.row([(entry.op.name, "op")], entry.op.at)
    for word, names in (
        ("Python", entry.python),
        ("delegated from", entry.overloads),
        ("called by", entry.used_by),
        ("Python, through these:", entry.through),
    ):
        if names:
            page.row([(f"{word} ", "dim"), (", ".join(names), "")], indent="  ", rest="  ")
    for path in entry.paths:
        _path(page, path, why)
    if entry.more_paths:
        page.add((f"  … and {entry.more_paths} more paths", "dim"))


def _path(page: Page, path: UpPath, why: bool) -> None:
    """One path from the operator down to the thing asked about, one line a step.

    It ends where it joins a path that the page has shown already.
    """
    refs = list(reversed(path.refs))
    vias = list(reversed(path.vias))
    if len(refs) > len(vias) + 1:  # the operator stands above a formula, which begins the climb
        page.row([("backward ", "dim"), (refs[1].name, "formula")], refs[1].at, indent="  ", rest="  ")
        refs = refs[1:]
    for place, via in enumerate(vias):
        ref = refs[place + 1]
        spans = tree.head_spans(Step(ref, via), refs[place].file)
        below = ("path", *(f"{r.name} {r.at}" for r in refs[place + 1 :]))
        known = below in page.told and place + 2 < len(refs)
        if known:
            spans.append(("  … as above", "dim"))
        page.told.add(below)
        page.row(spans, ref.at, indent="  ", rest="  ", guard=compact(via.guard))
        if why:
            page.row([(f"why: {via.rule}", "dim")], via.at, indent="      ", rest="  ")
        if known:
            break


def render_at(page: Page, answer: AtAnswer, *, why: bool = False) -> None:
    """``pytrace at``."""
    page.add((f"{answer.file}:{answer.line}", "title"))
    for ref in answer.nodes:
        _node(page, ref)
    for step in answer.here:
        page.row([("on this line, ", "dim"), (tree.short(step.ref), step.ref.kind)], step.ref.at)
        tree.children(page, step, why=why)
    if answer.sentence:
        page.paragraph(answer.sentence, "", "dim")
    if answer.up:
        page.blank()
        count = answer.operators
        page.add((f"Reached by {count} operator{'s' if count != 1 else ''}", "title"))
        for entry in answer.up:
            reached(page, entry, why=why)
        if len(answer.up) < count:
            page.add((f"… and {count - len(answer.up)} more operators (--limit 0 shows all)", "dim"))
