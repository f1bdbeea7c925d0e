"""The ``pytrace`` command: a group whose commands are imported when they are run, and not before.

A question costs little more than starting Python, so this module imports click and nothing else of weight. The
short help of each command stands in ``COMMANDS``, so that ``pytrace --help`` imports no command either (a test
holds the two together).
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import IO, Any

import click

from pytrace import __version__
from pytrace.errors import PytraceError

#: name -> (module with a ``command``, short help), in the order in which ``--help`` shows them.
COMMANDS: dict[str, tuple[str, str]] = {
    "op": ("pytrace.cli.op", "Trace an operator: schema, Python names, dispatch, kernels, backward."),
    "kernel": ("pytrace.cli.kernel", "Show a kernel, functor or kernel function; --up: the operators that reach it."),
    "stub": ("pytrace.cli.stub", "Show a dispatch stub: who registers it, and who uses it."),
    "api": ("pytrace.cli.api", "Go down from a Python name to its operators."),
    "binding": (
        "pytrace.cli.binding",
        "Show a C++ name of the binding layer: where, who calls it, its Python names.",
    ),
    "init": ("pytrace.cli.init", "Show how `import torch` fills torch._C, initialiser by initialiser."),
    "backward": ("pytrace.cli.backward", "Show a derivative formula and what it calls."),
    "at": ("pytrace.cli.at", "Say what stands at FILE:LINE, and which operators reach it."),
    "search": ("pytrace.cli.search", "Find names of every kind by a part of them."),
    "report": ("pytrace.cli.report", "Tell how each backend implements many operators; stubs by device."),
    "impact": ("pytrace.cli.impact", "Go from changed lines to operators, Python names and tests to run."),
    "diff": ("pytrace.cli.diff", "Tell what differs between two revisions or indexes."),
    "check": ("pytrace.cli.check", "Hold the tree against the rules of a policy file."),
    "index": ("pytrace.cli.index", "Index a tree, or bring its index up to date."),
    "fetch": ("pytrace.cli.fetch", "Clone a release of PyTorch, shallow and sparse, for indexing."),
    "stats": ("pytrace.cli.stats", "Count what the index holds; list what it could not read or resolve."),
    "sql": ("pytrace.cli.sql", "Ask the index in SQL, read-only."),
    "export": ("pytrace.cli.export", "Write the whole graph."),
}


#: Commands that do not ask an index first.
_NO_QUESTIONS = frozenset(("index", "fetch"))


#: Key of ``ctx.meta``: the index that ``open_store`` opened.
STORE = "pytrace.store"


class Failure(click.ClickException):
    """A sentence on stderr, and exit code 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print ``pytrace: MESSAGE``."""
        click.echo(f"pytrace: {self.message}", file=file or sys.stderr)


class Interrupted(Failure):
    """Ctrl-C, with the exit code that shells expect."""

    exit_code = 130


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is run, and turns our errors into sentences."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **more: Any) -> Any:
        """As click's; as a program of its own (no ``args``) it begins the freshness check first, and ends at once."""
        if args is not None:
            return super().main(args, *rest, **more)
        _open_streams()
        _begin_check(sys.argv[1:])
        try:
            return super().main(args, *rest, **more)
        except SystemExit as ended:
            _end(ended.code)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command, or None."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        command = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the nearest names when there is no such command."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else " `pytrace --help` lists them."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors become sentences (``errors.py``), Ctrl-C says that nothing was lost."""
        try:
            return super().invoke(ctx)
        except PytraceError as error:
            if os.environ.get("PYTRACE_TRACEBACK"):
                raise
            raise Failure(str(error)) from error
        except sqlite3.DatabaseError as error:
            raise Failure(f"The index could not be read ({error}). `pytrace index --force` writes it anew.") from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            damage = "" if os.environ.get("PYTRACE_TRACEBACK") else _damage(ctx)
            if not damage:
                raise  # a bug
            raise Failure(f"The index is damaged ({damage}). `pytrace index --force` writes it anew.") from error
        except KeyboardInterrupt:
            raise Interrupted("Interrupted. The index is as it was before.") from None


def _damage(ctx: click.Context) -> str:
    """What is wrong with the index that a command failed on, "" when nothing is, or when it had opened none."""
    path = ctx.meta.get(STORE)
    if not path:
        return ""
    from pytrace.store import damage

    return damage(path)


def _open_streams() -> None:
    """Give a program that was started with a closed stdout or stderr (``>&-``) one that swallows all.

    Python has None there, and the next file that is opened would get the number that others write to.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (open until the program ends)


def _end(code: object) -> None:
    """End the process without taking Python down piece by piece, which takes up to a second after indexing.

    Returns when something is left to be said: Python's own way then says it.
    """
    if code is None or isinstance(code, int):
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)


def _begin_check(arguments: Sequence[str]) -> None:
    """Begin the freshness check of the tree that a question will ask about, while its command is imported.

    A guess, from ``--root`` alone: ``open_store`` finds the tree by the rules, and checks anew when it is another.
    """
    if not arguments or arguments[0] not in COMMANDS or arguments[0] in _NO_QUESTIONS:
        return
    if not {"--no-refresh", "--help", "-h"}.isdisjoint(arguments):
        return
    named = [text.partition("=")[2] for text in arguments if text.startswith("--root=")]
    named += [text for option, text in pairwise(arguments) if option == "--root"]
    from pytrace.checkout import find_root
    from pytrace.freshness import begin

    with suppress(PytraceError):
        begin(find_root(named[0] if named else None))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="pytrace")
def main() -> None:
    """Trace PyTorch across its layers: Python, bindings, operators, C++, stubs, CUDA kernels, derivatives.

    Questions index the tree first when there is no index or files have changed. The tree is the one named by
    --root or PYTRACE_ROOT, else the one around the working folder, else the one that `pytrace fetch` made.
    """
