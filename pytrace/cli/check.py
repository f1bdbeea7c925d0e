"""``pytrace check``: the tree held against a policy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pytrace.cli import asking, common, output
from pytrace.errors import BadQuestion

if TYPE_CHECKING:
    from pytrace.report.check import CheckReport
    from pytrace.report.policy import Rule
    from pytrace.store import Store

_POLICY = "pytrace.toml"


@click.command("check")
@click.option(
    "--policy", type=click.Path(dir_okay=False), metavar="FILE", help="Default: pytrace.toml in the tree or here."
)
@click.option(
    "--base", metavar="REV", default="", help="A revision or index to compare with, for rules about a change."
)
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@click.option("--example", is_flag=True, help="Print a policy to begin with.")
@common.limit_option(0, "Show at most so many violations of each rule (text); 0 shows all.")
@common.format_option("text", "github", "sarif", "junit", "markdown", "json")
@output.output_option
@common.store_options
@click.pass_context
def command(
    ctx: click.Context,
    policy: str | None,
    base: str,
    strict: bool,
    example: bool,
    limit: int,
    fmt: str,
    output_path: str | None,
) -> None:
    """Hold the tree against the rules of a policy file; exit with 1 when an error is found.

    \b
    pytrace check --example > pytrace.toml
    pytrace check --base origin/main --format github
    """
    from pytrace.report.policy import EXAMPLE, PolicyError, parse

    if example:
        common.emit(EXAMPLE)
        return
    store = common.open_store(ctx)
    path, text = _read(store, policy)
    try:
        found = _report(ctx, store, base, path, parse(text))
    except PolicyError as error:
        raise click.UsageError(f"{path}: {error}", ctx) from error
    output.deliver(_formatted(store, found, fmt, limit), output_path)
    if found.failed(strict):
        ctx.exit(1)


def _report(ctx: click.Context, store: Store, base: str, path: str, rules: Sequence[Rule]) -> CheckReport:
    from pytrace.cli import sides
    from pytrace.report import check, git

    def old() -> Store | None:
        if not base:
            return None
        if os.path.isfile(base):
            return sides.open_side(ctx, base, store)
        root = store.meta("root")
        return sides.open_side(ctx, git.merge_base(root, git.commit_of(root, base)), store)

    return check.report(store, rules, policy=path, base=base, old=old)


def _read(store: Store, named: str | None) -> tuple[str, str]:
    """Path (as it is told) and text of the policy."""
    places = [named] if named else [os.path.join(store.meta("root"), _POLICY), _POLICY]
    for place in places:
        try:
            with open(place, encoding="utf-8") as file:
                return named or os.path.basename(place), file.read()
        except FileNotFoundError:
            continue
        except UnicodeDecodeError as error:
            raise click.UsageError(f"{place}: It is not TOML: it is not UTF-8 ({error.reason}).") from error
        except OSError as error:
            raise BadQuestion(f"The policy {place} cannot be read ({error.strerror}).") from error
    raise BadQuestion(
        f"There is no policy at {' or '.join(places)}. `pytrace check --example > {_POLICY}` writes one to begin with; "
        "--policy FILE names another."
    )


def _below_top(root: str) -> str:
    """``third_party/pytorch/`` when the tree is that folder of its repository; "" when it is the whole, or in none."""
    from pytrace.report import git

    try:
        return git.run(root, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip()
    except BadQuestion:
        return ""


def _formatted(store: Store, found: CheckReport, fmt: str, limit: int) -> str:
    if fmt == "sarif":
        from pytrace.render import sarif

        return sarif.render(found)
    if fmt == "junit":
        from pytrace.render import junit

        return junit.render(found)
    if fmt == "json":
        from pytrace.render.json_text import dumps

        return dumps("pytrace/check/1", found)
    from pytrace.render import check_text

    if fmt == "github":
        return check_text.github(found, _below_top(store.meta("root")))
    if fmt == "markdown":
        return check_text.markdown(found)
    page = asking.page(store)
    check_text.render(page, found, limit=limit)
    return page.text()
