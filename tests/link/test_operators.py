"""The operator model, from YAML text to table, nodes and edges."""

from __future__ import annotations

import textwrap

import pytest

from pytrace.extract.native_functions import extract
from pytrace.link.context import Context
from pytrace.link.operator_model import Operator
from pytrace.link.operators import OperatorTable, link
from pytrace.model import EdgeKind
from pytrace.schema import parse_type

TAGS = b"".join(
    f"- tag: {t}\n  desc: text\n".encode() for t in ("core", "pt2_compliant_tag", "inplace_view", "view_copy")
)


def context(yaml: str) -> Context:
    """A linked context; the YAML begins at line 1."""
    ctx = Context(
        {
            "native_functions.yaml": ("native_functions", extract(textwrap.dedent(yaml).encode())),
            "tags.yaml": ("tags", extract(TAGS)),
        }
    )
    link(ctx)
    return ctx


def table(yaml: str) -> OperatorTable:
    return context(yaml).operators


def kernels(op: Operator) -> dict[str, str]:
    return {key: ref.qualified for key, ref in op.dispatch.items()}


ADD = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
  variants: function, method
  dispatch:
    SparseCPU, SparseCUDA: add_sparse
  tags: core
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  structured_delegate: add.out
  variants: method
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: add (All)
  dispatch:
    MPS: add_out_mps
    SparseCPU: ns::add_out_sparse
"""


def test_structured_group() -> None:
    ops = table(ADD)
    out = ops.by_name["aten::add.out"]
    assert kernels(out) == {
        "MPS": "at::native::structured_add_out_mps::impl",
        "SparseCPU": "ns::native::add_out_sparse",
        "CPU": "at::native::structured_ufunc_add_CPU::impl",
        "CUDA": "at::native::structured_ufunc_add_CUDA::impl",
    }
    assert out.dispatch["CPU"].generated is not None
    assert out.dispatch["CPU"].generated.template == "aten/src/ATen/templates/UfuncCPU.cpp"
    assert out.dispatch["MPS"].line == 16
    functional = ops.by_name["aten::add.Tensor"]
    assert kernels(functional) == dict.fromkeys(("SparseCPU", "SparseCUDA"), "at::native::add_sparse")
    assert sorted(functional.inherited) == ["CPU", "CUDA", "MPS"]
    assert functional.tags == {"core", "pt2_compliant_tag"}
    assert functional.group == out.group == ops.by_name["aten::add_.Tensor"].group
    assert {k: sorted(ops.by_name[k].generated_keys) for k in ("aten::add.Tensor", "aten::add.out")} == {
        "aten::add.Tensor": ["CompositeExplicitAutogradNonFunctional", "Meta"],
        "aten::add.out": ["Meta"],
    }


def test_nodes_and_edges() -> None:
    ctx = context(ADD)
    names = {row[0]: row[2] for row in ctx.graph.nodes}
    edges = [(names[e[0]], names[e[1]], e[2], e[4], e[5], e[6]) for e in ctx.graph.edges]
    assert edges == [
        ("aten::add.Tensor", "aten::add.out", EdgeKind.DELEGATES, "structured-delegate", "native_functions.yaml", 2),
        ("aten::add_.Tensor", "aten::add.out", EdgeKind.DELEGATES, "structured-delegate", "native_functions.yaml", 8),
    ]
    assert [row[3:6] for row in ctx.graph.nodes] == [
        ("add", "native_functions.yaml", 1), ("add_", "native_functions.yaml", 7), ("add", "native_functions.yaml", 10)
    ]  # fmt: skip


DEFAULTS = [
    # entry, dispatch table, abstract
    ("f(Tensor self) -> Tensor", {"CompositeImplicitAutograd": "at::native::f"}, False),
    ("f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", {"CompositeImplicitAutograd": "at::native::f_out"}, False),
    ("f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f_cpu", {"CPU": "at::native::f_cpu"}, True),
    (
        "f(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: f",
        {"CompositeExplicitAutograd": "at::native::f"},
        True,
    ),
    ("q::f(Tensor self) -> Tensor", {"CompositeImplicitAutograd": "at::native::f"}, False),
]


@pytest.mark.parametrize(("entry", "expected", "abstract"), DEFAULTS)
def test_composite_defaults(entry: str, expected: dict[str, str], abstract: bool) -> None:
    (op,) = table(f"- func: {entry}\n").by_name.values()
    assert (kernels(op), op.is_abstract) == (expected, abstract)


AUTOGEN = """\
- func: grow_(Tensor(a!) self, SymInt n) -> Tensor(a!)
  dispatch:
    CPU: grow_cpu_
  autogen: grow, grow.out
"""


def test_autogen_from_inplace() -> None:
    ctx = context(AUTOGEN)
    ops = ctx.operators
    out, functional = ops.by_name["aten::grow.out"], ops.by_name["aten::grow"]
    assert out.text == "aten::grow.out(Tensor self, SymInt n, *, Tensor(a!) out) -> Tensor(a!)"
    assert functional.text == "aten::grow(Tensor self, SymInt n) -> Tensor"
    assert kernels(out) == {"CompositeExplicitAutograd": "at::native::grow_out_symint"}
    assert kernels(functional) == {"CompositeExplicitAutograd": "at::native::grow_symint"}
    assert (out.generated_calls, functional.generated_calls) == ("aten::grow", "aten::grow_")
    assert {op.name: (op.is_generated, op.line) for op in (out, functional)} == {
        "aten::grow.out": (True, 1), "aten::grow": (True, 1)
    }  # fmt: skip
    assert out.tags == {"generated", "pt2_compliant_tag"}
    assert [(e[2], e[4], e[6]) for e in ctx.graph.edges] == [("generated_from", "autogen", 4)] * 2
    assert ctx.graph.diagnostics == []


NOT_GENERATED = [
    ("composite", "- func: f(Tensor self) -> Tensor\n  autogen: f.out\n"),
    ("view", "- func: f(Tensor(a) self) -> Tensor(a)\n  dispatch:\n    CPU: f\n  autogen: f.out\n"),
    ("no promise", "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f\n"),
    ("no tensor", "- func: f(Tensor self) -> int\n  dispatch:\n    CPU: f\n  autogen: f.out\n"),
    (
        "manual",
        "- func: f(Tensor self) -> Tensor\n  manual_cpp_binding: True\n  dispatch:\n    CPU: f\n  autogen: f.out\n",
    ),
    ("only out", "- func: f.out(*, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: f\n  autogen: f\n"),
]


@pytest.mark.parametrize(("why", "yaml"), NOT_GENERATED, ids=[why for why, _ in NOT_GENERATED])
def test_not_generated(why: str, yaml: str) -> None:
    assert len(table(yaml).by_name) == 1


def test_core_composites_are_generated() -> None:
    yaml = "- func: f(Tensor self) -> Tensor\n  tags: core\n  autogen: f.out\n"
    assert list(table(yaml).by_name) == ["aten::f", "aten::f.out"]


def test_view_copies() -> None:
    ops = table("""\
        - func: flip_view(Tensor(a) self) -> Tensor(a)
          dispatch:
            CPU: flip_view
        - func: flip_view_(Tensor(a!) self) -> Tensor(a!)
          tags: inplace_view
          dispatch:
            CPU: flip_view_
        - func: flip_view_copy(Tensor self) -> Tensor
          dispatch:
            CompositeExplicitAutogradNonFunctional: flip_view_copy
          tags: view_copy
        """)
    view, inplace, copy = ops.by_name.values()
    assert (view.is_view, inplace.is_view, copy.is_view) == (True, True, False)
    assert view.view_group == inplace.view_group == copy.view_group
    assert copy.view_group is not None
    assert (copy.view_group.copy, copy.view_group.inplace) == (copy.name, inplace.name)
    kernel = copy.dispatch["CompositeExplicitAutogradNonFunctional"]
    assert kernel.generated is not None
    assert kernel.generated.generator == "torchgen/gen_functionalization_type.py"
    assert copy.generated_calls == view.name
    # not composite, returns self: torchgen registers a Meta kernel that only checks
    assert sorted(inplace.generated_keys) == ["Meta"]


def test_factories_select_the_backend() -> None:
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    ops = table(f"""\
        - func: zeros(int[] n, *, {options}) -> Tensor
        - func: zeros_like(Tensor self, *, {options}) -> Tensor
        """)
    assert [sorted(op.generated_keys) for op in ops.by_name.values()] == [["BackendSelect"], []]


ODD = [
    ("- func: f(Tensor) -> Tensor\n", 1, "not an argument"),
    ("- func: f() -> ()\n- func: f() -> ()\n", 2, "a second time"),
    ("- func: f() -> ()\n  tags: nice\n", 1, "tags.yaml does not define: nice"),
    ("- func: f() -> ()\n  variants: macro\n", 1, "unknown variants: macro"),
    ("- func: f() -> ()\n  dispatch:\n    CPUU: f\n", 3, "unknown dispatch key 'CPUU'"),
    ("- func: f() -> ()\n  dispatch:\n    CPU: f\n    CPU, CUDA: g\n", 4, "names CPU twice"),
    ("- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out\n", 1, "which does not exist"),
    ("- func: f(Tensor self) -> Tensor\n  structured_delegate: g\n- func: g() -> ()\n", 1, "is not structured"),
    ("- func: f.a(Tensor self) -> Tensor\n- func: f.b(Tensor self) -> Tensor\n", 2, "the same functional variant"),
    (
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f\n"
        "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: g\n  autogen: f_\n",
        7,
        "aten::f_: the autogen line",
    ),
]


@pytest.mark.parametrize(("yaml", "line", "said"), ODD)
def test_odd_entries_become_diagnostics(yaml: str, line: int, said: str) -> None:
    ctx = context(yaml)
    assert [(path, at, kind) for path, at, kind, _ in ctx.graph.diagnostics] == [
        ("native_functions.yaml", line, "operator")
    ]
    assert said in ctx.graph.diagnostics[0][3]


def test_cpp_names() -> None:
    ops = table(ADD + AUTOGEN)
    assert [o.op.name for o in ops.functions("add")] == ["aten::add.Tensor"]
    assert [o.op.name for o in ops.methods("add_")] == ["aten::add_.Tensor"]
    assert ops.functions("add_") == ()
    assert [[a.name for a in o.signature.args] for o in ops.functions("add_out")] == [["out", "self", "other", "alpha"]]
    assert [[a.name for a in o.signature.args] for o in ops.functions("add_outf")] == [
        ["self", "other", "alpha", "out"]
    ]
    assert [o.signature.symint for o in ops.functions("grow_symint")] == [True]
    assert ops.functions("nothing") == ops.methods("nothing") == ()
    assert ops.by_ops_struct["add__Tensor"].name == "aten::add_.Tensor"
    assert [op.name for op in ops.by_base["add"]] == ["aten::add.Tensor", "aten::add.out"]
    assert [(op.name, key) for op, key, _ in ops.by_kernel["at::native::add_sparse"]] == [
        ("aten::add.Tensor", "SparseCPU"), ("aten::add.Tensor", "SparseCUDA")
    ]  # fmt: skip


def test_manual_bindings() -> None:
    ops = table(
        "- func: data(Tensor self) -> Tensor\n  manual_cpp_binding: True\n  variants: method\n"
        "- func: dot(Tensor self) -> Tensor\n"
    )
    assert [o.manual for o in ops.methods("data")] == [True]
    assert [o.manual for o in ops.methods("__dispatch_data")] == [False]
    assert ops.functions("__dispatch_dot") == ()


def test_other_namespaces() -> None:
    ops = OperatorTable()
    op = ops.add("quantized::conv.new(Tensor qx, __torch__.torch.classes.q.P w) -> Tensor", file="a.cpp", line=3)
    assert (op.name, op.base, op.overload, op.namespace) == ("quantized::conv.new", "conv", "new", "quantized")
    assert op.schema is not None
    assert op.schema.positional[1].type == parse_type("__torch__.torch.classes.q.P")
    assert ops.add("quantized::conv.new") is op
    odd = ops.add("quantized::odd(Tensor")
    assert (odd.schema, odd.kind, odd.is_view) == (None, "", False)
    assert ops.overloads("quantized::conv") == [op]
    assert ops.overloads("conv") == []
    assert ops.functions("conv") == ()


UNGENERATED = [
    ("- func: f_(Tensor(a!) x) -> Tensor(a!)\n  dispatch:\n    CPU: f\n  autogen: f.out\n", "has no self"),
    (
        f"- func: f(Tensor self) -> ({', '.join(['Tensor'] * 27)})\n  dispatch:\n    CPU: f\n  autogen: f.out\n",
        "than there are letters",
    ),
]


@pytest.mark.parametrize(("yaml", "said"), UNGENERATED)
def test_variants_that_cannot_be_generated(yaml: str, said: str) -> None:
    ctx = context(yaml)
    assert len(ctx.operators.by_name) == 1
    assert [said in message for _, _, _, message in ctx.graph.diagnostics] == [True]
