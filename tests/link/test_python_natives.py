"""What Python code means by names of C++: types under another name, inherited members, modules behind functions."""

from __future__ import annotations

import textwrap

import pytest

from pytrace.graph import Graph
from pytrace.model import EdgeKind
from tests.link.small import linked

ENGINE = """
static struct PyMethodDef Engine_methods[] = {{"run", Engine_run, METH_VARARGS, nullptr}, {nullptr}};
PyTypeObject EngineType = {PyVarObject_HEAD_INIT(nullptr, 0) "torch._C._EngineBase", Engine_methods, nullptr};
bool Engine_initModule(PyObject* module) {
  PyModule_AddObject(module, "_ImperativeEngine", (PyObject*)&EngineType);
}
"""
STORES = """
void init(py::module module) {
  auto store = py::class_<::c10d::Store>(module, "Store").def("get", &::c10d::Store::get);
  intrusive_ptr_class_<::c10d::TCPStore>(module, "TCPStore", store, "text").def("host", &TCPStore::host);
  py::class_<Prefix, ::c10d::Store, std::shared_ptr<Prefix>>(module, "PrefixStore");
  py::class_<Other, Trampoline>(module, "Other");
}
"""
PYTHON = {
    "torch/__init__.py": """
        from torch._tensor import Tensor
        from torch._ops import ops
        from torch._C import TCPStore
        """,
    "torch/_tensor.py": "import torch\nclass Tensor(torch._C.TensorBase):\n    def __ne__(self, other): pass\n",
    "torch/_ops.py": "class _Ops:\n    _loaded = 1\nops = _Ops()\n",
    "torch/auto/__init__.py": "from .variable import Variable\ndef variable(x): return Variable(x)\n",
    "torch/auto/variable.py": """
        from torch._C import _ImperativeEngine as Engine
        class Variable:
            engine = Engine()
        """,
    "torch/uses.py": """
        import torch
        from torch.auto.variable import Variable
        from torch._C import TCPStore, PrefixStore, Other
        def behind_a_function():
            return Variable.engine.run()
        def given_base():
            return TCPStore().get("key")
        def template_base(store: PrefixStore):
            return store.get("key")
        def trampoline(store: Other):
            return store.get("key")
        def private_namespace(x):
            return torch.ops._private.sum(x)
        def of_the_class(x):
            return x + torch.ops._loaded
        def default(group=None, flag=False):
            group = group or make()
            return group.get("key")
        def conditional(group=None):
            group = group if group is not None else make()
            return group.get("key")
        def classes(x):
            return type(x) != torch.Tensor
        def make() -> TCPStore:
            return TCPStore()
        """,
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    files = {"torch/csrc/engine.cpp": ENGINE, "torch/csrc/stores.cpp": STORES}
    library = 'TORCH_LIBRARY(_private, m) { m.def("sum(Tensor x) -> Tensor"); }'
    python = {path: textwrap.dedent(text) for path, text in PYTHON.items()}
    return linked({**files, "torch/csrc/ops.cpp": library, **python})


@pytest.mark.parametrize(
    ("function", "ends"),
    [
        ("behind_a_function", {"torch._C._EngineBase.run"}),
        ("given_base", {"torch._C.Store.get"}),
        ("template_base", {"torch._C.Store.get"}),
        ("trampoline", set()),
        ("private_namespace", {"_private::sum"}),
        ("of_the_class", set()),
        ("default", {"torch.uses.make", "torch._C.Store.get"}),
        ("conditional", {"torch.uses.make", "torch._C.Store.get"}),
        ("classes", set()),
    ],
)
def test_ends(graph: Graph, function: str, ends: set[str]) -> None:
    names = {row[0]: row[2] for row in graph.nodes}
    found = {names[e[1]] for e in graph.edges if names[e[0]] == f"torch.uses.{function}"}
    assert found == ends


def test_classes_of_pybind11_are_names_of_python(graph: Graph) -> None:
    names = {row[0]: row[2] for row in graph.nodes}
    found = {names[e[0]]: names[e[1]] for e in graph.edges if e[2] == EdgeKind.ALIAS_OF}
    assert found["torch.TCPStore"] == "torch._C.TCPStore"


REGISTRY = """
_TABLE = {}
def register(kind, other):
    def decorator(function):
        _TABLE[kind, other] = function
        return function
    return decorator
def find(a, b):
    return _TABLE[type(a), type(b)]
def known(a):
    return a in _TABLE
def remove(a):
    _TABLE.pop(a)
def run(a, b):
    return find(a, b)(a, b)
@register(1, 2)
@register(2, 1)
def first(a, b): pass
@register(2, 2)
def second(a, b): pass
def plain(a, b): pass
"""


def test_a_registry_is_one_of_several() -> None:
    graph = linked({"torch/__init__.py": "", "torch/table.py": REGISTRY})
    names = {row[0]: row[2] for row in graph.nodes}
    found = {(names[e[0]], names[e[1]], e[3], e[8]) for e in graph.edges if e[2] == EdgeKind.MAY_CALL}
    by = "torch.table.register"
    assert found == {
        ("torch.table.find", "torch.table.first", by, 2),
        ("torch.table.find", "torch.table.second", by, 2),
    }
