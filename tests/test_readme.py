"""The README cannot lie: its examples are run, its commands and files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytrace.cli.main import COMMANDS
from tests.minitorch.commands import Shell
from tests.readme import README, check, examples, shown

ROOT = README.parent


def test_examples_on_the_miniature_tree(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.run("pytrace index --quiet").exit_code == 0
    check(shell.output, real=False)


def test_every_command_has_an_example() -> None:
    text = README.read_text()
    shown_commands = {e.command.split()[1] for real in (False, True) for e in examples(text, real=real)}
    # these ask the network, a second revision, or write files: named in the text
    named = set(re.findall(r"`pytrace (\w+)", text))
    assert set(COMMANDS) <= shown_commands | named


def test_links_and_targets_exist() -> None:
    text = README.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text()
    for name in set(re.findall(r"^make (\w+)", text, re.MULTILINE)) | set(re.findall(r"`make (\w+)`", text)):
        assert f"\n{name}:" in makefile, name


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("", "a\nb\nc\nd\n"),
        ("head -2", "a\nb\n"),
        ("sed -n '2p'", "b\n"),
        ("sed -n '1,2p;4p'", "a\nb\nd\n"),
    ],
)
def test_parts(part: str, text: str) -> None:
    assert shown("a\nb\nc\nd\n", part) == text


def test_examples_are_found() -> None:
    text = (
        "```console\n$ pytrace a | head -2\nx\n\n$ pytrace b\ny\nz\n```\n"
        "<!-- real -->\n```console\n$ pytrace c | sed -n '1,2p'\nw\n```\n```\n$ pytrace d\n```\n"
    )
    assert [(e.command, e.part, e.output) for e in examples(text, real=False)] == [
        ("pytrace a", "head -2", "x\n\n"),
        ("pytrace b", "", "y\nz\n"),
    ]
    assert [(e.command, e.part, e.output) for e in examples(text, real=True)] == [("pytrace c", "sed -n '1,2p'", "w\n")]
