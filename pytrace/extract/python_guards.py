"""The conditions around a place in a Python file: ``if``, ``elif``, ``else``."""

from __future__ import annotations

import re
from collections.abc import Callable

#: How much of a condition is kept: enough to recognise it.
_LIMIT = 200
#: What binds less than "and".
_LOOSE = re.compile(r"^(?!not \().* (?:or|if|:=) |^lambda\b")


class Frame:
    """A block that is entered under a condition; the conditions are ranges of the source."""

    __slots__ = ("conditions", "end", "negated", "number", "start")

    def __init__(self, start: int, end: int, conditions: list[tuple[int, int]], negated: bool) -> None:
        self.start = start
        self.end = end
        self.conditions = conditions
        self.negated = negated  #: an "else"
        self.number = -1  #: of the whole guard, once somebody asked


class Guards:
    """The blocks that are open while a file is read from top to bottom, and the guards that were asked for."""

    def __init__(self, prose: Callable[[int, int], str]) -> None:
        """``prose`` gives the source between two offsets, on one line."""
        self._prose = prose
        self.texts: list[str] = []  #: guards by number
        self._numbers: dict[str, int] = {}
        self._frames: list[Frame] = []
        self._ifs: list[tuple[int, list[tuple[int, int]]]] = []

    def statement(self, end: int, condition: tuple[int, int]) -> None:
        """An ``if`` statement that ends at ``end``."""
        self._ifs.append((end, [condition]))

    def alternative(self, start: int, condition: tuple[int, int]) -> None:
        """An ``elif`` at ``start``: its condition joins those that an ``else`` negates."""
        self._close(start)
        if self._ifs:
            self._ifs[-1][1].append(condition)

    def otherwise(self, start: int, end: int) -> None:
        """An ``else``; one of ``for`` or ``try`` does not end where an ``if`` ends."""
        self._close(start)
        if self._ifs and self._ifs[-1][0] == end:
            self._push(Frame(start, end, self._ifs[-1][1], True))

    def block(self, start: int, end: int, condition: tuple[int, int]) -> None:
        """A block that runs when the condition holds."""
        self._push(Frame(start, end, [condition], False))

    def _close(self, start: int) -> None:
        while self._ifs and self._ifs[-1][0] <= start:
            self._ifs.pop()

    def _push(self, frame: Frame) -> None:
        frames = self._frames
        while frames and frames[-1].end <= frame.start:
            frames.pop()
        frames.append(frame)

    def number(self, start: int) -> int:
        """The number of the guard around ``start``, -1 when there is none."""
        frames = self._frames
        if not frames:
            return -1
        frame = frames[-1]
        if frame.number >= 0 and frame.start <= start < frame.end:
            return frame.number
        while frames and frames[-1].end <= start:
            frames.pop()
        # The condition of an "if" stands before the block that it guards.
        depth = len(frames) - 1
        while depth >= 0 and frames[depth].start > start:
            depth -= 1
        if depth < 0:
            return -1
        frame = frames[depth]
        if frame.number < 0:
            texts = list(dict.fromkeys(self._text(f) for f in frames[: depth + 1]))
            # Joined by "and", a condition with alternatives of its own would read as another one.
            whole = " and ".join(f"({t})" if len(texts) > 1 and _LOOSE.search(t) else t for t in texts)
            frame.number = self._numbers.setdefault(whole, len(self.texts))
            if frame.number == len(self.texts):
                self.texts.append(whole)
        return frame.number

    def _text(self, frame: Frame) -> str:
        texts = [self._prose(a, b)[:_LIMIT] for a, b in frame.conditions]
        return f"not ({' or '.join(texts)})"[:_LIMIT] if frame.negated else texts[0]
