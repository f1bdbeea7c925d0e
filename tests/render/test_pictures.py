"""Pictures: what is drawn, that texts stay texts, and the HTML files in a real browser."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pytrace.cli import pictures
from pytrace.render import dot, html_report, html_trace, mermaid, svg
from pytrace.render.drawing import LANES, Arrow, Box, Drawing, depths, of_kernel, of_operator, ordered
from pytrace.render.drawing_impact import of_impact
from pytrace.report import operators
from pytrace.report.filters import Filter
from pytrace.report.impact import Affected, ImpactReport, WayStep
from pytrace.report.rows import Place
from pytrace.report.stamp import stamp
from pytrace.store import Store
from pytrace.trace import kernel, op, resolve
from tests.render.browser import browse, in_browser, result
from tests.render.hostile import NAMES, STAMP
from tests.render.hostile import drawing as hostile


def answer(mini: Store, name: str, fmt: str) -> str:
    found = op.answer(mini, name, resolve.operators(mini, name), limit=80, python_limit=6)
    return pictures.of_operator(mini, found, fmt)


# -- what is drawn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", pictures.FORMATS)
@pytest.mark.parametrize("name", ["lstm", "cumsum"])
def test_the_same_things_in_every_format(mini: Store, name: str, fmt: str) -> None:
    text = answer(mini, name, fmt).replace("#58;", ":").replace("#95;", "_").replace("<wbr>", "")
    words = {
        "lstm": ["lstm_cudnn_stub", "cudnnRNNForward", "cell_forward", "at::cudnn_is_acceptable", "CudnnRnnBackward0"],
        "cumsum": ["cumsum_stub", "scan_kernel", "cumsum_cuda_kernel", "CumsumBackward0", "torch.cumsum"],
    }
    assert [word for word in words[name] if word not in text] == []


def test_a_called_operator_opens_a_band(mini: Store) -> None:
    found = op.answer(mini, "lstm", resolve.operators(mini, "lstm"), limit=80, python_limit=6)
    picture = of_operator(found, stamp(mini), {"torch._C._VariableFunctions.lstm": ["aten::lstm.input"]})
    assert picture.bands[0] == "aten::lstm"
    assert "aten::_cudnn_rnn" in picture.bands
    boxes = {box.id: box for box in picture.boxes}
    pairs = {(boxes[a.src].name, boxes[a.dst].name): a for a in picture.arrows}
    assert pairs["at::native::lstm", "lstm_cudnn_stub"].guard == "if (at::cudnn_is_acceptable(_input))"
    assert pairs["lstm_cudnn_stub", "at::native::lstm_cudnn"].label == "CUDA"
    assert ("torch._C._VariableFunctions.lstm", "aten::lstm.input") in pairs
    lanes = [lane for lane, _ in picture.lanes()]
    assert lanes == [key for key, _ in LANES if key in lanes]


def test_an_overload_that_delegates(mini: Store) -> None:
    """It is drawn with an arrow to the one that has the kernels; without rows of its own it shares the other's box."""
    found = op.answer(mini, "cumsum", resolve.operators(mini, "cumsum"), limit=80, python_limit=6)
    picture = of_operator(found, stamp(mini), {"torch._C._VariableFunctions.cumsum": ["aten::cumsum"]})
    boxes = {box.id: box for box in picture.boxes}
    assert "aten::cumsum" not in {box.name for box in picture.boxes}
    assert next(box.note for box in picture.boxes if box.name == "aten::cumsum.out").startswith("also aten::cumsum")
    pairs = {(boxes[arrow.src].name, boxes[arrow.dst].name) for arrow in picture.arrows}
    assert ("torch._C._VariableFunctions.cumsum", "aten::cumsum.out") in pairs
    row = next(row for row in found.dispatch if "aten::cumsum" in row.shared_by)
    found.dispatch.append(replace(row, op="aten::cumsum", keys=["SparseCPU"], shared_by=[]))
    picture = of_operator(found, stamp(mini), {})
    boxes = {box.id: box for box in picture.boxes}
    labels = {(boxes[arrow.src].name, boxes[arrow.dst].name): arrow.label for arrow in picture.arrows}
    assert labels["aten::cumsum", "aten::cumsum.out"] == "delegates"


def test_formulas_of_operators_that_are_not_drawn_share_a_box(mini: Store) -> None:
    found = op.answer(mini, "lstm", resolve.operators(mini, "lstm"), limit=80, python_limit=6)
    assert found.backward is not None
    parts = [part for part in found.backward.parts if part.node]
    found.backward.parts += [replace(parts[0], op=f"aten::x{n}", node=f"X{n}Backward0") for n in range(3)]
    picture = of_operator(found, stamp(mini), {})
    (box,) = [box for box in picture.boxes if box.name.endswith("of operators that it calls")]
    assert [line.split("  ")[0] for line in box.more][-3:] == [f"X{n}Backward0 of aten::x{n}" for n in range(3)]


def test_a_change_that_other_operators_feel_opens_bands() -> None:
    names = [("op", "aten::lstm"), ("function", "lstm"), ("op", "aten::dropout"), ("function", "dropout")]
    way = [WayStep(kind, name, "a.cpp", place + 1) for place, (kind, name) in enumerate(names)]
    far = Affected(Place("aten::lstm"), 3, 1, True, [], way)
    near = Affected(Place("aten::dropout"), 1, 0, True, [], way[2:], python=["torch.dropout"])
    picture = of_impact(ImpactReport(STAMP, "main", [], [], [near, far], [], [], [], [], [], 1, 0))
    assert picture.bands == ["reached directly", "through one other operator"]
    boxes = {box.id: box for box in picture.boxes}
    bands = {box.name: box.band for box in picture.boxes if box.kind != "function"}
    assert bands == {"aten::lstm": 1, "aten::dropout": 0, "torch.dropout": 0}
    assert [boxes[arrow.src].band - boxes[arrow.dst].band for arrow in picture.arrows] == [0, 0, 0, 1]


def test_up_from_a_kernel(mini: Store) -> None:
    found = kernel.answer(mini, "scan_kernel", resolve.kernels(mini, "scan_kernel"), up=True)
    picture = of_kernel(found, stamp(mini))
    lanes = {box.name: box.lane for box in picture.boxes}
    assert lanes["at::native::scan_kernel"] == "kernel"
    assert lanes["at::native::cumsum_cuda_kernel"] == "device"
    assert lanes["aten::cumsum.out"] == "operator"


def test_boxes_follow_their_arrows() -> None:
    boxes = [Box(n, "function", 0, "function", str(n)) for n in range(4)]
    arrows = [Arrow(0, 3), Arrow(3, 1), Arrow(0, 2)]
    assert [box.id for box in ordered(boxes, arrows)] == [0, 3, 1, 2]
    assert [box.id for box in ordered(boxes, [Arrow(0, 1), Arrow(1, 0)])] == [2, 3, 0, 1]  # a cycle ends
    assert depths(boxes, [Arrow(0, 1), Arrow(1, 2)]) == {0: 0, 1: 1, 2: 2, 3: 0}


# -- texts stay texts ------------------------------------------------------------------------------------------------


def test_mermaid_escapes() -> None:
    text = mermaid.render(hostile())
    body = [line for line in text.splitlines() if not line.startswith(("  classDef", "  class "))]
    assert not [line for line in body if re.search(r"<(?!br/>)|`|\x1b", line)]
    for line in body:
        assert line.count('"') % 2 == 0, line
    assert "script" in text


def test_dot_escapes() -> None:
    for line in dot.render(hostile()).splitlines():
        bare = re.sub(r"\\.", "", line)
        assert bare.count('"') % 2 == 0, line


def test_svg_is_xml_without_scripts() -> None:
    root = ElementTree.fromstring(svg.render(hostile()).encode("utf-8"))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "defs", "marker", "path", "rect", "text", "g", "a"}
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]


def test_svg_texts_end_within_the_picture_and_say_what_was_cut(mini: Store) -> None:
    words = "as told by the tree " * 20
    boxes = [
        Box(
            1,
            "operator",
            0,
            "op",
            "aten::a",
            note=f"generated by torchgen/a_generator_with_quite_a_long_name.py {words}",
        ),
        Box(2, "dispatch", 0, "key", "Sparse", minor=True),
    ]
    picture = Drawing("aten::a", stamp(mini), ["aten::a"], boxes, [Arrow(1, 2)], [words.strip()])
    made = svg.render(picture)
    root = ElementTree.fromstring(made)
    width, height = (int(root.attrib[key]) for key in ("width", "height"))
    texts = [(e, e.text or "") for e in root.iter() if e.tag.endswith("}text")]
    assert [text for e, text in texts if int(e.attrib["x"]) + 7 * len(text) > width] == []
    assert all(0 < int(e.attrib["y"]) < height for e, _ in texts)
    assert [text[-1] for _, text in texts if text.startswith("torchgen/")] == ["…"]
    told = " ".join(text for _, text in texts)
    assert told.count("told") == 20
    assert "1 row for special tensors" in told


def test_svg_keeps_boxes_apart() -> None:
    placed, bands, height = svg.layout(hostile())
    by_lane: dict[str, list[svg.Placed]] = {}
    for entry in placed.values():
        by_lane.setdefault(entry.box.lane, []).append(entry)
    for entries in by_lane.values():
        entries.sort(key=lambda entry: entry.y)
        for above, below in pairwise(entries):
            assert above.y + above.height <= below.y
    assert all(bottom <= height for _, _, bottom in bands)


def test_an_empty_picture() -> None:
    empty = Drawing("nothing", STAMP)
    for text in (mermaid.render(empty), dot.render(empty), svg.render(empty), html_trace.render(empty, {})):
        assert "nothing" in text


# -- in a browser ----------------------------------------------------------------------------------------------------


@in_browser
@pytest.mark.parametrize("size", ["1280,900", "390,800"])
def test_a_trace_opens_without_errors(mini: Store, tmp_path: Path, size: str) -> None:
    script = (
        "document.documentElement.dataset.result ="
        " [document.querySelectorAll('.box').length,"
        "document.querySelectorAll('#arrows path[d]:not(.tip)').length,"
        "document.documentElement.scrollWidth > innerWidth].join(' ');"
    )
    dom, console = browse(tmp_path, answer(mini, "lstm", "html"), script, size)
    boxes, arrows, wide = result(dom).split()
    assert console == ""
    assert int(boxes) > 10
    assert wide == "false"  # nothing to scroll sideways
    if size.startswith("390"):
        assert arrows == "0"  # on a phone the words tell what leads to a box
    else:
        assert int(arrows) > 8


@in_browser
def test_its_policy_lets_its_own_script_run_and_no_other(mini: Store, tmp_path: Path) -> None:
    html = answer(mini, "lstm", "html")
    dom, console = browse(tmp_path, html)
    assert console == ""
    assert 'marker-end="url(#tip)"' in dom  # the script drew arrows
    _, console = browse(tmp_path, html.replace("</body>", "<script>document.title = 'x'</script></body>"))
    assert "Content Security Policy" in console
    assert not re.search(r'(?:src|href)="(?:https?:)?//(?!example)', re.sub(r'<a href="https://[^"]*"', "", html))


@in_browser
def test_search_keys_and_buttons(mini: Store, tmp_path: Path) -> None:
    script = """
      const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
      const out = [];
      const search = document.getElementById("search");
      key(document.body, "/");
      out.push(document.activeElement === search);
      search.value = "cudnnRNNForward";
      search.dispatchEvent(new Event("input"));
      out.push(document.getElementById("count").textContent);
      key(search, "Enter");
      out.push(document.activeElement.textContent.includes("cudnnRNNForward"));
      out.push(document.querySelectorAll(".box.on").length > 3);
      key(document.activeElement, "ArrowLeft");
      out.push(document.activeElement.querySelector(".name").textContent);
      key(document.activeElement, "ArrowRight");
      out.push(document.activeElement.querySelector(".name").textContent);
      document.getElementById("fold").click();
      out.push(document.querySelectorAll(".band[open]").length);
      document.getElementById("theme").click();
      out.push(document.documentElement.dataset.theme);
      document.documentElement.dataset.result = out.join("; ");
    """
    dom, console = browse(tmp_path, answer(mini, "lstm", "html"), script)
    assert console == ""
    assert result(dom) == "true; 1 found; true; true; _cudnn_rnn; cudnnRNNForward; 0; dark"


@in_browser
def test_hostile_names_stay_text(tmp_path: Path) -> None:
    snippets = {
        f"dir/{name}.cpp:{n + 1}": [(1, name), (2, "</pre><script>alert(1)</script>")] for n, name in enumerate(NAMES)
    }
    html = html_trace.render(hostile(), snippets)
    script = (
        "document.documentElement.dataset.result = [document.scripts.length, document.images.length,"
        "document.querySelectorAll('b').length, document.title === 'owned'].join(' ');"
    )
    dom, console = browse(tmp_path, html, script)
    assert (result(dom), console) == ("2 0 0 false", "")  # our script and the test's


def test_source_lines_are_in_the_file(mini: Store) -> None:
    picture = hostile()
    html = html_trace.render(picture, {picture.boxes[4].at: [(4, "before"), (5, "void here() {"), (6, "  body")]})
    assert '<span class="here"><span class="n">5 </span>void here() {</span>' in html


@pytest.fixture
def table(mini: Store) -> Callable[[], str]:
    return lambda: html_report.report(operators.report(mini, Filter()))


@in_browser
def test_the_table_sorts_and_filters(table: Callable[[], str], tmp_path: Path) -> None:
    script = """
      const names = () => [...document.querySelectorAll("tbody tr[data-row] th")].map((th) => th.textContent);
      const out = [document.getElementById("count").textContent, names()[0]];
      document.querySelector("thead button").click();
      document.querySelector("thead button").click();
      out.push(names()[0]);
      const search = document.getElementById("search");
      search.value = "cumsum out";
      search.dispatchEvent(new Event("input"));
      out.push(names().join(","));
      search.value = "";
      const select = document.querySelector("select[aria-label=CUDA]");
      select.value = "kernel";
      select.dispatchEvent(new Event("change"));
      out.push(names().includes("aten::cumsum.out"), names().includes("aten::lstm.input"));
      document.querySelector("tbody tr[data-row]").click();
      out.push(document.querySelector("dialog").open);
      document.documentElement.dataset.result = out.join("; ");
    """
    dom, console = browse(tmp_path, table(), script)
    assert console == ""
    assert result(dom) == "15 of 15; aten::_cudnn_rnn; aten::step; aten::cumsum.out; true; false; true"


@in_browser
def test_thousands_of_rows_open_in_a_second(mini: Store, tmp_path: Path) -> None:
    found = operators.report(mini, Filter())
    rows = found.rows
    found.rows = [row for n in range(4000 // len(rows) + 1) for row in rows]
    dom, console = browse(tmp_path, html_report.report(found))
    ready = re.search(r'data-ready="(\d+)"', dom)
    assert console == "" and ready is not None
    assert int(ready[1]) < 1000
    assert dom.count("<tr data-row") < 200


@in_browser
def test_arrow_keys_walk_through_the_whole_table(mini: Store, tmp_path: Path) -> None:
    """Rows are drawn as they come into sight; the focus must go over the edge of what was drawn first."""
    found = operators.report(mini, Filter())
    found.rows = [row for _ in range(20) for row in found.rows]
    script = """
      document.querySelector("tbody tr[data-row]").focus();
      const walk = (left) => {
        if (left === 0) { document.documentElement.dataset.result = document.activeElement.dataset.row; return; }
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
        setTimeout(() => walk(left - 1), 5);
      };
      walk(150);
    """
    dom, console = browse(tmp_path, html_report.report(found), script)
    assert (result(dom), console) == ("150", "")


@in_browser
def test_hostile_operators_stay_text(mini: Store, tmp_path: Path) -> None:
    found = operators.report(mini, Filter())
    for row, name in zip(found.rows, NAMES):
        row.name, row.schema = name, name
    script = (
        "document.querySelector('tbody tr[data-row]').click(); document.documentElement.dataset.result ="
        " [document.scripts.length, document.images.length, document.title].join(' ');"
    )
    dom, console = browse(tmp_path, html_report.report(found), script)
    assert (result(dom), console) == ("3 0 pytrace report", "")  # the data, ours, the test's
