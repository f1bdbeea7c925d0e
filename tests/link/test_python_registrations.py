"""What running the registration code of Python files puts into the graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import tree_sitter_python
from tree_sitter import Language, Parser

from pytrace.extract.python_registrations import extract
from pytrace.link import python_registrations
from pytrace.link.context import Context
from pytrace.link.operators import OperatorTable, add_node
from pytrace.model import EdgeKind, NodeKind

PARSER = Parser(Language(tree_sitter_python.language()))
SCHEMAS = (
    "aten::add.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
    "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "aten::sin(Tensor self) -> Tensor",
    "aten::special_i0e(Tensor self) -> Tensor",
    "aten::t(Tensor(a) self) -> Tensor(a)",
)


LIB = "lib = torch.library.Library('aten', 'IMPL')\n"


def program(text: str) -> dict[str, Any]:
    source = text.encode()
    return extract(PARSER.parse(source), source)


def linked(sources: Mapping[str, str]) -> Context:
    ctx = Context({path: ("python", program(text)) for path, text in sorted(sources.items())})
    ctx.operators = OperatorTable()
    for schema in SCHEMAS:
        add_node(ctx.graph, ctx.operators.add(schema))
    python_registrations.link(ctx)
    return ctx


def edges(ctx: Context) -> list[tuple[str, str, str, str, str]]:
    """(rule, operator, key, function, file:line)"""
    names = {row[0]: row[2] for row in ctx.graph.nodes}
    return [
        (e[4].removeprefix("python-"), names[e[0]], e[3], names[e[1]], f"{e[5]}:{e[6]}")
        for e in ctx.graph.edges
        if e[2] == python_registrations.REGISTERS_PYTHON
    ]


def of(text: str, path: str = "torch/a.py") -> list[tuple[str, str, str, str, str]]:
    return edges(linked({path: text}))


def test_library() -> None:
    text = """\
import torch
lib = torch.library.Library("my", "DEF")
lib.define("f(Tensor x) -> Tensor")
impl = torch.library.Library("my", "IMPL", "Meta")
def f_meta(x): return x
impl.impl("f", f_meta)
impl.impl("f", lambda x: x, "CPU")
for key in ("CUDA", "XPU"):
    impl.impl("f", f_meta, key)
@torch.library.impl(lib, "f", "MPS")
@torch.library.impl("my::f", "cpu")
def f_mps(x):
    return x
"""
    ctx = linked({"torch/a.py": text})
    assert edges(ctx) == [
        ("library-impl", "my::f", "Meta", "torch.a.f_meta", "torch/a.py:6"),
        ("library-impl", "my::f", "CPU", "torch.a.<lambda>", "torch/a.py:7"),
        ("library-impl", "my::f", "CUDA", "torch.a.f_meta", "torch/a.py:9"),
        ("library-impl", "my::f", "XPU", "torch.a.f_meta", "torch/a.py:9"),
        ("library-impl", "my::f", "CPU", "torch.a.f_mps", "torch/a.py:11"),
        ("library-impl", "my::f", "MPS", "torch.a.f_mps", "torch/a.py:10"),
    ]
    (op,) = [row for row in ctx.graph.nodes if row[2] == "my::f"]
    assert op[4:6] == ("torch/a.py", 3)


def test_custom_op() -> None:
    text = """\
import torch
@torch.library.custom_op("my::g", mutates_args=())
def g(x): return x
@g.register_fake
def _(x): return x
def batch(x): return x
g.register_vmap(batch)
"""
    assert of(text) == [
        ("library-impl", "my::g", "CompositeExplicitAutograd", "torch.a.g", "torch/a.py:2"),
        ("library-impl", "my::g", "Autograd", "torch._library.autograd.make_autograd_impl", "torch/a.py:2"),
        (
            "library-impl",
            "my::g",
            "Meta",
            "torch._library.custom_ops.CustomOpDef._register_to_dispatcher",
            "torch/a.py:2",
        ),
        ("fake", "my::g", "Meta", "torch.a._", "torch/a.py:4"),
        ("library-impl", "my::g", "FuncTorchBatched", "torch.a.batch", "torch/a.py:7"),
    ]


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ("@register_decomposition(aten.sin)", [("decomposition", "aten::sin", "decomposition")]),
        (
            "@register_decomposition(aten.add)",
            [
                ("decomposition", "aten::add.Tensor", "decomposition"),
                ("decomposition", "aten::add.out", "decomposition"),
            ],
        ),
        (
            "@register_decomposition([aten.sin, [aten.add.out]], type='pre_autograd')",
            [
                ("decomposition", "aten::sin", "decomposition.pre_autograd"),
                ("decomposition", "aten::add.out", "decomposition.pre_autograd"),
            ],
        ),
        ("@register_decomposition(aten.nothing)", []),
        ("@aten.sin.default.py_impl(torch._C.DispatchKey.Autograd)", [("py-impl", "aten::sin", "Autograd")]),
        ("@torch.library.register_fake('aten::sin')", [("library-impl", "aten::sin", "Meta")]),
        ("@register_flop_formula(aten.sin)", [("flop-formula", "aten::sin", "flop_formula")]),
        ("@_onnx_symbolic('aten::sin')", [("onnx-symbolic", "aten::sin", "onnx_symbolic")]),
        ("@register_thing(aten.sin)", [("thing", "aten::sin", "thing")]),
    ],
)
def test_decorators(decorator: str, expected: list[tuple[str, str, str]]) -> None:
    text = f"""\
import torch
from torch._decomp import register_decomposition
from torch.onnx import onnx_symbolic as _onnx_symbolic
aten = torch.ops.aten
{decorator}
def f(x): return x
_ = "register_decomposition"
"""
    found = of(text)
    assert [row[:3] for row in found] == expected
    assert {row[3:] for row in found} <= {("torch.a.f", "torch/a.py:5")}


REFS = """\
import torch
from torch._decomp import register_decomposition
import torch._prims_common as utils
from functools import wraps
aten = torch.ops.aten
infer = object()

def _make_ref(kind, aten_op=infer):
    def inner(prim):
        nonlocal aten_op
        @wraps(prim)
        def _ref(a): return prim(a)
        if aten_op is infer:
            aten_op = utils.get_aten_op(prim, prim.__name__)
        if aten_op is not None:
            register_decomposition(aten_op)(_ref)
        return _ref
    return inner

def _make_inplace(fn):
    def _fn(a): return fn(a)
    name = f"{fn.__name__}_"
    _fn.__name__ = name
    return register_decomposition(getattr(aten, name))(_fn)

@_make_ref(1)
def sin(a): return a
@_make_ref(1, aten_op=None)
def cos(a): return a
@_make_ref(1, aten_op=aten.add.out)
def add(a): return a
add_ = _make_inplace(add)
"""


def test_factories() -> None:
    ctx = linked({"torch/_refs/__init__.py": REFS})
    path = "torch/_refs/__init__.py"
    assert edges(ctx) == [
        ("decomposition", "aten::sin", "decomposition", "torch._refs.sin", f"{path}:16"),
        ("decomposition", "aten::add.out", "decomposition", "torch._refs.add", f"{path}:16"),
        ("decomposition", "aten::add_.Tensor", "decomposition", "torch._refs._make_inplace.<locals>._fn", f"{path}:24"),
    ]
    assert [json.loads(e[10] or "{}").get("from") for e in ctx.graph.edges] == [
        f"{path}:26",
        f"{path}:30",
        f"{path}:32",
    ]


def test_a_factory_of_another_module() -> None:
    special = "from torch._refs import _make_ref\n@_make_ref(2)\ndef i0e(a): return a\n_ = 'register_decomposition'\n"
    found = edges(linked({"torch/_refs/__init__.py": REFS, "torch/_refs/special/__init__.py": special}))
    assert ("decomposition", "aten::special_i0e", "decomposition", "torch._refs.special.i0e") in [r[:4] for r in found]


META = """\
import torch
from torch._decomp import global_decomposition_table, meta_table
aten = torch.ops.aten
lib = torch.library.Library("aten", "IMPL", "Meta")
@register_meta([aten.sin, aten.t, aten.add.out])
def f(x): return x
def register_meta(op):
    def wrapper(fn): return fn
    return wrapper
def activate_meta():
    table = {}
    for type in ["meta", "post_autograd"]:
        registry = global_decomposition_table[type]
        for op in registry:
            if op not in table:
                table[op] = registry[op]
    for op, fn in table.items():
        if isinstance(op, torch._ops.HigherOrderOperator):
            continue
        op.py_impl(torch._C.DispatchKey.Meta)(fn)
        if torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd"):
            pass
        elif op.is_view:
            pass
        elif op.name() in {"aten::sin"}:
            pass
        else:
            lib.impl(op, fn)
activate_meta()
"""


def test_tables_that_a_loop_registers() -> None:
    text = META.replace("@register_meta", "from torch._meta_registrations import register_meta\n@register_meta")
    decompositions = (
        "import torch\nfrom torch._decomp import register_decomposition\n"
        "@register_decomposition(torch.ops.aten.special_i0e)\ndef g(x): return x\n"
    )
    sources = {"torch/_meta_registrations.py": text, "torch/_decomp/decompositions.py": decompositions}
    found = edges(linked(sources))
    at = "torch/_meta_registrations.py"
    assert [(row[0], row[1], row[3]) for row in found if row[0] in ("library-impl", "py-impl")] == [
        ("py-impl", "aten::sin", f"{at[:-3].replace('/', '.')}.f"),
        ("py-impl", "aten::t", "torch._meta_registrations.f"),
        ("py-impl", "aten::add.out", "torch._meta_registrations.f"),
        ("library-impl", "aten::add.out", "torch._meta_registrations.f"),
        ("py-impl", "aten::special_i0e", "torch._decomp.decompositions.g"),
        ("library-impl", "aten::special_i0e", "torch._decomp.decompositions.g"),
    ]


def test_higher_order_operators() -> None:
    text = """\
from torch._ops import HigherOrderOperator
class CondOp(HigherOrderOperator):
    def __init__(self):
        super().__init__("cond")
cond = CondOp()
@cond.py_impl(DispatchKey.CPU)
def dense(x): return x
"""
    assert of(text) == [("py-impl", "higher_order::cond", "CPU", "torch.a.dense", "torch/a.py:6")]


def test_unknown_conditions_run_both_branches() -> None:
    text = """\
import torch
lib = torch.library.Library("aten", "IMPL")
def f(x): return x
if something():
    lib.impl("sin", f, "CPU")
else:
    lib.impl("sin", f, "CUDA")
if torch._running_with_deploy():
    lib.impl("sin", f, "XPU")
"""
    assert [row[2] for row in of(text)] == ["CPU", "CUDA"]


def test_generators_and_tables() -> None:
    text = """\
import torch
from torch._inductor.lowering import _register_lowering
data = dict(a=OverridesData(name="sin"), b=OverridesData(name="special_i0e"))
def impl(x): return x
def pairs():
    for key, row in data.items():
        yield getattr(torch.ops.aten, row.name), key
def register_all():
    for op, key in pairs():
        _register_lowering(op, impl)
register_all()
"""
    assert [row[:4] for row in of(text)] == [
        ("lowering", "aten::sin", "lowering", "torch.a.impl"),
        ("lowering", "aten::special_i0e", "lowering", "torch.a.impl"),
    ]


def test_imports_run_in_order_and_cycles_end() -> None:
    sources = {
        "torch/a.py": "import torch.b\n" + LIB + "lib.impl('sin', torch.b.f, 'CPU')\n",
        "torch/b.py": "import torch.a\ndef f(x): return x\nx = '.impl('\nlib.impl('sin', f)\n",
    }
    assert [row[3] for row in edges(linked(sources))] == ["torch.b.f"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        "# register_decomposition(aten.sin)\n",
        "lib.impl('sin', f)\n",
        "def f(:\n    register_decomposition(\n",
        "register_decomposition()\nlib.impl()\ntorch.library.Library()\ncustom_op()\n",
        "import torch\ntorch.library.impl()\ntorch.library.define()\ntorch.library.custom_op()\n",
        "import torch\n" + LIB + "lib.impl()\nlib.define()\nlib.define(1)\nlib.impl(lib, lib)\n",
        "def f(): f()\nf()\nx.register_fake(1)\n",
        "x.register_fake(" + "(" * 300 + ")" * 300 + ")\n",
        "\x00register_decomposition(",
        "x = 'a' + x\nfor i in range(10): x.register_fake(i)\n",
    ],
)
def test_nothing_and_no_traceback(text: str) -> None:
    assert of(text) == []


def test_bytes_that_are_no_text() -> None:
    source = b"\xff\xfe register_decomposition(\xff)\n"
    assert isinstance(extract(PARSER.parse(source), source), dict)


def test_a_long_program_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytrace.link.python_interpreter._MOST_STEPS", 50)
    text = "def g(n):\n    for i in n:\n        g(n)\n    x.register_fake(1)\ng([1, 2, 3])\n"
    ctx = linked({"torch/a.py": text})
    assert [(row[0], row[1]) for row in ctx.graph.diagnostics] == [("torch/a.py", 5)]


def test_broken_syntax_loses_only_its_statement() -> None:
    text = (
        "import torch\nlib = torch.library.Library('aten', 'IMPL')\nlib.impl('sin', = 1)\nlib.impl('sin', f, 'CPU')\n"
    )
    found = program(text)
    assert [row[0] for row in found["diagnostics"]] == [3]
    assert [row[2] for row in of(text)] == ["CPU"]


def test_calling_a_higher_order_operator_runs_it() -> None:
    text = """\
from torch._ops import HigherOrderOperator
class CondOp(HigherOrderOperator):
    def __init__(self):
        super().__init__("cond")
    def __call__(self, pred):
        return super().__call__(pred)
cond_op = CondOp()
@cond_op.py_impl(DispatchKey.CPU)
def dense(x): return x
"""
    ctx = Context({"torch/a.py": ("python", program(text))})
    ctx.operators = OperatorTable()
    caller = ctx.graph.shared(NodeKind.PYTHON, "torch.a.CondOp.__call__", "torch/a.py", 5)
    python_registrations.link(ctx)
    (edge,) = [e for e in ctx.graph.edges if e[2] == EdgeKind.CALLS_OP]
    names = {row[0]: row[2] for row in ctx.graph.nodes}
    assert (edge[0], names[edge[1]], edge[4:7]) == (caller, "higher_order::cond", ("python-op", "torch/a.py", 2))
