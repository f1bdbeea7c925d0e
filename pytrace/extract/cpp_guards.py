"""Guards: under which condition a line of C++ runs.

Preprocessor conditions are read from the text, line by line, so that they survive whatever the parser makes of a
half function between ``#if`` and ``#else``.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from pytrace.extract.cpp_text import squeeze

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b((?:[^\n\\]|\\\n|\\)*)", re.M)
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.S)
#: guards longer than this are cut: what is shown is a hint, the line itself is cited
LONGEST = 160


def clip(text: str) -> str:
    """One line, comments and white space folded, at most ``LONGEST`` characters."""
    if "/" in text:
        text = _COMMENT.sub("", text)
    text = squeeze(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


class PreprocessorGuards:
    """Which ``#if`` conditions hold at an offset."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = [0]
        self._guards: list[str] = [""]
        stack: list[tuple[str, str]] = []
        for found in _DIRECTIVE.finditer(text):
            word = found[1]
            condition = clip(found[2].replace("\\\n", " "))
            if word in ("if", "ifdef", "ifndef"):
                # an include guard says nothing about when a line runs
                shown = "" if word == "ifndef" and condition.endswith(("_H", "_H_", "_HPP", "_INCLUDED")) else f"#{word} {condition}"
                stack.append((shown, condition))
            elif not stack:
                continue
            elif word == "endif":
                stack.pop()
            else:
                shown, before = stack[-1]
                stack[-1] = (f"#{word} {condition}", condition) if word == "elif" else (f"#else of {shown}" if shown else "", before)
            self._starts.append(found.end())
            self._guards.append(" && ".join(g for g, _ in stack if g))

    def at(self, offset: int) -> str:
        """The conditions around ``offset``, joined by `` && ``, outermost first; "" when there are none."""
        if len(self._starts) == 1:
            return ""
        return self._guards[bisect_right(self._starts, offset) - 1]
