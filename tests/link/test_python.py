"""Python: from the facts of a miniature torch package to nodes, aliases and calls."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from pytrace.extract import native_functions, python, python_outline
from pytrace.graph import Graph
from pytrace.link import bindings, operators
from pytrace.link import python as link_python
from pytrace.link.context import Context
from pytrace.link.python_modules import Module, module_name
from pytrace.link.python_natives import tensors_returned
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema import parse_schema

YAML = """
- func: relu(Tensor self) -> Tensor
  variants: function, method
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
- func: chunk(Tensor self, int chunks) -> Tensor[]
  variants: function, method
- func: split(Tensor self, int n) -> Tensor[]
  variants: function, method
- func: is_nonzero(Tensor self) -> bool
  variants: function, method
- func: lstm(Tensor input) -> (Tensor, Tensor)
- func: linear(Tensor input) -> Tensor
  python_module: nn
- func: mm(Tensor self, Tensor other) -> Tensor
- func: mm.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
- func: hidden(Tensor self) -> Tensor
"""
VARIABLE = b"""
PyTypeObject THPVariableType = {"torch._C.TensorBase", &mapping, properties};
static PyMappingMethods mapping = {len, THPVariable_getitem, set};
static PyGetSetDef properties[] = {{"data", (getter)PropertyData::getter, (setter)set_data}, {"dtype", get_dtype}};
struct PropertyData : GetterBase<PropertyData> { static Tensor fn(const Tensor& t) { return THPVariable_Wrap(t); } };
static PyMethodDef methods[] = {{"__add__", THPVariable_add}, {"__radd__", THPVariable_add}};
void init() { THPVariableType.tp_methods = methods; }
static PyMethodDef thing_methods[] = {{"method", THPThing_method}};
PyTypeObject THPThingType = {"torch.Thing", thing_methods};
"""

TREE = {
    "torch/__init__.py": """
        from torch._C import *
        from torch import _VF as _VF
        from torch._tensor import Tensor
        from torch._ops import ops
        PRIVATE = ["hidden"]
        for name in dir(_C._VariableFunctions):
            if name in PRIVATE: continue
            globals()[name] = getattr(_C._VariableFunctions, name)
        from torch.functional import *
        from torch import nn
    """,
    "torch/_VF.py": """
        import torch
        class Forward:
            def __init__(self, name):
                self.vf = torch._C._VariableFunctions
            def __getattr__(self, name):
                return getattr(self.vf, name)
        sys.modules[__name__] = Forward(__name__)
    """,
    "torch/_ops.py": """
        class _Ops:
            def __getattr__(self, name): pass
        ops = _Ops()
    """,
    "torch/_tensor.py": """
        import torch
        from torch import _C
        class Tensor(torch._C.TensorBase):
            def split(self, n):
                if has_torch_function(self):
                    return handle_torch_function(Tensor.split, self)
                return torch._C._VariableFunctions.split(self, n)
            def __iter__(self): return self.chunk(1)
            def __rsub__(self, other): return _C._VariableFunctions.add(other, self)
            __rlike__ = __rsub__
            __neg__ = _C.TensorBase.relu
            __pow__ = wrapped(_C.TensorBase.add)
        def wrapped(f): return f
    """,
    "torch/functional.py": """
        from torch import Tensor, _VF
        __all__ = ["split", "helper"]
        def split(tensor, n): return tensor.split(n)
        def helper(x: Tensor) -> Tensor: return x + 1
        def private(x): return _VF.lstm(x)
    """,
    "torch/_jit.py": """
        def dispatch(if_true, if_false):
            def fn(): pass
            return fn
    """,
    "torch/nn/__init__.py": """
        from .modules import *
        from . import functional
    """,
    "torch/nn/functional.py": """
        import torch
        from torch import _VF
        from torch._C import _add_docstr
        from torch._jit import dispatch
        linear = _add_docstr(torch._C._nn.linear, "text")
        def relu(input):
            return torch.relu(input)
        def _other(input): return input.relu()
        pool = dispatch(if_true=relu, if_false=_other)
        def after(x): return pool(x).add(x)
        def aten(x):
            torch.ops.aten.mm.out(x)
            return torch.ops.aten.mm(x)
    """,
    "torch/nn/parameter.py": """
        import torch
        class Mixin:
            def fill(self):
                self.data = torch.relu(self)
                return self.add(1)
        class Parameter(Mixin, torch.Tensor): pass
    """,
    "torch/nn/modules/__init__.py": """
        from .module import Module
        from .rnn import LSTM, Block, Encoder
        __all__ = ["Module", "LSTM", "Block", "Encoder"]
    """,
    "torch/nn/modules/module.py": """
        class Module:
            def __init__(self): pass
            def __call__(self, *args): return self.forward(*args)
            def extra(self): pass
    """,
    "torch/nn/modules/rnn.py": """
        import copy
        from .. import functional as F
        from ..parameter import Parameter
        from .module import Module
        from torch import _VF
        class Base(Module):
            def __init__(self):
                super().__init__()
                self.weight = Parameter()
            def forward(self, x):
                return self.kernel(x)
            def kernel(self, x): pass
        class LSTM(Base):
            def kernel(self, x):
                out, h = _VF.lstm(x)
                return out.relu()
        class Block(Module):
            def __init__(self, size):
                super().__init__()
                self.rnn = LSTM()
                self.act = F.relu
            def forward(self, x):
                if self.training:
                    y = self.rnn(x)
                return self.act(self.weight) + self.size
            @property
            def size(self): return F.linear(self.rnn.weight)
        class Encoder(Module):
            def __init__(self, block: Block):
                self.layers = clones(block, 3)
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
        def clones(module, n): return [copy.deepcopy(module) for i in range(n)]
    """,
    "torch/testing/helper.py": "def tested(): pass\n",
}


def linked(**more: str) -> Graph:
    """The graph of the tree above and some more files, named with ``__`` for ``/``."""
    files: dict[str, tuple[str, Any]] = {
        "aten/src/ATen/native/native_functions.yaml": ("native_functions", native_functions.extract(YAML.encode())),
        "torch/csrc/autograd/python_variable.cpp": ("cpp", {}),
    }
    from pytrace.extract import cbindings

    files["torch/csrc/autograd/python_variable.cpp"] = ("cpp", cbindings.extract(None, VARIABLE))
    sources = {**TREE, **{name.replace("__", "/") + ".py": text for name, text in more.items()}}
    for path, text in sources.items():
        files[path] = ("python", python.extract(textwrap.dedent(text).encode()))
    ctx = Context(dict(sorted(files.items())))
    operators.link(ctx)
    bindings.link(ctx)
    link_python.link(ctx)
    return ctx.graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return linked()


def edges(graph: Graph, name: str) -> list[tuple[str, str, str]]:
    """(kind, destination, rule) of the edges that leave a Python name."""
    names = {row[0]: row[2] for row in graph.nodes}
    source = graph.find(NodeKind.PYTHON, name)
    assert source is not None, name
    return [(e[2], names[e[1]], e[4]) for e in graph.edges if e[0] == source]


def called(graph: Graph, name: str) -> set[str]:
    return {target for _, target, _ in edges(graph, name)}


def reached(graph: Graph, name: str) -> set[str]:
    """The operators that a Python name reaches."""
    kinds = {row[0]: (row[1], row[2]) for row in graph.nodes}
    out: dict[int, list[int]] = {}
    for edge in graph.edges:
        out.setdefault(edge[0], []).append(edge[1])
    start = graph.find(NodeKind.PYTHON, name)
    assert start is not None, name
    todo, seen = [start], {start}
    while todo:
        for target in out.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return {kinds[i][1] for i in seen if kinds[i][0] == NodeKind.OP}


NATIVE, TENSOR = "torch._C._VariableFunctions", "torch._C.TensorBase"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # names that loops, stars and imports give to torch
        ("torch.relu", [("alias_of", f"{NATIVE}.relu", "python-import")]),
        ("torch.split", [("alias_of", "torch.functional.split", "python-import")]),
        ("torch.helper", [("alias_of", "torch.functional.helper", "python-import")]),
        ("torch.Tensor", [("alias_of", "torch._tensor.Tensor", "python-import")]),
        ("torch.nn.LSTM", [("alias_of", "torch.nn.modules.rnn.LSTM", "python-import")]),
        ("torch.nn.functional.linear", [("alias_of", "torch._C._nn.linear", "python-assignment")]),
        # members of Tensor under the name that users write
        ("torch.Tensor.add", [("alias_of", f"{TENSOR}.add", "python-member")]),
        ("torch.Tensor.split", [("alias_of", "torch._tensor.Tensor.split", "python-member")]),
        ("torch._tensor.Tensor.__neg__", [("alias_of", f"{TENSOR}.relu", "python-assignment")]),
        ("torch._tensor.Tensor.__rlike__", [("alias_of", "torch._tensor.Tensor.__rsub__", "python-assignment")]),
        # what wraps functions may call them
        (
            "torch.nn.functional.pool",
            [
                ("calls", "torch.nn.functional.relu", "python-assigned"),
                ("calls", "torch.nn.functional._other", "python-assigned"),
            ],
        ),
        ("torch._tensor.Tensor.__pow__", [("calls", f"{TENSOR}.add", "python-assigned")]),
        # calls
        ("torch._tensor.Tensor.split", [("calls", f"{NATIVE}.split", "python-call")]),
        ("torch.functional.split", [("calls", "torch._tensor.Tensor.split", "python-call")]),
        ("torch.functional.private", [("calls", f"{NATIVE}.lstm", "python-call")]),
        ("torch.functional.helper", [("calls", f"{TENSOR}.__add__", "python-operator")]),
        (
            "torch.nn.functional.after",
            [("calls", f"{TENSOR}.add", "python-call"), ("calls", "torch.nn.functional.pool", "python-call")],
        ),
        (
            "torch.nn.functional.aten",
            [
                ("calls_op", "aten::mm.out", "python-op"),
                ("calls_op", "aten::mm", "python-op"),
            ],
        ),
        # classes
        (
            "torch.nn.modules.rnn.LSTM",
            [
                ("calls", "torch.nn.modules.rnn.Base.__init__", "python-class"),
                ("calls", "torch.nn.modules.rnn.Base.forward", "python-class"),
                ("calls", "torch.nn.modules.rnn.LSTM.kernel", "python-call"),
            ],
        ),
        ("torch.nn.modules.rnn.Base.forward", [("calls", "torch.nn.modules.rnn.Base.kernel", "python-call")]),
        (
            "torch.nn.modules.rnn.Block.forward",
            [
                ("calls", "torch.nn.modules.rnn.Base.forward", "python-call"),
                ("calls", "torch.nn.modules.rnn.LSTM.kernel", "python-override"),
                ("calls", "torch.nn.modules.rnn.Block.size", "python-property"),
                ("calls", f"{TENSOR}.__add__", "python-operator"),
                ("calls", "torch.nn.functional.relu", "python-call"),
            ],
        ),
        ("torch.nn.modules.rnn.Block.size", [("calls", "torch._C._nn.linear", "python-call")]),
        ("torch.nn.modules.rnn.Encoder.forward", [("calls", "torch.nn.modules.rnn.Block.forward", "python-call")]),
        # a mixin's self is what it is mixed into
        (
            "torch.nn.parameter.Mixin.fill",
            [
                ("calls", f"{TENSOR}.data", "python-property"),
                ("calls", f"{NATIVE}.relu", "python-call"),
                ("calls", f"{TENSOR}.add", "python-call"),
            ],
        ),
    ],
)
def test_edges(graph: Graph, name: str, expected: list[tuple[str, str, str]]) -> None:
    assert sorted(edges(graph, name)) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("torch.nn.LSTM", {"aten::lstm", "aten::relu"}),
        ("torch.nn.Encoder", {"aten::relu", "aten::lstm", "aten::add.Tensor", "aten::linear"}),
        ("torch.nn.functional.pool", {"aten::relu"}),
        ("torch.Tensor.__iter__", {"aten::chunk"}),
        ("torch.nn.modules.module.Module.extra", set()),
    ],
)
def test_operators(graph: Graph, name: str, operators: set[str]) -> None:
    assert reached(graph, name) == operators


def test_what_is_no_node(graph: Graph) -> None:
    for name in ("torch.testing.helper.tested", "torch.hidden", "torch.private", "torch.nn.functional.Tensor"):
        assert graph.find(NodeKind.PYTHON, name) is None, name


def test_evidence(graph: Graph) -> None:
    source = graph.find(NodeKind.PYTHON, "torch.nn.modules.rnn.Block.forward")
    target = graph.find(NodeKind.PYTHON, "torch.nn.modules.rnn.Base.forward")
    (edge,) = [e for e in graph.edges if e[0] == source and e[1] == target]
    _, _, _, _, rule, file, line, guard, candidates, owner, _ = edge
    assert (rule, file, line, guard, candidates) == ("python-call", "torch/nn/modules/rnn.py", 25, "self.training", 1)
    assert owner == file


def test_nodes_have_places_and_kinds(graph: Graph) -> None:
    rows = {row[2]: row for row in graph.nodes if row[1] == NodeKind.PYTHON}
    size = rows["torch.nn.modules.rnn.Block.size"]
    assert (size[4], size[5], json.loads(size[8] or "{}")) == ("torch/nn/modules/rnn.py", 28, {"kind": "property"})
    bases = ["torch.nn.modules.rnn.Base", "torch.nn.modules.module.Module"]
    assert json.loads(rows["torch.nn.modules.rnn.LSTM"][8] or "{}") == {"kind": "class", "bases": bases}
    assert rows["torch.nn.functional.relu"][8] is None


def test_several_functions_are_candidates() -> None:
    graph = linked(
        torch__acts="""
        import torch
        import torch.nn.functional as F
        def pick(name):
            if name == "relu":
                return F.relu
            return torch.add
        def use(x): return pick("relu")(x)
        """
    )
    source = graph.find(NodeKind.PYTHON, "torch.acts.use")
    names = {row[0]: row[2] for row in graph.nodes}
    rows = [(names[e[1]], e[8]) for e in graph.edges if e[0] == source]
    assert sorted(rows) == [
        ("torch._C._VariableFunctions.add", 2),
        ("torch.acts.pick", 1),
        ("torch.nn.functional.relu", 2),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from torch.odd import *\n",
        "from .odd import a as b\nfrom .odd import b as a\ndef f(): a()\n",
        "class A(A): pass\n",
        "class A(B):\n    def f(self): self.g()\nclass B(A):\n    def g(self): self.f()\n",
        "class A(object, B): pass\nclass B(object): pass\nclass C(A, B): pass\n",
        "a = b\nb = a\ndef f(): a()\n",
        "def f(): return f()()()\n",
        "def f(x): return g(x)\ndef g(x): return f(x)\ndef h(): f(1).a()\n",
        "class A:\n    def __init__(self): self.x = self.x.y\n    def f(self): self.x.z()\n",
        "import torch.odd as o\nx = o.x\ndef f(): o.x()\n",
        "sys.modules[__name__] = sys.modules[__name__]\n",
        "class A:\n    f = f\n    def g(self): self.f()\n",
    ],
)
def test_circles_end(text: str) -> None:
    assert linked(torch__odd=text).nodes


def test_unresolved() -> None:
    graph = linked(
        torch__odd="""
        import torch
        import torch.nn.functional as F
        def f(x, y):
            torch.nothing(x)
            F.missing.thing(x)
            F.missing(x)
            y.nothing()
            torch.Thing()
            torch.float32
        """
    )
    assert [row[:4] for row in graph.unresolved if row[1] == "python"] == [
        ("torch/odd.py", "python", "torch.nothing", 5),
        ("torch/odd.py", "python", "torch.nn.functional.missing", 7),
    ]


def test_outlines_are_linked() -> None:
    facts = python_outline.extract(b"from torch import relu\n__all__ = ['relu']\ndef f(): relu()\n")
    ctx = Context({"torch/fx/a.py": ("python_outline", facts)})
    operators.link(ctx)
    link_python.link(ctx)
    assert ctx.graph.find(NodeKind.PYTHON, "torch.fx.a.f") is not None
    assert not [e for e in ctx.graph.edges if e[2] == EdgeKind.CALLS]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("torch/__init__.py", ("torch", True)),
        ("torch/nn/functional.py", ("torch.nn.functional", False)),
    ],
)
def test_module_name(path: str, name: tuple[str, bool]) -> None:
    assert module_name(path) == name


@pytest.mark.parametrize(
    ("path", "target", "absolute"),
    [
        ("torch/nn/modules/rnn.py", "torch.abs", "torch.abs"),
        ("torch/nn/modules/rnn.py", ".module.Module", "torch.nn.modules.module.Module"),
        ("torch/nn/modules/rnn.py", "..functional", "torch.nn.functional"),
        ("torch/nn/modules/rnn.py", "...x", "torch.x"),
        ("torch/nn/__init__.py", ".modules", "torch.nn.modules"),
        ("torch/nn/__init__.py", ".", "torch.nn"),
    ],
)
def test_absolute(path: str, target: str, absolute: str) -> None:
    assert Module(path, {}).absolute(target) == absolute


@pytest.mark.parametrize(
    ("schema", "symbol"),
    [
        ("f(Tensor a) -> Tensor", "T"),
        ("f(Tensor a) -> Tensor[]", "T{}"),
        ("f(Tensor a) -> (Tensor, Tensor)", "T{}"),
        ("f(Tensor a) -> int", ""),
        ("f(Tensor a) -> ()", ""),
    ],
)
def test_tensors_returned(schema: str, symbol: str) -> None:
    assert tensors_returned(parse_schema(schema)) == symbol


def test_a_class_tells_what_it_inherits_from() -> None:
    tree = {
        "torch/__init__.py": "from torch.m import C",
        "torch/m.py": "class A: pass\nclass B(A): pass\nclass C(B, A, Unknown):\n    def f(self): pass\n",
    }
    ctx = Context({path: ("python", python.extract(text.encode())) for path, text in tree.items()})
    operators.link(ctx)
    link_python.link(ctx)
    attrs = {row[2]: json.loads(row[8] or "{}") for row in ctx.graph.nodes}
    assert attrs["torch.m.A"] == {"kind": "class"}
    assert attrs["torch.m.C"] == {"kind": "class", "bases": ["torch.m.B", "torch.m.A"]}
    assert attrs["torch.m.C.f"] == {}
