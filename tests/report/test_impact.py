"""``pytrace impact`` on a repository that holds the miniature tree: real diffs, real indexes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main
from tests.trees import commit_all, git

N = "aten/src/ATen/native"


def impact(repository: Path, *arguments: str, stdin: str | None = None) -> dict[str, Any]:
    command = ["impact", "--root", str(repository), "-q", "--jobs", "1", "--format", "json", *arguments]
    result = CliRunner().invoke(main, command, input=stdin)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def edit(repository: Path, path: str, old: str, new: str) -> None:
    text = (repository / path).read_text()
    assert old in text, old
    (repository / path).write_text(text.replace(old, new, 1))


def ops(found: dict[str, Any]) -> set[str]:
    return {name for one in found.get("operators", ()) for name in (one["op"]["name"], *one.get("overloads", ()))}


def touched(found: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["how"] for one in found.get("touched", ())}


def test_a_change_in_a_cuda_function(repository: Path) -> None:
    edit(repository, f"{N}/cuda/ActivationGeluKernel.cu", "gelu_step(it, 1); //?", "gelu_step(it, 2); //?")
    found = impact(repository, "--base", "HEAD")
    assert touched(found) == {"at::native::launch_gelu_kernel": "changed"}
    assert {"aten::gelu", "aten::gelu.out"} <= ops(found)
    gelu = found["operators"][0]
    assert gelu["keys"] == ["CUDA"]  # the CPU goes through the stub
    assert [step["name"] for step in gelu["way"]] == [
        "aten::gelu.out",
        "at::native::structured_gelu_out_cuda::impl",
        "at::native::launch_gelu_kernel",
    ]
    assert "torch.nn.functional.gelu" in [name["name"] for name in found["python"]]
    assert "unbounded" not in found


def test_nothing_changed(repository: Path) -> None:
    found = impact(repository, "--base", "HEAD")
    assert "touched" not in found and "operators" not in found


def test_a_comment_is_no_change(repository: Path) -> None:
    edit(repository, f"{N}/cuda/ActivationGeluKernel.cu", "namespace at", "// a remark\nnamespace at")
    assert "operators" not in impact(repository, "--base", "HEAD")


def test_a_renamed_function_is_found_in_the_old_revision(repository: Path) -> None:
    edit(repository, f"{N}/cuda/ActivationGeluKernel.cu", "void gelu_step(", "void gelu_stride(")
    found = impact(repository, "--base", "HEAD")
    # What nothing calls any more is told by who called it before.
    assert touched(found)["at::native::gelu_step"] == "gone"
    assert "aten::gelu.out" in ops(found)
    assert "torch.nn.functional.gelu" in [name["name"] for name in found["python"]]
    assert not list(Path(os.environ["PYTRACE_CACHE"], "index").glob("commit-*"))  # no index of HEAD


def test_a_registration_that_is_gone_concerns_its_device(repository: Path) -> None:
    edit(repository, f"{N}/cuda/BinaryMulKernel.cu", "REGISTER_DISPATCH(mul_stub, &mul_kernel)", "")
    found = impact(repository, "--base", "HEAD")
    assert touched(found) == {"mul_stub": "lost a registration"}
    mul = next(one for one in found["operators"] if one["op"]["name"] == "aten::mul.out")
    assert mul["keys"] == ["CUDA"]


@pytest.mark.parametrize("by_patch", [False, True])
def test_a_deleted_file(repository: Path, by_patch: bool) -> None:
    """Told by the old text alone: what its kernel was registered for, and who was forgotten and still calls it."""
    git(repository, "rm", "-q", f"{N}/cuda/BinaryMulKernel.cu")
    if by_patch:
        found = impact(repository, stdin=git(repository, "diff", "--cached") + "\n")
    else:
        found = impact(repository, "--base", "HEAD")
    assert touched(found)["at::native::mul_kernel"] == "gone"
    assert touched(found)["mul_stub"] == "lost at::native::mul_kernel"
    assert found["operators"][0]["keys"] == ["CUDA"]
    assert "aten::mul.out" in ops(found)


def test_a_function_that_goes_and_is_still_named(repository: Path) -> None:
    edit(repository, f"{N}/Dropout.cpp", "namespace at::native {", "namespace at::native {\nvoid spare() {}")
    edit(repository, f"{N}/Copy.cpp", "namespace at::native {", "namespace at::native {\nvoid idle() { spare(); }")
    commit_all(repository, "a function, and a call of it")
    edit(repository, f"{N}/Dropout.cpp", "void spare() {}", "")
    found = impact(repository, "--base", "HEAD")
    assert touched(found) == {"at::native::spare": "gone", "at::native::idle": "lost at::native::spare"}
    edit(repository, f"{N}/Copy.cpp", "void idle() { spare(); }", "")
    assert impact(repository, "--base", "HEAD")["notes"] == [
        "at::native::idle, at::native::spare: gone, and nothing names them."
    ]


def test_kernels_that_go_and_are_still_in_the_yaml(repository: Path) -> None:
    """Nothing but rows of native_functions.yaml names them: the operators have lost their kernels."""
    git(repository, "rm", "-q", f"{N}/cuda/RNN.cu")
    found = impact(repository, "--base", "HEAD")
    assert touched(found)["at::native::_thnn_fused_lstm_cell_cuda"] == "gone"
    assert touched(found)["aten::_thnn_fused_lstm_cell"] == "lost at::native::_thnn_fused_lstm_cell_cuda"
    lost = next(one for one in found["operators"] if one["op"]["name"] == "aten::_thnn_fused_lstm_cell")
    assert lost["keys"] == ["CUDA"]
    assert {"aten::_thnn_fused_lstm_cell", "aten::lstm.input"} <= ops(found)
    kernel = next(one for one in found["touched"] if one["name"].endswith("lstm_cell_forward"))
    assert len(kernel["lines"]) == 1  # its own, not those of the namespace around it
    assert not any("nothing names" in note and "_cuda" in note for note in found.get("notes", ()))


HEADER = f"{N}/cuda/Sizes.cuh"
SIZES = """#pragma once
#define BLOCK 256
#define TILE(x) \\
  do_it(x); \\
  BLOCK * (x)
constexpr int kWarps = 4;
namespace at::native {
int round_up(int size,
  int to);
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BLOCK 256", "BLOCK 512"),  # by way of the macro that is made of it
        ("do_it(x);", "do_it(2 * x);"),  # a line in the middle of a macro
        ("kWarps = 4", "kWarps = 8"),
        ("int round_up(int", "long round_up(int"),  # a declaration: who calls it, and what defines it
    ],
)
def test_what_a_header_declares_is_followed_into_what_includes_it(repository: Path, old: str, new: str) -> None:
    (repository / HEADER).write_text(SIZES)
    edit(repository, f"{N}/cuda/ActivationGeluKernel.cu", "namespace at", f"#include <{HEADER[9:]}>\nnamespace at")
    edit(
        repository,
        f"{N}/cuda/ActivationGeluKernel.cu",
        "gelu_step(it, 1); //?",
        "gelu_step(it, TILE(kWarps) + round_up(1, 2)); //?",
    )
    commit_all(repository, "a header")
    edit(repository, HEADER, old, new)
    found = impact(repository, "--base", "HEAD")
    assert touched(found)["at::native::launch_gelu_kernel"].startswith("mentions ")
    assert "aten::gelu.out" in ops(found)
    assert "aten::lstm.input" not in ops(found)


def test_a_deleted_yaml_entry(repository: Path) -> None:
    text = (repository / f"{N}/native_functions.yaml").read_text()
    start = text.index("- func: gelu_backward(")
    (repository / f"{N}/native_functions.yaml").write_text(
        text[:start] + text[text.index("# structured with", start) :]
    )
    found = impact(repository, "--base", "HEAD")
    assert touched(found)["aten::gelu_backward"] == "gone"


def test_a_new_file_that_git_does_not_know(repository: Path) -> None:
    (repository / f"{N}/New.cpp").write_text("namespace at::native {\nint fresh() { return 1; }\n}\n")
    found = impact(repository, "--base", "HEAD")
    assert touched(found) == {"at::native::fresh": "file"}


def test_the_base_is_where_the_branches_parted(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "topic")
    edit(repository, "tools/autograd/derivatives.yaml", "self: tanh_backward(grad, result)", "self: grad")
    commit_all(repository, "topic")
    git(repository, "checkout", "-q", "main")
    edit(repository, f"{N}/cuda/ActivationGeluKernel.cu", "gelu_step(it, 1); //?", "gelu_step(it, 2); //?")
    commit_all(repository, "main goes on")
    git(repository, "checkout", "-q", "topic")
    found = impact(repository, "--base", "main")
    assert list(touched(found)) == ["TanhBackward0"]  # main's own change is not blamed on the topic
    assert found["operators"][0]["keys"] == ["backward"]


@pytest.mark.parametrize("applied", [True, False])
def test_a_patch_tells_its_files_as_it_does(repository: Path, applied: bool) -> None:
    git(repository, "mv", f"{N}/cuda/BinaryMulKernel.cu", f"{N}/cuda/BinaryMul.cu")
    (repository / N / "Fresh.cpp").write_text("int fresh() { return 1; }\n")
    git(repository, "add", "-A")
    patch = git(repository, "diff", "--cached", "--find-renames") + "\n"
    if not applied:
        git(repository, "reset", "-q", "--hard")
    found = impact(repository, stdin=patch)
    files = {row["path"]: (row["status"], row.get("old_path"), row.get("note")) for row in found["files"]}
    assert files == {
        f"{N}/Fresh.cpp": ("added", None, files[f"{N}/Fresh.cpp"][2]),
        f"{N}/cuda/BinaryMul.cu": ("renamed", f"{N}/cuda/BinaryMulKernel.cu", "moved as it is"),
    }


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize(
    ("path", "before", "put", "expected"),
    [
        # A new function concerns nobody: who calls it is changed as well.
        (f"{N}/Dropout.cpp", "namespace at::native {", "void fresh() {\n  int x = 1;\n}", {}),
        # A registration concerns its stub.
        (
            f"{N}/cuda/ActivationGeluKernel.cu",
            "namespace at::native {",
            "REGISTER_DISPATCH(mul_stub, &gelu_backward_kernel)",
            {"mul_stub": "registration"},
        ),
    ],
)
def test_lines_that_a_patch_puts_between_things(
    repository: Path, path: str, before: str, put: str, expected: dict[str, str], applied: bool
) -> None:
    edit(repository, path, before, f"{before}\n{put}\n")
    patch = git(repository, "diff") + "\n"
    if not applied:
        git(repository, "checkout", "-q", "--", ".")
    told = touched(impact(repository, stdin=patch))
    assert {name: how for name, how in told.items() if name != "at::native::fresh"} == expected


@pytest.mark.parametrize("applied", [True, False])
def test_a_macro_put_into_a_header_that_all_include_is_unbounded(repository: Path, applied: bool) -> None:
    header = "aten/src/ATen/core/TensorBase.h"
    (repository / header).parent.mkdir(parents=True, exist_ok=True)
    (repository / header).write_text("#pragma once\nnamespace at {\nstruct TensorBase {\n  int size_;\n};\n}\n")
    for path in (repository / N).rglob("*"):
        if path.suffix in (".cpp", ".cu", ".mm", ".h"):
            path.write_text(f"#include <ATen/core/TensorBase.h>\n{path.read_text()}")
    commit_all(repository, "a core header")
    edit(repository, header, "namespace at {", "#define FRESH 1\nnamespace at {")
    patch = git(repository, "diff") + "\n"
    if not applied:
        git(repository, "checkout", "-q", "--", ".")
    assert impact(repository, stdin=patch)["unbounded"][0].startswith(f"{header} is included by ")


@pytest.mark.parametrize("applied", [True, False])
def test_a_patch_on_stdin(repository: Path, applied: bool) -> None:
    edit(repository, f"{N}/cuda/ActivationGeluKernel.cu", "gelu_step(it, 1); //?", "gelu_step(it, 2); //?")
    patch = git(repository, "diff") + "\n"
    if not applied:
        git(repository, "checkout", "-q", "--", ".")
    found = impact(repository, stdin=patch)
    assert ("not applied" in found["against"]) != applied
    assert list(touched(found)) == ["at::native::launch_gelu_kernel"]


def test_a_file_that_the_tree_does_not_have(repository: Path) -> None:
    """A patch from a folder above, or of another revision: not "nothing has changed"."""
    path = f"{N}/cuda/ActivationGeluKernel.cu"
    edit(repository, path, "gelu_step(it, 1); //?", "gelu_step(it, 2); //?")
    patch = git(repository, "diff") + "\n"
    (reason,) = impact(repository, stdin=patch.replace(path, f"pytorch/{path}"))["unbounded"]
    assert reason.startswith(f"pytorch/{path} is not in this tree")


def test_files_that_no_index_reads(repository: Path) -> None:
    for path in ("third_party/x.cpp", "torch/lib/build/y.cpp", "benchmarks/z.py"):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text("int x;\n")
    commit_all(repository, "more")
    for path in ("third_party/x.cpp", "torch/lib/build/y.cpp", "benchmarks/z.py"):
        (repository / path).write_text("int y;\n")
    (repository / N / "RNN.cpp").chmod(0o755)
    found = impact(repository, "--base", "HEAD")
    notes = {file["path"]: file.get("note", "") for file in found["files"]}
    assert notes.pop(f"{N}/RNN.cpp") == "no line of it changed"
    assert set(notes.values()) == {"bears on no operator (not indexed)"}
    assert "unbounded" not in found and "touched" not in found


def test_files_and_a_core_header(repository: Path) -> None:
    header = "aten/src/ATen/core/TensorBase.h"
    (repository / header).parent.mkdir(parents=True, exist_ok=True)
    (repository / header).write_text("#pragma once\nnamespace at {\nstruct TensorBase {\n  int size_;\n};\n}\n")
    for path in (repository / N).rglob("*"):
        if path.suffix in (".cpp", ".cu", ".mm", ".h"):
            path.write_text(f"#include <ATen/core/TensorBase.h>\n{path.read_text()}")
    found = impact(repository, "--files", header)
    assert any("is included by" in reason for reason in found["unbounded"])


def test_a_generator_is_unbounded(repository: Path) -> None:
    (repository / "torchgen").mkdir()
    (repository / "torchgen/gen.py").write_text("def run():\n    pass\n")
    found = impact(repository, "--files", "torchgen/gen.py")
    assert any("generators" in reason for reason in found["unbounded"])


@pytest.mark.parametrize(
    ("arguments", "stdin", "holds"),
    [
        (["--base", "nowhere"], None, "There is no revision nowhere"),
        (["--base", "--exec=x"], None, "is not a revision"),
        (["--base", "HEAD", "--files", "x"], None, "Take one of"),
        (["--files", "no/such.cpp"], None, "There is no file no/such.cpp"),
        (["--patch", "no.patch"], None, "cannot be read"),
        ([], "hello\n", "no patch"),
    ],
)
def test_mistakes(repository: Path, arguments: list[str], stdin: str | None, holds: str) -> None:
    result = CliRunner().invoke(
        main, ["impact", "--root", str(repository), "-q", "--jobs", "1", *arguments], input=stdin
    )
    assert result.exit_code == 1
    assert holds in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("fmt", ["text", "markdown", "json", "mermaid", "dot", "svg", "html"])
def test_formats_are_the_same_twice(repository: Path, fmt: str) -> None:
    command = ["impact", "--root", str(repository), "-q", "--jobs", "1", "--format", fmt]
    command += ["--files", f"{N}/cuda/ActivationGeluKernel.cu"]

    def run() -> str:
        return CliRunner().invoke(main, command).output

    one = run()
    assert one == run()
    assert "gelu" in one
    if fmt == "markdown":
        assert one.startswith("<!-- pytrace impact -->") and len(one) < 65_000
