"""Examples in the README: commands with what they print, kept true by tests.

An example is a block of kind ``console``: lines that begin with ``$ pytrace`` are commands, what follows is the
output. ``| head -N`` and ``| sed -n '3,9p;20p'`` show a part of it. A block below the comment ``<!-- real -->`` asks
the real tree, the others ask ``fixtures/minitorch``. With ``PYTRACE_UPDATE=1`` the tests write the outputs anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parents[1] / "README.md"
UPDATE = bool(os.environ.get("PYTRACE_UPDATE"))

_BLOCK = re.compile(r"(?P<real><!-- real -->\n+)?```console\n(?P<body>.*?)```\n", re.DOTALL)
_COMMAND = re.compile(r"^\$ (pytrace .*?)(?: \| (head -\d+|sed -n '[\dp,;]+'))?\n", re.MULTILINE)


class Example(NamedTuple):
    """One command and its output."""

    command: str
    part: str  #: ``head -9``, ``sed -n '3,9p'``, or "" for all of it
    output: str
    real: bool
    start: int  #: of the output, in the README
    end: int


def examples(text: str, *, real: bool) -> Iterator[Example]:
    """The examples on one of the trees."""
    for block in _BLOCK.finditer(text):
        if bool(block["real"]) != real:
            continue
        start, end = block.span("body")
        commands = list(_COMMAND.finditer(text, start, end))
        for number, found in enumerate(commands):
            last = commands[number + 1].start() if number + 1 < len(commands) else end
            output = text[found.end() : last]
            yield Example(found[1], found[2] or "", output, real, found.end(), last)


def shown(output: str, part: str) -> str:
    """The part of an output that ``head`` or ``sed`` leaves, an empty line at its end dropped."""
    lines = output.splitlines(keepends=True)
    if part.startswith("head -"):
        lines = lines[: int(part[6:])]
    elif part:
        ranges = [r.partition(",") for r in part[8:-1].replace("p", "").split(";")]
        lines = [line for first, _, last in ranges for line in lines[int(first) - 1 : int(last or first)]]
    return "".join(lines).rstrip("\n") + "\n"


def check(run: Callable[[str], str], *, real: bool) -> None:
    """Hold each example on one of the trees against what ``run`` gives for its command; update the README if asked."""
    text = README.read_text()
    for example in reversed(list(examples(text, real=real))):
        actual = shown(run(example.command), example.part)
        # an empty line stands between an output and the next command
        expected = example.output.rstrip("\n") + "\n"
        if UPDATE:
            gap = "" if text.startswith("```", example.end) else "\n"
            text = text[: example.start] + actual + gap + text[example.end :]
        else:
            assert actual == expected, f"$ {example.command}: PYTRACE_UPDATE=1 writes the README's outputs anew"
    if UPDATE:
        README.write_text(text)
