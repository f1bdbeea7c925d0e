"""Pictures as Graphviz DOT."""

from __future__ import annotations

from pytrace.render.drawing import Box, Drawing
from pytrace.render.mermaid import _COLOURS as COLOURS
from pytrace.render.report_text import short

_SHAPES = {"op": "ellipse", "stub": "hexagon", "cuda_kernel": "box3d", "functor": "box3d", "key": "plaintext"}


def quote(text: str) -> str:
    """A DOT string: quotes and backslashes escaped, nothing that breaks a line."""
    flat = " ".join("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text).split())
    return '"' + flat.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render(drawing: Drawing) -> str:
    """The digraph: a cluster for each band, one rank direction from Python to the device."""
    drawing = drawing.without_minor()
    lines = [
        "digraph pytrace {",
        "  rankdir=LR;",
        f"  label={quote(f'{drawing.title}: {drawing.stamp}')};",
        '  node [shape=box, style=filled, fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=9];',
    ]
    for band, title in enumerate(drawing.bands):
        boxes = [box for box in drawing.boxes if box.band == band]
        if boxes:
            lines += [f"  subgraph cluster_{band} {{", f"    label={quote(title)};", *map(_box, boxes), "  }"]
    for arrow in drawing.arrows:
        words = [word for word in (arrow.label, arrow.guard) if word]
        if arrow.candidates > 1:
            words.append(f"one of {arrow.candidates}")
        label = f", label={quote(' '.join(words))}" if words else ""
        style = "dashed" if arrow.candidates > 1 else "solid"
        lines.append(f"  n{arrow.src} -> n{arrow.dst} [style={style}{label}];")
    lines += [f"  // {_comment(note)}" for note in drawing.notes]
    return "\n".join([*lines, "}"]) + "\n"


def _comment(text: str) -> str:
    return quote(text)[1:-1]


def _box(box: Box) -> str:
    label = quote(short(box.name))
    if box.at:
        label = f"{label[:-1]}\\n{quote(box.at)[1:]}"
    return f'    n{box.id} [shape={_SHAPES.get(box.kind, "box")}, fillcolor="{COLOURS[box.lane]}", label={label}];'
