"""A page of text: spans with roles, two columns, wrapping to a width; plain when piped, coloured on a terminal.

A line is told as spans ``(text, role)`` or ``(text, role, target)``, so that its width is known before any escape
code is written. ``target`` is ``path:line``; on a terminal it becomes an OSC 8 hyperlink to the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[str, str] | tuple[str, str, str]

#: What each role looks like; sixteen-colour codes, readable on light and dark.
_CODES = {
    "title": "1",
    "heading": "1;4",
    "op": "1;36",
    "cuda_kernel": "1;32",
    "functor": "32",
    "stub": "33",
    "library": "35",
    "formula": "1;35",
    "python": "34",
    "binding": "34",
    "key": "36",
    "guard": "33",
    "place": "2",
    "dim": "2",
    "warn": "31",
}
_GAP = 2


def printable(text: str) -> str:
    """``text`` without what would steer a terminal: names and guards are other people's bytes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _url(path: str) -> str:
    """The path as part of a URL (urllib's import would cost more than the page)."""
    if path.isalnum():
        return path
    return "".join(
        chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in b"/-_.~+" else f"%{byte:02X}"
        for byte in path.encode("utf-8", "surrogatepass")
    )


def width_of(spans: Iterable[Span]) -> int:
    """Columns that the spans take."""
    return sum(len(span[0]) for span in spans)


class Page:
    """Collects lines; ``text()`` gives them with or without escape codes."""

    def __init__(self, width: int = 100, *, colour: bool = False, root: str = "") -> None:
        """Fill ``width`` columns; with ``colour`` write ANSI codes, and links into ``root`` when it is given."""
        self.width = max(40, width)
        self.colour = colour
        self.root = root
        self.lines: list[list[Span]] = []
        self.told: set[tuple[str, ...]] = set()  #: what the page has shown in full: trees, paths

    def text(self) -> str:
        """All lines."""
        return "\n".join(self._line(spans) for spans in self.lines).rstrip("\n") + "\n"

    def _line(self, spans: list[Span]) -> str:
        if not self.colour:
            return printable("".join(span[0] for span in spans)).rstrip()
        return "".join(self._painted(span) for span in spans).rstrip()

    def _painted(self, span: Span) -> str:
        text, role = printable(span[0]), span[1]
        code = _CODES.get(role, "")
        painted = f"\x1b[{code}m{text}\x1b[0m" if code and text else text
        target = span[2] if len(span) > 2 else ""
        if target and self.root:
            path, _, line = target.rpartition(":")
            return f"\x1b]8;;file://{_url(self.root)}/{_url(path)}#L{line}\x1b\\{painted}\x1b]8;;\x1b\\"
        return painted

    # -- building ----------------------------------------------------------------------------------------------

    def add(self, *spans: Span) -> None:
        """One line as it is."""
        self.lines.append(list(spans))

    def blank(self) -> None:
        """An empty line, never two."""
        if self.lines and self.lines[-1]:
            self.lines.append([])

    def heading(self, text: str) -> None:
        """A section's title, with an empty line above."""
        self.blank()
        self.add((text, "heading"))

    def row(
        self,
        left: Sequence[Span],
        place: str = "",
        *,
        indent: str = "",
        rest: str = "",
        guard: str = "",
    ) -> None:
        """A line with ``path:line`` at the right edge, and a guard between when there is room.

        What does not fit goes to lines of its own that start with ``rest`` (the tree's bars, or blanks): first the
        guard moves down, then the place.
        """
        spans: list[Span] = [(indent, "dim"), *left]
        used = width_of(spans)
        need = len(place) + _GAP if place else 0
        tail = f"{rest}    "
        shown = f"  {guard}" if guard else ""
        if used + len(shown) + need <= self.width:
            self.add(*spans, (shown, "guard"), *self._right(used + len(shown), place))
            return
        if used + need <= self.width:
            self.add(*spans, *self._right(used, place))
            self._wrapped(guard, tail, "guard")
            return
        if used + len(shown) <= self.width:
            self.add(*spans, (shown, "guard"))
        else:
            self._folded(spans, tail)
            self._wrapped(guard, tail, "guard")
        if place:
            room = max(len(tail), self.width - len(place))
            self.add((tail.ljust(room), "dim"), (place, "place", place))

    def _right(self, used: int, place: str) -> list[Span]:
        if not place:
            return []
        return [(" " * (self.width - used - len(place)), "dim"), (place, "place", place)]

    def _wrapped(self, text: str, tail: str, role: str, lines: int = 2) -> None:
        """``text`` over at most so many lines; the rest is cut with an ellipsis."""
        if not text:
            return
        room = max(20, self.width - len(tail))
        pieces = wrap(text, room)
        if len(pieces) > lines:
            pieces = pieces[:lines]
            pieces[-1] = pieces[-1][: room - 1] + "…"
        for piece in pieces:
            self.add((tail, "dim"), (piece, role))

    def _folded(self, spans: list[Span], tail: str) -> None:
        """A line too long for the page, broken at a blank where there is one, else where it is full."""
        line: list[Span] = []
        used = 0
        for span in spans:
            text, role = span[0], span[1]
            while used + len(text) > self.width:
                room = self.width - used
                cut = text.rfind(" ", 0, room + 1)
                if cut <= 0 and used > len(tail) and len(text) <= self.width - len(tail):
                    cut = 0
                elif cut <= 0:
                    cut = room
                line.append((text[:cut], role))
                text = text[cut:].lstrip(" ")
                self.lines.append(line)
                line, used = [(tail, "dim")], len(tail)
            line.append((text, role, *span[2:]))
            used += len(text)
        self.lines.append(line)

    def paragraph(self, text: str, indent: str = "  ", role: str = "") -> None:
        """Text over as many lines as it needs."""
        for piece in wrap(text, self.width - len(indent)):
            self.add((indent, ""), (piece, role))


def wrap(text: str, room: int) -> list[str]:
    """``text`` in pieces of at most ``room`` columns, broken at blanks where there are any."""
    pieces: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > room:
            pieces.append(line)
            line = ""
        while len(word) > room:
            if line:
                pieces.append(line)
                line = ""
            pieces.append(word[:room])
            word = word[room:]
        line = f"{line} {word}" if line else word
    if line:
        pieces.append(line)
    return pieces
