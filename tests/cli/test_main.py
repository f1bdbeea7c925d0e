"""The frame of the command line: help, unknown commands, errors as sentences, and what is imported."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pytrace import __version__, errors
from pytrace.cli import common
from pytrace.cli.main import COMMANDS, main
from tests.trees import command, environment, make_tree, run


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_agrees_with_the_command(name: str) -> None:
    """The table's short help stands for the command's own, which ``pytrace --help`` does not import."""
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert found.help, "a command explains itself"
    for parameter in found.params:
        assert not isinstance(parameter, click.Option) or parameter.help, f"{parameter.name} has no help"


def test_help_lists_every_command() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0
    for name, (_, text) in COMMANDS.items():
        assert name in done.output
        assert text.split()[0] in done.output


def test_version() -> None:
    assert CliRunner().invoke(main, ["--version"]).output == f"pytrace, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["opp"], 2, "There is no command 'opp'. Did you mean op?"),
        (["zzz"], 2, "There is no command 'zzz'. `pytrace --help` lists them."),
        (["stats", "--format", "xml"], 2, "'xml' is not one of 'text', 'json'"),
        (["stats", "--root", "nowhere"], 1, "pytrace: The tree that was named is nowhere, which is not a folder."),
        (["stats"], 1, "pytrace: No PyTorch tree was found"),
    ],
)
def test_mistakes_are_sentences(arguments: list[str], code: int, said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_error_is_described() -> None:
    """The tree at the top of ``errors.py`` names every class, and each class says what to do."""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert name in (errors.__doc__ or ""), name
            assert value.__doc__, name


#: What a question must not pay for. (Some versions of Python import a few of these with click; that is the floor.)
HEAVY = {"tree_sitter", "yaml", "git", "rich", "multiprocessing", "pathlib", "subprocess", "hashlib", "json"}


def modules(script: str, *arguments: str) -> set[str]:
    """Top-level modules that a script has imported at its end."""
    script += "\nprint('MODULES', *{m.partition('.')[0] for m in sys.modules})\n"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, env=environment(), check=True
    )
    return set(done.stdout.partition("MODULES ")[2].split())


def heavy(*arguments: str) -> set[str]:
    """Heavy modules that ``pytrace ARGUMENTS`` imports and the query floor does not."""
    script = "import sys\nfrom pytrace.cli.main import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    return (modules(script, *arguments) & HEAVY) - modules("import sys, click, sqlite3")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert heavy(*arguments) == set()


@pytest.mark.parametrize(
    ("environment", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colour(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], terminal: bool, coloured: bool) -> None:
    class Stream:
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert common.colour(Stream()) == coloured


@pytest.mark.parametrize(("columns", "width"), [("77", 77), ("", 100), ("0", 100), ("x", 100)])
def test_width_of_a_pipe(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(os, "get_terminal_size", lambda *a: (_ for _ in ()).throw(OSError()))
    assert common.width() == width


def test_emit_survives_a_narrow_encoding() -> None:
    script = "from pytrace.cli.common import emit; emit('a → b')"
    env = environment(PYTHONIOENCODING="ascii")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "a ? b\n"


def test_a_closed_pipe_is_quiet() -> None:
    """``pytrace --help | head -0``: no traceback, no message."""
    shell = f"{' '.join(command('--help'))} | true"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, env=environment(), check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "question",
    [
        ["op", "twice"],
        ["op", "twice", "--format", "json"],
        ["kernel", "twice_cpu", "--up"],
        ["at", "aten/src/ATen/native/Twice.cpp:3"],
        ["stats"],
        ["sql", "SELECT count(*) FROM node"],
    ],
)
def test_a_question_on_a_fresh_index_imports_nothing_heavy(question: list[str], tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree")
    time.sleep(0.03)
    assert run("index", str(root)).returncode == 0
    assert run(*question, "--root", str(root)).returncode == 0
    assert heavy(*question, "--root", str(root)) - {"json"} == set()


def test_the_traceback_is_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["stats", "--root", "nowhere"]
    assert isinstance(CliRunner().invoke(main, asked).exception, SystemExit)
    monkeypatch.setenv("PYTRACE_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(main, asked).exception, errors.NoTree)
