"""Pictures as SVG: lanes from left to right, bands from top to bottom, nothing but text, boxes and curves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape as _escape
from xml.sax.saxutils import quoteattr

from pytrace.render.drawing import Arrow, Box, Drawing, depths, ordered
from pytrace.render.junit import _clean as clean
from pytrace.render.mermaid import _COLOURS as COLOURS
from pytrace.render.page import wrap
from pytrace.render.report_text import short
from pytrace.report.stamp import permalink

_WIDTH, _GAP, _ROW, _PAD, _INDENT = 212, 64, 15, 8, 7
_CHARACTERS = 29  # of 7 pixels in a box of _WIDTH
_MOST_MORE = 3
_MOST_NOTE = 2  #: lines of a box's note
_MOST_NOTES = 6  #: notes below the picture
_LETTER = 8  #: pixels, at most, of a letter


def text(value: str) -> str:
    """Escaped text; what XML cannot hold is replaced."""
    return _escape(clean("".join(c if c.isprintable() else " " for c in value)))


def attribute(value: str) -> str:
    """A quoted, escaped attribute value."""
    return quoteattr(clean("".join(c if c.isprintable() else " " for c in value)))


@dataclass
class Placed:
    """A box with its place and the lines of text that it shows."""

    box: Box
    x: int
    y: int
    lines: list[tuple[str, str]]  #: (text, class)
    label: str

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return len(self.lines) * _ROW + _PAD

    @property
    def middle(self) -> int:
        """The height at which arrows arrive."""
        return self.y + self.height // 2


def render(drawing: Drawing) -> str:
    """The picture as one SVG document."""
    drawing = drawing.without_minor()
    placed, bands, height = layout(drawing)
    width = max([p.x + _WIDTH for p in placed.values()], default=300) + _GAP
    notes = [piece for note in drawing.notes[:_MOST_NOTES] for piece in wrap(note, (width - 40) // _LETTER)]
    height += 16 * (len(notes) - len(drawing.notes[:_MOST_NOTES]))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label={attribute(f"{drawing.title}, traced through the layers of PyTorch")}>',
        f"<title>{text(drawing.title)}</title>",
        _STYLE,
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" class="tip"/></marker></defs>',
        f'<rect width="{width}" height="{height}" class="page"/>',
        f'<text x="{_GAP // 2}" y="22" class="title">{text(drawing.title)}</text>',
        f'<text x="{_GAP // 2}" y="40" class="dim">{text(str(drawing.stamp))}</text>',
    ]
    for title, top, bottom in bands:
        lines.append(f'<rect x="8" y="{top}" width="{width - 16}" height="{bottom - top}" rx="8" class="band"/>')
        lines.append(f'<text x="20" y="{top + 18}" class="head">{text(title)}</text>')
    lines += _heads(drawing, bands)
    lines += [_curve(arrow, placed) for arrow in drawing.arrows if arrow.src in placed and arrow.dst in placed]
    lines += [line for p in placed.values() for line in _drawn(p, drawing)]
    lines += [
        f'<text x="20" y="{height - 16 - 16 * place}" class="dim">{text(note)}</text>'
        for place, note in enumerate(reversed(notes))
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def layout(drawing: Drawing) -> tuple[dict[int, Placed], list[tuple[str, int, int]], int]:
    """Where every box stands, (title, top, bottom) of the bands, and the height of the whole."""
    lanes = {key: place for place, (key, _) in enumerate(drawing.lanes())}
    into: dict[int, list[Arrow]] = {}
    for arrow in drawing.arrows:
        into.setdefault(arrow.dst, []).append(arrow)
    placed: dict[int, Placed] = {}
    bands = []
    top = 56
    for band, title in enumerate(drawing.bands):
        boxes = ordered([box for box in drawing.boxes if box.band == band], drawing.arrows)
        if not boxes:
            continue
        bottom = _band(boxes, into, lanes, depths(boxes, drawing.arrows), placed, top + 48)
        bands.append((title, top, bottom + 12))
        top = bottom + 28
    return placed, bands, top + 12 + 16 * len(drawing.notes[:_MOST_NOTES])


def _band(
    boxes: Iterable[Box],
    into: dict[int, list[Arrow]],
    lanes: dict[str, int],
    indents: dict[int, int],
    placed: dict[int, Placed],
    top: int,
) -> int:
    """Place the boxes of one band, each no higher than what leads to it; return where the band ends."""
    free = dict.fromkeys(lanes, top)
    bottom = top
    for box in boxes:
        parents = [
            placed[a.src] for a in into.get(box.id, ()) if a.src in placed and placed[a.src].box.band == box.band
        ]
        label = _label(into.get(box.id, ()))
        lines = _lines(box)
        y = max(free[box.lane], min((p.y for p in parents if p.box.lane != box.lane), default=top))
        y += _ROW if label else 0
        x = _GAP // 2 + lanes[box.lane] * (_WIDTH + _GAP) + indents.get(box.id, 0) * _INDENT
        made = Placed(box, x, y, lines, label)
        placed[box.id] = made
        free[box.lane] = y + made.height + 14
        bottom = max(bottom, y + made.height)
    return bottom


def _label(arrows: Sequence[Arrow]) -> str:
    """What stands above a box: the keys and conditions under which it is reached."""
    words = []
    for arrow in arrows:
        parts = [part for part in (arrow.label, arrow.guard) if part]
        if arrow.candidates > 1:
            parts.append(f"one of {arrow.candidates}")
        if parts and " ".join(parts) not in words:
            words.append(" ".join(parts))
    return " or ".join(words[:2]) + (" …" if len(words) > 2 else "")


def _lines(box: Box) -> list[tuple[str, str]]:
    lines = [(piece, "name") for piece in broken(short(box.name), _CHARACTERS - 3)]
    if box.at:
        file, _, line = box.at.rpartition(":")
        shown = f"{file.rpartition('/')[2]}:{line}" if file else box.at.rpartition("/")[2]
        lines.append((shown if len(shown) <= _CHARACTERS + 1 else f"…{shown[-_CHARACTERS:]}", "dim"))
    if box.note and box.kind != "key":
        pieces = wrap(box.note, _CHARACTERS)
        if len(pieces) > _MOST_NOTE:
            pieces = [*pieces[: _MOST_NOTE - 1], f"{pieces[_MOST_NOTE - 1][: _CHARACTERS - 1]}…"]
        lines += [(piece, "dim") for piece in pieces]
    for entry in box.more[:_MOST_MORE]:
        lines.append((entry if len(entry) <= _CHARACTERS + 3 else f"{entry[: _CHARACTERS + 2]}…", "more"))
    return lines


def broken(name: str, room: int) -> list[str]:
    """A name in pieces of at most ``room`` characters, broken where its parts end."""
    pieces: list[str] = []
    line = ""
    for part in re.findall(r"[^:._]*(?:::|[._]+|$)", name):
        if line and len(line) + len(part) > room:
            pieces.append(line)
            line = ""
        line += part
        while len(line) > room:
            pieces.append(line[:room])
            line = line[room:]
    return [*pieces, line] if line or not pieces else pieces


def _heads(drawing: Drawing, bands: Sequence[tuple[str, int, int]]) -> list[str]:
    lines = []
    for _, top, _ in bands:
        for place, (_, head) in enumerate(drawing.lanes()):
            x = _GAP // 2 + place * (_WIDTH + _GAP)
            lines.append(f'<text x="{x}" y="{top + 36}" class="lane">{text(head)}</text>')
    return lines


def _drawn(p: Placed, drawing: Drawing) -> list[str]:
    box = p.box
    lines = []
    if p.label:
        shown = p.label if len(p.label) <= _CHARACTERS + 6 else f"{p.label[: _CHARACTERS + 5]}…"
        lines.append(f'<text x="{p.x}" y="{p.y - 4}" class="guard"><title>{text(p.label)}</title>{text(shown)}</text>')
    whole = "\n".join([box.name, box.at, box.note, *box.more])
    body = [
        f"<g><title>{text(whole.replace(chr(10), ' · '))}</title>",
        f'<rect x="{p.x}" y="{p.y}" width="{_WIDTH}" height="{p.height}" rx="5" class="box"'
        f' fill="{COLOURS[box.lane]}"/>',
    ]
    for place, (line, role) in enumerate(p.lines):
        body.append(f'<text x="{p.x + 8}" y="{p.y + 15 + place * _ROW}" class="{role}">{text(line)}</text>')
    body.append("</g>")
    url = permalink(drawing.stamp, box.file, box.line) if box.file else ""
    return [*lines, *([f"<a href={attribute(url)}>", *body, "</a>"] if url else body)]


def _curve(arrow: Arrow, placed: dict[int, Placed]) -> str:
    src, dst = placed[arrow.src], placed[arrow.dst]
    dash = ' stroke-dasharray="4 3"' if arrow.candidates > 1 else ""
    if src.box.band == dst.box.band and dst.x > src.x + _WIDTH:
        x1, y1, x2, y2 = src.x + _WIDTH, src.middle, dst.x, dst.middle
        bend = max(20, (x2 - x1) // 2)
        path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2 - 2} {y2}"
    elif src.box.lane == dst.box.lane and src.box.band == dst.box.band:
        x, y1, y2 = src.x, src.middle, dst.middle
        path = f"M{x} {y1}C{x - 20} {y1} {x - 20} {y2} {dst.x - 2} {y2}"
    else:
        x1, y1, x2, y2 = src.x + 18, src.y + src.height, dst.x, dst.middle
        path = f"M{x1} {y1}C{x1} {y1 + 40} {x2 - 60} {y2} {x2 - 2} {y2}"
    words = " ".join(part for part in (arrow.label, arrow.guard, arrow.at) if part)
    title = f"<title>{text(words)}</title>" if words else ""
    role = "arrow" if src.box.band == dst.box.band else "arrow far"
    return f'<path d="{path}" class="{role}" marker-end="url(#tip)"{dash}>{title}</path>'


_STYLE = (
    "<style>text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#0f172a}"
    ".title{font-size:16px;font-weight:700}.head{font-weight:700;font-size:13px}.lane{fill:#64748b;font-size:11px}"
    ".dim{fill:#475569;font-size:11px}.more{fill:#475569;font-size:10px}.name{font-weight:600}"
    ".guard{fill:#b45309;font-size:10px}.page{fill:#fff}.band{fill:#f8fafc;stroke:#cbd5e1}"
    ".box{stroke:#64748b;stroke-width:.8}.arrow{fill:none;stroke:#64748b;stroke-width:1.1}.tip{fill:#64748b}.far{opacity:.3}"
    "a:hover .box{stroke-width:2}</style>"
)
