"""Whole outputs on the miniature tree.

Each file of ``tests/golden`` begins with a command, ``$ pytrace op lstm``; the rest is what it prints. A new case is a
file with that one line; ``PYTRACE_UPDATE=1 python -m pytest tests/minitorch`` writes the rest.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytrace.model import SOME
from tests.minitorch.commands import Shell
from tests.minitorch.test_snapshots import UPDATE
from tests.minitorch.tree import mini

FILES = sorted((Path(__file__).resolve().parents[1] / "golden").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_golden(file: Path, shell: Shell) -> None:
    head, _, expected = file.read_text().partition("\n")
    text = shell.output(head.removeprefix("$ "))
    if UPDATE:
        file.write_text(f"{head}\n{text}")
    else:
        assert text == expected


def test_every_question_has_a_golden_file() -> None:
    from pytrace.cli.main import COMMANDS

    asked = {file.read_text().split()[2] for file in FILES}
    # not questions about this tree alone; the export is compared with the graph below
    other = {"index", "fetch", "export", "diff", "check", "tui"}
    assert asked >= set(COMMANDS) - other


def test_export_is_the_graph(shell: Shell) -> None:
    rows = [json.loads(line) for line in shell.run("pytrace export").stdout.splitlines()]
    nodes = {row["id"]: row for row in rows if row["t"] == "node"}
    edges = [row for row in rows if row["t"] == "edge"]
    assert [row["t"] for row in rows] == ["node"] * len(nodes) + ["edge"] * len(edges)
    assert {row["src"] for row in edges} | {row["dst"] for row in edges} <= set(nodes)
    exported = sorted((r["kind"], r["name"], r.get("file") or "", r.get("line") or 0) for r in nodes.values())
    names = {n.id: n.name.removesuffix(SOME) for n in mini().nodes.values()}  # without template arguments
    assert exported == sorted((n.kind, names[n.id], n.file, n.line) for n in mini().nodes.values())
    assert sorted((nodes[e["src"]]["name"], e["kind"], nodes[e["dst"]]["name"]) for e in edges) == sorted(
        (names[e.src], e.kind, names[e.dst]) for e in mini().edges
    )
    assert {n.name + SOME for n in mini().nodes.values()} & {n.name for n in mini().nodes.values()}


def test_export_is_the_same_with_another_number_of_processes(shell: Shell, tmp_path: Path) -> None:
    other = Shell(tmp_path)
    assert other.run("pytrace index --jobs 1").exit_code == 0
    first, second = (s.run("pytrace export").stdout for s in (shell, other))
    assert first.splitlines() == second.splitlines()
