"""Generated kernels of ufunc operators, around a loop written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from pytrace.extract.native_functions import extract
from pytrace.link import operators, ufuncs
from pytrace.link.context import Context
from pytrace.link.functions import FunctionTable
from pytrace.link.registration_stubs import StubTable

YAML = b"""\
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: add.out
- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  ufunc_inner_loop:
    Generic: add (All)
    ScalarOnly: add (Bool)
"""


def linked(yaml: bytes, *functions: str) -> Context:
    """A context in which these functions are defined."""
    ctx = Context({"n.yaml": ("native_functions", extract(yaml))})
    operators.link(ctx)
    by_name: dict[str, list[SimpleNamespace]] = {}
    for name in functions:
        name, _, parameter = name.partition("(")
        symbol = SimpleNamespace(id=ctx.graph.node("function", name, "x.h", 1), parameters=[(parameter, "x", "")])
        by_name.setdefault(name, []).append(symbol)
    ctx.functions = cast(FunctionTable, SimpleNamespace(by_name=by_name))
    ctx.stubs = StubTable()
    ctx.stubs.add("at::native::add_stub", ctx.graph.node("stub", "add_stub", "BinaryOps.h", 1))
    ufuncs.link(ctx)
    return ctx


def edges(ctx: Context) -> list[tuple[str, str, str, str]]:
    names = {row[0]: row[2].removeprefix("at::native::") for row in ctx.graph.nodes}
    return [(names[e[0]], e[2], e[3], names[e[1]]) for e in ctx.graph.edges if e[4] == "ufunc"]


def test_both_devices() -> None:
    ctx = linked(
        YAML, "at::native::cpu_kernel_vec", "at::native::cpu_kernel", "at::native::gpu_kernel", "at::native::ufunc::add"
    )
    assert edges(ctx) == [
        ("add_stub", "registers", "CPU", "add_kernel"),
        ("structured_ufunc_add_CPU::impl", "uses_stub", "", "add_stub"),
        ("add_kernel", "calls", "", "cpu_kernel_vec"),
        ("add_kernel", "calls", "", "cpu_kernel"),
        ("add_kernel", "calls", "", "ufunc::add"),
        ("add_stub", "registers", "CUDA", "add_kernel"),
        ("structured_ufunc_add_CUDA::impl", "calls", "", "add_kernel"),
        ("add_kernel", "calls", "", "gpu_kernel"),
        ("add_kernel", "instantiates", "gpu_kernel", "CUDAFunctorOnSelf_add"),
        ("add_kernel", "instantiates", "gpu_kernel", "CUDAFunctorOnOther_add"),
        ("add_kernel", "instantiates", "gpu_kernel", "CUDAFunctor_add"),
        ("CUDAFunctorOnSelf_add", "calls", "", "ufunc::add"),
        ("CUDAFunctorOnOther_add", "calls", "", "ufunc::add"),
        ("CUDAFunctor_add", "calls", "", "ufunc::add"),
    ]
    assert {(e[5], e[6]) for e in ctx.graph.edges if e[4] == "ufunc"} == {("n.yaml", 5)}
    assert ctx.graph.unresolved == []
    # two functions of one name, one per device
    assert len([row for row in ctx.graph.nodes if row[2] == "at::native::add_kernel"]) == 2


def test_functors_do_not_take_vectors() -> None:
    ctx = linked(YAML, "at::native::ufunc::add(T", "at::native::ufunc::add(Vectorized<T>")
    ends = [e[1] for e in ctx.graph.edges if e[4] == "ufunc" and e[2] == "calls"]
    scalar, vector = (row[0] for row in ctx.graph.nodes if row[2] == "at::native::ufunc::add")
    assert (ends.count(scalar), ends.count(vector)) == (4, 1)


def test_missing_loops_are_listed() -> None:
    ctx = linked(YAML, "at::native::gpu_kernel")
    assert {row[2] for row in ctx.graph.unresolved} == {
        "at::native::cpu_kernel_vec", "at::native::cpu_kernel", "at::native::ufunc::add"
    }  # fmt: skip


def test_an_odd_loop_is_a_diagnostic() -> None:
    ctx = linked(YAML.replace(b"(Bool)", b"Bool"))
    assert [(path, line, message) for path, line, _, message in ctx.graph.diagnostics] == [
        ("n.yaml", 5, "not a ufunc loop: 'add Bool'")
    ]
