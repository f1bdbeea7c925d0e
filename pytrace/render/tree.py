"""Trees of ``Step`` values as text.

A line reads: where in its parent it is called (``:1433``), what it is, the key that leads there, its name, the
condition, and at the right edge where it is defined. Operators that are not opened stand together on one line.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytrace.render.page import Page, Span, wrap
from pytrace.trace.answers import Folded, Ref, Step, Via
from pytrace.trace.devices import CPU_CAPABILITIES
from pytrace.trace.guards import compact

#: Edges whose key says for which device or dispatch key they hold.
KEYED = ("dispatches", "registers", "structured_meta")
#: Words before a name; functions and operators need none.
_WORDS = {
    "stub": "stub ",
    "cuda_kernel": "kernel ",
    "functor": "functor ",
    "library": "library ",
    "formula": "formula ",
    "binding": "binding ",
}
#: Pages of this width have room for the YAML line of each operator.
_WIDE = 140
_WHY = {
    "plumbing": "allocate, view or ask",
    "helpers": "also calls",
}


def short(ref: Ref) -> str:
    """A name as it is shown: without the namespace that everything in ATen's kernels shares."""
    name = ref.name
    parts = name.split("::")
    if (
        ref.kind == "function"
        and ref.file
        and len(parts) > 1
        and parts[-1] == "impl"
        and parts[-2].startswith("structured_")
    ):
        return f"TORCH_IMPL_FUNC({parts[-2].removeprefix('structured_')})"
    if ref.kind == "op":
        return name
    return name.removeprefix("at::native::").removeprefix("torch::autograd::generated::details::")


def draw(page: Page, step: Step, *, key: str = "", why: bool = False, indent: str = "") -> None:
    """A root line and its tree."""
    _line(page, step, indent, indent, key=key, parent_file="", why=why)
    _children(page, step, indent, why)


def children(page: Page, step: Step, *, why: bool = False, indent: str = "") -> None:
    """The tree below a root that was told otherwise."""
    _children(page, step, indent, why)


def _children(page: Page, step: Step, bars: str, why: bool) -> None:
    groups = _grouped(step.steps) if not why else [[child] for child in step.steps]
    entries: list[list[Step] | Folded] = [*groups, *step.folded]
    for place, entry in enumerate(entries):
        last = place == len(entries) - 1
        head = bars + ("└─ " if last else "├─ ")
        rest = bars + ("   " if last else "│  ")
        if isinstance(entry, Folded):
            _folded(page, entry, head)
        elif len(entry) > 1:
            _together(page, entry, head, rest, step.ref.file)
        else:
            _line(page, entry[0], head, rest, parent_file=step.ref.file, why=why)
            if not _binding(entry[0]):
                _children(page, entry[0], rest, why)


def _grouped(steps: Sequence[Step]) -> list[list[Step]]:
    """Neighbours that are unopened operators under the same condition, together; anything else alone."""
    groups: list[list[Step]] = []
    for step in steps:
        if groups and _leaf(step) and _leaf(groups[-1][0]) and _guard(step) == _guard(groups[-1][0]):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _leaf(step: Step) -> bool:
    return step.ref.kind == "op" and not step.steps and not step.folded


def _guard(step: Step) -> str:
    return step.via.guard if step.via else ""


def _binding(step: Step) -> bool:
    """A binding with nothing but operators behind it: told on one line with them."""
    return step.ref.kind == "binding" and bool(step.steps) and all(map(_leaf, step.steps)) and not step.folded


def _line(page: Page, step: Step, head: str, rest: str, *, parent_file: str, key: str = "", why: bool) -> None:
    spans = head_spans(step, parent_file, key)
    spans.append((_state(page, step), "dim"))
    bars = rest + ("│" if step.steps or step.folded else " ")
    place = step.ref.at
    if _binding(step) and parent_file:
        names = dict.fromkeys(child.ref.name for child in step.steps)  # one may be called in several cases
        spans.append((f" → {', '.join(names)}", "op"))
        page.row(spans, indent=head, rest=rest, guard=compact(_guard(step)))
        return
    if step.ref.kind == "binding" and parent_file:
        place = ""
    if step.ref.kind == "op" and step.via is not None and step.via.file and page.width < _WIDE:
        place = ""  # the line that calls it is told, `pytrace op` tells the YAML's
    page.row(spans, place, indent=head, rest=bars, guard=compact(_guard(step)))
    if why and step.via is not None:
        _evidence(page, step.via, bars)


def _state(page: Page, step: Step) -> str:
    """What to say of a step that is not opened here."""
    name = (step.ref.kind, step.ref.name, step.ref.at)
    if step.steps or step.folded:
        page.told.add(name)
    if step.state == "cut":
        return "  …"
    if step.state == "seen":
        return "  (see above)" if name in page.told else "  (see below)"
    return ""


def head_spans(step: Step, parent_file: str = "", key: str = "") -> list[Span]:
    """A step without its guard and place: call site, key, kind, name, and what must be said about it."""
    via = step.via
    spans: list[Span] = []
    if via is not None and parent_file:
        spans += _call_site(via, parent_file)
    if via is not None and via.kind in KEYED:
        key = key or via.key
    if key:
        spans.append((f"{key_text(key)}  ", "key"))
    spans.append((_WORDS.get(step.ref.kind, ""), "dim"))
    spans.append((short(step.ref), step.ref.kind))
    if via is not None and via.kind == "instantiates" and via.key:
        spans.append((f"  via {via.key.rpartition('::')[2]}", "dim"))
    if via is not None and via.kind == "registers" and via.file:
        own = via.file == step.ref.file
        spans.append(("  registered ", "dim"))
        spans.append((f":{via.line}" if own else via.at, "place", via.at))
    if via is not None and via.candidates > 1:
        spans.append((f"  one of {via.candidates}", "warn"))
    if step.ref.note and not (step.ref.kind == "binding" and parent_file):
        spans.append((f"  {step.ref.note}", "dim"))
    return spans


def key_text(keys: str) -> str:
    """Dispatch keys as they are shown; the CPU's capabilities are one device."""
    return ", ".join(dict.fromkeys("CPU" if key in CPU_CAPABILITIES else key for key in keys.split(", ")))


def _call_site(via: Via, parent_file: str) -> list[Span]:
    """Where the parent does it: its own file is not repeated."""
    if not via.file or via.kind in KEYED:
        return []
    extra = f" +{len(via.lines)}" if via.lines else ""
    text = f":{via.line}" if via.file == parent_file else f"{via.file}:{via.line}"
    return [(text, "place", via.at), (f"{extra} ", "dim")]


def _evidence(page: Page, via: Via, bars: str) -> None:
    text = f"why: {via.rule or via.kind}"
    if via.lines:
        text += f", also lines {', '.join(map(str, via.lines))}"
    if via.candidates > 1:
        text += f", one of {via.candidates} candidates"
    page.row([(text, "dim")], via.at, indent=f"{bars}    ", rest=bars)
    if via.guard and compact(via.guard) != via.guard:
        for piece in wrap(via.guard, max(20, page.width - len(bars) - 4)):
            page.add((f"{bars}    ", "dim"), (piece, "guard"))


def _together(page: Page, steps: list[Step], head: str, rest: str, parent_file: str) -> None:
    """Unopened operators on as few lines as they need."""
    guard = compact(_guard(steps[0]))
    line: list[Span] = [(head, "dim")]
    if guard:
        line.append((f"{guard}: ", "guard"))
    used = sum(len(s[0]) for s in line)
    first, told = True, bool(guard)  # a long condition has the first line for itself
    for step in steps:
        spans: list[Span] = [(short(step.ref), "op")]
        if step.via is not None and step.via.file:
            extra = f" +{len(step.via.lines)}" if step.via.lines else ""
            own = step.via.file == parent_file
            spans.append((f" :{step.via.line}{extra}" if own else f" {step.via.at}{extra}", "place", step.via.at))
        if step.via is not None and step.via.candidates > 1:
            spans.append((f" one of {step.via.candidates}", "warn"))
        size = sum(len(s[0]) for s in spans)
        if used + size + 2 > page.width and (told or not first):
            if not first:
                line.append((",", "dim"))
            page.add(*line)
            line, used, first, told = [(f"{rest}  ", "dim")], len(rest) + 2, True, False
        if not first:
            line.append((", ", "dim"))
            used += 2
        line += spans
        used += size
        first = False
    page.add(*line)


def _folded(page: Page, entry: Folded, head: str) -> None:
    """One dim line for what was left out: as many names as fit, and how many more."""
    names = [name.removeprefix("at::native::").removeprefix("aten::") for name in entry.names]
    text = f"… {_WHY.get(entry.why, entry.why)}: "
    room = page.width - len(head)
    for place, name in enumerate(names):
        more = f" +{len(names) - place - 1}" if place < len(names) - 1 else ""
        piece = f", {name}" if place else name
        if place and len(text) + len(piece) + len(more) > room:
            text += f" +{len(names) - place}"
            break
        text += piece
    page.add((head, "dim"), (text if len(text) <= room else f"{text[: room - 1]}…", "dim"))
