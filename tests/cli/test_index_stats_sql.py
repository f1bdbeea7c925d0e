"""``pytrace index``, ``stats`` and ``sql``: what is printed where, formats, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytrace.cli.main import main
from pytrace.paths import index_path
from tests.trees import make_tree

pytestmark = pytest.mark.usefixtures("fake_stages")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tree around the working folder."""
    files: dict[str, str | bytes] = {
        "c10/a.cpp": "def a\ncall b\ncall x\n",
        "c10/b.cpp": b"def b\ncall a\n\xff\n",
        "torch/functional.py": "",
    }
    root = make_tree(tmp_path / "tree", files)
    monkeypatch.chdir(root)
    time.sleep(0.03)
    return root


def pytrace(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


class TestIndex:
    def test_first_and_second_time(self, root: Path) -> None:
        path = index_path(str(root))
        first = pytrace("index")
        assert (first.exit_code, first.stdout) == (0, path + "\n")
        assert first.stderr.startswith("pytrace: indexed 8 files (8 read) in ")
        assert "2 nodes, 2 edges, 1 name unresolved, 1 diagnostic (" in first.stderr
        second = pytrace("index", str(root))
        assert (second.exit_code, second.stdout) == (0, path + "\n")
        assert second.stderr == "pytrace: the index is up to date\n"

    @pytest.mark.parametrize("arguments", [["--quiet"], ["-q", "--jobs", "3"], ["-q", "--root", "."]])
    def test_quiet(self, root: Path, arguments: list[str]) -> None:
        for _ in range(2):
            done = pytrace("index", *arguments)
            assert (done.exit_code, done.stderr) == (0, "")

    def test_force(self, root: Path) -> None:
        pytrace("index")
        assert "(8 read)" in pytrace("index", "--force").stderr


def test_no_refresh(root: Path) -> None:
    missing = pytrace("stats", "--no-refresh")
    assert missing.exit_code == 1
    assert f"There is no index of {root}, and --no-refresh forbids making one." in missing.stderr
    pytrace("index")
    (root / "c10/c.cpp").write_text("def c\n")
    query = ["sql", "--format", "csv", "SELECT count(*) FROM node"]
    assert pytrace(*query, "--no-refresh").stdout == "count(*)\n2\n"
    assert pytrace(*query, "-q").stdout == "count(*)\n3\n"


class TestStats:
    def test_text(self, root: Path) -> None:
        done = pytrace("stats", "-q")
        assert done.exit_code == 0
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert lines[0] == f"tree {root}"
        for line in ("files 8", "cpp 3", "nodes 2", "function (C++) 2", "edges 2", "calls 2", "call 1", "encoding 1"):
            assert line in lines

    def test_json(self, root: Path) -> None:
        found = json.loads(pytrace("stats", "-q", "--format", "json").stdout)
        assert found["schema"] == "pytrace/stats/1"
        assert found["tree"]["root"] == str(root)
        assert found["nodes"] == {"function": 2}
        assert found["unresolved"] == {"call": 1}
        assert found["index"]["bytes"] == os.path.getsize(index_path(str(root)))

    def test_lists(self, root: Path) -> None:
        assert pytrace("stats", "-q", "--diagnostics").stdout == "c10/b.cpp:1: encoding: not UTF-8\n"
        assert pytrace("stats", "-q", "--unresolved").stdout == "c10/a.cpp:3: call: x: no such function\n"
        assert json.loads(pytrace("stats", "-q", "--unresolved", "--format", "json").stdout) == [
            {"file": "c10/a.cpp", "line": 3, "kind": "call", "name": "x", "reason": "no such function"}
        ]

    def test_nothing_to_list(self, root: Path) -> None:
        (root / "c10/b.cpp").unlink()
        assert pytrace("stats", "-q", "--diagnostics").stdout == "None.\n"


class TestSql:
    QUERY = "SELECT s.name, d.name AS callee, e.line, NULL AS none FROM edge e JOIN node s ON s.id = e.src "
    QUERY += "JOIN node d ON d.id = e.dst ORDER BY s.name"

    def test_table(self, root: Path) -> None:
        assert pytrace("sql", "-q", self.QUERY).stdout == (
            "name  callee  line  none\n"
            "----  ------  ----  ----\n"
            "a     b          2\n"
            "b     a          2\n"
        )  # fmt: skip

    def test_json(self, root: Path) -> None:
        assert json.loads(pytrace("sql", "-q", "--format", "json", "--limit", "1", self.QUERY).stdout) == [
            {"name": "a", "callee": "b", "line": 2, "none": None}
        ]

    def test_csv(self, root: Path) -> None:
        rows = list(csv.reader(io.StringIO(pytrace("sql", "-q", "--format", "csv", self.QUERY).stdout)))
        assert rows == [["name", "callee", "line", "none"], ["a", "b", "2", ""], ["b", "a", "2", ""]]

    def test_columns_of_one_name_are_told_apart(self, root: Path) -> None:
        done = pytrace("sql", "-q", "--format", "json", "SELECT 1 AS a, 2 AS a, 3 AS b")
        assert json.loads(done.stdout) == [{"a": 1, "a_2": 2, "b": 3}]

    @pytest.mark.parametrize("fmt", ["table", "json", "csv"])
    def test_no_rows(self, root: Path, fmt: str) -> None:
        done = pytrace("sql", "-q", "--format", fmt, "SELECT name, line FROM node WHERE 0")
        assert (done.exit_code, done.stdout) == (
            0, {"table": "name  line\n----  ----\n", "json": "[]\n", "csv": "name,line\n"}[fmt]
        )  # fmt: skip

    def test_with_and_functions(self, root: Path) -> None:
        query = (
            "WITH RECURSIVE up(id) AS (SELECT id FROM node WHERE name = 'a' UNION "
            "SELECT e.src FROM edge e JOIN up ON e.dst = up.id) SELECT count(*), max(length(n.name)) "
            "FROM up JOIN node n USING (id)"
        )
        assert pytrace("sql", "-q", "--format", "csv", query).stdout.splitlines()[1] == "2,1"

    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            ("DELETE FROM node", "The index is read-only: one SELECT"),
            ("UPDATE node SET name = 'x'", "The index is read-only"),
            ("ATTACH 'x.db' AS x", "The index is read-only"),
            ("PRAGMA query_only = 0", "The index is read-only"),
            ("CREATE TEMP TABLE t(x)", "The index is read-only"),
            ("SELECT load_extension('x')", "The index is read-only"),
            ("SELEC 1", 'SQLite says: near "SELEC": syntax error. `pytrace sql --schema` shows the tables.'),
            ("SELECT * FROM nodes", "SQLite says: no such table: nodes"),
            ("SELECT 1; DELETE FROM node", "`pytrace sql` takes one statement."),
            ("", 'What shall be asked? `pytrace sql "SELECT …"`'),
        ],
    )
    def test_what_is_not_a_question(self, root: Path, statement: str, said: str) -> None:
        done = pytrace("sql", "-q", statement)
        assert (done.exit_code, done.stdout) == (1, "")
        assert said in done.stderr
        assert pytrace("sql", "-q", "--format", "csv", "SELECT count(*) FROM node").stdout == "count(*)\n2\n"

    def test_schema_needs_no_tree(self, tmp_path: Path) -> None:
        shown = pytrace("sql", "--schema").stdout
        for table in ("meta", "file", "node", "edge", "guard", "rule", "unresolved", "diagnostic", "manifest"):
            assert f"CREATE TABLE {table}(" in shown
