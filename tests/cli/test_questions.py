"""The commands that ask, from the shell's side: options, exit codes, sentences."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from pytrace.cli import common
from pytrace.cli.main import main
from pytrace.store import Store


@pytest.fixture
def run(mini: Store, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(common, "open_store", lambda ctx: mini)
    monkeypatch.setenv("COLUMNS", "100")

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(main, args)

    return invoke


@pytest.mark.parametrize(
    ("args", "holds"),
    [
        (("op", "lstm"), ["aten::lstm", "cudnnRNNForward", "RNN.cpp:100", "_fused_cell"]),
        (("op", "lstm", "--why"), ["why: stub-call"]),
        (("op", "cumsum", "--device", "cuda"), ["scan_kernel"]),
        (("op", "cumsum", "--depth", "0", "--limit", "0"), ["cumsum_stub"]),
        (("op", "torch.storage.cuda"), ["pure Python", "torch/storage.py:8"]),
        (("kernel", "scan_kernel", "--up"), ["aten::cumsum.out", "torch.cumsum"]),
        (("kernel", "scan_kernel"), ["launched by launch_cumsum"]),
        (("stub", "cumsum"), ["cumsum_cuda_kernel"]),
        (("api", "nn.LSTM"), ["torch._VF.lstm"]),
        (("backward", "CumsumBackward0"), ["cumsum_backward(grad, dim)"]),
        (("at", "cuda/ScanKernels.cu:48"), ["launch_cumsum", "aten::cumsum.out"]),
        (("at", '  File "/x/cuda/ScanKernels.cu", line 48, in f'), ["launch_cumsum"]),
        (("search", "cumsum"), ["aten::cumsum.out"]),
        (("search", "cumsum", "--kind", "stub"), ["cumsum_stub"]),
        (("export",), ['"t":"node"', '"t":"edge"']),
    ],
)
def test_answers(run, args: tuple[str, ...], holds: list[str]) -> None:  # type: ignore[no-untyped-def]
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert [text for text in holds if text not in result.output] == []
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("args", "holds"),
    [
        (("op", "cumsom"), ["There is no operator called cumsom", "aten::cumsum", "pytrace search cumsom"]),
        (("op", "scan_kernel"), ["at::native::scan_kernel is a cuda kernel", "pytrace kernel scan_kernel --up"]),
        (("op", "\"cumsum_cuda\" not implemented for 'Half'"), ["an AT_DISPATCH says", "pytrace kernel MESSAGE --up"]),
        (("kernel", "\"cumsum_cudo\" not implemented for 'Half'"), ["cumsum_cuda", "label", "cuda/ScanKernels.cu:42"]),
        (("search", "lstm", "--kind", "kernels"), ["There is no kind kernels. Known ones: op, function, cuda_kernel,"]),
        (("export", "-o", "/nowhere/graph.jsonl"), ["/nowhere/graph.jsonl cannot be written (No such file"]),
        (("op", "lstm.default"), ["aten::lstm has no default overload (one without a name). It has aten::lstm."]),
        (("op", "CUMSUM.outt"), ["aten::cumsum has no overload outt. It has "]),
        (("op", "aten::"), ["It is a namespace", "pytrace report --namespace aten"]),
        (("op", "cum*"), ["It is a pattern", "pytrace report 'cum*'"]),
        (("op", "cuda/ScanKernels.cu:48"), ["It is a place", "pytrace at cuda/ScanKernels.cu:48"]),
        (("kernel", "cuda/ScanKernels.cu"), ["It is a file", "pytrace at cuda/ScanKernels.cu:LINE", "pytrace impact"]),
        (("at", "a\nb\x1b[2J"), ["`a\ufffdb\ufffd[2J` is not FILE:LINE"]),
        (("op", "lstm", "--device", "tpu"), ["There is no device tpu", "cuda"]),
        (("kernel", "scan_kernle"), ["nearest", "at::native::scan_kernel"]),
        (("kernel", "torch.nn.LSTM"), ["pytrace api torch.nn.LSTM"]),
        (("stub", "cumsun_stub"), ["cumsum_stub"]),
        (("api", "torch.nn.LSTN"), ["torch.nn.LSTM"]),
        (("api", "lstm"), ["pytrace"]),
        (("backward", "CumsumBackwad0"), ["CumsumBackward0"]),
        (("at", "RNN.cpp"), ["FILE:LINE"]),
        (("at", "no_such.cpp:3"), ["No indexed file"]),
        (("search", "zzzzzz"), ["Nothing"]),
        (("op", ""), ["The name is empty: say which operator is meant."]),
        (("op", "\x00\x1b[2J"), ["There is no operator"]),
        (("op", "\udcff\udcfe"), ["There is no operator called \ufffd"]),  # bytes that are not UTF-8
        (("kernel", "x" * 30_000), ["30,000 letters is no name"]),
        (("kernel", "a<" * 5_000 + "b"), ["a<a<", "…", "pytrace search"]),
        (("op", "what is this? \n"), ["`pytrace search WORD`"]),
        (("op", "torch.ops.elsewhere.nms"), ["no operator in the namespace elsewhere"]),
        (("op", "Could not run 'elsewhere::nms' with arguments from the 'CUDA' backend"), ["called elsewhere::nms."]),
        (("kernel", "triton_poi_fused_cumsum_0"), ["This is a kernel of Triton", "fused from cumsum"]),
    ],
)
def test_sentences(run, args: tuple[str, ...], holds: list[str]) -> None:  # type: ignore[no-untyped-def]
    result = run(*args)
    assert result.exit_code == 1, result.output
    assert [text for text in holds if text not in result.output] == []
    assert "Traceback" not in result.output and "\x1b" not in result.output


@pytest.mark.parametrize(
    ("args", "schema"),
    [
        (("op", "lstm"), "pytrace/op/1"),
        (("kernel", "scan_kernel", "--up"), "pytrace/kernel/1"),
        (("stub", "cumsum_stub"), "pytrace/kernel/1"),
        (("api", "torch.nn.LSTM"), "pytrace/api/1"),
        (("backward", "cumsum"), "pytrace/backward/1"),
        (("at", "RNN.cpp:103"), "pytrace/at/1"),
        (("search", "cumsum"), "pytrace/search/1"),
    ],
)
def test_json(run, args: tuple[str, ...], schema: str) -> None:  # type: ignore[no-untyped-def]
    result = run(*args, "--format", "json")
    found = json.loads(result.output)
    assert found["schema"] == schema
    assert found["tree"]["commit"] == "c0ffee"


def test_colours_only_when_asked_for(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("op", "lstm").output
    assert "\x1b]8;;file:///tree/RNN.cpp#L100" in run("op", "lstm").output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("op", "lstm").output


def test_export_to_a_file(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert run("export", "-o", str(tmp_path / "graph.jsonl")).exit_code == 0
    assert (tmp_path / "graph.jsonl").read_text() == run("export").output
