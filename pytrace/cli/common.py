"""What the commands share: options, and the store to ask.

A command that asks a question looks like this::

    @click.command()
    @click.argument("name", callback=common.as_name)
    @common.store_options            # --root --no-refresh --quiet --jobs (read by open_store, not passed on)
    @common.format_option("text", "json")
    @common.limit_option(20)
    @common.why_option
    @click.pass_context
    def command(ctx: click.Context, name: str, fmt: str, limit: int, why: bool) -> None:
        store = common.open_store(ctx)
        common.emit(render(answer, colour=common.colour()))

Nothing here imports the indexer: ``open_store`` does, and only when the index is not fresh.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pytrace.cli.main import STORE

if TYPE_CHECKING:
    from pytrace.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

_KEY = "pytrace."


#: A kernel with all its template arguments, mangled, has some thousand letters; what is longer than this is no name.
_LONGEST_NAME = 20_000


def as_name(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Callback of arguments that are names as people paste them.

    Bytes that are not UTF-8 become ``\ufffd``: no name of the index has one. Raises ``BadQuestion`` for a text that is
    too long to be a name.
    """
    if isinstance(value, tuple):
        return tuple(as_name(ctx, param, text) for text in value)
    if len(value) > _LONGEST_NAME:
        from pytrace.errors import BadQuestion

        raise BadQuestion(
            f"A text of {len(value):,} letters is no name: names are read up to {_LONGEST_NAME:,} letters."
        )
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Callback of the shared options: keep the value in ``ctx.meta``, where ``open_store`` finds it."""
    ctx.meta[_KEY + str(param.name)] = value
    return value


def root_option(function: Command) -> Command:
    """``--root DIR``: the tree to ask about."""
    return click.option(
        "--root",
        metavar="DIR",
        expose_value=False,
        callback=_keep,
        help="The PyTorch checkout. Default: PYTRACE_ROOT, the tree around the working folder, or a fetched one.",
    )(function)


def index_options(function: Command) -> Command:
    """``--quiet`` and ``--jobs N``: how to index."""
    function = click.option(
        "--jobs",
        "-j",
        type=click.IntRange(min=1),
        metavar="N",
        expose_value=False,
        callback=_keep,
        help="Processes used for indexing. Default: one per CPU.",
    )(function)
    return click.option(
        "--quiet", "-q", is_flag=True, expose_value=False, callback=_keep, help="No progress and no summary on stderr."
    )(function)


def store_options(function: Command) -> Command:
    """All options of a command that asks the index: ``--root``, ``--no-refresh``, ``--quiet``, ``--jobs``."""
    function = index_options(function)
    function = click.option(
        "--no-refresh",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Ask the index as it is, even when files have changed since.",
    )(function)
    return root_option(function)


def format_option(*formats: str) -> Callable[[Command], Command]:
    """``--format``, passed on as ``fmt``; the first one given is the default."""
    return click.option(
        "--format", "fmt", type=click.Choice(formats), default=formats[0], show_default=True, help="Form of the output."
    )


def limit_option(
    default: int, text: str = "Show at most so many of each kind; 0 shows all."
) -> Callable[[Command], Command]:
    """``--limit N``, passed on as ``limit``."""
    return click.option(
        "--limit", type=click.IntRange(min=0), default=default, show_default=True, metavar="N", help=text
    )


def why_option(function: Command) -> Command:
    """``--why``, passed on as ``why``."""
    return click.option("--why", is_flag=True, help="Show the evidence of each step: the rule, file:line, the guard.")(
        function
    )


#: What is not worth freeing: this program ends soon (``refresh``).
KEPT: list[object] = []


def setting(ctx: click.Context, name: str, default: Any = None) -> Any:
    """The value of a shared option (``root``, ``no_refresh``, ``quiet``, ``jobs``) of the running command."""
    return ctx.meta.get(_KEY + name, default)


def open_store(ctx: click.Context) -> Store:
    """Find the tree, bring its index up to date (unless ``--no-refresh``), and open it for reading.

    Raises ``NoTree`` and the ``IndexUnusable`` family of ``pytrace.errors``.
    """
    from pytrace.checkout import find_root
    from pytrace.freshness import fresh_store

    root = find_root(setting(ctx, "root"))
    no_refresh = bool(setting(ctx, "no_refresh"))
    store = fresh_store(root, check=not no_refresh)
    if store is None:
        from pytrace.index import refresh

        path = refresh(
            root, jobs=setting(ctx, "jobs"), quiet=bool(setting(ctx, "quiet")), no_refresh=no_refresh, keep=KEPT
        )
        from pytrace.store import Store

        store = Store(path)
    ctx.call_on_close(store.close)
    ctx.meta[STORE] = store.path
    return store


def colour(stream: Any = None) -> bool:
    """Whether to colour and hyperlink: a terminal, ``NO_COLOR`` unset or empty, ``TERM`` not dumb.

    ``FORCE_COLOR`` (not empty) answers yes for pipes and screenshots.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool((stream or sys.stdout).isatty()) and os.environ.get("TERM") != "dumb"


def width(default: int = 100) -> int:
    """Columns to fill: the terminal's, or ``COLUMNS``, or ``default`` for pipes."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or default
    except (OSError, ValueError):
        return default


def emit(text: str) -> None:
    """Write text to stdout as UTF-8-safe as the stream allows (a Latin-1 pipe gets ``?``, not a traceback)."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    if not text.endswith("\n"):
        sys.stdout.write("\n")
