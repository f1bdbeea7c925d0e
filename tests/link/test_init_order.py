"""What C++ functions put into Python."""

from __future__ import annotations

from pytrace.graph import Graph
from tests.link.small import linked

MODULE = """
static PyMethodDef TorchMethods[] = {
    {"_initExtension", THPModule_initExtension, METH_O, nullptr},
    {nullptr}};
PyObject* THPModule_initExtension(PyObject* self, PyObject* arg) { initDtypes(); return nullptr; }
PyObject* initModule() {
  THPUtils_addPyMethodDefs(methods, std::data(TorchMethods));
#ifdef USE_CUDA
  THPUtils_addPyMethodDefs(methods, torch::cuda::functions());
#endif
  static struct PyModuleDef torchmodule = {PyModuleDef_HEAD_INIT, "torch._C", nullptr, -1, methods.data()};
  module = PyModule_Create(&torchmodule);
  THPSize_init(module);
  torch::initPart(module);
  torch::tree::initTree(module);
  torch::script::initDict(module);
  auto py_module = py::reinterpret_borrow<py::module>(module);
  py_module.def("_demangle", &c10::demangle);
  ASSERT_TRUE(set_module_attr("has_mkl", Py_True));
  return module;
}
"""
SIZE = """
PyTypeObject THPSizeType = {PyVarObject_HEAD_INIT(nullptr, 0) "torch.Size", 0};
void THPSize_init(PyObject* module) {
  if (PyType_Ready(&THPSizeType) < 0) throw python_error();
  PyModule_AddObject(module, "Size", (PyObject*)&THPSizeType);
}
"""
PART = """
namespace torch {
static PyMethodDef part_functions[] = {{"one", part_one, METH_NOARGS, nullptr}, {nullptr}};
void initPart(PyObject* module) {
  static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "torch._C._part", nullptr, -1, part_functions};
  PyObject* part = PyModule_Create(&def);
  PyModule_AddObject(module, "_part", part);
  auto m = py::handle(part).cast<py::module>();
  py::class_<Thing>(m, "Thing")
      // about the name
      .def("name", &Thing::name);
  PyModule_AddObject(module, name.c_str(), value);
}
}
namespace torch::cuda {
static PyMethodDef cuda_methods[] = {{"_cuda_init", THCPModule_init, METH_NOARGS, nullptr}, {nullptr}};
PyMethodDef* functions() { return cuda_methods; }
}
"""
#: As torch/csrc/dynamo does: each initialiser makes a module and returns it, and whoever calls it adds it.
TREE = """
namespace torch::tree {
static PyMethodDef guard_methods[] = {{"check", guard_check, METH_VARARGS, nullptr}, {nullptr}};
static struct PyModuleDef guard_module = {PyModuleDef_HEAD_INIT, "torch._C._tree.guards", "checks", -1, guard_methods};
PyObject* guards_init() {
  PyObject* m = PyModule_Create(&guard_module);
  if (PyModule_AddObject(m, "Guard", (PyObject*)&GuardType) < 0) return nullptr;
  auto py_m = py::handle(m).cast<py::module>();
  py::class_<Manager, std::unique_ptr<Manager>>(py_m, "Manager")
      // a comment that is longer than what is looked at before a definition, and ends in a word about the accessors
      .def("source", &Manager::source)
      .def_static("make", &Manager::make);
  py_m.def("install", &install);
  return m;
}
static struct PyModuleDef tree_module = {PyModuleDef_HEAD_INIT, "torch._C._tree", "trees", -1, nullptr};
void initTree(PyObject* torch) {
  PyObject* tree = PyModule_Create(&tree_module);
  if (PyModule_AddObject(torch, "_tree", tree) != 0) { throw python_error(); }
  PyObject* guards = guards_init();
  if (guards == nullptr || PyModule_AddObject(tree, "guards", guards) != 0) { throw python_error(); }
}
}
"""
#: As torch/csrc/jit/python/python_dict.cpp: classes from the module that the caller hands on.
SCRIPT = """
namespace torch::script {
void initDict(PyObject* module) {
  auto m = py::handle(module).cast<py::module>();
  py::class_<Iterator>(m, "DictIterator").def("__next__", &Iterator::next);
  py::class_<Dict, std::shared_ptr<Dict>>(m, "Dict")
      .def(py::init([](py::dict d) { return make(d); }))
      .def("__len__", [](const std::shared_ptr<Dict>& self) { return self->len(); });
}
}
"""
#: An extension module of its own: functorch/csrc.
OTHER = """
PyObject* Other_init() {
  auto mod = own::steal(PyModule_Create(&own_module));
  PyModule_AddObject(mod.ptr(), "_method", (PyObject*)&PyInstanceMethod_Type);
  return mod.release();
}
"""
PYTHON = "from torch._C import *\nfrom torch import _C\n_C._initExtension('path')\n"


def graph() -> Graph:
    return linked(
        {
            "torch/csrc/stub.c": "PyObject* PyInit__C(void) { return initModule(); }",
            "torch/csrc/Module.cpp": MODULE,
            "torch/csrc/Size.cpp": SIZE,
            "torch/csrc/part.cpp": PART,
            "torch/csrc/tree.cpp": TREE,
            "torch/csrc/script.cpp": SCRIPT,
            "functorch/csrc/other.cpp": OTHER,
            "torch/__init__.py": PYTHON,
        }
    )


def told(made: Graph, kind: str) -> set[tuple[str, str, str, int, str]]:
    """(source, key, destination, line, guard) of the edges of a kind."""
    names = {row[0]: row[2] for row in made.nodes}
    return {(names[e[0]], e[3], names[e[1]], e[6], e[7]) for e in made.edges if e[2] == kind}


def test_what_is_provided() -> None:
    assert told(graph(), "provides") == {
        ("initModule", "function", "torch._C._initExtension", 7, ""),
        ("initModule", "function", "torch._C._cuda_init", 9, "#ifdef USE_CUDA"),
        ("initModule", "function", "torch._C._demangle", 18, ""),
        ("initModule", "object", "torch._C.has_mkl", 19, ""),
        ("THPSize_init", "type", "torch._C.Size", 5, ""),
        ("torch::initPart", "module", "torch._C._part", 7, ""),
        ("torch::initPart", "function", "torch._C._part.one", 6, ""),
        ("torch::initPart", "class", "torch._C._part.Thing", 9, ""),
        ("torch::tree::guards_init", "function", "torch._C._tree.guards.check", 6, ""),
        ("torch::tree::guards_init", "object", "torch._C._tree.guards.Guard", 7, ""),
        ("torch::tree::guards_init", "class", "torch._C._tree.guards.Manager", 9, ""),
        ("torch::tree::guards_init", "function", "torch._C._tree.guards.install", 13, ""),
        ("torch::tree::initTree", "module", "torch._C._tree", 19, ""),
        ("torch::tree::initTree", "module", "torch._C._tree.guards", 21, ""),
        ("torch::script::initDict", "class", "torch._C.DictIterator", 5, ""),
        ("torch::script::initDict", "class", "torch._C.Dict", 6, ""),
    }


def test_a_computed_name_is_not_guessed() -> None:
    assert [row[:4] for row in graph().unresolved if row[1] == "binding"] == [
        ("functorch/csrc/other.cpp", "binding", "_method", 4),
        ("torch/csrc/part.cpp", "binding", "value", 12),
    ]


def test_bindings_know_their_functions() -> None:
    assert ("torch._C._initExtension", "", "THPModule_initExtension", 3, "") in told(graph(), "implemented_by")


def test_where_python_begins() -> None:
    calls = told(graph(), "calls")
    assert ("torch", "", "PyInit__C", 1, "") in calls
    assert ("torch", "", "torch._C._initExtension", 3, "") in calls


def test_a_chain_goes_on_behind_a_comment() -> None:
    names = {row[2] for row in graph().nodes}
    assert {"torch._C._part.Thing.name", "torch._C._tree.guards.Manager.source"} <= names
    assert {"torch._C._tree.guards.Manager.make", "torch._C.Dict.__len__"} <= names


def test_initialisers_are_called_in_a_chain() -> None:
    calls = {(source, destination, line) for source, _, destination, line, _ in told(graph(), "calls")}
    assert ("initModule", "torch::tree::initTree", 15) in calls
    assert ("initModule", "torch::script::initDict", 16) in calls
    assert ("torch::tree::initTree", "torch::tree::guards_init", 20) in calls
