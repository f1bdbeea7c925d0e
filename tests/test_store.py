"""Writing an index and reading it back."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from pytrace.errors import CannotWrite, DiskFull
from pytrace.graph import Graph
from pytrace.model import Edge, Node
from pytrace.store import INDEXES, Manifest, Store
from pytrace.writer import Ahead, FileRow, remove_leftovers, replacing, write

YAML, CPP, CU = "native_functions.yaml", "Mul.cpp", "Mul.cu"


def small_graph() -> Graph:
    graph = Graph()
    op = graph.shared("op", "aten::mul.out", YAML, 7, attrs={"structured": True})
    kernel = graph.node("function", "at::native::mul_out", CPP, 10, 20, owner=CPP)
    stub = graph.shared("stub", "mul_stub", CPP, 3, owner=CPP)
    cuda = graph.node("function", "at::native::mul_kernel_cuda", CU, 5, 9, owner=CU)
    graph.edge(op, kernel, "dispatches", "CPU", rule="yaml-dispatch", file=YAML, line=9)
    graph.edge(op, kernel, "dispatches", "CUDA", rule="yaml-dispatch", file=YAML, line=10)
    graph.edge(kernel, stub, "uses_stub", rule="call", file=CPP, line=12, guard="if (x)", owner=CPP)
    graph.edge(
        stub, cuda, "registers", "CUDA", rule="register-dispatch", file=CU, line=11, candidates=2, owner=CU,
        attrs={"macro": "REGISTER_DISPATCH"},
    )  # fmt: skip
    graph.unresolved_name(CPP, "call", "mystery", 13, "no such function")
    graph.diagnostic("", 0, "odd", "the whole tree")
    graph.diagnostic(CU, 4, "parse", "unparsed")
    return graph


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "100% sure? #1.db"  # a URI gives a meaning to some of these
    with replacing(str(path)) as db:
        write(
            db,
            small_graph(),
            [FileRow(p, "cpp", "ab" * 20, 100) for p in (CPP, CU)],
            {"files": Manifest([CPP, CU], [1, 2], [2**62, -1]), "folders": Manifest([], [], [])},
            {"root": "/r", "schema": "2"},
        )
    found = Store(path)
    yield found
    found.close()


def test_nodes(store: Store) -> None:
    assert store.node(1) == Node(1, "op", "aten::mul.out", YAML, 7, 7, {"structured": True})
    assert [n.name for n in store.bare("mul_out")] == ["at::native::mul_out"]
    assert [n.id for n in store.named("aten::mul.out", "op")] == [1]
    assert store.named("aten::mul.out", "function") == []
    assert store.nodes([4, 2, 2]).keys() == {2, 4}
    assert [n.id for n in store.at(CPP, 12)] == [2]
    assert [n.id for n in store.all_nodes("function")] == [2, 4]
    with pytest.raises(KeyError):
        store.node(99)


def test_edges(store: Store) -> None:
    assert [(e.key, e.line) for e in store.edges_from(1)] == [("CPU", 9), ("CUDA", 10)]
    assert store.edges_from([2, 3], "registers") == [
        Edge(3, 4, "registers", "CUDA", "register-dispatch", CU, 11, "", 2, {"macro": "REGISTER_DISPATCH"})
    ]
    assert [(e.src, e.guard, e.certain) for e in store.edges_to(3)] == [(2, "if (x)", True)]
    assert [e.src for e in store.all_edges()] == [1, 1, 2, 3]
    assert store.edges_from([]) == []


def test_the_rest(store: Store) -> None:
    assert store.counts("edge") == [("dispatches", 2), ("registers", 1), ("uses_stub", 1)]
    assert list(store.unresolved()) == [(CPP, 13, "call", "mystery", "no such function")]
    assert list(store.diagnostics()) == [("", 0, "odd", "the whole tree"), (CU, 4, "parse", "unparsed")]
    assert store.manifest("files") == Manifest([CPP, CU], [1, 2], [2**62, -1])
    assert store.manifest("folders") == Manifest([], [], [])
    assert [row[0] for row in store.file_rows()] == [CPP, CU], "a file that is only named (the YAML here) was not read"
    assert store.meta("root") == "/r"
    assert store.meta("nothing", "else") == "else"
    with pytest.raises(KeyError):
        store.manifest("other")
    with pytest.raises(ValueError, match="master"):
        store.counts("sqlite_master")


def test_a_store_is_read_only(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        store.db.execute("DELETE FROM node")


def test_frontier_larger_than_the_limit_on_parameters(tmp_path: Path) -> None:
    graph = Graph()
    ids = [graph.node("function", f"f{n}") for n in range(3000)]
    for src, dst in pairwise(ids):
        graph.edge(src, dst, "calls", rule="call")
    with replacing(str(tmp_path / "x.db")) as db:
        write(db, graph, [], {}, {})
    store = Store(tmp_path / "x.db")
    assert len(store.nodes(ids)) == 3000
    assert [e.src for e in store.edges_from(ids)] == ids[:-1]
    store.close()


def test_indexes_serve_the_questions(store: Store) -> None:
    assert INDEXES.count("CREATE") == 6
    for where in ("name = 'x'", "bare = 'x'", "file = 1"):
        plan = store.db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM node WHERE {where}").fetchall()
        assert "USING INDEX" in plan[0][3], where
    for where in ("src IN (1,2)", "dst = 1"):
        plan = store.db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM edge WHERE {where}").fetchall()
        assert "USING INDEX" in plan[0][3], where


class TestReplacing:
    """Whatever happens while writing, there is the old index or the new one, and no third file."""

    @pytest.mark.parametrize(
        ("error", "raised"),
        [
            (sqlite3.OperationalError("database or disk is full"), DiskFull),
            (sqlite3.OperationalError("disk I/O error"), DiskFull),
            (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
            (OSError(errno.EFBIG, "File too large"), DiskFull),
            (OSError(errno.EACCES, "Permission denied"), CannotWrite),
            (sqlite3.OperationalError("unable to open database file"), CannotWrite),
            (KeyboardInterrupt(), KeyboardInterrupt),
            (ZeroDivisionError(), ZeroDivisionError),
        ],
    )
    @pytest.mark.parametrize("old", [True, False])
    def test_an_error(self, tmp_path: Path, error: BaseException, raised: type[BaseException], old: bool) -> None:
        index = tmp_path / "x.db"
        if old:
            index.write_text("the old one")
        with pytest.raises(raised) as caught, replacing(str(index)) as db:
            db.execute("CREATE TABLE t(x)")
            raise error
        assert os.listdir(tmp_path) == (["x.db"] if old else [])
        if isinstance(caught.value, CannotWrite):
            assert "PYTRACE_CACHE" in str(caught.value)
            assert ("--no-refresh" in str(caught.value)) == old
        if old:
            assert index.read_text() == "the old one"

    @pytest.mark.parametrize("jobs", [1, 2])
    @pytest.mark.parametrize("at", [(0, 0), (2, 1), (4, 3)])
    def test_what_was_written_ahead_is_not_written_twice(self, tmp_path: Path, jobs: int, at: tuple[int, int]) -> None:
        whole, files = small_graph(), [FileRow(CU, "cpp", "ab" * 20, 100)]
        begun = Graph()
        begun.nodes, begun.edges = whole.nodes[: at[0]], whole.edges[: at[1]]
        ahead = Ahead(str(tmp_path / "x.db"), begun, files, jobs)
        begun.nodes += whole.nodes[at[0] :]
        begun.edges += whole.edges[at[1] :]
        begun.unresolved, begun.diagnostics = whole.unresolved, whole.diagnostics
        for index, graph, first in (("x.db", begun, ahead), ("y.db", whole, None)):
            with replacing(str(tmp_path / index), ahead=first) as db:
                write(db, graph, files, {}, {}, first)
        one, other = (sqlite3.connect(tmp_path / index) for index in ("x.db", "y.db"))
        for table in ("node", "edge", "guard", "rule", "file", "unresolved", "diagnostic"):
            question = f"SELECT * FROM {table} ORDER BY rowid"
            assert one.execute(question).fetchall() == other.execute(question).fetchall(), table
        one.close()
        other.close()
        assert sorted(os.listdir(tmp_path)) == ["x.db", "y.db"]

    def test_what_was_written_ahead_can_be_given_up(self, tmp_path: Path) -> None:
        ahead = Ahead(str(tmp_path / "x.db"), small_graph(), [], 2)
        while not os.listdir(tmp_path):
            pass
        ahead.end()
        assert os.listdir(tmp_path) == []

    def test_a_reader_keeps_what_it_opened(self, store: Store) -> None:
        with replacing(str(store.path)) as db:
            write(db, Graph(), [], {}, {})
        assert len(list(store.all_nodes())) == 4
        new = Store(store.path)
        assert list(new.all_nodes()) == []
        new.close()

    def test_copy_begins_with_the_old_rows(self, store: Store) -> None:
        with replacing(str(store.path), copy=True) as db:
            db.execute("UPDATE meta SET value = '/other' WHERE key = 'root'")
        new = Store(store.path)
        assert (new.meta("root"), len(list(new.all_nodes()))) == ("/other", 4)
        new.close()

    def test_leftovers_go(self, tmp_path: Path) -> None:
        for name in ("x.db", "x.db.lock", "x.db.new-17", "x.db.new-17-journal", "y.db.new-3"):
            (tmp_path / name).write_text("")
        remove_leftovers(str(tmp_path / "x.db"))
        assert sorted(os.listdir(tmp_path)) == ["x.db", "x.db.lock", "y.db.new-3"]
        remove_leftovers(str(tmp_path / "no" / "x.db"))
