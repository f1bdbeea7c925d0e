"""The picture of ``pytrace impact``: the changed things on the right, operators and Python names on the left.

A band for each number of operators that are crossed: what an operator reaches through another stands with the other.
"""

from __future__ import annotations

from pytrace.render.drawing import Box, Drawing, Sketch
from pytrace.render.impact_text import headline
from pytrace.render.report_text import short
from pytrace.render.tree import KEYED, key_text
from pytrace.report.impact import Affected, ImpactReport
from pytrace.trace.guards import compact

_BANDS = ("reached directly", "through one other operator", "through two other operators")


def of_impact(report: ImpactReport, limit: int = 20) -> Drawing:
    """The paths of the first ``limit`` groups of operators (0: all)."""
    names = [short(one.name) for one in report.touched]
    title = (
        f"change of {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
        if names
        else "change"
    )
    sketch = Sketch(title, report.stamp)
    shown = report.operators[: limit or None]
    hops = [sum(step.kind == "op" for step in one.way) - 1 for one in shown]
    for count in range(max(hops, default=0) + 1):
        sketch.band(_BANDS[count] if count < len(_BANDS) else f"through {count} other operators")
    for one in shown:
        _affected(sketch, one)
    changed = {(t.kind, t.name, t.line) for t in report.touched}
    for box in sketch.drawing.boxes:
        if (box.kind, box.name, box.line) in changed:
            box.more.insert(0, "changed")
    if not report.operators:
        for touched in report.touched[: limit or None]:
            sketch.box(0, touched.kind, touched.name, touched.file, touched.line).more.append("changed")
    left = len(report.operators) - limit if limit else 0
    sketch.drawing.notes.append(headline(report))
    if left > 0:
        sketch.drawing.notes.append(f"{left} more groups of operators are not drawn (--limit 0 draws all).")
    sketch.drawing.notes += [*report.unbounded, *report.notes]
    return sketch.drawing


def _affected(sketch: Sketch, one: Affected) -> None:
    left = sum(step.kind == "op" for step in one.way)
    head: Box | None = None
    devices = next((place for place, step in enumerate(one.way) if step.kind == "stub"), len(one.way))
    last: Box | None = None
    for place, step in enumerate(one.way):
        lane = "device" if step.kind == "function" and place > devices else ""
        left -= step.kind == "op"
        box = sketch.box(max(0, left), step.kind, step.name, step.file, step.line, lane=lane)
        if last is not None:
            label = key_text(step.key) if step.via in KEYED else ""
            sketch.arrow(last, box, label, compact(step.guard), step.at, step.candidates)
        last = box
        head = head or box
    if head is None:
        return
    if one.overloads:
        text = f"also {', '.join(one.overloads[:6])}{f' +{len(one.overloads) - 6}' if len(one.overloads) > 6 else ''}"
        if text not in head.more:
            head.more.append(text)
    if one.hops == 0:
        for name in one.python[:3]:
            sketch.arrow(sketch.box(head.band, "python", name), head)
