"""What the user sees while the index is made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytrace.progress import Bar, Plain, Reporter, reporter
from tests.trees import environment

#: Two phases that take long enough for a bar.
SCRIPT = """
import time
from pytrace.progress import reporter
report = reporter(False)
report.phase("listing")
time.sleep(0.5)
report.phase("reading", 40)
for _ in range(40):
    report.advance()
    time.sleep(0.01)
report.say("waiting for somebody [else]")
report.phase("linking")
report.summary("indexed 40 files")
report.close()
"""


def on_terminal(script: str, **variables: str) -> str:
    """What ``script`` writes to its stderr when that is a terminal."""
    ours, theirs = os.openpty()
    env = environment(TERM="xterm-256color", COLUMNS="80", **variables)
    with subprocess.Popen([sys.executable, "-c", script], stderr=theirs, env=env) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end closes
                break
            if not chunk:
                break
            said += chunk
        assert process.wait() == 0, said
    os.close(ours)
    return said.decode()


def test_a_bar_on_a_terminal() -> None:
    said = on_terminal(SCRIPT)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said)
    assert re.search(r"reading +[━╸╺ ]+ +\d+/40 +0:00:0\d", plain), plain
    assert "pytrace: waiting for somebody [else]" in plain
    assert plain.rstrip().endswith("pytrace: indexed 40 files")


def test_no_bar_for_short_work() -> None:
    said = on_terminal(SCRIPT.replace("sleep(0.5)", "sleep(0)").replace("sleep(0.01)", "sleep(0)"))
    assert said.splitlines() == ["pytrace: waiting for somebody [else]", "pytrace: indexed 40 files"]


def test_a_line_when_piped() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["pytrace: waiting for somebody [else]", "pytrace: indexed 40 files"]


def test_rich_is_not_imported_when_piped() -> None:
    script = SCRIPT + "\nimport sys\nassert 'rich' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", script], env=environment(), stderr=subprocess.PIPE, check=True)


@pytest.mark.parametrize(
    ("quiet", "terminal", "kind"),
    [(True, True, Reporter), (True, False, Reporter), (False, False, Plain), (False, True, Bar)],
)
def test_which_reporter(monkeypatch: pytest.MonkeyPatch, quiet: bool, terminal: bool, kind: type[Reporter]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert type(reporter(quiet)) is kind


def test_quiet_says_nothing(tmp_path: Path) -> None:
    script = SCRIPT.replace("reporter(False)", "reporter(True)")
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
