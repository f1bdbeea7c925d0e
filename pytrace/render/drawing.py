"""An answer as boxes in lanes: what the pictures are drawn from.

A call passes the layers of PyTorch in one order, so every picture has them as lanes from left to right. An operator
that a kernel function calls begins again on the left: it opens a *band* of its own below, with the same lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytrace.render.report_text import short
from pytrace.render.tree import KEYED, key_text
from pytrace.report.rows import Stamp
from pytrace.trace.answers import Folded, KernelAnswer, OpAnswer, Ref, Step, UpPath, Via
from pytrace.trace.devices import is_plain
from pytrace.trace.guards import compact

#: Lanes in the order in which a call passes them: key, head.
LANES = (
    ("python", "Python"),
    ("binding", "binding"),
    ("operator", "operator"),
    ("dispatch", "dispatch"),
    ("function", "kernel function"),
    ("stub", "stub"),
    ("device", "device function"),
    ("kernel", "device kernel"),
    ("library", "library"),
    ("backward", "backward"),
)
_LANE_OF = {
    "python": "python", "binding": "binding", "op": "operator", "key": "dispatch", "function": "function",
    "stub": "stub", "cuda_kernel": "kernel", "functor": "kernel", "library": "library", "formula": "backward",
}  # fmt: skip
_STATES = {"seen": "shown elsewhere", "closed": "not opened", "cut": "not opened"}


@dataclass(eq=False)
class Box:
    """One thing of the picture."""

    id: int
    lane: str
    band: int
    kind: str
    name: str
    file: str = ""
    line: int = 0
    note: str = ""
    more: list[str] = field(default_factory=list)  #: lines below the name: other overloads, what is also called
    minor: bool = False  #: keys and their functions that only special tensors use

    @property
    def at(self) -> str:
        """``path:line`` or ""."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(eq=False)
class Arrow:
    """One crossing of the picture."""

    src: int
    dst: int
    label: str = ""  #: the key, or what kind of edge it is when the lanes do not say it
    guard: str = ""
    at: str = ""
    candidates: int = 1


@dataclass(eq=False)
class Drawing:
    """A picture, before anything is placed."""

    title: str
    stamp: Stamp
    bands: list[str] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lanes(self) -> list[tuple[str, str]]:
        """The lanes that hold something."""
        used = {box.lane for box in self.boxes}
        return [(key, head) for key, head in LANES if key in used]

    def without_minor(self) -> Drawing:
        """The same picture without what is minor, saying how much that is."""
        hidden = {box.id for box in self.boxes if box.minor}
        if not hidden:
            return self
        kept = [arrow for arrow in self.arrows if not {arrow.src, arrow.dst} & hidden]
        count = sum(box.minor and box.lane == "dispatch" for box in self.boxes)
        boxes = [box for box in self.boxes if not box.minor]
        rows = "1 row" if count == 1 else f"{count} rows"
        verb = "is" if count == 1 else "are"
        note = f"{rows} for special tensors and layers (sparse, quantized, autocast, vmap) {verb} not drawn."
        return Drawing(self.title, self.stamp, self.bands, boxes, kept, [*self.notes, *([note] if count else [])])


class Sketch:
    """Adds boxes and arrows to a drawing; the same thing in the same band is one box."""

    def __init__(self, title: str, stamp: Stamp) -> None:
        """Begin with one band."""
        self.drawing = Drawing(title, stamp)
        self._known: dict[tuple[int, str, str, str, str, int], Box] = {}
        self._joined: dict[tuple[int, int], Arrow] = {}
        self._opened: dict[str, int] = {}
        self.asked: dict[str, Box] = {}  #: the operators that the picture is about

    def band(self, title: str) -> int:
        """A new band."""
        self.drawing.bands.append(title)
        return len(self.drawing.bands) - 1

    def box(
        self, band: int, kind: str, name: str, file: str = "", line: int = 0, *, lane: str = "", note: str = ""
    ) -> Box:
        """The box of a thing in a band."""
        lane = lane or _LANE_OF.get(kind, "function")
        owner = note if kind == "key" else file  # a key stands for one operator's row
        key = (band, lane, kind, name, owner, line)
        found = self._known.get(key)
        if found is None:
            found = Box(len(self.drawing.boxes), lane, band, kind, name, file, line, note)
            self._known[key] = found
            self.drawing.boxes.append(found)
        return found

    def arrow(self, src: Box, dst: Box, label: str = "", guard: str = "", at: str = "", candidates: int = 1) -> None:
        """An arrow; a second one between the same boxes keeps the first one's place."""
        if src.id == dst.id or (src.id, dst.id) in self._joined:
            return
        arrow = Arrow(src.id, dst.id, label, guard, at, candidates)
        self._joined[src.id, dst.id] = arrow
        self.drawing.arrows.append(arrow)

    def ref(self, band: int, ref: Ref, lane: str = "") -> Box:
        """The box of a node."""
        return self.box(band, ref.kind, ref.name, ref.file, ref.line, lane=lane, note=ref.note)

    # -- trees ---------------------------------------------------------------------------------------------------

    def tree(self, band: int, step: Step, above: Box, lane: str = "") -> None:
        """The steps below ``above`` and their arrows."""
        closed: list[Step] = []
        for child in step.steps:
            if child.ref.kind == "op":
                if child.steps:
                    self._operator(child, above)
                else:
                    closed.append(child)
                continue
            place = "device" if child.ref.kind == "function" and (lane == "device" or _registers(child.via)) else ""
            known = len(self.drawing.boxes)
            box = self.ref(band, child.ref, place)
            if not child.state and box.note in _STATES.values():
                box.note = ""  # it is opened here
            elif box.id >= known and _STATES.get(child.state):
                box.note = box.note or _STATES[child.state]
            self.cross(above, box, child.via)
            self.tree(band, child, box, place)
        if closed:
            above.more.append(f"calls {', '.join(_called(child) for child in closed)}")
        above.more += [_folded(entry) for entry in step.folded]
        for entry in step.dtypes:
            above.more.append(f"dtypes “{entry.label}”: {', '.join(entry.types)}")

    def _operator(self, step: Step, caller: Box) -> None:
        """An operator that is called and opened: a band of its own, unless the picture is about it."""
        if step.ref.name in self.asked:
            self.cross(caller, self.asked[step.ref.name], step.via)
            return
        band = self._opened.get(step.ref.name)
        if band is None:
            band = self._opened[step.ref.name] = self.band(step.ref.name)
            box = self.ref(band, step.ref)
            self.rows(band, box, step)
        box = self.ref(band, step.ref)
        self.cross(caller, box, step.via)

    def rows(self, band: int, op: Box, step: Step) -> None:
        """The dispatched functions below an operator's step."""
        for child in step.steps:
            keys = key_text(child.via.key) if child.via else ""
            function = self.ref(band, child.ref)
            if keys:
                row = self.box(band, "key", keys, lane="dispatch", note=op.name)
                self.arrow(op, row)
                self.cross(row, function, child.via, label="")
            else:
                self.cross(op, function, child.via)
            self.tree(band, child, function)

    def cross(self, src: Box, dst: Box, via: Via | None, label: str | None = None) -> None:
        """The arrow of an edge."""
        if via is None:
            self.arrow(src, dst)
            return
        if label is None:
            label = key_text(via.key) if via.kind in KEYED else ""
            if via.kind == "instantiates" and via.key:
                label = f"via {via.key.rpartition('::')[2]}"
        self.arrow(src, dst, label, compact(via.guard), via.at, via.candidates)


def _registers(via: Via | None) -> bool:
    return via is not None and via.kind == "registers"


def _called(step: Step) -> str:
    line = f":{step.via.line}" if step.via is not None and step.via.line else ""
    guard = f" {compact(step.via.guard)}" if step.via is not None and step.via.guard else ""
    return f"{step.ref.name}{line}{guard}"


def _folded(entry: Folded, most: int = 6) -> str:
    names = [short(name).removeprefix("aten::") for name in entry.names]
    more = f" +{len(names) - most}" if len(names) > most else ""
    why = {"plumbing": "allocates, views or asks", "helpers": "also calls"}.get(entry.why, entry.why)
    return f"{why}: {', '.join(names[:most])}{more}"


# -- answers ---------------------------------------------------------------------------------------------------------


def of_operator(answer: OpAnswer, stamp: Stamp, binds: Mapping[str, Sequence[str]]) -> Drawing:
    """The picture of ``pytrace op``. ``binds`` tells which operators each binding calls."""
    title = answer.overloads[0].name.partition(".")[0] if answer.overloads else answer.query
    sketch = Sketch(title, stamp)
    band = sketch.band(title)
    owners = [row.op for row in answer.dispatch]
    operators = sketch.asked
    for overload in answer.overloads:
        if overload.name in owners or not owners:
            box = sketch.box(band, "op", overload.name, overload.file, overload.line)
            operators[overload.name] = box
            traits = f"  [{', '.join(overload.traits)}]" if overload.traits else ""
            box.more.append(overload.schema.removeprefix(overload.name) + traits)
    drawn = dict(operators)
    for row in answer.dispatch:
        box = operators.get(row.op) or sketch.box(band, "op", row.op)
        operators.setdefault(row.op, box)
        for name in row.shared_by:
            # Either the overload is drawn and points at the one that it delegates to, or it is this box too.
            if name in drawn:
                sketch.arrow(drawn[name], box, "delegates")
            elif name not in operators:
                operators[name] = box
                box.note = f"{box.note}, {name}" if box.note else f"also {name}"
    _names(sketch, band, answer, binds)
    trees = {(path.op, path.tree.ref.name, path.tree.ref.line): path.tree for path in answer.paths}
    shown: set[tuple[str, int]] = set()
    for row in answer.dispatch:
        minor = not any(is_plain(key) for key in row.keys)
        key = sketch.box(band, "key", key_text(", ".join(row.keys)), lane="dispatch", note=row.op)
        key.minor = minor
        sketch.arrow(operators[row.op], key, at=row.via.at)
        known = len(sketch.drawing.boxes)
        function = sketch.ref(band, row.function)
        function.minor = minor and (function.id >= known or function.minor)
        sketch.cross(key, function, row.via, label="")
        tree = trees.get((row.op, row.function.name, row.function.line))
        if tree is not None and (row.function.name, row.function.line) not in shown:
            shown.add((row.function.name, row.function.line))
            function.minor = False
            sketch.tree(band, tree, function)
    _backward(sketch, band, answer, operators)
    sketch.drawing.notes += answer.notes
    if answer.how:
        sketch.drawing.notes.insert(0, answer.how)
    return sketch.drawing


def _names(sketch: Sketch, band: int, answer: OpAnswer, binds: Mapping[str, Sequence[str]]) -> None:
    bindings = {name.ref.name: sketch.ref(band, name.ref) for name in answer.bindings}
    for known in answer.bindings:
        box = bindings[known.ref.name]
        after = next((bindings[step] for step in known.through if step in bindings), None)
        if after is not None:
            sketch.cross(box, after, known.via, label="")
            continue
        for op in binds.get(known.ref.name, ()):
            if op in sketch.asked:
                sketch.arrow(box, sketch.asked[op])
    for known in answer.python:
        box = sketch.ref(band, known.ref)
        place = next((n for n, step in enumerate(known.through) if step in bindings), len(known.through))
        if place:
            box.more.append(f"through {' → '.join(known.through[:place])}")
        if place < len(known.through):
            sketch.cross(box, bindings[known.through[place]], known.via, label="")
        elif known.via is not None and known.via.kind == "calls_op" and len(sketch.asked) == 1:
            sketch.cross(box, next(iter(sketch.asked.values())), known.via, label="")
    if answer.more_python:
        sketch.drawing.notes.append(f"{answer.more_python} more Python names call it; `pytrace op` lists them.")


def _backward(sketch: Sketch, band: int, answer: OpAnswer, operators: dict[str, Box]) -> None:
    if answer.backward is None:
        return
    boxes = {box.name: box for box in sketch.drawing.boxes if box.kind == "op"}
    for formula in answer.backward.formulas:
        box = sketch.box(band, "formula", formula.node, formula.file, formula.line)
        box.more += [f"{', '.join(var.names)}: {var.formula}" for var in formula.vars]
        saved = sorted({name for var in formula.vars for name in var.saved})
        if saved:
            box.more.append(f"saves {', '.join(saved)}")
        calls = [short(step.ref.name) for step in formula.calls]
        if calls:
            box.more.append(f"calls {', '.join(calls[:8])}{f' +{len(calls) - 8}' if len(calls) > 8 else ''}")
        for op in formula.ops:
            if op in operators:
                sketch.arrow(operators[op], box, "" if formula.key == "Default" else formula.key)
    elsewhere: dict[str, None] = {}
    for part in answer.backward.parts:
        owner = boxes.get(part.op)
        if part.node and owner is not None:
            sketch.arrow(owner, sketch.box(owner.band, "formula", part.node, part.file, part.line))
        elif part.node:
            elsewhere[f"{part.node} of {part.op}  {part.file}:{part.line}"] = None
    if elsewhere:
        # Operators that are called and not opened: one box for all, or they would be longer than the path itself.
        count = f"{len(elsewhere)} more" if len(elsewhere) > 1 else "one more"
        sketch.box(band, "formula", f"{count}, of operators that it calls").more += elsewhere
    if answer.backward.sentence:
        sketch.drawing.notes.append(answer.backward.sentence)


def of_kernel(answer: KernelAnswer, stamp: Stamp) -> Drawing:
    """The picture of ``pytrace kernel --up``: operators on the left, the thing asked about on the right."""
    title = short(answer.nodes[0].name) if answer.nodes else answer.query
    sketch = Sketch(title, stamp)
    band = sketch.band(title)
    for reached in answer.up:
        op: Box | None = None
        for path in reached.paths:
            op = _climbed(sketch, band, path) or op
        if op is None:
            continue
        if reached.overloads:
            op.more.append(f"also {', '.join(reached.overloads)}")
        if reached.used_by:
            op.more.append(f"used by {', '.join(reached.used_by)}")
        for name in reached.python:
            kind = "binding" if name.startswith("torch._C.") else "python"
            sketch.arrow(sketch.box(band, kind, name), op)
    if not answer.up:
        for node in answer.nodes:
            sketch.ref(band, node)
    left = answer.operators - sum(1 for _ in answer.up)
    if left > 0:
        sketch.drawing.notes.append(f"{left} more operators reach it (--limit 0 draws all).")
    if answer.generic:
        sketch.drawing.notes.append("It is generic: a functor would tell the operator.")
    sketch.drawing.notes += [note for note in (answer.how, answer.stopped, *answer.notes) if note]
    return sketch.drawing


def _climbed(sketch: Sketch, band: int, path: UpPath) -> Box | None:
    """One path from the thing asked about up to an operator; returns the operator's box."""
    last: Box | None = None
    devices = _device_side(path)
    for place, ref in enumerate(path.refs):
        lane = "device" if ref.kind == "function" and place < devices else ""
        box = sketch.ref(band, ref, lane)
        if last is not None:
            via = path.vias[place - 1] if place - 1 < len(path.vias) else None
            if via is not None and via.kind == "dispatches" and via.key:
                row = sketch.box(band, "key", key_text(via.key), lane="dispatch", note=ref.name)
                sketch.arrow(box, row, at=via.at)
                sketch.cross(row, last, via, label="")
            else:
                sketch.cross(box, last, via)
        last = box
    return last


def _device_side(path: UpPath) -> int:
    """How many refs from the bottom stand below a stub: they are a device's own functions."""
    return next((place for place, ref in enumerate(path.refs) if ref.kind == "stub"), 0)


def joined(texts: Iterable[str]) -> str:
    """Lines of a box as one text."""
    return " · ".join(text for text in texts if text)


def ordered(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[Box]:
    """Boxes of one band so that what is joined stands at similar heights: in order of first visit, depth first."""
    by_id = {box.id: box for box in boxes}
    below: dict[int, list[int]] = {}
    entered: set[int] = set()
    for arrow in arrows:
        if arrow.src in by_id and arrow.dst in by_id:
            below.setdefault(arrow.src, []).append(arrow.dst)
            entered.add(arrow.dst)
    seen: dict[int, None] = {}
    todo = [box.id for box in reversed(boxes) if box.id not in entered] or [box.id for box in reversed(boxes)]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen[here] = None
            todo += reversed(below.get(here, []))
    return [by_id[i] for i in (*seen, *(box.id for box in boxes if box.id not in seen))]


def depths(boxes: Sequence[Box], arrows: Sequence[Arrow], most: int = 4) -> dict[int, int]:
    """How deep each box stands below others of its own lane and band: what is indented."""
    by_id = {box.id: box for box in boxes}
    found = dict.fromkeys(by_id, 0)
    above: dict[int, int] = {}
    for arrow in arrows:
        src, dst = by_id.get(arrow.src), by_id.get(arrow.dst)
        if src and dst and (src.lane, src.band) == (dst.lane, dst.band) and src.id < dst.id:
            above.setdefault(dst.id, src.id)
    for box in sorted(by_id):
        if box in above:
            found[box] = min(most, found[above[box]] + 1)
    return found
