"""What people asked of reports, on the real PyTorch 2.6.0: the counts, the sets, the tests to run.

The answers were read in that tree; the letters are those of the collection of questions.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytrace.cli import pictures
from pytrace.render import html_report
from pytrace.report import impact, operators, queries, stubs
from pytrace.report.filters import Filter
from pytrace.report.patches import FileChange, Line
from pytrace.report.rows import OperatorReport, OperatorRow
from pytrace.report.spread import Spread
from pytrace.store import Store
from pytrace.trace import op, resolve
from tests.render.browser import browse, in_browser, result
from tests.trees import command, environment

pytestmark = pytest.mark.real
N = "aten/src/ATen/native"


@pytest.fixture(scope="module")
def everything(real_store: Store) -> OperatorReport:
    return operators.report(real_store, Filter())


@pytest.fixture(scope="module")
def rows(everything: OperatorReport) -> dict[str, OperatorRow]:
    return {row.name: row for row in everything.rows}


def asked(store: Store, keep: Filter) -> list[str]:
    return [row.name for row in operators.report(store, keep, details=False).rows]


# -- B6: how many operators have each key ----------------------------------------------------------------------------


def test_b6_rows_by_key(everything: OperatorReport) -> None:
    keys = everything.totals.yaml_keys
    expected = {
        "CompositeExplicitAutograd": 537, "CUDA": 848, "CPU": 670, "MPS": 417, "CompositeImplicitAutograd": 92,
        "CompositeExplicitAutogradNonFunctional": 57, "Meta": 41, "XPU": 9,
    }  # fmt: skip
    assert {key: keys[key] for key in expected} == expected
    assert everything.totals.yaml == {
        "entries": 2633,
        "base names": 1529,
        "structured": 272,
        "structured_delegate": 382,
        "implicit composite": 753,
        "generated overloads": 511,  # 3,144 in all; 15 of the 526 names that autogen gives are written out as well
    }


# -- B7: what must backend K implement -------------------------------------------------------------------------------


def test_b7_what_a_backend_must_implement(real_store: Store, rows: dict[str, OperatorRow]) -> None:
    made = operators.report(real_store, Filter(implement="PrivateUse1", sources="yaml"), details=False).rows
    found = {row.name for row in made}
    # One kernel serves what delegates to it; what is composed of other operators needs none.
    assert {"aten::add.out", "aten::mm.out", "aten::cumsum.out", "aten::convolution_overrideable"} & found == {
        "aten::add.out",
        "aten::mm.out",
        "aten::cumsum.out",
    }
    assert not {"aten::add.Tensor", "aten::conv2d", "aten::lstm.input", "aten::zeros"} & found
    for row in made:
        assert row.key_names() & {"CPU", "CUDA"}, row.name
        assert not [key for key in row.key_names() if key.startswith("Composite")], row.name
    # Joined with what differentiates it: the asker's second question.
    assert rows["aten::native_dropout"].autograd == "formula"
    assert [formula.name for formula in rows["aten::native_dropout"].formulas] == ["NativeDropoutBackward0"]


# -- B12: stubs with CUDA and without another device -----------------------------------------------------------------


def test_b12_stubs_without_a_device(real_store: Store) -> None:
    found = {row.name: row for row in stubs.report(real_store, has=("cuda",), lacks=("xpu",)).rows}
    assert "mul_stub" in found
    without_cpu = {row.name for row in stubs.report(real_store, has=("cuda",), lacks=("cpu",)).rows}
    assert "lstm_cudnn_stub" in without_cpu and "mul_stub" not in without_cpu
    # Registered by a spelling that a search for REGISTER_DISPATCH alone misses (N/cpu/Activation.cpp:1367).
    everything = {row.name: row for row in stubs.report(real_store).rows}
    also = [row for row in everything.values() if f"{N}/cpu/Activation.cpp:1367" in row.sites.get("cpu", ())]
    assert len(also) == 1
    # Nothing is registered for XPU in this tree; its one macro is a definition.
    assert "xpu" not in {device for row in everything.values() for device in row.registered}


# -- E6: coverage ------------------------------------------------------------------------------------------------------


def test_e6_no_mps(real_store: Store, rows: dict[str, OperatorRow]) -> None:
    logspace = rows["aten::logspace.out"]
    assert logspace.served["MPS"] == ""
    places = {cell.key: cell.functions[0].at for cell in logspace.cells if cell.key in ("CPU", "CUDA")}
    assert places == {"CPU": f"{N}/RangeFactories.cpp:87", "CUDA": f"{N}/cuda/RangeFactories.cu:123"}
    assert len(asked(real_store, Filter(public=True, has=("cuda",), lacks=("mps",), sources="own"))) == 186
    assert len(asked(real_store, Filter(has=("cpu",), lacks=("cuda",), sources="yaml"))) == 36
    assert "aten::logspace.out" in asked(real_store, Filter(missing=("mps",)))


def test_kernels_of_the_python_dispatcher_serve_no_backend(rows: dict[str, OperatorRow]) -> None:
    """torch/_decomp/decompositions.py gives lstm a py_impl; a call that does not trace runs N/RNN.cpp all the same."""
    served = rows["aten::lstm.input"].served
    assert served == dict.fromkeys(served, "composite")
    assert "py_impl" in {cell.how for cell in rows["aten::lstm.input"].cells}
    # A HigherOrderOperator has no other dispatcher (torch/_higher_order_ops/cond.py).
    assert rows["higher_order::cond"].served["CPU"] == "python"


# -- the table ---------------------------------------------------------------------------------------------------------


def test_every_overload_is_in_the_report(everything: OperatorReport) -> None:
    assert sum(row.file.endswith("native_functions.yaml") for row in everything.rows) == 3144


@pytest.mark.parametrize(
    ("name", "key", "stubs_of", "registered"),
    [
        ("aten::mse_loss.out", "CUDA", ["mse_stub"], ["at::native::mse_kernel_cuda"]),
        ("aten::cumsum.out", "CUDA", ["cumsum_stub"], ["at::native::cumsum_cuda_kernel"]),
        ("aten::mul.out", "CPU", ["mul_stub"], ["at::native::mul_kernel"]),
    ],
)
def test_stubs_of_a_cell(
    rows: dict[str, OperatorRow], name: str, key: str, stubs_of: list[str], registered: list[str]
) -> None:
    below = next(cell.below for cell in rows[name].cells if cell.key == key)
    assert below is not None
    assert (below.stubs, [place.name for place in below.registered]) == (stubs_of, registered)


def test_the_kernels_of_cat(rows: dict[str, OperatorRow]) -> None:
    below = next(cell.below for cell in rows["aten::cat.out"].cells if cell.key == "CUDA")
    assert below is not None
    assert {place.line for place in below.kernels if place.file == f"{N}/cuda/Shape.cu"} == {165, 201, 234}


def test_all_operators_in_three_seconds(real_tree: str, real_index: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = subprocess.run(
        command("report", "--root", real_tree, "-q"), env=environment(), capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3  # time of the processor
    assert "aten::mul.out" in made.stdout


# -- pictures ----------------------------------------------------------------------------------------------------------

_LOOK = """
  const box = (li) => li.querySelector(".name").textContent;
  document.documentElement.dataset.result = JSON.stringify({
    wide: document.documentElement.scrollWidth > innerWidth,
    cut: [...document.querySelectorAll(".name")].filter((name) => name.scrollWidth > name.clientWidth + 1).map(String),
    boxes: [...document.querySelectorAll(".box")].map(box),
    arrows: document.querySelectorAll("#arrows > path").length,
  }).replaceAll('"', "'");
"""


@in_browser
@pytest.mark.parametrize("size", ["1280,900", "390,800"])
@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("lstm", ["torch.nn.LSTM", "aten::lstm.input", "lstm_cudnn_stub", "cudnnRNNForward", "CudnnRnnBackward0"]),
        ("conv2d", ["torch.nn.Conv2d", "aten::convolution", "_convolution", "ConvolutionBackward0"]),
        ("scaled_dot_product_attention", ["_fused_sdp_choice_stub", "aten::_scaled_dot_product_flash_attention"]),
        ("add", ["torch.add", "aten::add.out", "CUDAFunctorOnSelf_add", "AddBackward0"]),
    ],
)
def test_pictures_in_a_browser(real_store: Store, tmp_path: Path, name: str, holds: list[str], size: str) -> None:
    """Readable without scrolling sideways, on a screen and on a phone; the whole way is there."""
    answer = op.answer(real_store, name, resolve.operators(real_store, name), limit=80, python_limit=6)
    dom, console = browse(tmp_path, pictures.of_operator(real_store, answer, "html"), _LOOK, size)
    assert console == ""
    looked = json.loads(result(dom).replace("&#39;", "'").replace("'", '"'))
    assert (looked["wide"], looked["cut"]) == (False, [])
    assert [word for word in holds if word not in looked["boxes"]] == []
    assert (looked["arrows"] > 10) == size.startswith("1280")  # on a phone words tell what leads to a box


@in_browser
def test_the_table_of_all_operators_opens_in_a_second(everything: OperatorReport, tmp_path: Path) -> None:
    times = []
    for _ in range(3):  # of a machine that may be busy: the best
        dom, console = browse(tmp_path, html_report.report(everything))
        ready = re.search(r'data-ready="(\d+)"', dom)
        assert console == "" and ready is not None
        times.append(int(ready[1]))
        if times[-1] < 1000:
            break
    assert min(times) < 1000


# -- H2, H3, H4: what a change touches -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mse(real_store: Store, real_tree: str) -> Iterator[impact.ImpactReport]:
    path = f"{N}/cuda/BinaryMiscOpsKernels.cu"
    source = (Path(real_tree) / path).read_text().split("\n")
    number = next(n for n, text in enumerate(source, 1) if "mse_kernel_cuda(" in text) + 1
    change = FileChange(path, path, "modified", added=[Line(number, source[number - 1])])
    yield impact.report(real_store, [change], against="test")


def test_h2_a_change_of_mse_kernels(mse: impact.ImpactReport) -> None:
    assert [one.name for one in mse.touched] == ["at::native::mse_kernel_cuda"]
    names = {name for one in mse.operators for name in (one.op.name, *one.overloads)}
    assert {"aten::mse_loss", "aten::mse_loss.out"} <= names
    assert "aten::huber_loss" not in names  # its kernel stands in the same file
    assert mse.operators[0].keys == ["CUDA"]
    assert "nn.functional.mse_loss" in mse.entries and "_refs.nn.functional.mse_loss" in mse.entries
    assert 'python -m pytest test/test_ops.py -k "nn_functional_mse_loss"' in [run.command for run in mse.tests]
    assert not mse.unbounded


def test_h3_a_core_header_is_unbounded(real_store: Store) -> None:
    path = "aten/src/ATen/core/TensorBase.h"
    found = impact.report(real_store, [FileChange(path, path, "modified", whole=True)], against="test")
    assert any(reason.startswith(f"{path} is included by") for reason in found.unbounded)


def test_h3_one_line_of_a_core_header_is_unbounded(real_store: Store, real_tree: str) -> None:
    path = "aten/src/ATen/core/TensorBase.h"
    source = (Path(real_tree) / path).read_text().split("\n")
    number = next(n for n, text in enumerate(source, 1) if "int64_t dim() const" in text) + 1
    change = FileChange(path, path, "modified", added=[Line(number, source[number - 1])])
    assert impact.report(real_store, [change], against="test").unbounded


def test_h3_a_declaration_in_a_header_reaches_what_names_it(real_store: Store, real_tree: str) -> None:
    """`compute_output_size`: declared in UpSample.h:55, defined in UpSample.cpp:10, called by 13 functions."""
    path = f"{N}/UpSample.h"
    source = (Path(real_tree) / path).read_text().split("\n")
    assert "compute_output_size(" in source[54]
    found = impact.report(real_store, [FileChange(path, path, "modified", added=[Line(55, source[54])])], against="")
    ups = ["nearest1d", "_nearest_exact1d", "nearest2d", "_nearest_exact2d", "nearest3d", "_nearest_exact3d"]
    ups += ["linear1d", "bilinear2d", "_bilinear2d_aa", "bicubic2d", "_bicubic2d_aa", "trilinear3d"]
    functions = {f"at::native::{'_' * (up[0] == '_')}upsample_{up.lstrip('_')}" for up in ups}
    assert {one.name for one in found.touched} == functions | {
        "at::native::upsample::compute_output_size",
        "at::native::metal::upsample_nearest2d_vec",
    }
    names = {name for one in found.operators for name in (one.op.name, *one.overloads)}
    assert {f"{function.replace('at::native', 'aten')}.vec" for function in functions} <= names
    assert not found.unbounded


@pytest.mark.parametrize(
    ("path", "ops"),
    [
        (f"{N}/cuda/RNN.cu", {"aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_gru_cell"}),
        (f"{N}/cpu/CatKernel.cpp", {"aten::cat.out"}),
        (f"{N}/cuda/Shape.cu", {"aten::cat.out"}),
        (f"{N}/cuda/ScanKernels.cpp", {"aten::cumsum.out", "aten::cumprod.out"}),
        (f"{N}/mps/operations/RnnOps.mm", {"aten::_lstm_mps"}),
        ("torch/csrc/autograd/FunctionsManual.cpp", {"aten::native_layer_norm_backward"}),
    ],
)
def test_h4_a_changed_file_to_its_operators(real_store: Store, path: str, ops: set[str]) -> None:
    found = impact.report(real_store, [FileChange(path, path, "modified", whole=True)], against="test")
    names = {name for one in found.operators for name in (one.op.name, *one.overloads)}
    assert ops <= names
    assert found.tests


def test_h4_how_many_kernel_files_lead_to_operators(real_store: Store, real_tree: str) -> None:
    """The stated accuracy: every file that defines TORCH_IMPL_FUNCs leads to the operators that it implements."""
    head = re.compile(r"^TORCH_IMPL_FUNC\s*\(\s*(\w+)\s*\)(?!.*\\$)", re.M)  # not in the body of a macro
    wanted = {
        path: {f"at::native::structured_{name}::impl" for name in head.findall(text)}
        for path in (row[0] for row in real_store.file_rows() if row[1] == "cpp" and row[0].startswith(N))
        for text in [(Path(real_tree) / path).read_text(errors="replace")]
        if head.search(text)
    }
    assert len(wanted) > 80
    missed = []
    for path, names in wanted.items():
        here = {node.name for node in map(real_store.node, _functions(real_store, path))}
        missed += [(path, name) for name in names - here]
    assert missed == []


def test_h4_every_file_that_registers_a_stub_leads_to_operators(real_store: Store) -> None:
    paths = {edge.file for edge in queries.edges(real_store, "registers") if not edge.file.endswith(".yaml")}
    assert len(paths) > 200
    kinds = ("function", "cuda_kernel", "functor", "stub")
    lost = [
        path
        for path in sorted(paths)
        if not Spread(real_store, [n for n in queries.nodes_of_file(real_store, path) if n.kind in kinds], 0).hits
    ]
    assert lost == []


def _functions(store: Store, path: str) -> list[int]:
    return [node.id for node in queries.nodes_of_file(store, path)]
