"""What pybind11 definitions lead to: short C++ sources, and the edges that start at their bindings."""

from __future__ import annotations

import pytest

from pytrace.extract import cbindings, cpp, native_functions
from pytrace.link import link
from pytrace.model import NodeKind

YAML = b"""
- func: neg(Tensor self) -> Tensor
  variants: function, method
- func: relu(Tensor self) -> Tensor
  variants: function, method
"""
SOURCE = """
namespace torch::part {
struct Group { Tensor run(Tensor x) { return at::relu(x); } };
static Tensor deep(Tensor x) { return at::relu(x); }
static Tensor helper(Tensor x) { return deep(x); }
static Tensor direct(Tensor x) { return at::neg(x); }
void init(PyObject* module) {
  if (!module) { return; }
  auto m = py::handle(module).cast<py::module>();
  m.def("f", %s);
  m.def("other", []() { return 1; });
}
}
"""


def ends(definition: str) -> list[str]:
    """Kind, rule and end of the edges from the binding ``torch._C.f``."""
    source = (SOURCE % definition).encode()
    path = "torch/csrc/part/init.cpp"
    facts = {**cpp.extract(source), **cbindings.extract(None, source)}
    yaml = "aten/src/ATen/native/native_functions.yaml"
    graph = link({yaml: ("native_functions", native_functions.extract(YAML)), path: ("cpp", facts)})
    node = graph.find(NodeKind.BINDING, "torch._C.f")
    names = {n[0]: n[2] for n in graph.nodes}
    rows = [
        (e[2], e[4], names[e[1]] + (f" {e[7]}" if e[7] else ""))
        for e in graph.edges
        if e[0] == node and e[2] != "implemented_by"
    ]
    assert not [e for e in graph.edges if e[0] == graph.find(NodeKind.BINDING, "torch._C.other")]
    return sorted(f"{kind} {rule} {name}" for kind, rule, name in rows)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("[](Tensor x) { return at::neg(x); }", ["binds binding-implementation aten::neg"]),
        (
            "[](Tensor x) {\n    return direct(x);\n  }",
            ["binds binding-implementation aten::neg", "calls pybind11-lambda torch::part::direct"],
        ),
        # its own conditions, not those of the function around it
        ("[](Tensor x) { if (n) { return at::neg(x); } }", ["binds binding-implementation aten::neg if (n)"]),
        # deeper than one call, the operators are those of the function
        ("[](Tensor x) { return helper(x); }", ["calls pybind11-lambda torch::part::helper"]),
        (
            "[](Group& self, Tensor x) { return self.run(x); }",
            ["binds binding-implementation aten::relu", "calls pybind11-lambda torch::part::Group::run"],
        ),
        ("&direct", ["binds binding-implementation aten::neg"]),
        ("&torch::part::direct", ["binds binding-implementation aten::neg"]),
        ("&helper", []),
        ("[]() { return 1; }", []),
    ],
)
def test_definitions(definition: str, expected: list[str]) -> None:
    assert ends(definition) == expected
