"""The README's example on the real tree."""

from __future__ import annotations

import os
import shlex
from unittest import mock

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main
from tests.readme import check

pytestmark = pytest.mark.real


def test_the_example_on_the_real_tree() -> None:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC not set")

    def run(command: str) -> str:
        environment = {"PYTRACE_ROOT": os.environ["PYTORCH_SRC"], "COLUMNS": "100", "NO_COLOR": "1"}
        with mock.patch.dict(os.environ, environment):
            return CliRunner().invoke(main, shlex.split(command)[1:]).stdout

    check(run, real=True)
