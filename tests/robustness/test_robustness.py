"""Bad input and bad machines, through the real pipeline, as a user meets them.

Each test looks at what is said, at the exit code, and that the previous index still answers.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytrace.checkout import MARK
from tests.trees import MINIMAL, bound_by_permissions, command, environment, make_tree, run

OPERATORS = "SELECT name FROM node WHERE kind = 'op' AND name LIKE 'aten::twice%' ORDER BY name"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The minimal tree, around the working folder."""
    root = make_tree(tmp_path / "tree")
    monkeypatch.chdir(root)
    time.sleep(0.03)
    return root


def ask(statement: str, *options: str, cache: str = "") -> list[str]:
    """First column of the answer of ``pytrace sql``."""
    done = run("sql", "--format", "csv", "-q", *options, statement, cache=cache)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:]


def diagnostics() -> list[dict[str, str]]:
    done = run("stats", "-q", "--diagnostics", "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def functions() -> list[str]:
    return ask("SELECT DISTINCT bare FROM node WHERE kind = 'function' AND file IS NOT NULL ORDER BY bare")


def files_of(cache: Path) -> list[str]:
    """Files of the cache, without those that SQLite keeps beside the fact cache while it is open."""
    return sorted(p.name for p in cache.rglob("*") if p.is_file() and not p.name.endswith(("-wal", "-shm")))


# -- bad input ----------------------------------------------------------------------------------------------------


def test_the_minimal_tree_has_nothing_odd(root: Path) -> None:
    done = run("index")
    assert (done.returncode, diagnostics()) == (0, [])
    assert ask(OPERATORS) == ["aten::twice"]
    assert functions() == ["twice_cpu"]


YAML = str(MINIMAL[MARK])


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (MARK, YAML + "- func: broken(Tensor self -> Tensor\n"),
        (MARK, YAML + "- func: [unclosed\n"),
        (MARK, YAML + "- func: t(Tensor self) -> Tensor\n\ttabs: {]\n"),
        (MARK, YAML + "- no_func: here\n"),
        (MARK, YAML.encode() + b"- func: bad(Tensor \xff\xfe) -> Tensor\n"),
        ("tools/autograd/derivatives.yaml", str(MINIMAL["tools/autograd/derivatives.yaml"]) + "- name: [\n"),
        ("tools/autograd/derivatives.yaml", "just a string"),
        ("tools/autograd/derivatives.yaml", "- name: nobody(Tensor self) -> Tensor\n  self: grad\n"),
        ("tools/autograd/deprecated.yaml", "- name: {}\n"),
        ("aten/src/ATen/native/tags.yaml", "&anchor *alias"),
    ],
)
def test_broken_yaml(root: Path, path: str, content: str | bytes) -> None:
    """What can be read is kept; the rest is a diagnostic of that file."""
    make_tree(root, {path: content})
    done = run("index")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert ask(OPERATORS) == ["aten::twice"]
    found = diagnostics()
    assert found, "nothing was said about it"
    assert {d["file"] for d in found} == {path}
    assert all(d["kind"] != "extractor-failed" for d in found), found


GOOD = "namespace at::native {\nvoid good_one() {}\n"


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (GOOD + "void half(int x) {\n  if (x) { call(", ["good_one", "twice_cpu"]),
        (GOOD + "}\n\x00\x00\x00\x01", ["good_one", "twice_cpu"]),
        (GOOD.encode() + b"// caf\xe9 \xff\xfe\nvoid after() {}\n}\n", ["after", "good_one", "twice_cpu"]),
        (b"\xff\xfe" + "void utf16() {}".encode("utf-16-le"), ["twice_cpu"]),
        (GOOD + "(" * 20_000, ["twice_cpu"]),
        (GOOD + "#define A A A A\n#define B A A A\nB B\n}\n", ["good_one", "twice_cpu"]),
        ("", ["twice_cpu"]),
        ("}" * 100, ["twice_cpu"]),
    ],
)
def test_odd_cpp(root: Path, content: str | bytes, kept: list[str]) -> None:
    make_tree(root, {"aten/src/ATen/native/Odd.cpp": content})
    done = run("index")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert set(kept) <= set(functions())
    assert {d["kind"] for d in diagnostics()}.isdisjoint({"extractor-failed", "lost"})


@pytest.mark.parametrize(
    "content",
    [
        "def f(:\n",
        "def f():\n  x = '''never closed",
        b"# -*- coding: latin-1 -*-\nname = '\xe9'\n",
        b"\x00\x01\x02",
        "(" * 20_000,
        "def f():\n" + "".join(" " * n + "if x:\n" for n in range(1, 300)),
    ],
)
def test_odd_python(root: Path, content: str | bytes) -> None:
    make_tree(root, {"torch/odd.py": content})
    done = run("index")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert ask(OPERATORS) == ["aten::twice"]
    assert {d["kind"] for d in diagnostics()}.isdisjoint({"extractor-failed", "lost"})


def test_a_file_of_ten_megabytes(root: Path) -> None:
    make_tree(root, {"aten/src/ATen/native/Huge.cpp": "void f() {}\n" * 900_000})
    done = run("index")
    assert done.returncode == 0
    assert done.stderr.endswith("1 diagnostic (`pytrace stats --diagnostics` lists them)\n")
    assert [(d["file"], d["kind"]) for d in diagnostics()] == [("aten/src/ATen/native/Huge.cpp", "too-large")]
    assert functions() == ["twice_cpu"]


def test_a_loop_of_links(root: Path) -> None:
    (root / "torch/loop").symlink_to(".")
    (root / "torch/out").symlink_to("/")
    (root / "torch/self.py").symlink_to("self.py")
    assert run("index").returncode == 0
    assert [(d["file"], d["kind"]) for d in diagnostics()] == [("torch/self.py", "skipped")]


def test_a_file_that_nobody_may_read(root: Path) -> None:
    (root / "torch/closed.py").write_text("x = 1\n")
    (root / "torch/closed.py").chmod(0)
    done = run("index", before=bound_by_permissions)
    assert done.returncode == 0
    listed = run("stats", "-q", "--diagnostics", "--no-refresh")
    assert listed.stdout == "torch/closed.py: unreadable: not read: Permission denied\n"


# -- bad machines ---------------------------------------------------------------------------------------------------


@pytest.fixture
def indexed(root: Path) -> Path:
    """The tree, indexed, and then changed."""
    assert run("index").returncode == 0
    make_tree(root, {MARK: YAML + "- func: twice_.new(Tensor self) -> Tensor\n"})
    return root


def still_answers() -> None:
    assert ask(OPERATORS, "--no-refresh") == ["aten::twice"]


def test_a_read_only_cache(indexed: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for folder in (cache / "index", cache):
        folder.chmod(0o555)
    lock = next((cache / "index").glob("*.lock"))
    lock.chmod(0o444)
    try:
        for arguments in (("index",), ("sql", OPERATORS)):
            done = run(*arguments, before=bound_by_permissions)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr == (
                f"pytrace: The index cannot be written in {cache}/index (Permission denied). Make the folder writable, "
                "or name another with PYTRACE_CACHE. The previous index is untouched; --no-refresh asks it.\n"
            )
        done = run("sql", "--format", "csv", "--no-refresh", OPERATORS, before=bound_by_permissions)
        assert done.stdout.splitlines()[1:] == ["aten::twice"]
    finally:
        for folder in (cache, cache / "index"):
            folder.chmod(0o755)


def test_a_fresh_index_in_a_read_only_cache(root: Path, tmp_path: Path) -> None:
    run("index")
    (tmp_path / "cache/index").chmod(0o555)
    try:
        done = run("sql", "--format", "csv", OPERATORS, before=bound_by_permissions)
        assert (done.returncode, done.stdout.splitlines()[1:], done.stderr) == (0, ["aten::twice"], "")
    finally:
        (tmp_path / "cache/index").chmod(0o755)


def test_a_cache_that_is_a_file(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("index", cache=str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"pytrace: The index cannot be written in {tmp_path}/file/index (")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(indexed: Path, closed: str) -> None:
    """Nothing is printed, nothing goes wrong; above all no file of ours takes the number of a stream."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m pytrace stats -q --root {indexed} {closed}"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def limit_files_to(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_no_room(indexed: Path, tmp_path: Path) -> None:
    """A limit on the size of files is the full disk that every user has."""
    before = files_of(tmp_path / "cache")
    done = run("index", before=lambda: limit_files_to(20_000))
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"pytrace: There is no room for the index in {tmp_path}/cache/index (")
    assert "The previous index is untouched; --no-refresh asks it." in last
    assert "Traceback" not in done.stderr
    assert files_of(tmp_path / "cache") == before
    still_answers()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own with little room (root only)."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(folder)]
    if os.getuid() != 0 or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small disk (the limit on file sizes is tested for everybody)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(root: Path, small_disk: Path) -> None:
    assert run("index", cache=str(small_disk)).returncode == 0
    make_tree(root, {MARK: YAML + "- func: twice_.new(Tensor self) -> Tensor\n"})
    with open(small_disk / "other", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(b"x" * 4096)
    done = run("index", cache=str(small_disk))
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no room for the index in" in done.stderr
    assert "Traceback" not in done.stderr
    assert [name for name in files_of(small_disk) if ".new-" in name] == []
    assert ask(OPERATORS, "--no-refresh", cache=str(small_disk)) == ["aten::twice"]
    (small_disk / "other").unlink()
    assert len(ask(OPERATORS, cache=str(small_disk))) == 2


def big_tree(root: Path) -> Path:
    """Enough to do for a second or two."""
    body = "".join(f"void f{n}(int x) {{ if (x) {{ g{n}(x, h(x)); }} }}\n" for n in range(600))
    make_tree(root, {f"c10/big{n}.cpp": f"// {n}\n{body}" for n in range(120)})
    time.sleep(0.03)  # so that no file counts as changed just now
    return root


def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start pytrace in a process group of its own, as a shell does."""
    return subprocess.Popen(
        command(*arguments),
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_lock(cache: Path, process: subprocess.Popen[str]) -> None:
    """Wait until ``process`` indexes."""
    for _ in range(500):
        if any(lock.read_text() == str(process.pid) for lock in cache.glob("index/*.lock")):
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("it never took the lock")


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "pytrace: Interrupted. The index is as it was before.\n"),
        (signal.SIGTERM, 143, ""),
    ],
)
@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_interrupted(indexed: Path, tmp_path: Path, number: signal.Signals, code: int, said: str, delay: float) -> None:
    big_tree(indexed)
    before = files_of(tmp_path / "cache")
    process = start("index")
    wait_for_lock(tmp_path / "cache", process)
    time.sleep(delay)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (code, "", said)
    assert files_of(tmp_path / "cache") == before
    with pytest.raises(ProcessLookupError):  # no worker is left
        os.killpg(process.pid, 0)
    still_answers()


def test_killed(indexed: Path, tmp_path: Path) -> None:
    """SIGKILL leaves no chance to tidy up: the next run does."""
    big_tree(indexed)
    process = start("index")
    wait_for_lock(tmp_path / "cache", process)
    time.sleep(0.3)
    process.kill()
    process.communicate()
    for _ in range(100):  # the workers notice that their parent is gone
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("workers outlive their parent")
    still_answers()
    leftover = next((tmp_path / "cache/index").glob("*.db")).with_suffix(".db.new-1")
    leftover.write_text("half")
    assert len(ask(OPERATORS)) == 2
    assert not leftover.exists()


def test_two_at_once(root: Path, tmp_path: Path) -> None:
    """The second waits, says so, and finds the index made."""
    big_tree(root)
    first = start("index")
    wait_for_lock(tmp_path / "cache", first)
    second = start("sql", "--format", "csv", OPERATORS)
    out, err = second.communicate(timeout=60)
    assert (second.returncode, out.splitlines()[1:]) == (0, ["aten::twice"])
    assert err == f"pytrace: waiting for another pytrace (process {first.pid}) that is indexing this tree\n"
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0
    assert "indexed" in err


def test_readers_while_it_is_written(indexed: Path, tmp_path: Path) -> None:
    """Every answer is of the old index or of the new one."""
    writer = start("index")
    counts = set()
    while writer.poll() is None:
        counts.add(len(ask(OPERATORS, "--no-refresh")))
    writer.communicate()
    counts.add(len(ask(OPERATORS)))
    assert counts <= {1, 2}
    assert len(ask(OPERATORS)) == 2


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("version", "was written by another version of pytrace (schema 0; this one reads "),
        ("cut", "is damaged (the file was cut, or is no database). `pytrace index` writes it anew."),
        ("garbage", "is damaged (the file was cut, or is no database). `pytrace index` writes it anew."),
        ("tables", "is damaged (no such table: meta). `pytrace index` writes it anew."),
    ],
)
def test_an_index_that_cannot_be_read(root: Path, tmp_path: Path, damage: str, said: str) -> None:
    run("index")
    index = next((tmp_path / "cache/index").glob("*.db"))
    if damage in ("version", "tables"):
        db = sqlite3.connect(index)
        db.execute("UPDATE meta SET value = '0' WHERE key = 'schema'" if damage == "version" else "DROP TABLE meta")
        db.commit()
        db.close()
    else:
        index.write_bytes(index.read_bytes()[:9000] if damage == "cut" else b"garbage" * 3000)
    done = run("stats", "--no-refresh")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"pytrace: The index {index} {said}")
    assert ask(OPERATORS) == ["aten::twice"], "a question without --no-refresh makes it anew"


def test_pages_damaged_in_the_middle(root: Path, tmp_path: Path) -> None:
    """What the freshness check cannot see is still a sentence."""
    run("index")
    index = next((tmp_path / "cache/index").glob("*.db"))
    db = sqlite3.connect(index)
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'node'").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    with open(index, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    done = run("stats")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "pytrace: The index could not be read (database disk image is malformed). "
        "`pytrace index --force` writes it anew.\n"
    )
    assert run("index", "--force").returncode == 0
    assert ask(OPERATORS) == ["aten::twice"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE node SET attrs = '{\"a' || char(1) WHERE kind = 'op'", "Invalid control character"),
        ("UPDATE meta SET value = CAST(x'c5c5' AS TEXT) WHERE key = 'root'", "decode"),
        ("DELETE FROM node WHERE kind = 'function'", "there is no node "),
    ],
)
def test_contents_that_were_damaged(root: Path, tmp_path: Path, statement: str, said: str) -> None:
    """Pages that SQLite can read and that hold something else than was written: a sentence, and no traceback."""
    run("index")
    index = next((tmp_path / "cache/index").glob("*.db"))
    db = sqlite3.connect(index)
    db.execute(statement)
    db.commit()
    db.close()
    done = run("impact", "--files", "aten/src/ATen/native/Twice.cpp", "--no-refresh")
    for arguments in (("op", "twice"), ("export", "--format", "jsonl")):
        done = run(*arguments, "--no-refresh") if done.returncode == 0 else done
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    assert not done.returncode or said in done.stderr
