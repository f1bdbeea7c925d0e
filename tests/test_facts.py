"""The fact cache: by content and recipe, useful when it can be, silent when it cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytrace import facts
from pytrace.facts import FactCache

A, B = b"a" * 20, b"b" * 20


def fill(path: Path, *rows: tuple[str, str, bytes, bytes]) -> None:
    cache = FactCache(str(path))
    cache.put(rows)
    cache.close()


def test_facts_survive_packing() -> None:
    value = {"calls": [("at::add", 3, None, 1.5, b"\xff")], "names": {"x": ("y", True)}, "diagnostics": []}
    assert facts.unpack(facts.pack(value)) == value


def test_a_fact_is_found_by_content_and_recipe(tmp_path: Path) -> None:
    fill(tmp_path / "f.db", ("cpp", "r1", A, b"1"), ("cpp", "r1", B, b"2"), ("python", "p1", A, b"3"))
    cache = FactCache(str(tmp_path / "f.db"), readonly=True)
    assert cache.get("r1", A) == b"1"
    assert cache.get("p1", A) == b"3"
    assert cache.get("p1", B) is None
    assert cache.get("unknown", A) is None
    assert dict(cache.get_many("r1", [B, b"c" * 20, A])) == {A: b"1", B: b"2"}
    cache.close()


def test_many_contents(tmp_path: Path) -> None:
    blobs = [n.to_bytes(20, "big") for n in range(1234)]
    fill(tmp_path / "f.db", *(("cpp", "r", blob, blob) for blob in blobs))
    cache = FactCache(str(tmp_path / "f.db"))
    assert dict(cache.get_many("r", blobs)) == {blob: blob for blob in blobs}
    cache.close()


def test_old_recipes_go(tmp_path: Path) -> None:
    for n in range(4):
        fill(tmp_path / "f.db", ("cpp", f"r{n}", A, b"x"), ("python", "p", A, b"y"))
    cache = FactCache(str(tmp_path / "f.db"))
    assert [bool(cache.get(f"r{n}", A)) for n in range(4)] == [False, False, True, True]
    assert cache.get("p", A) == b"y"
    cache.close()


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 10, b"SQLite format 3\0"])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.db").write_bytes(content)
    fill(tmp_path / "f.db", ("cpp", "r", A, b"1"))
    cache = FactCache(str(tmp_path / "f.db"))
    assert (cache.get("r", A), cache.problem) == (b"1", "")
    cache.close()


def test_a_cut_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "f.db"
    fill(path, *(("cpp", "r", n.to_bytes(20, "big"), bytes(3000)) for n in range(50)))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    fill(path, ("cpp", "r", A, b"1"))
    cache = FactCache(str(path))
    assert (cache.get("r", A), cache.problem) == (b"1", "")
    cache.close()


WRITER = """
import sys
from pytrace.facts import FactCache
path, number = sys.argv[1], int(sys.argv[2])
for n in range(15):
    with FactCache(path) as cache:
        cache.put([("cpp", "r", bytes([number, n, k]), bytes(100_000)) for k in range(40)])
        assert cache.problem == "", cache.problem
"""


def test_several_programs_write_at_once(tmp_path: Path) -> None:
    """While one writes its log back, the file is shorter than its header says; it is not thrown away for that."""
    path = str(tmp_path / "f.db")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = FactCache(path)
    blobs = [bytes([i, n, k]) for i in range(3) for n in range(15) for k in range(40)]
    assert len(dict(cache.get_many("r", blobs))) == len(blobs)
    cache.close()


def test_a_file_that_cannot_be_made_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = FactCache(str(tmp_path / "file" / "f.db"))
    cache.put([("cpp", "r", A, b"1")])
    assert cache.get("r", A) is None
    assert list(cache.get_many("r", [A])) == []
    assert cache.problem
    cache.close()
