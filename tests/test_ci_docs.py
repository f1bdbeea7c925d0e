"""The recipe for CI and the action cannot lie: every command line in them is one that pytrace understands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from pytrace.cli.main import COMMANDS, main
from pytrace.report import policy
from pytrace.report.impact import ImpactReport
from pytrace.report.testing import TestRun

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
DOC = (ROOT / "docs" / "ci.md").read_text()


def command_lines(text: str) -> list[str]:
    """Each ``pytrace …`` of a text: of shell lines, and between backticks."""
    joined = text.replace("\\\n", " ")
    found = re.findall(r"`(pytrace [^`]+)`", joined)
    for line in joined.split("\n"):
        line = re.sub(r"\s+#.*", "", line).strip()
        found += re.findall(r"(?:^|\| )(pytrace [a-z].*)$", line)
    return [line.split(" || ")[0].split(" > ")[0] for line in found]


LINES = command_lines(DOC) + [line for step in STEPS for line in command_lines(step.get("run", ""))]


@pytest.mark.parametrize("line", sorted(set(LINES)))
def test_command_lines(line: str) -> None:
    words = [word for word in shlex.split(line)[1:] if not word.startswith("${base")]
    command = main.get_command(click.Context(main), words[0])
    assert command is not None, words[0]
    if len(words) == 1:
        return  # the command is only named
    context = command.make_context(
        words[0], [word.replace("$format", "csv") for word in words[1:]], resilient_parsing=False
    )
    assert context.command is command


def test_there_are_lines_to_check() -> None:
    assert len(LINES) > 20
    assert {"report", "impact", "diff", "check"} <= {line.split()[1] for line in LINES} <= set(COMMANDS)


def test_the_steps_of_the_action() -> None:
    for step in STEPS:
        assert "uses" in step or step["shell"] == "bash"
        # What comes from outside reaches a script by its environment only: in the text it could be code.
        assert "${{" not in step.get("run", "")
    known = set(ACTION["inputs"])
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == known


def test_the_action_reads_fields_that_exist() -> None:
    script = next(step["run"] for step in STEPS if step.get("id") == "impact")
    fields = {name for names in re.findall(r"found\.get\(\"(\w+)\"", script) for name in [names]}
    assert fields <= set(ImpactReport.__dataclass_fields__)
    assert set(re.findall(r"run(?:\.get\(|\[)['\"](\w+)['\"]", script)) <= set(TestRun.__dataclass_fields__)


def test_the_script_of_the_action(tmp_path: Path) -> None:
    script = next(step["run"] for step in STEPS if step.get("id") == "impact")
    (program,) = re.findall(r"<<'PY'\n(.*?)\nPY", script, re.S)
    found = {"unbounded": ["why"], "tests": [{"file": "test/test_ops.py", "words": ["a", "b"]}, {"file": "test/x.py"}]}
    (tmp_path / "impact.json").write_text(json.dumps(found))
    done = subprocess.run(
        [sys.executable, "-", str(tmp_path / "impact.json")], input=program, capture_output=True, text=True, check=True
    )
    first, delimiter, *lines, end = done.stdout.splitlines()
    assert first == "unbounded=true"
    assert delimiter == f"tests<<{end}"
    assert lines == ['python -m pytest test/test_ops.py -k "a or b"', "python -m pytest test/x.py"]


def test_every_condition_and_word_is_documented() -> None:
    for words in policy.CONDITIONS.values():
        for word in words:
            assert f"`{word}`" in DOC, word
    for word in (*policy.FORBIDDEN, *policy.LEVELS):
        assert f"`{word}`" in DOC, word


def test_the_policy_of_the_recipe_is_one() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", DOC, re.S)
    assert [rule.id for rule in policy.parse(text)] == ["core-has-meta", "no-lost-backend"]
