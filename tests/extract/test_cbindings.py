"""Hand-written bindings of C++ files: tables, types, modules, pybind11."""

from __future__ import annotations

import marshal
from typing import Any

import pytest

from pytrace.extract import cbindings


def facts(source: str | bytes) -> dict[str, Any]:
    data = source.encode() if isinstance(source, str) else source
    found: dict[str, Any] = cbindings.extract(None, data).get("bindings", {})
    marshal.dumps(found)
    return found


TABLES = """
namespace torch::autograd {
static PyMethodDef methods[] = {
    {"first", THPVariable_first, METH_NOARGS, nullptr},
    // {"comment", THPVariable_comment},
    {"second",
     castPyCFunctionWithKeywords(TypeError_to_NotImplemented_<THPVariable_second>),
     METH_VARARGS, "text, with {braces} and \\"quotes\\""},
    {nullptr}};
static struct PyGetSetDef properties[] = {
    {"size", (getter)get_size, (setter)set_size, nullptr, nullptr},
    {"T", (getter)PropertyT::getter, nullptr, nullptr, nullptr},
    {nullptr}};
static PyMappingMethods mapping = {length, getitem, setitem};
static std::initializer_list<PyMethodDef> listed = {
    {"third", third, METH_O, nullptr}};
PyMethodDef single = {"fourth", (PyCFunction)(void*)fourth, METH_O};
PyTypeObject ThingType = {
    PyVarObject_HEAD_INIT(nullptr, 0) "torch._C.Thing", /* tp_name */
    &mapping, properties, nullptr};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "torch._C._part", nullptr, -1, methods};
}
"""


def test_tables() -> None:
    found = facts(TABLES)
    assert [(name, kind, line) for name, kind, line, _, _ in found["tables"]] == [
        ("methods", "methods", 3),
        ("properties", "properties", 10),
        ("mapping", "slots", 14),
        ("listed", "methods", 15),
        ("single", "methods", 17),
    ]
    rows = {name: rows for name, _, _, rows, _ in found["tables"]}
    assert rows["methods"] == [("first", 4, "THPVariable_first", ""), ("second", 6, "THPVariable_second", "")]
    assert rows["properties"] == [("size", 11, "get_size", "set_size"), ("T", 12, "PropertyT::getter", "")]
    assert rows["mapping"] == [
        ("__len__", 14, "length", ""),
        ("__getitem__", 14, "getitem", ""),
        ("__setitem__", 14, "setitem", ""),
        ("__delitem__", 14, "setitem", ""),
    ]
    assert rows["listed"] == [("third", 16, "third", "")]
    assert rows["single"] == [("fourth", 17, "fourth", "")]
    assert found["namespaces"] == ["torch::autograd"]


def test_owners() -> None:
    found = facts(TABLES)
    ((variable, name, line, mentioned),) = found["types"]
    assert (variable, name, line) == ("ThingType", "torch._C.Thing", 18)
    assert {"mapping", "properties"} <= set(mentioned)
    ((name, line, mentioned),) = found["modules"]
    assert (name, line) == ("torch._C._part", 21)
    assert "methods" in mentioned


@pytest.mark.parametrize(
    ("source", "fills"),
    [
        ("void f() { THPUtils_addPyMethodDefs(v, a::table); }", [("v", "a::table")]),
        ("void f() { THPUtils_addPyMethodDefs(v, std::data(table)); }", [("v", "table")]),
        ("void f() { THPUtils_addPyMethodDefs(v, a::functions()); }", [("v", "a::functions")]),
        ("void f() { Type.tp_methods = v.data(); }", [("Type", "v")]),
        ("void f() { table[0] = get_manual()[0]; }", [("table", "get_manual")]),
        ("void f() { gatherAll(v); }", [("v", "gatherAll")]),
        (
            "void gatherAll(std::vector<PyMethodDef>& v) { v.assign(table, table + n); }",
            [("gatherAll", "table")],
        ),
    ],
)
def test_fills(source: str, fills: list[tuple[str, str]]) -> None:
    assert facts(f"PyMethodDef* x; {source}")["fills"] == fills


def test_accessors_and_renames() -> None:
    found = facts(
        """PyMethodDef* python_functions() { return methods; }
        static std::array<std::pair<const char*, const char*>, 2> aliases{
            {{"mm", "spmm"},
             {"a", "b"}}};
        def.ml_name = alias.second;
        """
    )
    assert found["accessors"] == [("python_functions", "methods")]
    assert found["renames"] == [("mm", "spmm", 3), ("a", "b", 4)]


def test_templates() -> None:
    found = facts(
        """static PyMethodDef shard[] = {
  ${py_method_defs}
};
void gather${shard_id}(std::vector<PyMethodDef> &all) { all.insert(all.end(), shard, shard + 1); }
"""
    )
    assert found["tables"] == [("shard", "methods", 1, [], 2)]
    assert found["sharded"] is True
    assert found["fills"] == [("gather", "shard")]


FUNCTIONS = """
static Tensor dispatch_a(const Tensor & self) { return self; }
template<typename T>
static T dispatch_to(const Tensor & self) { return self.item<T>(); }
static PyObject * THPVariable_a(PyObject* self, PyObject* args)
{
  return wrap(dispatch_a(self_));
}
static PyObject * THPVariable_b(PyObject* self, PyObject* args)
{
  return wrap(dispatch_to<double>(self_));
}
static PyObject * THPVariable_c(PyObject* self, PyObject* args) {
  if (x) {
    return THPVariable_Wrap(self_.c());
  }
  return THPVariable_generated(self, args);
}
struct PropertyT : GetterBase<PropertyT> {
  static Tensor fn(const Tensor& t) {
    return t.numpy_T();
  }
};
static PyMethodDef methods[] = {{"a", THPVariable_a}, {nullptr}};
"""


def test_what_functions_return_and_call() -> None:
    found = facts(FUNCTIONS)
    assert found["tensors"] == ["PropertyT::getter", "THPVariable_a", "THPVariable_c"]
    assert found["passes"] == [("THPVariable_c", ["generated"])]


@pytest.mark.parametrize(
    ("source", "definitions"),
    [
        ('m.def("f", &ns::f);', [("torch._C", "f", 1, "ns::f", "def")]),
        ('m.def("f", &::ns::f);', [("torch._C", "f", 1, "ns::f", "def")]),
        ('m.def("f", [](int x) { return x; });', [("torch._C", "f", 1, "", "def")]),
        ('m.def("f", f).def("g", &g);', [("torch._C", "f", 1, "f", "def"), ("torch._C", "g", 1, "g", "def")]),
        (
            'auto sub = m.def_submodule("_sub", "doc");\nsub.def("f", &f);',
            [("torch._C._sub", "f", 2, "f", "def")],
        ),
        (
            'auto mod = py::module::import("torch");\nmod.def("f", &f);',
            [("torch", "f", 2, "f", "def")],
        ),
        (
            'py::class_<Thing, std::shared_ptr<Thing>>(m, "Thing")\n.def(py::init<>())\n'
            '.def("f", &Thing::f)\n.def_static("g", &g);',
            [
                ("torch._C", "Thing", 1, "", "class"),
                ("torch._C.Thing", "f", 3, "Thing::f", "def"),
                ("torch._C.Thing", "g", 4, "g", "def_static"),
            ],
        ),
        (
            'auto c = py::class_<Thing>(m, "Thing");\nm.def("f", &f);\nc.def("g", &g);',
            [
                ("torch._C", "Thing", 1, "", "class"),
                ("torch._C", "f", 2, "f", "def"),
                ("torch._C.Thing", "g", 3, "g", "def"),
            ],
        ),
        ('m.def(\n  // what it does\n  "f", f);', [("torch._C", "f", 3, "f", "def")]),
        ('py_context_manager<Guard, A>(m, "_Guard");', [("torch._C", "_Guard", 1, "", "class")]),
        (
            'm.def("f", py::overload_cast<int>(&f));',
            [("torch._C", "f", 1, "f", "def")],
        ),
    ],
)
def test_pybind(source: str, definitions: list[tuple[str, str, int, str, str]]) -> None:
    assert facts(f"{source} py::object x;")["definitions"] == definitions


@pytest.mark.parametrize(
    ("source", "lambdas"),
    [
        ('m.def("f", [](int x) { return x; });', [("torch._C", "f", 1, 1)]),
        ('m.def(\n"f",\n[&]() -> int {\nif (a) { b("}"); }\nreturn 1;\n});', [("torch._C", "f", 3, 6)]),
        ('m.def("f", [] { g(); });', [("torch._C", "f", 1, 1)]),
        ('m.def("f", py::cpp_function([](int x) {\n}));', [("torch._C", "f", 1, 2)]),
        ('m.def("f", &f, [](int x) {});', []),
        ('m.def("f", [](int x) {', [("torch._C", "f", 1, 1)]),
        ('m.def("f", [](int x', []),
    ],
)
def test_lambdas(source: str, lambdas: list[tuple[str, str, int, int]]) -> None:
    assert facts(f"{source} py::object x;").get("lambdas", []) == lambdas


@pytest.mark.parametrize("name", ['"f"', '(char*)"f"', '(char *) "f"', 'const_cast<char*>("f")'])
def test_casts_of_names(name: str) -> None:
    found = facts(f"static PyMethodDef methods[] = {{{{{name}, T_f, METH_NOARGS, nullptr}}, {{nullptr}}}};")
    assert found["tables"] == [("methods", "methods", 1, [("f", 1, "T_f", "")], 0)]


@pytest.mark.parametrize("source", ["", "int main() {}", "// nothing"])
def test_nothing(source: str) -> None:
    assert cbindings.extract(None, source.encode()) == {}


@pytest.mark.parametrize(
    "source",
    [
        b"PyMethodDef a[] = {",
        b'PyMethodDef a[] = {{"x", ',
        b"PyMethodDef a[] = {{{{{{{{",
        b'PyTypeObject T = {"\xff',
        b"PyModuleDef d = {}}}",
        b"py::class_<" + b"<" * 2000,
        b"PyMethodDef a[] = " + b"{" * 2000,
        b'm.def("',
        b'py::x m.def_submodule("a")',
        b"PyGetSetDef \x00",
    ],
)
def test_any_bytes(source: bytes) -> None:
    facts(source)
