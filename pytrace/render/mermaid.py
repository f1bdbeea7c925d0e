"""Pictures as Mermaid flowcharts, which GitHub draws in Markdown."""

from __future__ import annotations

from pytrace.render.drawing import LANES, Box, Drawing
from pytrace.render.report_text import short

#: Mermaid refuses more (``maxEdges`` 500, ``maxTextSize`` 50,000).
_MOST_ARROWS = 450
_MOST_TEXT = 45_000
_SHAPES = {"op": ('(["', '"])'), "stub": ('{{"', '"}}'), "cuda_kernel": ('[["', '"]]'), "functor": ('[["', '"]]')}
_COLOURS = {
    "python": "#dbeafe", "binding": "#e0e7ff", "operator": "#cffafe", "dispatch": "#f1f5f9", "function": "#fef9c3",
    "stub": "#ffedd5", "device": "#ecfccb", "kernel": "#dcfce7", "library": "#f3e8ff", "backward": "#fce7f3",
}  # fmt: skip


def escape(text: str) -> str:
    """Text inside quotes: everything that Mermaid, Markdown or HTML would read becomes a code of Mermaid's own."""
    flat = " ".join("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text).split())
    return "".join(c if c.isalnum() or c in " .,:_-/()+=" else f"#{ord(c)};" for c in flat)


def render(drawing: Drawing) -> str:
    """The flowchart. What Mermaid could not draw is left out, and said."""
    drawing = drawing.without_minor()
    lines = [f"%% {_comment(drawing.title)}: {_comment(str(drawing.stamp))}", "flowchart LR"]
    for band, title in enumerate(drawing.bands):
        boxes = [box for box in drawing.boxes if box.band == band]
        if not boxes:
            continue
        lines.append(f'  subgraph b{band}["{escape(title)}"]')
        lines += [f"    {_box(box)}" for box in boxes]
        lines.append("  end")
    arrows = [_arrow(a.src, a.dst, a.label, a.guard, a.candidates) for a in drawing.arrows]
    left = len(arrows) - _MOST_ARROWS
    lines += arrows[:_MOST_ARROWS]
    for lane, _ in LANES:
        members = [f"n{box.id}" for box in drawing.boxes if box.lane == lane]
        if members:
            lines.append(f"  classDef {lane} fill:{_COLOURS[lane]},stroke:#64748b,color:#0f172a")
            lines.append(f"  class {','.join(members)} {lane}")
    notes = [*drawing.notes, *([f"{left} more arrows are left out."] if left > 0 else [])]
    lines += [f"  %% {_comment(note)}" for note in notes]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """A comment is read by people: what it could not hold is left out, not coded."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return "".join(c if c.isalnum() or c in " .,:;·_-/()+='!" else "" for c in flat)


def _box(box: Box) -> str:
    opening, closing = _SHAPES.get(box.kind, ('["', '"]'))
    text = escape(short(box.name))
    if box.at:
        text += f"<br/>{escape(box.at)}"
    return f"n{box.id}{opening}{text}{closing}"


def _arrow(src: int, dst: int, label: str, guard: str, candidates: int) -> str:
    words = [word for word in (label, guard, f"one of {candidates}" if candidates > 1 else "") if word]
    shaft = "-.->" if candidates > 1 else "-->"
    text = f'|"{escape(" ".join(words)[:120])}"|' if words else ""
    return f"  n{src} {shaft}{text} n{dst}"


def fits(text: str) -> bool:
    """Whether Mermaid's own bound on the text is kept."""
    return len(text) <= _MOST_TEXT
