"""Tables as text: columns under heads, cut to the width of the page, coloured by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytrace.render.page import Page, Span, printable, wrap

_GAP = 2
#: A column is not cut below so many characters.
_LEAST = 8


class Column(NamedTuple):
    """One column: its head, and what happens to its texts."""

    head: str
    elastic: bool = False  #: may be narrowed when the page is
    number: bool = False
    whole: bool = False  #: a text that does not fit gets a line of its own and is not cut: names are for copying


#: Text, role, and target (``path:line``) of one cell.
TableCell = tuple[str, str] | tuple[str, str, str]


def draw(page: Page, columns: Sequence[Column], rows: Sequence[Sequence[TableCell]]) -> None:
    """Draw the rows under their heads. What does not fit is taken from the elastic columns, the widest first."""
    texts = [[printable(cell[0]) for cell in row] for row in rows]
    widths = [max([len(c.head), *(len(row[i]) for row in texts)]) for i, c in enumerate(columns)]
    fit(widths, [c.elastic for c in columns], page.width)
    page.add(*_line([(c.head, "dim") for c in columns], widths, columns))
    for row, shown in zip(rows, texts):
        for place, column in enumerate(columns):
            if column.whole and len(shown[place]) > widths[place]:
                indent = " " * (sum(widths[:place]) + _GAP * place)
                for piece in wrap(shown[place], page.width - len(indent)):
                    page.add((indent, ""), (piece, *row[place][1:]))
                row = [*row[:place], ("", ""), *row[place + 1 :]]
        page.add(*_line(row, widths, columns))


def fit(widths: list[int], elastic: Sequence[bool], room: int) -> None:
    """Narrow the elastic columns until all fit into ``room``, or none can be narrowed further."""
    over = sum(widths) + _GAP * (len(widths) - 1) - room
    for _ in range(max(0, over)):
        able = [i for i, can in enumerate(elastic) if can and widths[i] > _LEAST]
        if not able:
            return
        widths[max(able, key=lambda i: widths[i])] -= 1


def shortened(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns; the end of a name tells more than its middle."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 3 // 5
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _line(cells: Sequence[TableCell], widths: Sequence[int], columns: Sequence[Column]) -> list[Span]:
    spans: list[Span] = []
    for place, (cell, width, column) in enumerate(zip(cells, widths, columns)):
        text = shortened(printable(cell[0]), width)
        blank = " " * (width - len(text))
        gap = " " * _GAP if place else ""
        if column.number:
            spans.append((gap + blank, ""))
            spans.append((text, *cell[1:]))
        else:
            spans.append((gap, ""))
            spans.append((text, *cell[1:]))
            spans.append((blank, ""))
    return spans
