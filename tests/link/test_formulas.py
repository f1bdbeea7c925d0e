"""Formulas of operators: nodes, forward mode, sharing between variants, foreach, view copies, edges."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pytrace.extract import derivatives, native_functions
from pytrace.link.context import Context
from pytrace.link.formula_match import Use
from pytrace.link.formulas import FormulaTable
from pytrace.link.operators import link

MUL = """\
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: mul.out
  variants: function, method
- func: mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  structured_delegate: mul.out
  variants: method
- func: mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: mul_out
"""
FOREACH = """\
- func: _foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]
  dispatch:
    CPU: foreach_mul
- func: _foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()
  dispatch:
    CPU: foreach_mul_
"""
MUL_FORMULA = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_backward(grad, other, self.scalar_type())
  other: mul_backward(grad, self, other.scalar_type())
  result: self_t * other_p + other_t * self_p
"""


def context(functions: str, formulas: str, python: dict[str, dict[str, Any]] | None = None) -> Context:
    files: dict[str, tuple[str, dict[str, Any]]] = {
        "native_functions.yaml": ("native_functions", native_functions.extract(textwrap.dedent(functions).encode())),
        "derivatives.yaml": ("derivatives", derivatives.extract(textwrap.dedent(formulas).encode())),
    }
    files.update({path: ("python", facts) for path, facts in (python or {}).items()})
    ctx = Context(files)
    link(ctx)
    return ctx


def table(functions: str, formulas: str) -> FormulaTable:
    return context(functions, formulas).operators.formulas


def use(formulas: FormulaTable, op: str, key: str = "Default") -> Use:
    return formulas.match.uses[f"aten::{op}"][key]


def test_a_formula() -> None:
    formula = table(MUL, MUL_FORMULA).entries["aten::mul.Tensor"]["Default"]
    assert (formula.node, formula.line, formula.args_with_derivatives) == ("MulBackward0", 1, ["self", "other"])
    assert [(d.vars, d.formula, [s.name for s in d.saved_inputs], d.line) for d in formula.derivatives] == [
        (("other",), "mul_backward(grad, self, other_scalar_type)", ["self", "other_scalar_type"], 3),
        (("self",), "mul_backward(grad, other, self_scalar_type)", ["self_scalar_type", "other"], 2),
    ]
    (forward,) = formula.forward
    assert (forward.outs, forward.required_fw_grad, forward.required_primal) == (
        ("result",), ("self", "other"), ("self", "other")
    )  # fmt: skip


def test_variants_share_the_formula() -> None:
    formulas = table(MUL, MUL_FORMULA)
    assert {name: (u["Default"].formula.node, u["Default"].exact) for name, u in formulas.match.uses.items()} == {
        "aten::mul.Tensor": ("MulBackward0", True),
        "aten::mul_.Tensor": ("MulBackward0", False),
        "aten::mul.out": ("MulBackward0", False),
    }
    (forward,) = use(formulas, "mul_.Tensor").forward
    assert forward.formula == (
        "self_t_raw.defined() ? self_t_raw.copy_(original_self_t * other_p + other_t * original_self_p) : "
        "original_self_t * other_p + other_t * original_self_p"
    )
    assert (forward.outs, forward.original_self, forward.reuses_outplace) == (("self",), True, True)


def test_nodes_and_edges() -> None:
    graph = context(MUL, MUL_FORMULA).graph
    nodes = {row[0]: row for row in graph.nodes}
    edges = [
        (nodes[e[0]][2], nodes[e[1]][2], e[3], e[4], e[5], e[6], e[10]) for e in graph.edges if e[2] == "derivative"
    ]
    assert edges == [
        ("aten::mul.Tensor", "MulBackward0", "Default", "formula", "derivatives.yaml", 1, None),
        ("aten::mul_.Tensor", "MulBackward0", "Default", "formula", "derivatives.yaml", 1,
         '{"shared_with":"aten::mul.Tensor"}'),
    ]  # fmt: skip
    (node,) = [row for row in graph.nodes if row[1] == "formula"]
    assert node[2:6] == ("MulBackward0", "MulBackward0", "derivatives.yaml", 1)
    assert '"formula":"mul_backward(grad, other, self.scalar_type())","line":2' in str(node[8])


FORWARD = [
    # schema, backward of self, forward, formula, tangents
    ("neg(Tensor self) -> Tensor", "grad.neg()", "auto_element_wise", "(self_t.conj().neg()).conj()", ("self",)),
    ("sin(Tensor self) -> Tensor", "grad * self.cos()", "auto_element_wise",
     "(self_t.conj() * self_p.cos()).conj()", ("self",)),
    ("sum(Tensor self, int dim) -> Tensor", "grad.expand(dim)", "auto_linear", "at::sum(self_t, dim)", ("self",)),
    ("pad(Tensor self, SymInt[] n) -> Tensor", "grad", "auto_linear", "at::pad_symint(self_t, n)", ("self",)),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "backward", "forward", "expected", "tangents"), FORWARD)
def test_automatic_forward_formulas(
    schema: str, backward: str, forward: str, expected: str, tangents: tuple[str, ...]
) -> None:
    formulas = table(f"- func: {schema}\n", f"- name: {schema}\n  self: {backward}\n  result: {forward}\n")
    (made,) = formulas.entries[f"aten::{schema.partition('(')[0]}"]["Default"].forward
    assert (made.formula, made.required_fw_grad, made.automatic) == (expected, tangents, forward)


def test_a_method_is_called_on_its_tangent() -> None:
    schema = "roll(Tensor self, int n) -> Tensor"
    formulas = table(
        f"- func: {schema}\n  variants: method\n- func: roll_(Tensor(a!) self, int n) -> Tensor(a!)\n",
        f"- name: {schema}\n  self: grad\n  result: auto_linear\n",
    )
    assert use(formulas, "roll").forward[0].formula == "self_t.roll(n)"
    assert use(formulas, "roll_").forward[0].formula == ("self_t_raw.defined() ? self_t_raw.roll_(n) : self_t.roll(n)")


def test_named_gradients_and_results() -> None:
    schema = "eig(Tensor self) -> (Tensor values, Tensor vectors)"
    formula = table(f"- func: {schema}\n", f"- name: {schema}\n  self: f(grad_values, values, vectors)\n").entries[
        "aten::eig"
    ]["Default"]
    assert formula.available_gradients == ["grad_values", "grad_vectors"]
    assert formula.used_gradients == ["grad_values"]
    assert [s.name for s in formula.saved_outputs] == ["values", "vectors"]
    assert formula.saved_inputs == []


def test_nodes_are_numbered_by_name_and_key() -> None:
    functions = "- func: f.a(Tensor self) -> Tensor\n- func: f.b(Tensor self, int n) -> Tensor\n"
    formulas = table(
        functions,
        """\
        - name: f.a(Tensor self) -> Tensor
          self: non_differentiable
        - name: f.b(Tensor self, int n) -> Tensor
          dispatch:
            Default:
              self: grad
            AutogradCUDA:
              self: grad * n
        """,
    )
    assert formulas.entries["aten::f.a"]["Default"].node == ""
    assert [f.node for f in formulas.entries["aten::f.b"].values()] == ["FBackward0", "FBackwardAutogradCUDA0"]
    assert [f.node for f in formulas.all()] == ["FBackward0", "FBackwardAutogradCUDA0"]


def test_an_inplace_only_operator() -> None:
    schema = "fill_(Tensor(a!) self, int n) -> Tensor(a!)"
    formulas = table(f"- func: {schema}\n", f"- name: {schema}\n  self: zeros_like(grad)\n  result: f(result)\n")
    assert use(formulas, "fill_").exact
    assert use(formulas, "fill_").forward[0].formula == "f(self_p)"


def test_view_copies() -> None:
    functions = """\
- func: alias(Tensor(a) self) -> Tensor(a)
  dispatch:
    CompositeExplicitAutograd: alias
- func: alias_copy(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: alias_copy
"""
    ctx = context(functions, "- name: alias(Tensor(a) self) -> Tensor(a)\n  self: grad\n")
    copy = ctx.operators.formulas.entries["aten::alias_copy"]["Default"]
    assert (copy.node, copy.name) == ("AliasBackward0_copy", "alias_copy.")
    assert copy.generated_from is ctx.operators.formulas.entries["aten::alias"]["Default"]
    names = {row[0]: row[2] for row in ctx.graph.nodes}
    assert ("AliasBackward0_copy", "AliasBackward0") in [
        (names[e[0]], names[e[1]]) for e in ctx.graph.edges if e[2] == "generated_from"
    ]


def test_foreach() -> None:
    formulas = table(MUL + FOREACH, MUL_FORMULA)
    made = use(formulas, "_foreach_mul.List").formula
    assert made.node == "ForeachMulBackward0List"
    assert [d.formula for d in made.derivatives] == [
        "mul_backward(grads[i], self[i], other[i].scalar_type())",
        "mul_backward(grads[i], other[i], self[i].scalar_type())",
    ]
    assert {s.type for s in made.saved_inputs} == {"at::TensorList"}
    assert use(formulas, "_foreach_mul_.List").formula.node == "MulBackward0"
    assert not use(formulas, "_foreach_mul_.List").exact


def test_foreach_lists_are_read_from_the_tree() -> None:
    functions = """\
- func: zero_(Tensor(a!) self) -> Tensor(a!)
- func: _foreach_zero_(Tensor(a!)[] self) -> ()
  dispatch:
    CPU: z
"""
    formula = "- name: zero_(Tensor(a!) self) -> Tensor(a!)\n  self: zeros_like(grad)\n"
    lists = {"torchgen/api/autograd.py": {"strings": [("_foreach_with_inplace_ref", 1, ["_foreach_zero_"])]}}
    without = context(functions, formula).operators.formulas
    assert "aten::_foreach_zero_" not in without.match.uses
    assert use(context(functions, formula, lists).operators.formulas, "_foreach_zero_").formula.node == "ZeroBackward0"


KINDS = [
    # operator, formula, kind
    ("f(Tensor self) -> Tensor", "", "composite"),
    ("f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f", "", "not_implemented"),
    ("f(Tensor self) -> int\n  dispatch:\n    CPU: f", "", "not_differentiable"),
    ("f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f", "  self: grad\n", "formula"),
    ("f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f", "  output_differentiability: [False]\n",
     "not_differentiable"),
    ("nod(Tensor self) -> Tensor\n  dispatch:\n    CPU: f", "", "not_differentiable"),
    ("man(Tensor self) -> Tensor\n  dispatch:\n    CPU: f", "", "manual"),
]  # fmt: skip


@pytest.mark.parametrize(("func", "formula", "kind"), KINDS)
def test_autograd_kinds(func: str, formula: str, kind: str) -> None:
    schema = func.partition("\n")[0]
    python = {
        "tools/autograd/gen_variable_type.py": {"strings": [("DONT_REQUIRE_DERIVATIVE", 1, ["nod"])]},
        "tools/autograd/gen_trace_type.py": {"strings": [("MANUAL_BACKEND", 1, ["man"])]},
    }
    other = "- func: other(Tensor self) -> Tensor\n"
    entries = "- name: other(Tensor self) -> Tensor\n  self: grad\n"
    if formula:
        entries += f"- name: {schema}\n{formula}"
    ctx = context(f"- func: {func}\n{other}", entries, python)
    op = ctx.operators.by_name[f"aten::{schema.partition('(')[0]}"]
    assert ctx.operators.formulas.autograd(op) == kind
    assert f'"autograd":"{kind}"' in str(ctx.graph.nodes[0][8])


ODD = [
    ("- name: f(Tensor x) -> Tensor\n  self: grad\n", 1, "no operator has the schema"),
    ("- name: f\n  self: grad\n", 1, "no operator has the schema"),
    ("- name: f(Tensor self) -> Tensor\n  self: grads[1]\n", 2, "has 1 outputs"),
    ("- name: f(Tensor self) -> Tensor\n  self: grad + grads[0]\n", 1, "mixes grad and grads"),
    ("- name: f(Tensor self) -> Tensor\n  dispatch:\n    CPU:\n      self: grad\n", 1, "'CPU' is no autograd key"),
    ("- name: f(Tensor self) -> Tensor\n  dispatch: {}\n", 1, "has no autograd key"),
    ("- name: f(Tensor self) -> Tensor\n  result: auto_linear\n", 2, "auto_linear does not fit"),
    ("- name: f(Tensor self) -> Tensor\n  self: grad\n- name: f(Tensor self) -> Tensor\n  self: grad\n", 3,
     "a second entry"),
]  # fmt: skip


@pytest.mark.parametrize(("formulas", "line", "said"), ODD)
def test_odd_entries_become_diagnostics(formulas: str, line: int, said: str) -> None:
    ctx = context("- func: f(Tensor self) -> Tensor\n", formulas)
    assert [(path, at, kind) for path, at, kind, _ in ctx.graph.diagnostics] == [("derivatives.yaml", line, "formula")]
    assert said in ctx.graph.diagnostics[0][3]


def test_texts_for_the_calls() -> None:
    formulas = table(MUL + FOREACH, MUL_FORMULA)
    assert [(formula.node, text, line) for _, formula, text, line in formulas.texts()] == [
        ("MulBackward0", "mul_backward(grad, self, other.scalar_type())", 3),
        ("MulBackward0", "mul_backward(grad, other, self.scalar_type())", 2),
        ("MulBackward0", "self_t * other_p + other_t * self_p", 4),
    ]
