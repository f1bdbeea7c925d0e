"""``pytrace report`` and the pictures, from the shell's side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytrace.cli import common, pictures
from pytrace.cli.main import main
from pytrace.store import Store

Run = Callable[..., Result]


@pytest.fixture
def run(mini: Store, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(common, "open_store", lambda ctx: mini)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *args: CliRunner().invoke(main, args)


@pytest.mark.parametrize(
    ("args", "holds"),
    [
        ((), ["15 of 15 operators", "aten::cumsum.out", "Totals", "9.9.9"]),
        (("cumsum",), ["2 of 15 operators: operators named cumsum", "aten::cumsum.out"]),
        (("aten::cumsum",), ["2 of 15 operators: operators named aten::cumsum or aten::cumsum.*", "aten::cumsum.out"]),
        (("aten::lstm",), ["operators named aten::lstm.*", "aten::lstm.input"]),
        (("--ops", "cumsum", "--ops", "lstm*"), ["operators named cumsum or lstm*", "aten::lstm.input"]),
        (("cumsum.out", "--long"), ["cumsum_cuda_kernel", "scan_kernel", "ReduceOps.cpp:30"]),
        (("--has", "cuda", "--lacks", "cpu"), ["aten::_cudnn_rnn"]),
        (("--limit", "2"), ["… and 13 more (--limit 0 shows all)"]),
        (("--format", "markdown"), ["### All operators", "| [`aten::cumsum.out`]("]),
        (("--format", "csv"), ["operator,namespace,kind", "aten::cumsum.out,aten,out"]),
        (("--format", "html"), ["<!doctype html>"]),
        (("--stubs",), ["cumsum_stub", "lstm_cudnn_stub"]),
        (("--stubs", "--has", "cuda", "--lacks", "cpu"), ["1 of 2 stubs", "lstm_cudnn_stub"]),
        (("--stubs", "lstm*", "--format", "markdown"), ["lstm_cudnn_stub"]),
        (("--stubs", "--format", "csv"), ["cumsum_stub"]),
    ],
)
def test_answers(run: Run, args: tuple[str, ...], holds: list[str]) -> None:
    result = run("report", *args)
    assert result.exit_code == 0, result.output
    assert [text for text in holds if text not in result.output] == []
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("args", "holds"),
    [
        (("cumsom",), ["There is no operator called cumsom", "aten::cumsum"]),
        (("--has", "tpu"), ["There is no dispatch key tpu"]),
        (("--namespace", "atten"), ["No operator is of the namespace atten. Namespaces are aten, …"]),
        (("--stubs", "--has", "tpu"), ["There is no device tpu. Known ones: "]),
        (("--stubs", "mul_stubb"), ["There is no dispatch stub here called mul_stubb.", "mul_stub"]),
        (("--tag", "cool"), ["No operator has the tag cool"]),
        (("--stubs", "--tag", "core"), ["--stubs goes with"]),
        (("--stubs", "--format", "html"), ["no HTML of --stubs"]),
        (("--output", "/nowhere/x"), ["/nowhere/x cannot be written"]),
    ],
)
def test_mistakes(run: Run, args: tuple[str, ...], holds: list[str]) -> None:
    result = run("report", *args)
    assert result.exit_code == 1, result.output
    assert [text for text in holds if text not in result.output] == []


def test_json_has_a_schema_and_a_stamp(run: Run) -> None:
    found = json.loads(run("report", "cumsum.out", "--format", "json").output)
    assert found["schema"] == "pytrace/report/1"
    assert found["stamp"]["commit"] == "c0ffee"
    (row,) = found["rows"]
    assert {cell["key"]: cell["how"] for cell in row["cells"]}["CUDA"] == "kernel"


def test_output_goes_to_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    assert run("report", "--format", "csv", "-o", str(file)).output == ""
    assert file.read_text().startswith("operator,")


@pytest.mark.parametrize("fmt", pictures.FORMATS)
@pytest.mark.parametrize("command", [("op", "lstm"), ("kernel", "scan_kernel", "--up")])
def test_pictures(run: Run, command: tuple[str, ...], fmt: str) -> None:
    one = run(*command, "--format", fmt)
    assert one.exit_code == 0, one.output
    start = {"mermaid": "%% ", "dot": "digraph", "svg": "<svg", "html": "<!doctype html>"}
    assert one.output.startswith(start[fmt])
    assert one.output == run(*command, "--format", fmt).output
