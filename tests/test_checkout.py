"""Finding a tree, and the files of a tree by kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytrace.checkout import MARK, fetched_trees, find_root
from pytrace.errors import NoTree
from pytrace.files import kind_of, list_files
from tests.trees import make_tree


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (MARK, "native_functions"),
        ("aten/src/ATen/native/tags.yaml", "tags"),
        ("tools/autograd/derivatives.yaml", "derivatives"),
        ("tools/autograd/deprecated.yaml", "deprecated"),
        ("aten/src/ATen/native/other.yaml", None),
        ("aten/src/ATen/native/cuda/A.cu", "cpp"),
        ("aten/src/ATen/native/mps/A.mm", "cpp"),
        ("aten/src/ATen/native/mps/kernels/A.metal", "cpp"),
        ("c10/util/A.h", "cpp"),
        ("aten/src/ATen/native/ufunc/add.h", "cpp"),
        ("aten/src/ATen/templates/Functions.cpp", "template"),
        ("tools/autograd/templates/VariableType.cpp", "template"),
        ("torch/nn/modules/rnn.py", "python"),
        ("torchgen/model.py", "python_outline"),
        ("tools/autograd/gen_autograd.py", "python_outline"),
        ("torch/testing/_comparison.py", "python_outline"),
        ("aten/src/ATen/test/basic.cpp", None),
        ("aten/src/ATen/native/quantized/cpu/qnnpack/bench/q8gemm.cc", None),
        ("c10/benchmark/intrusive_ptr_benchmark.cpp", None),
        ("aten/src/ATen/core/List_test.cpp", None),
        ("aten/src/ATen/native/TestOps.cpp", "cpp"),
        ("torch/csrc/utils/test_tensors.cpp", "cpp"),
        ("tools/linter/adapters/ruff.py", None),
        ("aten/src/ATen/gen.py", None),
        ("torch/_C/__init__.pyi", None),
        ("torch/README.md", None),
    ],
)
def test_kind_of_a_file(path: str, kind: str | None) -> None:
    assert kind_of(path) == kind


def test_listing_is_sorted_and_leaves_out_what_does_not_bear_on_the_graph(tmp_path: Path) -> None:
    root = make_tree(
        tmp_path / "t",
        {
            "c10/b.cpp": "",
            "c10/a.cpp": "",
            "docs/x.cpp": "",
            "test/x.py": "",
            "torch/include/ATen/copy.h": "",
            "torch/csrc/autograd/generated/Functions.cpp": "",
            "aten/src/ATen/native/third_party/x.cpp": "",
            "tools/build/x.cpp": "",
            "torch/.hidden/x.py": "",
            "torch/__pycache__/x.py": "",
        },
    )
    listing = list_files(str(root))
    assert [f.path for f in listing.files] == [
        "aten/src/ATen/native/Twice.cpp",
        MARK,
        "aten/src/ATen/native/tags.yaml",
        "c10/a.cpp",
        "c10/b.cpp",
        "tools/autograd/deprecated.yaml",
        "tools/autograd/derivatives.yaml",
        "torch/functional.py",
    ]
    assert listing.diagnostics == []
    assert dict(listing.directories)["torchgen"] == 0, "a folder that is missing is noted: it may come"


def test_links_are_not_followed(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("")
    (root / "torch" / "loop").symlink_to(root / "torch")
    (root / "torch" / "out").symlink_to(tmp_path / "outside")
    (root / "torch" / "linked.py").symlink_to(tmp_path / "outside" / "x.py")
    (root / "torch" / "broken.py").symlink_to("nowhere")
    listing = list_files(str(root))
    assert [f.path for f in listing.files if f.kind == "python"] == ["torch/functional.py"]
    assert sorted(d[0] for d in listing.diagnostics) == ["torch/broken.py", "torch/linked.py"]


def test_a_name_that_is_not_utf8_is_a_diagnostic(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t")
    try:
        Path(os.fsdecode(os.fsencode(str(root / "torch")) + b"/\xff.py")).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes no such name")
    (root / "torch" / "new\nline.py").write_text("")
    listing = list_files(str(root))
    assert [f.path for f in listing.files if f.kind == "python"] == ["torch/functional.py"]
    assert [(d[0], d[2]) for d in sorted(listing.diagnostics)] == [
        ("'torch/\\udcff.py'", "skipped"),
        ("'torch/new\\nline.py'", "skipped"),
    ]


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_a_diagnostic(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t")
    (root / "torch" / "closed").mkdir(mode=0)
    try:
        listing = list_files(str(root))
    finally:
        (root / "torch" / "closed").chmod(0o755)
    assert [(d[0], d[2]) for d in listing.diagnostics] == [("torch/closed", "unreadable")]


class TestFindRoot:
    def test_named(self, tmp_path: Path) -> None:
        root = make_tree(tmp_path / "t")
        (tmp_path / "link").symlink_to(root)
        assert find_root(str(root)) == find_root(str(tmp_path / "link")) == str(root)

    def test_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = make_tree(tmp_path / "t")
        monkeypatch.setenv("PYTRACE_ROOT", str(root))
        assert find_root() == str(root)

    def test_named_goes_before_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTRACE_ROOT", str(make_tree(tmp_path / "other")))
        assert find_root(str(make_tree(tmp_path / "t"))) == str(tmp_path / "t")

    def test_around_the_working_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = make_tree(tmp_path / "t")
        monkeypatch.chdir(root / "aten" / "src")
        assert find_root() == str(root)

    def test_fetched(self, tmp_path: Path) -> None:
        old = make_tree(tmp_path / "cache" / "trees" / "v1.0.0")
        new = make_tree(tmp_path / "cache" / "trees" / "v2.0.0")
        (tmp_path / "cache" / "trees" / "half").mkdir()
        os.utime(old, (1, 1))
        assert fetched_trees() == [str(new), str(old)]
        assert find_root() == str(new)
        assert find_root("v1.0.0") == str(old)

    @pytest.mark.parametrize(
        ("argument", "said"),
        [
            ("nowhere", "nowhere, which is not a folder"),
            ("empty", f"empty, which is not the root of a PyTorch checkout: it has no {MARK}"),
            ("t/aten/src", "lies inside a PyTorch tree. Its root is {0}/t."),
        ],
    )
    def test_named_wrongly(self, tmp_path: Path, argument: str, said: str) -> None:
        make_tree(tmp_path / "t")
        (tmp_path / "empty").mkdir()
        with pytest.raises(NoTree) as caught:
            find_root(argument)
        assert said.format(tmp_path) in str(caught.value)

    def test_none_says_the_three_ways(self) -> None:
        with pytest.raises(NoTree) as caught:
            find_root()
        for way in ("--root DIR", "PYTRACE_ROOT", "inside a checkout", "pytrace fetch v2.6.0"):
            assert way in str(caught.value)
