"""What the user sees while the index is made, on stderr: a bar on a terminal, one line when piped, or nothing.

rich is imported only on a terminal: it costs more than a warm question.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Reporter:
    """Says nothing: ``--quiet``. The base of the others."""

    def phase(self, name: str, total: int = 0) -> None:
        """A new phase begins; ``total`` items are to be done in it (0: not known)."""

    def advance(self, count: int = 1) -> None:
        """So many items more are done."""

    def say(self, message: str) -> None:
        """Something that the user should know now."""

    def summary(self, message: str) -> None:
        """The last line."""

    def close(self) -> None:
        """The end, however it came; may be called twice."""


class Plain(Reporter):
    """For pipes and logs: no bar, a line at the end."""

    def say(self, message: str) -> None:
        """Print a line."""
        print(f"pytrace: {message}", file=sys.stderr, flush=True)

    def summary(self, message: str) -> None:
        """Print the line."""
        self.say(message)


class Bar(Plain):
    """For terminals: a bar with phase, count and time, drawn only when the work takes long enough to wonder."""

    #: Shorter work shows no bar: it would only flicker.
    DELAY = 0.4
    INTERVAL = 0.1

    def __init__(self) -> None:
        """Start the clock."""
        self._started = self._drawn = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._phase = ("", 0)
        self._done = 0

    def phase(self, name: str, total: int = 0) -> None:
        """Show the phase."""
        self._phase, self._done = (name, total), 0
        self._draw(force=True)

    def advance(self, count: int = 1) -> None:
        """Move the bar."""
        self._done += count
        self._draw()

    def say(self, message: str) -> None:
        """Print a line above the bar."""
        if self._progress is not None:
            self._progress.console.print(f"pytrace: {message}", markup=False, highlight=False)
        else:
            super().say(message)

    def summary(self, message: str) -> None:
        """Take the bar away and print the line."""
        self.close()
        super().say(message)

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _draw(self, force: bool = False) -> None:
        now = time.monotonic()
        if now - self._started < self.DELAY or (now - self._drawn < self.INTERVAL and not force):
            return
        self._drawn = now
        name, total = self._phase
        if self._progress is None:
            self._progress = _rich_progress()
            self._progress.start()
            self._task = self._progress.add_task(name, total=total or None)
        assert self._task is not None
        self._progress.update(self._task, description=name, total=total or None, completed=self._done)
        self._progress.refresh()


def _rich_progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # No thread of its own: workers may be forked at any time, and Python warns of forks beside threads.
    return Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)


def reporter(quiet: bool) -> Reporter:
    """The reporter for this run."""
    if quiet:
        return Reporter()
    return Bar() if sys.stderr.isatty() else Plain()
