"""Where a report goes: a file, a pager when it is longer than the terminal, else stdout."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from pytrace.cli import common
from pytrace.errors import BadQuestion

Command = TypeVar("Command", bound=Callable[..., Any])


def output_option(function: Command) -> Command:
    """``--output FILE``, passed on as ``output_path``."""
    return click.option(
        "--output", "-o", "output_path", type=click.Path(dir_okay=False), metavar="FILE", help="Write to FILE."
    )(function)


def unwritable(path: str, error: OSError) -> BadQuestion:
    """What is said when ``--output`` names a file that cannot be written."""
    return BadQuestion(f"{path} cannot be written ({error.strerror}). Name another file with --output.")


def deliver(text: str, path: str | None = None) -> None:
    """Write ``text`` to ``path``, else show it. Raises ``BadQuestion``."""
    if path:
        try:
            with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise unwritable(path, error) from error
    elif _is_long(text):
        # less without -S folds lines: a table stays a table only when it may be scrolled to the side.
        os.environ.setdefault("LESS", "-RFXS")
        click.echo_via_pager(text, color=common.colour())
    else:
        common.emit(text)


def _is_long(text: str) -> bool:
    """Whether the text is read on a terminal and does not fit into it."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()) or os.environ.get("TERM") == "dumb":
        return False
    return text.count("\n") >= shutil.get_terminal_size().lines
