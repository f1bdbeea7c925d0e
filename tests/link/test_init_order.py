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
PYTHON = "from torch._C import *\nfrom torch import _C\n_C._initExtension('path')\n"


def graph() -> Graph:
    return linked(
        {
            "torch/csrc/stub.c": "PyObject* PyInit__C(void) { return initModule(); }",
            "torch/csrc/Module.cpp": MODULE,
            "torch/csrc/Size.cpp": SIZE,
            "torch/csrc/part.cpp": PART,
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
        ("initModule", "function", "torch._C._demangle", 16, ""),
        ("initModule", "object", "torch._C.has_mkl", 17, ""),
        ("THPSize_init", "type", "torch._C.Size", 5, ""),
        ("torch::initPart", "module", "torch._C._part", 7, ""),
        ("torch::initPart", "class", "torch._C._part.Thing", 9, ""),
    }


def test_a_computed_name_is_not_guessed() -> None:
    assert [row[:4] for row in graph().unresolved if row[1] == "binding"] == [
        ("torch/csrc/part.cpp", "binding", "value", 12)
    ]


def test_bindings_know_their_functions() -> None:
    assert ("torch._C._initExtension", "", "THPModule_initExtension", 3, "") in told(graph(), "implemented_by")


def test_where_python_begins() -> None:
    calls = told(graph(), "calls")
    assert ("torch", "", "PyInit__C", 1, "") in calls
    assert ("torch", "", "torch._C._initExtension", 3, "") in calls


def test_a_chain_goes_on_behind_a_comment() -> None:
    assert "torch._C._part.Thing.name" in {row[2] for row in graph().nodes}
