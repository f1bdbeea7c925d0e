"""Keeping an index true: what is read again, what is not, and what the graph then holds."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import pytrace.link
from pytrace import index, program, reading
from pytrace.errors import IndexDamaged, IndexOutdated, LinkFailed, NoIndex
from pytrace.files import list_files
from pytrace.freshness import fresh_store
from pytrace.graph import Graph
from pytrace.index import refresh
from pytrace.paths import facts_path, index_path
from pytrace.store import Store
from tests import fake_stage
from tests.trees import commit_all, make_tree

pytestmark = pytest.mark.usefixtures("fake_stages")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of a few functions, older than any clock's tick."""
    files = {f"c10/f{n}.cpp": f"def f{n}\ncall f{n + 1}\n" for n in range(5)}
    files |= {"torch/a.py": "def a\ncall f0\n", "torch/b.py": "def b\ncall nothing\n"}
    return age(make_tree(tmp_path / "tree", {**files, "version.txt": "1.2.3\n"}))


def age(root: Path) -> Path:
    """Wait until no file of the tree counts as changed just now."""
    time.sleep(0.03)
    return root


def extracted(tmp_path: Path) -> list[str]:
    """First lines of what was extracted since the last call."""
    log = tmp_path / "log"
    lines = sorted(line for line in log.read_text().splitlines() if line.startswith("def")) if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def edges(root: Path) -> list[str]:
    """The edges of the index as it is."""
    store = Store(index_path(str(root)))
    found = sorted(f"{store.node(e.src).name}>{store.node(e.dst).name}" for e in store.all_edges())
    store.close()
    return found


def update(root: Path) -> list[str]:
    """What a question does: index unless fresh. Returns the edges, and checks that the index is fresh then."""
    store = fresh_store(str(root))
    if store is None:
        age(root)
        refresh(root, quiet=True, jobs=2)
        store = fresh_store(str(root))
        assert store is not None, "not even fresh right after indexing"
    store.close()
    return edges(root)


ALL = ["a>f0", "f0>f1", "f1>f2", "f2>f3", "f3>f4"]


def test_first_index(root: Path, tmp_path: Path) -> None:
    assert update(root) == ALL
    assert extracted(tmp_path) == ["def a", "def b", *(f"def f{n}" for n in range(5))]
    store = Store(index_path(str(root)))
    assert store.meta("root") == str(root)
    assert store.meta("version") == "1.2.3"
    assert [row[3] for row in store.unresolved()] == ["f5", "nothing"]
    store.close()


def test_nothing_changed_reads_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update(root)
    before = os.stat(index_path(str(root)))
    monkeypatch.setattr(index, "refresh", lambda *a, **k: pytest.fail("indexed again"))
    monkeypatch.setattr(os, "scandir", guard(os.scandir, str(root)))
    store = fresh_store(str(root))
    assert store is not None
    store.close()
    assert os.stat(index_path(str(root))) == before


def guard(function: Callable[..., object], root: str) -> Callable[..., object]:
    """``function``, but it must not be called for anything in the tree."""

    def guarded(path: str = ".", *rest: object) -> object:
        assert not str(path).startswith(root), f"{path} was listed"
        return function(path, *rest)

    return guarded


def edit(root: Path) -> None:
    (root / "c10/f2.cpp").write_text("def f2\ncall f0\n")


def edit_keeping_size_and_mtime(root: Path) -> None:
    path = root / "c10/f2.cpp"
    before = path.stat()
    path.write_text("def f2\ncall f0\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def add(root: Path) -> None:
    (root / "c10/new.cpp").write_text("def new\ncall f0\n")


def add_folder(root: Path) -> None:
    (root / "c10/deep/er").mkdir(parents=True)
    (root / "c10/deep/er/new.cpp").write_text("def new\ncall f0\n")


def add_top(root: Path) -> None:
    (root / "torchgen").mkdir()
    (root / "torchgen/new.py").write_text("def new\ncall f0\n")


def delete(root: Path) -> None:
    (root / "c10/f2.cpp").unlink()


def delete_folder(root: Path) -> None:
    shutil.rmtree(root / "c10")


def rename(root: Path) -> None:
    (root / "c10/f2.cpp").rename(root / "torch/g.cpp")


def swap(root: Path) -> None:
    """Two files of one size and mtime change places: only the ctime tells."""
    one, two = root / "c10/f0.cpp", root / "c10/f1.cpp"
    for path in (one, two):
        os.utime(path, ns=(1, 1))
    one.rename(root / "c10/tmp")
    two.rename(one)
    (root / "c10/tmp").rename(two)


@pytest.mark.parametrize(
    ("change", "now", "read"),
    [
        (edit, ["a>f0", "f0>f1", "f1>f2", "f2>f0", "f3>f4"], ["def f2"]),
        (edit_keeping_size_and_mtime, ["a>f0", "f0>f1", "f1>f2", "f2>f0", "f3>f4"], ["def f2"]),
        (add, ["a>f0", "f0>f1", "f1>f2", "f2>f3", "f3>f4", "new>f0"], ["def new"]),
        (add_folder, ["a>f0", "f0>f1", "f1>f2", "f2>f3", "f3>f4", "new>f0"], ["def new"]),
        (add_top, ["a>f0", "f0>f1", "f1>f2", "f2>f3", "f3>f4", "new>f0"], ["def new"]),
        (delete, ["a>f0", "f0>f1", "f3>f4"], []),
        (delete_folder, [], []),
        (rename, ["a>f0", "f0>f1", "f1>f2", "f2>f3", "f3>f4"], []),
        (swap, ["a>f0", "f0>f1", "f1>f2", "f2>f3", "f3>f4"], []),
    ],
)
def test_a_change_is_seen_and_nothing_else_is_read(
    root: Path, tmp_path: Path, change: Callable[[Path], None], now: list[str], read: list[str]
) -> None:
    update(root)
    extracted(tmp_path)
    change(root)
    assert update(root) == now
    assert extracted(tmp_path) == read


def test_where_things_stand_after_a_swap(root: Path) -> None:
    update(root)
    age(root)
    swap(root)
    update(root)
    store = Store(index_path(str(root)))
    assert {n.name: n.file for n in store.all_nodes() if n.name in ("f0", "f1")} == {
        "f0": "c10/f1.cpp",
        "f1": "c10/f0.cpp",
    }
    store.close()


def test_a_file_written_while_it_is_read_is_looked_at_again(root: Path) -> None:
    """Without waiting: the edit may fall into the clock's tick in which the index was made."""
    for n in range(20):
        (root / "c10/f2.cpp").write_text(f"def f2\ncall f{n % 2}\n")
        store = fresh_store(str(root))
        if store is None:
            refresh(root, quiet=True)
        else:
            store.close()
        assert f"f2>f{n % 2}" in edges(root)


def test_a_touched_file_costs_no_link(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update(root)
    age(root)
    extracted(tmp_path)
    (root / "c10/f2.cpp").touch()
    (root / "torch/notes.txt").write_text("a file that does not bear on the graph")
    monkeypatch.setattr(pytrace.link, "link", lambda *a: pytest.fail("linked again"))
    age(root)
    assert update(root) == ALL
    assert extracted(tmp_path) == []


def test_a_switch_of_branches_costs_what_is_new_to_the_cache(root: Path, tmp_path: Path) -> None:
    from tests.trees import git

    first = commit_all(root)
    update(root)
    git(root, "checkout", "--quiet", "-b", "side")
    edit(root)
    second = commit_all(root)
    age(root)
    assert "f2>f0" in update(root)
    extracted(tmp_path)
    git(root, "checkout", "--quiet", "main")
    age(root)
    assert update(root) == ALL
    assert extracted(tmp_path) == [], "both contents are in the fact cache"
    assert meta(root, "commit") == first
    git(root, "checkout", "--quiet", "side")
    assert "f2>f0" in update(root)
    assert (meta(root, "commit"), meta(root, "dirty")) == (second, "no")


def test_a_commit_without_a_change_of_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_all(root)
    edit(root)
    age(root)
    update(root)
    assert meta(root, "dirty") == "yes"
    commit = commit_all(root)
    monkeypatch.setattr(pytrace.link, "link", lambda *a: pytest.fail("linked again"))
    update(root)
    assert (meta(root, "commit"), meta(root, "dirty")) == (commit, "no")


def meta(root: Path, key: str) -> str:
    store = Store(index_path(str(root)))
    try:
        return store.meta(key)
    finally:
        store.close()


def test_a_second_checkout_reads_nothing(root: Path, tmp_path: Path) -> None:
    update(root)
    extracted(tmp_path)
    shutil.copytree(root, tmp_path / "second")
    assert update(tmp_path / "second") == ALL
    assert extracted(tmp_path) == []


def test_force_reads_everything(root: Path, tmp_path: Path) -> None:
    update(root)
    extracted(tmp_path)
    refresh(root, quiet=True, force=True)
    assert len(extracted(tmp_path)) == 7
    assert edges(root) == ALL


class TestRelink:
    """A few changed files: the old index with a delta, equal to the index that is made anew."""

    @pytest.fixture
    def relinking(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        update(root)
        monkeypatch.setattr(pytrace.link, "relink", fake_stage.relink, raising=False)
        monkeypatch.setattr(pytrace.link, "link", lambda *a: pytest.fail("all was linked"))
        return root

    def content(self, root: Path) -> dict[str, object]:
        """Everything that the index holds, but ids."""
        store = Store(index_path(str(root)))
        name = {n.id: n.name for n in store.all_nodes()}
        found = {
            "nodes": sorted((n.kind, n.name, n.file, n.line) for n in store.all_nodes()),
            "edges": sorted((name[e.src], name[e.dst], e.rule, e.file, e.line) for e in store.all_edges()),
            "unresolved": list(store.unresolved()),
            "diagnostics": list(store.diagnostics()),
            "files": store.file_rows(),
        }
        store.close()
        return found

    @pytest.mark.parametrize(
        "content",
        [
            "\n\ndef f2\ncall f3\n",
            "def f2\n",
            "def f2\ncall f0\ncall a\n",
            "def f2\ncall mystery\n",
            b"def f2\ncall f3\n\xff\n",
        ],
    )
    def test_it_equals_a_new_index(
        self, relinking: Path, content: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        extracted(tmp_path)
        make_tree(relinking, {"c10/f2.cpp": content})
        update(relinking)
        assert len(extracted(tmp_path)) == 1
        relinked = self.content(relinking)
        monkeypatch.setattr(pytrace.link, "link", fake_stage.link)
        refresh(relinking, quiet=True, force=True)
        assert relinked == self.content(relinking)

    def test_twice(self, relinking: Path) -> None:
        for n in (0, 1, 4):
            make_tree(relinking, {"c10/f2.cpp": f"def f2\ncall f{n}\n", "c10/f3.cpp": f"def f3\ncall f{n}\n"})
            assert update(relinking) == sorted(["a>f0", "f0>f1", "f1>f2", f"f2>f{n}", f"f3>f{n}"])

    @pytest.mark.parametrize("change", [add, delete, rename])
    def test_all_is_linked_when_it_cannot_tell(
        self, relinking: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pytrace.link, "link", fake_stage.link)
        change(relinking)
        update(relinking)
        relinked = self.content(relinking)
        refresh(relinking, quiet=True, force=True)
        assert relinked == self.content(relinking)


class TestLinkFails:
    """A bug in a crossing is a sentence, and costs nobody an index."""

    @pytest.fixture
    def failing(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        update(root)

        def link(*_: object) -> Graph:
            raise KeyError("at::native::strange")

        monkeypatch.setattr(pytrace.link, "link", link)
        add(root)
        return root

    def test_it_says_so(self, failing: Path) -> None:
        with pytest.raises(LinkFailed, match=r"KeyError: 'at::native::strange' at test_index.py:\d+") as caught:
            update(failing)
        assert "--no-refresh" in str(caught.value)
        assert isinstance(caught.value.__cause__, KeyError)

    def test_the_previous_index_still_answers(self, failing: Path) -> None:
        with pytest.raises(LinkFailed):
            update(failing)
        assert refresh(failing, quiet=True, no_refresh=True)
        assert edges(failing) == ALL
        assert [name for name in os.listdir(os.path.dirname(index_path(str(failing)))) if ".new-" in name] == []

    def test_a_failing_relink_links_everything(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        update(root)
        monkeypatch.setattr(pytrace.link, "relink", lambda *_: 1 // 0)
        make_tree(root, {"c10/f2.cpp": "def f2\ncall f0\n"})
        refresh(root)
        assert "ZeroDivisionError" in capsys.readouterr().err
        assert "f2>f0" in edges(root)


class TestProgramChanges:
    """A new version of pytrace makes the index anew; a new extractor reads anew."""

    def test_stages(self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update(root)
        extracted(tmp_path)
        monkeypatch.setattr(program, "quick_signature", lambda: "new")
        monkeypatch.setattr(program, "full_signature", lambda: "new")
        assert fresh_store(str(root)) is None
        assert update(root) == ALL
        assert extracted(tmp_path) == [], "the extractor is the same"

    def test_another_installation_of_the_same(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update(root)
        monkeypatch.setattr(program, "quick_signature", lambda: "elsewhere")
        store = fresh_store(str(root))
        assert store is not None
        store.close()

    def test_extractor(self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update(root)
        extracted(tmp_path)
        monkeypatch.setattr(reading, "extractor_signature", lambda module: "new")
        edit(root)
        update(root)
        assert len(extracted(tmp_path)) == 7


class TestBadFiles:
    """One bad file costs itself, and is said."""

    @pytest.mark.parametrize(
        ("content", "kind", "message"),
        [
            ("def x\nEXPLODE", "extractor-failed", "RuntimeError: exploded at fake_stage.py:"),
            ("def x\nRECURSE", "extractor-failed", "RecursionError: maximum recursion depth exceeded"),
            ("def x\nDIE", "lost", "no facts: the process that read it died (SIGKILL)"),
            ("def x\nHANG", "lost", "no facts: reading it took longer than 1 s"),
            (b"def x\n\xff", "encoding", "not UTF-8"),
            (b"x" * (reading.SIZE_LIMIT + 1), "too-large", "6,000,001 bytes; files above 6,000,000 are not read"),
        ],
    )
    def test_one_bad_file(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, content: str | bytes, kind: str, message: str
    ) -> None:
        monkeypatch.setenv("PYTRACE_FILE_TIMEOUT", "1")
        make_tree(root, {"c10/bad.cpp": content})
        age(root)
        assert update(root) == ALL
        store = Store(index_path(str(root)))
        (found,) = store.diagnostics()
        store.close()
        assert (found[0], found[2]) == ("c10/bad.cpp", kind)
        assert found[3].startswith(message)

    def test_a_file_that_vanishes_between_listing_and_reading(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = list_files

        def list_then_delete(folder: str) -> object:
            listing = real(folder)
            (root / "c10/f2.cpp").unlink(missing_ok=True)
            return listing

        monkeypatch.setattr("pytrace.index.list_files", list_then_delete)
        refresh(root, quiet=True)
        assert edges(root) == ["a>f0", "f0>f1", "f3>f4"]
        store = Store(index_path(str(root)))
        assert list(store.diagnostics()) == [("c10/f2.cpp", 0, "unreadable", "not read: No such file or directory")]
        store.close()
        monkeypatch.undo()

    def test_a_vanished_file_is_looked_for_again(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.test_a_file_that_vanishes_between_listing_and_reading(root, monkeypatch)
        assert fresh_store(str(root)) is None


class TestBadIndex:
    """A damaged index, or one of another version, is made anew; with --no-refresh it is a sentence."""

    def damage(self, root: Path, how: str) -> None:
        path = Path(index_path(str(root)))
        if how == "cut":
            path.write_bytes(path.read_bytes()[:5000])
        elif how == "garbage":
            path.write_bytes(b"\x00" * 50_000)
        elif how == "empty":
            path.write_bytes(b"")
        else:
            db = sqlite3.connect(path)
            db.execute({"other version": "UPDATE meta SET value = '0' WHERE key = 'schema'"}.get(how, how))
            db.commit()
            db.close()

    DAMAGES = (
        ("cut", IndexDamaged),
        ("garbage", IndexDamaged),
        ("empty", IndexDamaged),
        ("DROP TABLE meta", IndexDamaged),
        ("other version", IndexOutdated),
    )

    @pytest.mark.parametrize(
        "how", [*(how for how, _ in DAMAGES), "DROP TABLE manifest", "DELETE FROM manifest",
                "UPDATE manifest SET stamps = x'00'", "UPDATE manifest SET stamps = x''"]
    )  # fmt: skip
    def test_it_is_made_anew(self, root: Path, tmp_path: Path, how: str) -> None:
        update(root)
        extracted(tmp_path)
        self.damage(root, how)
        assert update(root) == ALL
        assert extracted(tmp_path) == [], "the fact cache stands"

    @pytest.mark.parametrize(("how", "error"), DAMAGES)
    def test_no_refresh(self, root: Path, how: str, error: type[Exception]) -> None:
        update(root)
        self.damage(root, how)
        with pytest.raises(error, match="pytrace index"):
            refresh(root, quiet=True, no_refresh=True)

    def test_no_index(self, root: Path) -> None:
        with pytest.raises(NoIndex, match=f"pytrace index {root}"):
            refresh(root, no_refresh=True)

    def test_a_damaged_fact_cache(self, root: Path, tmp_path: Path) -> None:
        update(root)
        extracted(tmp_path)
        db = sqlite3.connect(facts_path())
        db.execute("UPDATE fact SET value = substr(value, 1, 10)")
        db.commit()
        db.close()
        edit(root)
        assert "f2>f0" in update(root)
        assert len(extracted(tmp_path)) == 7
