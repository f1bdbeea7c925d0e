"""The table operator x backend of the miniature tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.errors import BadQuestion
from pytrace.report import operators, stubs
from pytrace.report.filters import Filter, key_test
from pytrace.report.rows import OperatorRow
from pytrace.report.totals import totals
from pytrace.store import Store
from tests import graphs


def row(store: Store, name: str) -> OperatorRow:
    return next(row for row in operators.rows(store) if row.name == name)


@pytest.mark.parametrize(
    ("name", "served"),
    [
        # ufunc kernels are generated, MPS has its own; nothing is there for XPU; Meta is structured
        ("aten::add.out", {"CPU": "generated", "CUDA": "generated", "MPS": "kernel", "XPU": "", "Meta": "generated"}),
        (
            "aten::add.Tensor",
            {"CPU": "delegate", "CUDA": "delegate", "MPS": "delegate", "XPU": "", "Meta": "generated"},
        ),
        ("aten::conv2d", dict.fromkeys(operators.PLAIN, "composite")),
        ("aten::_cudnn_rnn", {"CPU": "", "CUDA": "kernel", "MPS": "", "XPU": "", "Meta": ""}),
        # an out= variant made by torchgen serves what the operator serves that it wraps
        ("aten::_cudnn_rnn.out", {"CPU": "", "CUDA": "wrapper", "MPS": "", "XPU": "", "Meta": ""}),
    ],
)
def test_served(mini: Store, name: str, served: dict[str, str]) -> None:
    assert row(mini, name).served == served


@pytest.mark.parametrize(
    ("op", "kernel", "how", "served"),
    [
        # Kernels of the Python dispatcher run only below it; C++ goes on to the composite kernel, or finds none.
        ('f {"schema": "f(Tensor a) -> Tensor"}', "CompositeImplicitAutograd", "py_impl", "composite"),
        ('f {"schema": "f(Tensor a) -> Tensor"}', "Autograd", "py_impl", ""),
        # A HigherOrderOperator has no schema, and no other dispatcher.
        ('f {"schema": "f"}', "Autograd", "python", "python"),
    ],
)
def test_kernels_of_the_python_dispatcher(tmp_path: Path, op: str, kernel: str, how: str, served: str) -> None:
    store = graphs.store(
        tmp_path,
        f"""
        node op {op}
        node function native_f a.cpp:1
        node python torch.f f.py:1
        edge f dispatches={kernel} native_f !yaml-dispatch
        edge f registers_python=CompositeImplicitAutograd torch.f !python-py-impl
        """,
    )
    (found,) = operators.rows(store)
    assert [cell.how for cell in found.cells if cell.functions[0].name == "torch.f"] == [how]
    assert found.served["CPU"] == served


def test_what_a_kernel_function_reaches(mini: Store) -> None:
    cells = {cell.key: cell for cell in row(mini, "aten::gelu.out").cells}
    cpu, cuda = cells["CPU"].below, cells["CUDA"].below
    assert cpu is not None and cuda is not None
    assert (cpu.stubs, [place.name for place in cpu.registered]) == (["GeluKernel"], ["at::native::GeluKernelImpl"])
    assert cpu.libraries == ["dnnl_primitive_execute"]
    assert cpu.kernels == []  # the CUDA kernel behind the same names is not the CPU's
    assert cuda.stubs == []  # CUDA calls its launcher directly
    assert [place.name for place in cuda.kernels] == ["at::native::vectorized_elementwise_kernel"]
    assert cells["CPU"].functions[0].at == "aten/src/ATen/native/Activation.cpp:23"


def test_delegation_tells_the_owner(mini: Store) -> None:
    cell = next(cell for cell in row(mini, "aten::gelu").cells if cell.key == "CUDA")
    assert (cell.how, cell.through) == ("delegate", "aten::gelu.out")


def names(store: Store, keep: Filter) -> list[str]:
    return [row.name for row in operators.report(store, keep, details=False).rows]


@pytest.mark.parametrize(
    ("keep", "inside", "outside"),
    [
        (Filter(ops=("gelu",)), ["aten::gelu", "aten::gelu.out"], ["aten::gelu_backward"]),
        (Filter(ops=("aten::gelu*",)), ["aten::gelu_backward"], ["aten::add.out"]),
        (Filter(tags=("core",)), ["aten::mul.Tensor"], ["aten::mul.out"]),
        (Filter(namespaces=("_test_mini",)), ["_test_mini::leaky"], ["aten::add.out"]),
        (Filter(has=("mps",)), ["aten::mul.out", "aten::add.Tensor"], ["aten::gelu.out"]),
        (Filter(has=("cuda",), lacks=("cpu",)), ["aten::_cudnn_rnn"], ["aten::gelu.out", "aten::conv2d"]),
        (Filter(missing=("mps",)), ["aten::gelu.out"], ["aten::conv2d", "aten::mul.out"]),
        (Filter(composite=True), ["aten::conv2d"], ["aten::gelu.out"]),
        (Filter(public=True), ["aten::gelu"], ["aten::_cudnn_rnn"]),
        # what delegates needs no kernel of its own
        (Filter(implement="xpu"), ["aten::gelu.out", "aten::gelu_backward"], ["aten::gelu", "aten::conv2d"]),
        (Filter(sources="own", has=("cuda",)), ["aten::gelu.out"], ["aten::gelu", "aten::add.out"]),
        (Filter(has=("sparse",)), ["aten::add.Tensor"], ["aten::gelu"]),
    ],
)
def test_filters(mini: Store, keep: Filter, inside: list[str], outside: list[str]) -> None:
    found = names(mini, keep)
    assert set(inside) <= set(found)
    assert not set(outside) & set(found)
    assert keep.sentence().startswith("operators ")


@pytest.mark.parametrize("key", ["tpu", "cudaa", ""])
def test_unknown_keys(mini: Store, key: str) -> None:
    with pytest.raises(BadQuestion, match="There is no dispatch key"):
        key_test(key)


def test_unknown_tag(mini: Store) -> None:
    with pytest.raises(BadQuestion, match="pointwise"):
        names(mini, Filter(tags=("pointwize",)))


@pytest.mark.parametrize(
    ("text", "label"), [("MPS", "MPS"), ("sparse-cuda", "SparseCUDA"), ("rocm", "HIP"), ("quantized", "Quantized*")]
)
def test_keys(text: str, label: str) -> None:
    assert key_test(text).label == label


def test_totals_agree_with_the_rows(mini: Store) -> None:
    rows = operators.rows(mini, details=False)
    found = totals(rows, list(operators.PLAIN))
    for backend, by in found.by_backend.items():
        assert sum(by.values()) == len(rows), backend
    assert found.yaml["entries"] + found.yaml["generated overloads"] == sum(
        row.file.endswith("native_functions.yaml") for row in rows
    )
    text = mini.meta("root") + "/aten/src/ATen/native/native_functions.yaml"
    with open(text) as file:
        assert found.yaml["entries"] == sum(line.startswith("- func:") for line in file)


def test_a_report_is_the_same_twice(mini: Store) -> None:
    from pytrace.render.json_text import dumps

    one, two = (dumps("x", operators.report(mini, Filter())) for _ in range(2))
    assert one == two


def test_stubs(mini: Store) -> None:
    found = {row.name: row for row in stubs.report(mini, operators=operators.rows(mini)).rows}
    gelu = found["GeluKernel"]
    assert [place.name for place in gelu.registered["cpu"]] == ["at::native::GeluKernelImpl"]
    assert gelu.sites["cpu"] == ["aten/src/ATen/native/cpu/Activation.cpp:17"]
    assert "aten::gelu.out" in gelu.operators
    only = {row.name for row in stubs.report(mini, has=("cpu",), lacks=("cuda",)).rows}
    assert only == {name for name, row in found.items() if "cpu" in row.registered and "cuda" not in row.registered}
    assert "GeluKernel" in only
