"""Which operator uses which formula: its own, its functional variant's, or one made for a foreach operator.

The rules are ``match_differentiability_info``, ``gen_foreach_derivativeinfo`` and ``dispatch_strategy`` of
``torchgen/api/autograd.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pytrace.link.formula_text import Saved, has_ident, replace_ident
from pytrace.link.formulas_model import Derivative, Entries, Formula, Forward, is_foreach
from pytrace.link.operator_model import Operator
from pytrace.schema import FUNCTIONAL, INPLACE, OUT, Argument, Schema
from pytrace.schema.function import TENSOR_OPTIONS
from pytrace.schema.keys import DEFAULT_FORMULA
from pytrace.schema.native import value_type

FOREACH = "_foreach_"


@dataclass(frozen=True)
class Lists:
    """Lists of operators that autograd's code generators hold, read from their sources in the tree.

    Empty where the tree does not have them: the rules then apply without exceptions.
    """

    #: ``_foreach_with_inplace_ref``: foreach operators whose reference is the in-place operator
    foreach_inplace_reference: frozenset[str] = frozenset()
    #: ``_skip_argument_len_check``: foreach operators with fewer arguments than their reference (no ``alpha``)
    foreach_other_arity: frozenset[str] = frozenset()
    #: ``DONT_REQUIRE_DERIVATIVE`` of gen_variable_type.py, by base name
    no_derivative: frozenset[str] = frozenset()
    #: lists of gen_variable_type.py whose operators get a wrapper although they have no formula:
    #: ``RESET_GRAD_ACCUMULATOR`` by name without overload, ``DONT_ENFORCE_SAME_…`` by C++ name,
    #: ``DONT_ENFORCE_…_USE_COUNT`` by C++ name and overload
    resets_gradient: frozenset[str] = frozenset()
    changes_storage: frozenset[str] = frozenset()
    shares_storage: frozenset[str] = frozenset()
    #: ``MANUAL_BACKEND`` and ``MANUAL_AUTOGRAD_AND_TRACER`` of gen_trace_type.py, by C++ name
    manual_backend: frozenset[str] = frozenset()
    manual_autograd_and_tracer: frozenset[str] = frozenset()


class Use(NamedTuple):
    """How an operator uses a formula."""

    formula: Formula
    exact: bool  #: whether the formula was written (or made) for this very operator
    forward: tuple[Forward, ...]  #: as this operator needs them: an in-place one writes into self


@dataclass
class Match:
    """The formulas of all operators."""

    uses: dict[str, dict[str, Use]] = field(default_factory=dict)  #: operator -> by autograd key
    foreach: list[Formula] = field(default_factory=list)  #: made for foreach operators


def match(operators: Iterable[Operator], entries: Entries, lists: Lists) -> Match:
    """Give every operator its formulas."""
    by_key: tuple[dict[object, dict[str, Formula]], ...] = ({}, {})  # of functional operators, of the others
    references: tuple[dict[str, list[_Reference]], ...] = ({}, {})
    for by_autograd_key in entries.values():
        op = next(iter(by_autograd_key.values())).op
        assert op.schema is not None
        which = 0 if op.kind == FUNCTIONAL else 1
        by_key[which][op.schema.group_key(strip_defaults=True)] = by_autograd_key
        references[which].setdefault(op.root, []).append(_Reference(op.schema, by_autograd_key))
    result = Match()
    for op in operators:
        if op.schema is None or (op.is_generated and op.kind == OUT):
            continue
        found = entries.get(op.name)
        exact = found is not None
        if found is None:
            key = op.schema.group_key(strip_defaults=True)
            found = None if is_foreach(op) else by_key[0].get(key)
            if found is None and op.is_generated:
                found = by_key[1].get(key)
            if found is None and is_foreach(op):
                made = _foreach(op, op.schema, references, lists)
                if made is not None:
                    found = {DEFAULT_FORMULA: made}
                    exact = made.op is op
                    if exact:
                        result.foreach.append(made)
        if found:
            result.uses[op.name] = {k: Use(f, exact, _forward_for(op, f, exact)) for k, f in found.items()}
    return result


def is_derived(op: Operator, uses: Mapping[str, Use]) -> bool:
    """Whether autograd wraps the operator itself; otherwise what it is composed of (``dispatch_strategy``)."""
    return op.is_abstract or any(use.formula.has_derivatives for use in uses.values())


def autograd_kind(op: Operator, uses: Mapping[str, Use], lists: Lists) -> str:
    """How an operator takes part in autograd (``use_derived`` and ``gen_variable_type_func``):

    * ``manual``: its kernel is written by hand in torch/csrc/autograd/VariableTypeManual.cpp;
    * ``composite``: it has none, what it is composed of has;
    * ``formula``: at least one input has a backward formula;
    * ``not_implemented``: a boxed kernel lets the call pass and raises in the backward pass;
    * ``not_differentiable``: a wrapper records nothing.
    """
    cpp_name = op.schema.cpp_name if op.schema else op.base
    if cpp_name in lists.manual_backend or cpp_name in lists.manual_autograd_and_tracer:
        return "manual"
    if not is_derived(op, uses):
        return "composite"
    if any(use.formula.has_derivatives for use in uses.values()):
        return "formula"
    wrapper = f"{cpp_name}_{op.overload}" if op.overload else cpp_name
    listed = (
        op.root in lists.no_derivative
        or op.base in lists.resets_gradient
        or cpp_name in lists.changes_storage
        or wrapper in lists.shares_storage
    )
    returns_tensor = op.schema is not None and any(r.type.is_tensor_like for r in op.schema.returns)
    if uses or listed or not returns_tensor:
        return "not_differentiable"
    return "not_implemented"


# -- in-place operators ----------------------------------------------------------------------------------------------

_METHOD_OF_TANGENT = re.compile(r"self_t.(\w*)\((.*)\)")


def _forward_for(op: Operator, formula: Formula, exact: bool) -> tuple[Forward, ...]:
    """The forward formulas; those of an in-place operator must end in self (``match_differentiability_info``)."""
    if op.kind != INPLACE or not formula.forward:
        return tuple(formula.forward)
    forward = formula.forward[0]
    text = forward.formula
    if has_ident("self_p", text) and not exact:
        text = replace_ident("self_p", "original_self_p", text)
        text = replace_ident("self_t", "original_self_t", text)
    text = replace_ident("result", "self_p", text)
    primal = forward.required_primal + (("self",) if has_ident("self_p", text) else ())
    if not exact:
        text = _into_tangent(text, formula.name)
    original = has_ident("original_self_p", text) or has_ident("original_self_t", text)
    return (
        forward._replace(
            outs=("self",), formula=text, required_primal=primal, original_self=original, reuses_outplace=not exact
        ),
    )


def _into_tangent(text: str, name: str) -> str:
    """Write the result into the tangent of self if there is one (NOTE [In-place forward AD formula Optimization])."""
    found = _METHOD_OF_TANGENT.fullmatch(text)
    if found and found[1] == name and _stays_inside(found[2]):
        return f"self_t_raw.defined() ? self_t_raw.{name}_({found[2]}) : {text}"
    return f"self_t_raw.defined() ? self_t_raw.copy_({text}) : {text}"


def _stays_inside(text: str) -> bool:
    level = 1
    for c in text:
        level += (c == "(") - (c == ")")
        if not level:
            return False
    return True


# -- foreach operators -----------------------------------------------------------------------------------------------


class _Reference(NamedTuple):
    schema: Schema
    formulas: dict[str, Formula]

    def arguments(self) -> tuple[Argument, ...]:
        """As in the signature: without TensorOptions."""
        at = self.schema.options_index
        kwargs = self.schema.kwarg_only
        return self.schema.positional + (kwargs if at < 0 else kwargs[:at] + kwargs[at + len(TENSOR_OPTIONS) :])


def _foreach(
    op: Operator, schema: Schema, references: tuple[dict[str, list[_Reference]], ...], lists: Lists
) -> Formula | None:
    """The formula for a foreach operator: the reference's own for an in-place one, else one made from it."""
    root = op.root.rpartition(FOREACH)[2]
    candidates = list(references[0].get(root, ()))
    if op.kind == INPLACE and op.local_name in lists.foreach_inplace_reference:
        candidates += references[1].get(root, ())
    for reference in candidates:
        if _fits(op, schema, reference.arguments(), lists) and DEFAULT_FORMULA in reference.formulas:
            source = reference.formulas[DEFAULT_FORMULA]
            return source if op.kind == INPLACE else _make_foreach(op, schema, reference.arguments(), source)
    return None


def _fits(op: Operator, schema: Schema, arguments: tuple[Argument, ...], lists: Lists) -> bool:
    """``is_reference_for_foreach``: every argument is that of the reference or a list (or option) of it."""
    own = schema.non_out
    if len(own) != len(arguments) and op.local_name not in lists.foreach_other_arity:
        return False
    return all(ref.type == a.type or (a.type.wraps and ref.type == a.type.elem) for a, ref in zip(own, arguments))


def _make_foreach(op: Operator, schema: Schema, arguments: tuple[Argument, ...], source: Formula) -> Formula:
    own = {ref.name: a for a, ref in zip(schema.non_out, arguments)}
    derivatives = [_foreach_derivative(d, own, op.part_of_structured_group) for d in source.derivatives]
    names = {n for d in derivatives for n in d.vars}
    source_arguments = source.op.schema.non_out if source.op.schema else ()
    return Formula(
        name=op.root,
        op=op,
        node=source.node and f"Foreach{source.node}{op.overload}",
        key=DEFAULT_FORMULA,
        derivatives=derivatives,
        forward=[_foreach_forward(f, schema, source_arguments) for f in source.forward],
        args_with_derivatives=[a.name for a in schema.non_out if a.name in names],
        non_differentiable=[],
        file=source.file,
        line=source.line,
        generated_from=source,
    )


def _foreach_derivative(d: Derivative, own: Mapping[str, Argument], tensor_list_ref: bool) -> Derivative:
    text = d.formula.replace("grad", "grads[i]").replace("result", "result[i]")
    inputs = []
    for saved in d.saved_inputs:
        name = saved.expr.partition(".")[0]
        a = own.get(name)
        if a is None:
            continue
        text = text.replace(saved.name, saved.expr.replace(name, f"{a.name}[i]" if a.type.is_list else a.name))
        inputs.append(Saved(a.name, value_type(a, symint=False, tensor_list_ref=tensor_list_ref), a.name))
    outputs = tuple(Saved("result", "at::TensorList", "result") for s in d.saved_outputs if s.name == "result")
    names = tuple(own[v].name for v in d.vars if v in own)
    return Derivative(names, text, d.formula, tuple(inputs), outputs, (), d.line)


def _foreach_forward(f: Forward, schema: Schema, arguments: tuple[Argument, ...]) -> Forward:
    text = f.formula.replace("result", "result[i]")
    renamed: dict[str, str] = {}
    for a, ref in zip(schema.non_out, arguments):
        if a.type.is_list and not a.type.is_tensor_like:
            text = text.replace(ref.name, f"{a.name}[i]")
        elif a.type.is_tensor_like:
            for suffix in ("_p", "_t"):
                text = text.replace(ref.name + suffix, a.name + suffix)
        elif a.name != ref.name:
            text = text.replace(ref.name, a.name)
        renamed[ref.name] = a.name

    def own(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renamed.get(n, n) for n in names)

    return f._replace(
        outs=own(f.outs),
        formula=text,
        required_fw_grad=own(f.required_fw_grad),
        required_primal=own(f.required_primal),
    )
