"""``pytrace stats``: what the index holds, and what it could not read or resolve."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from pytrace.cli import common

if TYPE_CHECKING:
    from pytrace.store import Store

#: Kinds of nodes by layer, in the order in which a call passes them.
LAYERS = (
    ("Python", ("python", "python_outline")),
    ("binding", ("binding",)),
    ("operator", ("op",)),
    ("C++", ("function", "stub", "macro")),
    ("device", ("cuda_kernel", "functor")),
    ("library", ("library",)),
    ("backward", ("formula",)),
)


@click.command()
@click.option("--diagnostics", is_flag=True, help="List what was odd about files: path:line, kind, message.")
@click.option("--unresolved", is_flag=True, help="List the names that could not be resolved: path:line, kind, name.")
@common.format_option("text", "json")
@common.limit_option(0, "List at most so many; 0 lists all.")
@common.store_options
@click.pass_context
def command(ctx: click.Context, diagnostics: bool, unresolved: bool, fmt: str, limit: int) -> None:
    """Count what the index holds: nodes and edges by kind, what is unresolved, size and time."""
    store = common.open_store(ctx)
    if diagnostics:
        rows: Iterable[tuple[Any, ...]] = store.diagnostics()
        _list(("file", "line", "kind", "message"), islice(rows, limit or None), fmt)
    elif unresolved:
        _list(("file", "line", "kind", "name", "reason"), islice(store.unresolved(), limit or None), fmt)
    elif fmt == "json":
        import json

        common.emit(json.dumps(collect(store), indent=1))
    else:
        common.emit(text(collect(store)))


def _list(heads: tuple[str, ...], rows: Iterable[tuple[Any, ...]], fmt: str) -> None:
    if fmt == "json":
        import json

        common.emit("[" + ",\n ".join(json.dumps(dict(zip(heads, row)), ensure_ascii=False) for row in rows) + "]")
        return
    lines = []
    for path, line, *rest in rows:
        place = f"{path}:{line}" if line else path or "(the whole tree)"
        lines.append(f"{place}: " + ": ".join(part for part in rest if part))
    common.emit("\n".join(lines) or "None.")


def collect(store: Store) -> dict[str, Any]:
    """All counts, as plain data (``pytrace/stats/1``)."""
    meta = store.all_meta()
    return {
        "schema": "pytrace/stats/1",
        "tree": {key: meta.get(key, "") for key in ("root", "commit", "tag", "version", "dirty")},
        "index": {
            "path": str(store.path),
            "bytes": os.path.getsize(store.path),
            "made": meta.get("made", ""),
            "pytrace": meta.get("pytrace", ""),
            "jobs": int(meta.get("jobs") or 0),
            "files_read": int(meta.get("extracted") or 0),
            "seconds": {
                key: float(meta.get(name) or 0)
                for key, name in (
                    ("total", "seconds"),
                    ("read", "seconds_read"),
                    ("link", "seconds_link"),
                    ("write", "seconds_write"),
                )
            },
        },
        "files": dict(store.counts("file")),
        "nodes": dict(store.counts("node")),
        "edges": dict(store.counts("edge")),
        "unresolved": dict(store.counts("unresolved")),
        "diagnostics": dict(store.counts("diagnostic")),
    }


def text(counts: dict[str, Any]) -> str:
    """The counts for people."""
    tree, index, seconds = counts["tree"], counts["index"], counts["index"]["seconds"]
    version = tree["tag"] or tree["version"] or "unknown version"
    commit = (
        f" ({tree['commit'][:9]}{', with local changes' if tree['dirty'] == 'yes' else ''})" if tree["commit"] else ""
    )
    lines = [
        f"tree        {tree['root']}",
        f"            {version}{commit}",
        f"index       {index['path']}",
        f"            {index['bytes'] / 1e6:.1f} MB, made {index['made']} in {seconds['total']:.1f} s",
        f"            (read {seconds['read']:.1f}, link {seconds['link']:.1f}, write {seconds['write']:.1f};"
        f" {index['files_read']:,} read anew, {index['jobs']} processes)",
    ]
    lines += _section("files", list(counts["files"].items()))
    nodes = counts["nodes"]
    layered = [(f"{kind} ({layer})", nodes[kind]) for layer, kinds in LAYERS for kind in kinds if kind in nodes]
    known = {kind for _, kinds in LAYERS for kind in kinds}
    layered += [(kind, count) for kind, count in nodes.items() if kind not in known]
    lines += _section("nodes", layered)
    for title in ("edges", "unresolved", "diagnostics"):
        lines += _section(title, list(counts[title].items()))
    if counts["unresolved"] or counts["diagnostics"]:
        lines += ["", "`pytrace stats --unresolved` and `--diagnostics` list them."]
    return "\n".join(lines)


def _section(title: str, rows: list[tuple[str, int]]) -> list[str]:
    total = sum(count for _, count in rows)
    return ["", f"{title:<32}{total:>10,}", *(f"  {name:<30}{count:>10,}" for name, count in rows)]
