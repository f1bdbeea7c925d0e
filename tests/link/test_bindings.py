"""Bindings: from the YAML, the generator's lists and the method tables to nodes and edges."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytrace.extract import cbindings, cpp, native_functions, python_outline
from pytrace.graph import Graph
from pytrace.link import bindings, link
from pytrace.link.binding_signatures import signature_text, type_text
from pytrace.link.bindings import holder, shard
from pytrace.model import NodeKind
from pytrace.schema import parse_schema, parse_type

YAML = """
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  variants: method
- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  variants: function, method
- func: is_nonzero(Tensor self) -> bool
  variants: function, method
- func: gelu(Tensor self) -> Tensor
  python_module: nn
- func: gelu_backward(Tensor grad, Tensor self) -> Tensor
  python_module: nn
- func: item(Tensor self) -> Scalar
  variants: method
- func: mm(Tensor self, Tensor mat2) -> Tensor
"""
DEPRECATED = """
- name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor
  aten: add(self, other, alpha)
- name: add(Tensor self, Scalar alpha, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  aten: add_out(out, self, other, alpha)
"""
GENERATOR = """
_SKIP_PYTHON_BINDINGS = [
    # a reason
    "item",
    ".*_backward",
]
SKIP_PYTHON_BINDINGS_SIGNATURES = [
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
]
def gen(fm):
    create_python_bindings_sharded(fm, "python_torch_functions.cpp", num_shards=3)
"""
METHODS = """
namespace torch::autograd {
static Tensor dispatch_item(const Tensor & self) { return self.item(); }
static PyObject * THPVariable_item(PyObject* self, PyObject* args)
{
  return wrap(dispatch_item(self_));
}
static PyObject * THPVariable_bool_scalar(PyObject* self, PyObject* args) {
  return THPVariable_is_nonzero(self, args);
}
PyMethodDef variable_methods[] = {
  {"__add__", castPyCFunctionWithKeywords(TypeError_to_NotImplemented_<THPVariable_add>), METH_VARARGS, nullptr},
  {"__bool__", THPVariable_bool_scalar, METH_NOARGS, nullptr},
  {"item", THPVariable_item, METH_NOARGS, nullptr},
  ${py_method_defs}
  {nullptr}
};
}
"""
VARIABLE = """
PyTypeObject THPVariableType = {"torch._C.TensorBase", nullptr};
bool THPVariable_initModule(PyObject* module) {
  THPUtils_addPyMethodDefs(methods, torch::autograd::variable_methods);
  THPVariableType.tp_methods = methods.data();
}
"""
SHARD = """
static PyMethodDef torch_functions_shard[] = {
  ${py_method_defs}
};
void gatherTorchFunctions${shard_id}(std::vector<PyMethodDef> &f) { f.insert(f.end(), torch_functions_shard, x); }
"""
MANUAL = """
namespace torch::autograd {
static PyMethodDef torch_functions_manual[] = {
    {"tensor", castPyCFunctionWithKeywords(THPVariable_tensor), METH_VARARGS, nullptr},
};
void gatherTorchFunctions(std::vector<PyMethodDef>& torch_functions) {
  torch_functions.assign(torch_functions_manual, torch_functions_manual + num_functions);
  gatherTorchFunctions_0(torch_functions);
  static std::array<std::pair<const char*, const char*>, 1> aliases{
      {{"mm", "spmm"}}};
  alias_def.ml_name = alias.second;
}
static PyTypeObject THPVariableFunctions = {"torch._C._VariableFunctionsClass"};
void initTorchFunctions(PyObject* module) {
  gatherTorchFunctions(torch_functions);
  THPVariableFunctions.tp_methods = torch_functions.data();
}
}
"""
NN = """
static PyMethodDef nn_functions[] = {
  {"_parse_to", castPyCFunctionWithKeywords(THPVariable__parse_to), METH_VARARGS, nullptr},
  ${py_method_defs}
};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "torch._C._nn", nullptr, -1, nn_functions};
"""
TEMPLATES = "tools/autograd/templates"
TENSOR, TORCH = "torch._C.TensorBase", "torch._C._VariableFunctions"


def linked(**changed: str) -> Graph:
    """All the sources above; ``changed`` replaces one by name, "" leaves it out."""
    sources = {
        "aten/src/ATen/native/native_functions.yaml": ("native_functions", changed.get("yaml", YAML)),
        "tools/autograd/deprecated.yaml": ("deprecated", changed.get("deprecated", DEPRECATED)),
        bindings.GENERATOR: ("python", changed.get("generator", GENERATOR)),
        f"{TEMPLATES}/python_variable_methods.cpp": ("template", changed.get("methods", METHODS)),
        f"{TEMPLATES}/python_torch_functions.cpp": ("template", changed.get("shard", SHARD)),
        f"{TEMPLATES}/python_nn_functions.cpp": ("template", changed.get("nn", NN)),
        "torch/csrc/autograd/python_variable.cpp": ("cpp", changed.get("variable", VARIABLE)),
        "torch/csrc/autograd/python_torch_functions_manual.cpp": ("cpp", changed.get("manual", MANUAL)),
    }
    extractors = {"python": python_outline, "cpp": cpp, "template": cpp}
    files = {}
    for path, (kind, text) in sources.items():
        if text:
            facts = extractors.get(kind, native_functions).extract(text.encode())
            if kind in ("cpp", "template"):
                facts.update(cbindings.extract(None, text.encode()))
            files[path] = (kind, facts)
    return link(files)


def nodes(graph: Graph) -> dict[str, tuple[str, int, dict[str, Any]]]:
    """Name -> (file, line, attrs) of the bindings."""
    return {
        row[2]: (row[4], row[5], json.loads(row[8]) if row[8] else {})
        for row in graph.nodes
        if row[1] == NodeKind.BINDING
    }


def edges(graph: Graph, name: str) -> list[tuple[str, str, str, str]]:
    """(kind, destination, rule, file:line) of the edges that leave a binding."""
    names = {row[0]: row[2] for row in graph.nodes}
    source = graph.find(NodeKind.BINDING, name)
    return [(e[2], names[e[1]], e[4], f"{e[5].rpartition('/')[2]}:{e[6]}") for e in graph.edges if e[0] == source]


def test_generated_names() -> None:
    made = {name for name, (_, _, attrs) in nodes(linked()).items() if attrs["from"] == "generated"}
    assert made == {
        f"{TENSOR}.add",
        f"{TENSOR}.add_",
        f"{TENSOR}.is_nonzero",
        f"{TORCH}.add",
        f"{TORCH}.is_nonzero",
        f"{TORCH}.mm",
        "torch._C._nn.gelu",
    }


def test_generated_binding() -> None:
    graph = linked()
    file, line, attrs = nodes(graph)[f"{TORCH}.add"]
    assert (file, line) == ("", 0)
    assert attrs == {
        "from": "generated",
        "generator": "tools/autograd/gen_python_functions.py",
        "template": f"{TEMPLATES}/python_torch_functions.cpp",
        "template_line": 3,
        "holds": f"torch/csrc/autograd/generated/python_torch_functions_{shard('add', 3)}.cpp",
        "signatures": [
            "add(Tensor input, Tensor other, *, Scalar alpha=1)",
            "add(Tensor input, Tensor other, *, Scalar alpha=1, Tensor out=None)",
            "add(Tensor input, Scalar alpha, Tensor other)|deprecated",
            "add(Tensor input, Scalar alpha, Tensor other, *, Tensor out=None)|deprecated",
        ],
        "deprecated": [2, 4],
    }
    assert edges(graph, f"{TORCH}.add") == [
        ("binds", "aten::add.Tensor", "python-binding", "native_functions.yaml:2"),
        ("binds", "aten::add.out", "python-binding", "native_functions.yaml:4"),
    ]


def test_method_binding() -> None:
    _, _, attrs = nodes(linked())[f"{TENSOR}.add"]
    assert attrs["holds"] == "torch/csrc/autograd/generated/python_variable_methods.cpp"
    assert attrs["signatures"] == [
        "add(Tensor other, *, Scalar alpha=1)",
        "add(Scalar alpha, Tensor other)|deprecated",
    ]


@pytest.mark.parametrize(
    ("name", "place", "function"),
    [
        (f"{TENSOR}.__add__", ("python_variable_methods.cpp", 12), "THPVariable_add"),
        (f"{TENSOR}.item", ("python_variable_methods.cpp", 14), "THPVariable_item"),
        (f"{TORCH}.tensor", ("python_torch_functions_manual.cpp", 4), "THPVariable_tensor"),
        ("torch._C._nn._parse_to", ("python_nn_functions.cpp", 3), "THPVariable__parse_to"),
    ],
)
def test_manual_binding(name: str, place: tuple[str, int], function: str) -> None:
    file, line, attrs = nodes(linked())[name]
    assert (file.rpartition("/")[2], line) == place
    assert (attrs["from"], attrs["function"], attrs["holds"]) == ("manual", function, file)


def test_what_a_manual_binding_reaches() -> None:
    graph = linked()
    assert edges(graph, f"{TENSOR}.__add__") == [
        ("alias_of", f"{TENSOR}.add", "method-table", "python_variable_methods.cpp:12")
    ]
    assert edges(graph, f"{TENSOR}.item") == [
        ("calls", "torch::autograd::THPVariable_item", "method-table", "python_variable_methods.cpp:14"),
        ("binds", "aten::item", "binding-implementation", "python_variable_methods.cpp:3"),
        ("implemented_by", "torch::autograd::THPVariable_item", "method-table", "python_variable_methods.cpp:14"),
    ]
    assert ("calls", f"{TENSOR}.is_nonzero", "binding-implementation", "python_variable_methods.cpp:13") in edges(
        graph, f"{TENSOR}.__bool__"
    )
    assert edges(graph, f"{TORCH}.spmm") == [
        ("alias_of", f"{TORCH}.mm", "renamed", "python_torch_functions_manual.cpp:10")
    ]


def test_without_templates_the_rules_still_hold() -> None:
    graph = linked(methods="", shard="", nn="", variable="", manual="", deprecated="")
    made = nodes(graph)
    assert made["torch._C._nn.gelu"][2]["template"] == f"{TEMPLATES}/python_nn_functions.cpp"
    assert made[f"{TORCH}.add"][2]["holds"].endswith(f"python_torch_functions_{shard('add', 3)}.cpp")


def test_a_generator_without_lists_is_told() -> None:
    graph = linked(generator="x = 1\n")
    assert [row[2] for row in graph.diagnostics if row[0] == bindings.GENERATOR] == ["bindings"]
    assert "torch._C._nn.gelu_backward" in nodes(graph)


def test_a_list_that_is_no_pattern_is_told() -> None:
    graph = linked(generator='_SKIP_PYTHON_BINDINGS = ["(", "item"]\n')
    assert any("not understood" in row[3] for row in graph.diagnostics)


@pytest.mark.parametrize(
    ("base", "shards", "expected"),
    # as the generated files of PyTorch 2.6.0 hold them
    [("add", 3, 2), ("addcdiv", 3, 0), ("sub", 3, 1), ("eq", 3, 2), ("where", 3, 2), ("norm", 3, 1)],
)
def test_shard(base: str, shards: int, expected: int) -> None:
    assert shard(base, shards) == expected
    assert holder("a/python_torch_functions.cpp", True, base, shards).endswith(
        f"/python_torch_functions_{expected}.cpp"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor", "Tensor"),
        ("Tensor?", "Tensor?"),
        ("int", "int64_t"),
        ("float?", "double?"),
        ("str", "c10::string_view"),
        ("int[2]", "IntArrayRef[2]"),
        ("SymInt[]?", "SymIntArrayRef?"),
        ("Tensor[]", "TensorList"),
        ("Tensor?[]", "c10::List<::std::optional<Tensor>>"),
        ("bool[3]", "::std::array<bool,3>"),
        ("float[]", "ArrayRef<double>"),
        ("Dimname[1]", "DimnameList[1]"),
    ],
)
def test_type_text(text: str, expected: str) -> None:
    assert type_text(parse_type(text)) == expected


@pytest.mark.parametrize(
    ("schema", "method", "expected"),
    [
        ("f(Tensor self, int n=1) -> Tensor", False, "f(Tensor input, int64_t n=1)"),
        ("f(Tensor self, int n=1) -> Tensor", True, "f(int64_t n=1)"),
        ("f(Tensor self, *, str s='a\"b') -> Tensor", False, 'f(Tensor input, *, c10::string_view s="a\\"b")'),
        ("f(Tensor self, int reduction=Mean) -> Tensor", True, "f(int64_t reduction=at::Reduction::Mean)"),
        ("f(Tensor self, int[2] p=[1, 2]) -> Tensor", True, "f(IntArrayRef[2] p={1, 2})"),
        ("f(Tensor self, int[2] p=[]) -> Tensor", True, "f(IntArrayRef[2] p=None)"),
        ("f(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> ()", False, "f(Tensor x, *, TensorList[2] out=None)"),
        (
            "f(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)"
            " -> Tensor",
            False,
            "f(int64_t n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,"
            " bool? pin_memory=False, bool? requires_grad=False)",
        ),
    ],
)
def test_signature_text(schema: str, method: bool, expected: str) -> None:
    assert signature_text(parse_schema(schema), method=method) == expected
