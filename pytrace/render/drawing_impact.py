"""The picture of ``pytrace impact``: the changed things on the right, operators and Python names on the left."""

from __future__ import annotations

from pytrace.render.drawing import Box, Drawing, Sketch
from pytrace.render.impact_text import headline
from pytrace.render.report_text import short
from pytrace.render.tree import key_text
from pytrace.report.impact import Affected, ImpactReport
from pytrace.trace.guards import compact


def of_impact(report: ImpactReport, limit: int = 20) -> Drawing:
    """The paths of the first ``limit`` groups of operators (0: all), one band."""
    names = [short(one.name) for one in report.touched]
    title = (
        f"change of {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
        if names
        else "change"
    )
    sketch = Sketch(title, report.stamp)
    band = sketch.band("what the change touches")
    for one in report.operators[: limit or None]:
        _affected(sketch, band, one)
    changed = {(t.kind, t.name, t.line) for t in report.touched}
    for box in sketch.drawing.boxes:
        if (box.kind, box.name, box.line) in changed:
            box.more.insert(0, "changed")
    if not report.operators:
        for touched in report.touched[: limit or None]:
            sketch.box(band, touched.kind, touched.name, touched.file, touched.line).more.append("changed")
    left = len(report.operators) - limit if limit else 0
    sketch.drawing.notes.append(headline(report))
    if left > 0:
        sketch.drawing.notes.append(f"{left} more groups of operators are not drawn (--limit 0 draws all).")
    sketch.drawing.notes += [*report.unbounded, *report.notes]
    return sketch.drawing


def _affected(sketch: Sketch, band: int, one: Affected) -> None:
    devices = next((place for place, step in enumerate(one.way) if step.kind == "stub"), len(one.way))
    last: Box | None = None
    for place, step in enumerate(one.way):
        lane = "device" if step.kind == "function" and place > devices else ""
        box = sketch.box(band, step.kind, step.name, step.file, step.line, lane=lane)
        if last is not None:
            label = key_text(step.key) if step.via in ("registers", "dispatches") else ""
            sketch.arrow(last, box, label, compact(step.guard), step.at, step.candidates)
        last = box
    head = sketch.box(band, one.way[0].kind, one.way[0].name, one.way[0].file, one.way[0].line)
    if one.overloads:
        text = f"also {', '.join(one.overloads[:6])}{f' +{len(one.overloads) - 6}' if len(one.overloads) > 6 else ''}"
        if text not in head.more:
            head.more.append(text)
    if one.hops == 0:
        for name in one.python[:3]:
            sketch.arrow(sketch.box(band, "python", name), head)
