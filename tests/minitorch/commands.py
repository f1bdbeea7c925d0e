"""Runs ``pytrace`` commands on a copy of the miniature tree, for golden files and for the README's examples."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from functools import cached_property
from pathlib import Path
from unittest import mock

from click.testing import CliRunner, Result

from pytrace.cli.main import main
from tests.minitorch.tree import ROOT

#: What differs from run to run: sizes, times, where things are.
_VOLATILE = (
    (re.compile(r"\d+\.\d MB, made \S+ in [^)]* processes\)"), "N MB, made TIME in N s (…)"),
    (re.compile(r"/\S*/index/minitorch-\w+\.db"), "CACHE/index/minitorch.db"),
    (re.compile(r"in \d+\.\d s"), "in N s"),
)


class Shell:
    """A folder with a copy of the tree (no git, so that no commit is told) and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def tree(self) -> Path:
        """The copy."""
        return Path(shutil.copytree(ROOT, self.folder / "minitorch"))

    @property
    def environment(self) -> dict[str, str]:
        """What a command runs in: the tree named, 100 columns, no colour."""
        return {
            "PYTRACE_ROOT": str(self.tree),
            "PYTRACE_CACHE": str(self.folder / "cache"),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }

    def run(self, command: str) -> Result:
        """Run ``pytrace …`` as it would be typed."""
        program, *arguments = shlex.split(command)
        assert program == "pytrace", command
        with mock.patch.dict(os.environ, self.environment):
            return CliRunner().invoke(main, arguments)

    def output(self, command: str) -> str:
        """What it prints, an exit code that is not 0 included, with what differs from run to run replaced."""
        result = self.run(command)
        text = result.stdout if result.exit_code == 0 else f"{result.output}(exit code {result.exit_code})\n"
        text = text.replace(str(self.tree), "fixtures/minitorch")
        for pattern, shown in _VOLATILE:
            text = pattern.sub(shown, text)
        return text
