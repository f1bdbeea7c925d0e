"""An edited C++ file is linked alone, and the result is what linking everything gives."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pytrace.files import list_files
from pytrace.index import refresh
from pytrace.store import Store

MINITORCH = Path(__file__).parents[2] / "fixtures" / "minitorch"
NATIVE = "aten/src/ATen/native"


def graph(index: str) -> tuple[Counter[object], Counter[object]]:
    """Nodes and edges of an index without ids, in no order."""
    store = Store(index)
    try:
        nodes = {
            n.id: (n.kind, n.name, n.file, n.line, n.end_line, str(sorted(n.attrs.items()))) for n in store.all_nodes()
        }
        edges: Counter[object] = Counter(
            (nodes[e.src], nodes[e.dst], e.kind, e.key, e.rule, e.file, e.line, e.guard, e.candidates, str(e.attrs))
            for e in store.all_edges()
        )
        lost: Counter[object] = Counter(store.unresolved())
        return Counter(nodes.values()), edges + lost
    finally:
        store.close()


def differences(one: str, two: str) -> list[object]:
    """What stands in only one of two indexes."""
    found: list[object] = []
    for a, b in zip(graph(one), graph(two), strict=True):
        found += [("-", row) for row in a - b] + [("+", row) for row in b - a]
    return found


def index(tree: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The index of a tree, brought up to date in this cache folder."""
    monkeypatch.setenv("PYTRACE_CACHE", str(cache))
    return str(refresh(str(tree), jobs=1, quiet=True))


def files() -> list[str]:
    """C++ files of the miniature tree that hold functions."""
    return [f.path for f in list_files(str(MINITORCH)).files if f.kind == "cpp" and f.path.endswith((".cpp", ".cu"))]


def moved(text: str) -> str:
    return "// one line more\n" + text


def with_call(text: str) -> str:
    """The first function body after the includes gets a call."""
    at = text.find(") {")
    return text if at < 0 else f"{text[: at + 3]} at::zeros({{1}}); {text[at + 3 :]}"


def with_function(text: str) -> str:
    """A function that only the file itself can see."""
    return "static int only_here(int x) { return x; }\n" + text


def with_function_behind(text: str) -> str:
    """One that stands behind the first function, so that the order of ids is not that of the file."""
    at = text.find("\n}\n")
    return text if at < 0 else f"{text[: at + 3]}static int only_there(int x) {{ return x; }}\n{text[at + 3 :]}"


@pytest.mark.parametrize("edit", [moved, with_call, with_function])
def test_equals_a_full_link(
    edit: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(MINITORCH, tree)
    index(tree, tmp_path / "one", monkeypatch)
    alone = 0
    for path in files():
        file = tree / path
        text = file.read_text(encoding="utf-8")
        if edit(text) == text:
            continue
        file.write_text(edit(text), encoding="utf-8")
        monkeypatch.setenv("PYTRACE_CACHE", str(tmp_path / "one"))
        changed = str(refresh(str(tree), jobs=1, quiet=False))
        alone += "updated the index for 1 changed" in capsys.readouterr().err
        shutil.rmtree(tmp_path / "two", ignore_errors=True)
        assert differences(changed, index(tree, tmp_path / "two", monkeypatch)) == [], path
    assert alone > len(files()) // 2


def test_one_edit_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that came with an earlier edit has an id behind all others; nothing goes by the order of ids."""
    tree = tmp_path / "tree"
    shutil.copytree(MINITORCH, tree)
    index(tree, tmp_path / "one", monkeypatch)
    alone = 0
    for path in files()[::4]:
        file = tree / path
        for edit in (with_function_behind, with_function, moved, with_call):
            file.write_text(edit(file.read_text(encoding="utf-8")), encoding="utf-8")
            monkeypatch.setenv("PYTRACE_CACHE", str(tmp_path / "one"))
            changed = str(refresh(str(tree), jobs=1, quiet=False))
            alone += "updated the index for 1 changed" in capsys.readouterr().err
        shutil.rmtree(tmp_path / "two", ignore_errors=True)
        assert differences(changed, index(tree, tmp_path / "two", monkeypatch)) == [], path
    assert alone > 2 * len(files()[::4])


@pytest.mark.parametrize(
    "before, after",
    [
        ("namespace at::native {", "namespace at::native {\nvoid one_more() {}\n"),  # a definition
        ("namespace at::native {", "#define ONE_MORE 1\nnamespace at::native {"),  # a macro
    ],
)
def test_what_others_see_is_linked_with_them(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(MINITORCH, tree)
    index(tree, tmp_path / "one", monkeypatch)
    file = tree / NATIVE / "Loss.cpp"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")
    changed = str(refresh(str(tree), jobs=1, quiet=False))
    assert "updated the index" not in capsys.readouterr().err
    assert differences(changed, index(tree, tmp_path / "two", monkeypatch)) == []
