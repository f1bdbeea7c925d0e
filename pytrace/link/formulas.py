"""Operators to the formulas of their derivatives: ``formula`` nodes, named by autograd node, and ``derivative`` edges.

An edge goes from every operator that uses the formula, its in-place and generated variants included; ``key`` is
``Default`` or the autograd key of the entry's ``dispatch``. Operators that write into ``out=`` have none, although
torchgen gives them their functional variant's: "Note that _out variants are never differentiable"
(tools/autograd/derivatives.yaml), their wrapper raises when an input requires a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytrace.graph import Graph
from pytrace.link.context import Context
from pytrace.link.formula_match import Lists, Match, autograd_kind, match
from pytrace.link.formulas_model import Derivative, Entries, Formula, Forward, build
from pytrace.link.operator_model import Operator
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema import OUT

#: Generated nodes, by what makes them: (what, generator). Their class is written from the template below.
_FOREACH = ("foreach formula", "torchgen/api/autograd.py")
_VIEW_COPY = ("formula of a view", "tools/autograd/load_derivatives.py")
_TEMPLATE = "tools/autograd/templates/Functions.cpp"

#: Lists that the generators hold: file, name, field of ``Lists``.
_LISTS = (
    ("torchgen/api/autograd.py", "_foreach_with_inplace_ref", "foreach_inplace_reference"),
    ("torchgen/api/autograd.py", "_skip_argument_len_check", "foreach_other_arity"),
    ("tools/autograd/gen_variable_type.py", "DONT_REQUIRE_DERIVATIVE", "no_derivative"),
    ("tools/autograd/gen_variable_type.py", "RESET_GRAD_ACCUMULATOR", "resets_gradient"),
    ("tools/autograd/gen_variable_type.py", "DONT_ENFORCE_SAME_TENSOR_IMPL_OR_STORAGE", "changes_storage"),
    ("tools/autograd/gen_variable_type.py", "DONT_ENFORCE_TENSOR_IMPL_USE_COUNT", "shares_storage"),
    ("tools/autograd/gen_variable_type.py", "DONT_ENFORCE_STORAGE_IMPL_USE_COUNT", "shares_storage"),
    ("tools/autograd/gen_trace_type.py", "MANUAL_BACKEND", "manual_backend"),
    ("tools/autograd/gen_trace_type.py", "MANUAL_AUTOGRAD_AND_TRACER", "manual_autograd_and_tracer"),
)


@dataclass
class FormulaTable:
    """All formulas, who uses them, and their nodes."""

    path: str = ""  #: of derivatives.yaml
    entries: Entries = field(default_factory=dict)  #: operator -> by autograd key: written, and of view copies
    match: Match = field(default_factory=Match)  #: every operator's use of them, foreach formulas included
    lists: Lists = field(default_factory=Lists)
    nodes: dict[str, int] = field(default_factory=dict)  #: autograd node -> node of the graph

    def all(self) -> Iterator[Formula]:
        """Every formula that has an autograd node, in the order of the file, generated ones last."""
        for by_key in self.entries.values():
            yield from (f for f in by_key.values() if f.node)
        yield from (f for f in self.match.foreach if f.node)

    def texts(self) -> Iterator[tuple[int, Formula, str, int]]:
        """(graph node, formula, C++ text, line of ``path``) of everything a node computes, generated ones left out.

        The texts are as written, so that ``self.sym_sizes()`` is a call on ``self``; automatic forward formulas are
        spelled out.
        """
        for formula in self.all():
            if formula.generated_from is None:
                node = self.nodes[formula.node]
                for derivative in formula.derivatives:
                    yield node, formula, derivative.original, derivative.line
                for forward in formula.forward:
                    yield node, formula, forward.formula, forward.line

    def autograd(self, op: Operator) -> str:
        """How the operator takes part in autograd: see ``formula_match.autograd_kind``."""
        return autograd_kind(op, self.match.uses.get(op.name, {}), self.lists)


def read(ctx: Context, operators: Mapping[str, Operator]) -> FormulaTable:
    """The formulas of the tree; an empty table when it has no ``derivatives.yaml``."""
    table = FormulaTable(lists=_lists(ctx))
    for path, facts in ctx.of_kind("derivatives"):
        table.path = path
        table.entries, diagnostics = build(facts.get("entries", ()), operators, path)
        for line, message in diagnostics:
            ctx.graph.diagnostic(path, line, "formula", message)
    if table.entries:
        table.match = match(operators.values(), table.entries, table.lists)
    return table


def _lists(ctx: Context) -> Lists:
    found: dict[str, frozenset[str]] = {}
    for path, name, field_name in _LISTS:
        _, facts = ctx.files.get(path, ("", {}))
        for row in facts.get("strings", ()):
            if row[0] == name:
                found[field_name] = found.get(field_name, frozenset()) | frozenset(row[2])
    return Lists(**found)


def add_to_graph(graph: Graph, table: FormulaTable, operators: Mapping[str, Operator]) -> None:
    """Add the nodes and edges of all formulas; the nodes of the operators must be there."""
    for formula in table.all():
        table.nodes[formula.node] = graph.shared(
            NodeKind.FORMULA, formula.node, table.path, formula.line, attrs=_attrs(formula)
        )
    for formula in table.all():
        source = formula.generated_from
        if source is not None and source.node in table.nodes:
            graph.edge(
                table.nodes[formula.node],
                table.nodes[source.node],
                EdgeKind.GENERATED_FROM,
                rule="generated-formula",
                file=table.path,
                line=formula.line,
            )
    for name, uses in table.match.uses.items():
        op = graph.find(NodeKind.OP, name)
        if op is None or operators[name].kind == OUT:
            continue
        for key, use in uses.items():
            if not use.formula.node:
                continue
            graph.edge(
                op,
                table.nodes[use.formula.node],
                EdgeKind.DERIVATIVE,
                key,
                rule="formula",
                file=table.path,
                line=use.formula.line,
                attrs=None if use.exact else {"shared_with": use.formula.op.name},
            )


def _attrs(formula: Formula) -> dict[str, Any]:
    attrs: dict[str, Any] = {
        "op": formula.op.name,
        "key": formula.key,
        "vars": [_backward_row(d) for d in formula.derivatives],
        "forward": [_forward_row(f) for f in formula.forward],
        "saved": {s.name: [s.type, s.expr] for s in (*formula.saved_inputs, *formula.saved_outputs)},
        "non_differentiable": formula.non_differentiable,
        "output_differentiability": formula.output_conditions or formula.output_differentiability,
    }
    if formula.generated_from is not None:
        what, generator = _FOREACH if formula.node.startswith("Foreach") else _VIEW_COPY
        attrs["generated"] = {"what": what, "by": generator, "template": _TEMPLATE}
    return {key: value for key, value in attrs.items() if value}


def _backward_row(d: Derivative) -> dict[str, Any]:
    row: dict[str, Any] = {
        "vars": d.vars,
        "formula": d.original,
        "line": d.line,
        "saved_inputs": [s.name for s in d.saved_inputs],
        "saved_outputs": [s.name for s in d.saved_outputs],
    }
    if d.formula != d.original:
        row["on_saved"] = d.formula
    if d.not_implemented:
        row["not_implemented"] = True
    return row


def _forward_row(f: Forward) -> dict[str, Any]:
    row: dict[str, Any] = {
        "vars": f.outs, "formula": f.formula, "line": f.line, "tangents": f.required_fw_grad,
        "primals": f.required_primal,
    }  # fmt: skip
    if f.automatic:
        row["written"] = f.automatic
    return row
