"""``pytrace impact``: what a change touches."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from pytrace.cli import asking, common, output
from pytrace.errors import BadQuestion

if TYPE_CHECKING:
    from pytrace.report.impact import ImpactReport
    from pytrace.report.patches import FileChange
    from pytrace.store import Store


@click.command("impact")
@click.option("--base", metavar="REV", help="Compare the tree with REV (with where HEAD and REV parted), by git.")
@click.option("--files", multiple=True, metavar="FILE", help="Take all of FILE as changed; may be repeated.")
@click.option("--patch", type=click.Path(dir_okay=False), metavar="FILE", help="Read a patch; - is stdin.")
@click.option(
    "--hops",
    type=click.IntRange(min=0),
    metavar="N",
    help="Go on over so many operators that call an affected one. Default: 1, and more when no test is found.",
)
@common.limit_option(20, "Show at most so many operators and names; 0 shows all.")
@common.format_option("text", "markdown", "json", "mermaid", "dot", "svg", "html")
@output.output_option
@common.why_option
@common.store_options
@click.pass_context
def command(
    ctx: click.Context,
    base: str | None,
    files: tuple[str, ...],
    patch: str | None,
    hops: int | None,
    limit: int,
    fmt: str,
    output_path: str | None,
    why: bool,
) -> None:
    """Go from changed lines to operators, Python names, tests and benchmarks.

    Without --base, --files or --patch, a patch is read from stdin.

    \b
    pytrace impact --base main
    git diff --cached | pytrace impact --format markdown
    pytrace impact --files aten/src/ATen/native/cuda/RNN.cu
    """
    if sum(map(bool, (base, files, patch))) > 1:
        raise BadQuestion("Take one of --base REV, --files FILE and --patch FILE.")
    if not base and not files and not patch:
        if sys.stdin is None or sys.stdin.isatty():
            raise BadQuestion(
                "What has changed? --base REV, --files FILE, or a patch on stdin (git diff | pytrace impact)."
            )
        patch = "-"
    store = common.open_store(ctx)
    found = _against_base(store, base, hops) if base else _from_changes(store, files, patch, hops)
    output.deliver(_formatted(store, found, fmt, limit, why), output_path)


def _against_base(store: Store, base: str, hops: int | None) -> ImpactReport:
    from pytrace.report import git, impact
    from pytrace.report.patches import FileChange, parse

    root = store.meta("root")
    named = git.commit_of(root, base)
    commit = git.merge_base(root, named)
    changes = parse(git.difference(root, commit))
    known = {change.path for change in changes}
    changes += [FileChange(p, "", "added", whole=True) for p in git.untracked(root) if p not in known]

    def old_source(path: str) -> str | None:
        content = git.content_at(root, commit, path)
        return None if content is None else content.decode("utf-8", "surrogateescape")

    parted = f", where {base} and HEAD parted" if commit != named else ""
    return impact.report(store, changes, against=f"{base} ({commit[:9]}{parted})", hops=hops, old_source=old_source)


def _from_changes(store: Store, files: tuple[str, ...], patch: str | None, hops: int | None) -> ImpactReport:
    from pytrace.report import applied, impact

    root = store.meta("root")
    if files:
        changes, against = [_named(root, name) for name in files], "nothing: the files are taken as changed"
    else:
        changes, against = _from_patch(root, patch or "-")
    by_path = {change.old_path: change for change in changes}
    return impact.report(
        store, changes, against=against, hops=hops, old_source=lambda path: applied.old_text(root, by_path[path])
    )


def _named(root: str, name: str) -> FileChange:
    from pytrace.report.patches import FileChange

    path = os.path.realpath(name) if os.path.isabs(name) or not os.path.exists(os.path.join(root, name)) else name
    if os.path.isabs(path):
        path = os.path.relpath(path, root)
    if path.startswith("..") or not os.path.exists(os.path.join(root, path)):
        raise BadQuestion(f"There is no file {name} in {root}. A deleted file is found by --base REV or a patch.")
    return FileChange(path.replace(os.sep, "/"), path, "modified", whole=True)


def _from_patch(root: str, patch: str) -> tuple[list[FileChange], str]:
    from pytrace.report import applied
    from pytrace.report.patches import decoded, parse

    try:
        data = sys.stdin.buffer.read() if patch == "-" else _bytes_of(patch)
    except OSError as error:
        raise BadQuestion(f"The patch {patch} cannot be read ({error.strerror}).") from error
    changes = parse(decoded(data))
    if not changes and data.strip():
        raise BadQuestion("This is no patch: it has no `diff --git` or `---`/`+++` lines. `git diff` writes one.")
    if applied.is_applied(root, changes):
        return changes, "the patch, which is applied to the tree"
    return [applied.reversed_change(change) for change in changes], "the patch, which is not applied to the tree"


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _formatted(store: Store, found: ImpactReport, fmt: str, limit: int, why: bool) -> str:
    if fmt == "text":
        from pytrace.render import impact_text

        page = asking.page(store)
        impact_text.render(page, found, limit=limit, why=why)
        return page.text()
    if fmt == "markdown":
        from pytrace.render import impact_markdown

        return impact_markdown.render(found, limit=limit)
    if fmt == "json":
        from pytrace.render.json_text import dumps

        return dumps("pytrace/impact/1", found)
    from pytrace.cli import pictures

    return pictures.of_impact(store, found, fmt, limit)
