"""Alerts, documentation, tests and shape functions joined to operators."""

from __future__ import annotations

from tests.link.small import edges, linked

TESTING = "torch/testing/_internal/common_methods_invocations.py"


def test_alerts() -> None:
    made = linked(
        {
            "aten/src/ATen/native/cuda/Scan.cu": "namespace at::native {\nvoid scan(const Tensor& x) {\n"
            "  if (x.is_cuda()) {\n"
            '    globalContext().alertNotDeterministic("scan_cuda");\n  }\n}\n}\n'
        }
    )
    (edge,) = [e for e in made.edges if e[2] == "alerts"]
    names = {row[0]: (row[1], row[2]) for row in made.nodes}
    assert (names[edge[0]], names[edge[1]]) == (("function", "at::native::scan"), ("alert", "scan_cuda"))
    assert (edge[5], edge[6], edge[7]) == ("aten/src/ATen/native/cuda/Scan.cu", 4, "if (x.is_cuda())")


def test_documents() -> None:
    made = linked(
        {
            "torch/_torch_docs.py": "import torch\nfrom torch._C import _add_docstr as add_docstr\n"
            'add_docstr(torch.neg, r"""neg""")\nadd_docstr(torch.unknown, "x")\n',
            "torch/_tensor_docs.py": 'def add_docstr_all(name, text): pass\nadd_docstr_all("neg", r"""x""")\n',
        }
    )
    assert edges(made, "documented") == [
        "neg documented torch._C.TensorBase.neg",
        "neg documented torch.neg",
    ]
    names = {row[0]: row[2] for row in made.nodes}
    found = {(names[e[0]], e[5], e[6]) for e in made.edges if e[2] == "documented"}
    assert found == {
        ("torch._C._VariableFunctions.neg", "torch/_torch_docs.py", 3),
        ("torch._C.TensorBase.neg", "torch/_tensor_docs.py", 2),
    }


def test_tests() -> None:
    text = (
        'ops = [OpInfo("nn.functional.add", aten_backward_name="neg"),\n  BinaryUfuncInfo("mul"),\n'
        '  OpInfo("nothing_of_the_tree")]\n'
    )
    assert edges(linked({TESTING: text}), "tested_by") == [
        "aten::neg tested_by=aten_backward_name nn.functional.add",
        "aten::add.Tensor tested_by=name nn.functional.add",
        "aten::add.Scalar tested_by=name nn.functional.add",
        "aten::add_.Tensor tested_by=name nn.functional.add",
        "aten::mul.Tensor tested_by=name mul",
    ]


def test_shape_functions() -> None:
    text = (
        "def unary(x): pass\ndef add_shape_compute_mapping(schema, f): pass\n"
        'add_shape_compute_mapping("aten::neg(Tensor self) -> Tensor", unary)\n'
        'add_shape_compute_mapping("aten::gone(Tensor self) -> Tensor", unary)\n'
    )
    assert edges(linked({"torch/jit/_shape_functions.py": text}), "registers_python") == [
        "aten::neg registers_python=shape_function unary"
    ]
