"""What initialisers put into modules."""

from __future__ import annotations

import pytest

from pytrace.extract import cbinding_uses


def read(text: str) -> list[tuple[str, str, str, str]]:
    return [row[1:5] for row in cbinding_uses.read(text, lambda offset: text.count("\n", 0, offset) + 1)]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("PyType_Ready(&SizeType)", [("type", "", "", "SizeType")]),
        ("PyModule_AddType(module, &NodeType)", [("type", "", "module", "NodeType")]),
        (
            'PyModule_AddObject(module, "Size", (PyObject*)&SizeType)',
            [("object", "Size", "module", "SizeType")],
        ),
        (
            'PyModule_AddObject(\n  m,\n  "_Functions",\n  reinterpret_cast<PyObject*>(&Functions))',
            [("object", "_Functions", "m", "Functions")],
        ),
        ('set_module_attr("has_x", at::hasX() ? Py_True : Py_False)', [("object", "has_x", "module", "at::hasX")]),
        ("PyModule_AddObject(m, type_name.c_str(), type)", [("unnamed", "type_name.c_str()", "m", "type")]),
        ("static int PyModule_AddObject(PyObject *module, const char *name, PyObject *value)", []),
        ('#define ADD(name) \\\n  PyModule_AddObject(module, "" #name, name##_value)', []),
        ("THPUtils_addPyMethodDefs(methods, std::data(TorchMethods))", [("table", "", "methods", "TorchMethods")]),
        ("THPUtils_addPyMethodDefs(methods, torch::functions())", [("table", "", "methods", "torch::functions")]),
        ("PyObject* nn = PyModule_Create(&def);", [("module", "", "nn", "def")]),
        ('auto m = THPObjectPtr(PyImport_ImportModule("torch"));', [("import", "torch", "m", "")]),
        ("PyModule_AddObject(module", []),
        ("PyType_Ready(", []),
    ],
)  # fmt: skip
def test_statements(source: str, rows: list[tuple[str, str, str, str]]) -> None:
    assert read(source) == rows


NAMED = """
template <typename T>
static void addClass(PyObject* module, PyTypeObject& type, const char* name, PyGetSetDef* more = nullptr) {
  PyModule_AddObject(module, name, (PyObject*)&type);
}
void init() {
  THPObjectPtr m(PyModule_New("torch._C._functions"));
  addClass<Error, NoCtor>(m, ErrorClass, "Error");
  addClass<Copy>(
      m, CopyClass, "Copy", properties);
  addClass<Computed>(m, ComputedClass, computed());
}
"""


def test_a_function_that_is_given_the_name() -> None:
    assert read(NAMED) == [
        ("import", "torch._C._functions", "m", ""),
        ("object", "Error", "m", "ErrorClass"),
        ("object", "Copy", "m", "CopyClass"),
        ("unnamed", "computed()", "m", "ComputedClass"),
    ]


def test_lines_and_guards() -> None:
    text = "void init(PyObject* m) {\n#ifdef USE_CUDA\n  PyType_Ready(&T);\n#endif\n}\n"
    rows = cbinding_uses.read(text, lambda offset: text.count("\n", 0, offset) + 1)
    assert [(row[0], row[5]) for row in rows] == [(3, "#ifdef USE_CUDA")]
