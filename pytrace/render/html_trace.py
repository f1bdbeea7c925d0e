"""Pictures as one HTML file: lanes and bands, arrows, search, source lines, links; usable by keyboard and on a phone.

Everything is in the document; the script only places boxes, draws arrows and answers keys. Without it, and on narrow
screens, each box says what leads to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytrace.render.drawing import Arrow, Box, Drawing, depths, ordered
from pytrace.render.html_parts import asset, page, text
from pytrace.render.report_text import short
from pytrace.report.stamp import permalink

#: ``path:line`` -> (line number, text) of the lines around.
Snippets = Mapping[str, Sequence[tuple[int, str]]]


def render(drawing: Drawing, snippets: Snippets, root: str = "") -> str:
    """The document. ``root`` is the tree on this machine: places are linked there when no hosted commit has them."""
    into: dict[int, list[Arrow]] = {}
    for arrow in drawing.arrows:
        into.setdefault(arrow.dst, []).append(arrow)
    boxes = {box.id: box for box in drawing.boxes}
    maker = _Maker(drawing, snippets, root, into, boxes)
    minor = any(box.minor for box in drawing.boxes)
    body = [
        "<header>",
        f"<h1>{text(drawing.title)}</h1>",
        f'<p class="stamp">{text(str(drawing.stamp))}</p>',
        *(f'<p class="notes">{text(note)}</p>' for note in drawing.notes),
        '<div class="tools" role="toolbar" aria-label="Tools">',
        '<input id="search" type="search" placeholder="Search names, files, conditions ( / )" aria-label="Search">',
        '<span id="count" role="status"></span>',
        '<button id="fold" type="button" aria-pressed="false">Collapse</button>',
        *(['<button id="all" type="button" aria-pressed="false">All dispatch keys</button>'] if minor else []),
        '<button id="theme" type="button" aria-pressed="false">Light or dark</button>',
        "</div>",
        "</header>",
        "<main>",
        '<svg id="arrows" aria-hidden="true"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="tip"/></marker></defs></svg>',
    ]
    for band, title in enumerate(drawing.bands):
        body += maker.band(band, title)
    body.append("</main>")
    return page(f"{drawing.title} · pytrace", body, style=asset("trace.css"), script=asset("trace.js"))


class _Maker:
    """Makes the parts of one document."""

    def __init__(
        self, drawing: Drawing, snippets: Snippets, root: str, into: dict[int, list[Arrow]], boxes: dict[int, Box]
    ) -> None:
        self.drawing, self.snippets, self.root, self.into, self.boxes = drawing, snippets, root, into, boxes
        self.lanes = drawing.lanes()
        self.indents: dict[int, int] = {}

    def band(self, band: int, title: str) -> list[str]:
        """One band as a part that opens and closes."""
        boxes = ordered([box for box in self.drawing.boxes if box.band == band], self.drawing.arrows)
        if not boxes:
            return []
        lines = ['<details class="band" open>', f"<summary>{text(title)}</summary>", '<div class="lanes">']
        self.indents = depths(boxes, self.drawing.arrows)
        for key, head in self.lanes:
            members = [box for box in boxes if box.lane == key]
            if not members:
                continue
            minor = " minor" if all(box.minor for box in members) else ""
            lines.append(f'<section class="lane {key}{minor}" aria-label="{text(head)}"><h2>{text(head)}</h2><ol>')
            for box in members:
                lines += self.box(box)
            lines.append("</ol></section>")
        return [*lines, "</div>", "</details>"]

    def box(self, box: Box) -> list[str]:
        """One box: what leads to it, its name, its place, its source."""
        depth = self.indents.get(box.id, 0)
        style = f' style="--depth:{depth}"' if depth else ""
        lines = [f'<li class="box{" minor" if box.minor else ""}" id="b{box.id}"{style}>']
        arrows = self.into.get(box.id, [])
        if arrows:
            told: set[str] = set()
            lines.append(f'<ul class="in">{"".join(self.arrow(arrow, told) for arrow in arrows)}</ul>')
        name = breakable(short(box.name))
        label = text(f"{box.name} {box.at}".strip())
        lines.append(
            f'<div class="card" tabindex="0" role="group" aria-label="{label}"><span class="name">{name}</span>'
        )
        if box.at:
            lines.append(self.place(box.file, box.line, box.at))
        if box.note and box.kind != "key":
            lines.append(f'<p class="note">{breakable(box.note)}</p>')
        lines += self.details(box)
        return [*lines, "</div></li>"]

    def arrow(self, arrow: Arrow, told: set[str]) -> str:
        """What leads to a box, in words: the key, the condition, how sure; on narrow screens also from where.

        ``told`` are the words of the arrows before: where arrows are drawn, nothing is said twice.
        """
        source = short(self.boxes[arrow.src].name)
        words = [word for word in (arrow.label, arrow.guard) if word]
        if arrow.candidates > 1:
            words.append(f"one of {arrow.candidates}")
        where = f' title="{text(arrow.at)}"' if arrow.at else ""
        said = " ".join(words)
        far = self.boxes[arrow.src].band != self.boxes[arrow.dst].band
        roles = [
            role
            for role, holds in (
                ("unsure", arrow.candidates > 1),
                ("far", far),  # its arrow is faint: the words say where it comes from
                ("again", not far and (not said or said in told)),
            )
            if holds
        ]
        told.add(said)
        unsure = f' class="{" ".join(roles)}"' if roles else ""
        start = f'<span class="from">from <a href="#b{arrow.src}">{breakable(source)}</a> </span>'
        return f'<li data-src="b{arrow.src}"{unsure}{where}>{start}{breakable(said)}</li>'

    def place(self, file: str, line: int, at: str) -> str:
        """The file's name and the line, linked to the hosted commit, else to the file on this machine."""
        shown = breakable(at.rpartition("/")[2])
        url = permalink(self.drawing.stamp, file, line)
        if not url and self.root:
            url = _file_url(self.root, file)
        if url:
            shown = f'<a href="{text(url)}" rel="noreferrer">{shown}</a>'
        return f'<span class="place" title="{text(at)}">{shown}</span>'

    def details(self, box: Box) -> list[str]:
        """What else is to be said, and the lines of the source, folded."""
        rows = [f'<p class="more">{text(entry)}</p>' for entry in box.more]
        found = self.snippets.get(box.at) if box.line else None
        if found:
            rows.append(f'<p class="more">{text(box.at)}</p>')
            width = len(str(found[-1][0]))
            lines = []
            for number, line in found:
                here = ' class="here"' if number == box.line else ""
                lines.append(f'<span{here}><span class="n">{number:>{width}} </span>{text(line.expandtabs(4))}</span>')
            rows.append("<pre>" + "\n".join(lines) + "</pre>")
        summary = "more, source" if box.more and found else "more" if box.more else "source"
        return [f"<details><summary>{summary}</summary>", *rows, "</details>"] if rows else []


def breakable(value: str) -> str:
    """Escaped text that may be broken behind the parts of names and expressions, and not within ``->``."""
    broken = re.sub(r"(::|[._/](?=[^._/])|(?<=[a-z]{2})(?=[A-Z]))", r"\1<wbr>", text(value))
    return broken.replace("-&gt;", '<span class="whole">-&gt;</span><wbr>')


def _file_url(root: str, file: str) -> str:
    from urllib.parse import quote

    return f"file://{quote(root, errors='replace')}/{quote(file, errors='replace')}"
