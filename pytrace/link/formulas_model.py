"""Derivative formulas: what ``derivatives.yaml`` and the rules of autograd's code generation mean together.

A ``Formula`` is one entry for one autograd key (``DifferentiabilityInfo`` of ``torchgen/api/autograd.py``). ``build``
reads the entries as ``tools/autograd/load_derivatives.py`` does; ``formula_match`` says which operator uses which.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytrace.link.formula_text import Saved, gradient_indices, has_ident, node_prefix, replace_ident, saved_variables
from pytrace.link.operator_model import FUNCTION, Operator
from pytrace.schema import Schema
from pytrace.schema.cpp import signature
from pytrace.schema.keys import AUTOGRAD, DEFAULT_FORMULA, FormulaRow
from pytrace.schema.native import return_names, return_value_type, value_type

NON_DIFFERENTIABLE = "non_differentiable"
AUTO_ELEMENT_WISE, AUTO_LINEAR = "auto_element_wise", "auto_linear"
_NOT_IMPLEMENTED = re.compile(r"\bnot_implemented(?:_list)?\s*\(")


class Derivative(NamedTuple):
    """The backward formula of one or more inputs."""

    vars: tuple[str, ...]
    formula: str  #: on saved values: ``other_scalar_type`` for ``other.scalar_type()``
    original: str  #: as written
    saved_inputs: tuple[Saved, ...]
    saved_outputs: tuple[Saved, ...]
    named_gradients: tuple[str, ...]
    line: int

    @property
    def not_implemented(self) -> bool:
        """Whether the formula only says that there is none yet."""
        return _NOT_IMPLEMENTED.search(self.original) is not None


class Forward(NamedTuple):
    """The forward-mode formula of one or more outputs."""

    outs: tuple[str, ...]
    formula: str  #: ``auto_linear`` and ``auto_element_wise`` are spelled out
    required_fw_grad: tuple[str, ...]  #: inputs whose tangent is used (``NAME_t``)
    required_primal: tuple[str, ...]  #: inputs whose value is used (``NAME_p``)
    line: int
    automatic: str = ""  #: the keyword that the formula was made from
    original_self: bool = False  #: an in-place operator must clone self before it runs
    reuses_outplace: bool = False  #: made from the formula of the functional variant


@dataclass(eq=False)
class Formula:
    """One entry of ``derivatives.yaml`` for one autograd key, or one that the generator makes from it."""

    name: str  #: the operator without overload, as the entry names it
    op: Operator  #: the operator whose formula it is
    node: str  #: class of the autograd node, ``MulBackward0``; "" when no input has a derivative
    key: str  #: ``Default`` or an autograd key
    derivatives: list[Derivative]
    forward: list[Forward]
    args_with_derivatives: list[str]
    non_differentiable: list[str]
    available_gradients: list[str] = field(default_factory=list)  #: ``grad_NAME`` of named outputs
    output_differentiability: list[bool] | None = None
    output_conditions: list[str] | None = None
    file: str = ""  #: path of derivatives.yaml
    line: int = 0  #: of the entry; a generated one has its source's
    generated_from: Formula | None = None

    @property
    def has_derivatives(self) -> bool:
        """Whether any input has a backward formula."""
        return bool(self.args_with_derivatives)

    @property
    def saved_inputs(self) -> list[Saved]:
        """What the node saves of the inputs, once each."""
        return _once(s for d in self.derivatives for s in d.saved_inputs)

    @property
    def saved_outputs(self) -> list[Saved]:
        """What the node saves of the outputs, once each."""
        return _once(s for d in self.derivatives for s in d.saved_outputs)

    @property
    def used_gradients(self) -> list[str]:
        """The named gradients that the formulas use."""
        return sorted({name for d in self.derivatives for name in d.named_gradients})

    @property
    def uses_single_grad(self) -> bool:
        """Whether a formula says ``grad``: then only the first output is differentiable."""
        return any(has_ident("grad", d.formula) for d in self.derivatives)


#: (line, message)
Diagnostics = list[tuple[int, str]]
#: full name of the operator -> formula by autograd key
Entries = dict[str, dict[str, Formula]]
EntryRow = tuple[int, str, "list[bool | str] | None", "list[tuple[str, list[FormulaRow]]]"]

#: ``split_name_params`` in torchgen/utils.py.
_SPECIFICATION = re.compile(r"(\w+)(?:\.\w+)?\(.*\)")


def build(rows: Iterable[EntryRow], operators: Mapping[str, Operator], file: str = "") -> tuple[Entries, Diagnostics]:
    """The formulas of ``derivatives.yaml`` and those of view copies, which reuse the view's.

    ``operators`` are all operators by full name, ``file`` is the path of ``derivatives.yaml``.
    """
    diagnostics: Diagnostics = []
    by_text = {op.text.removeprefix("aten::"): op for op in operators.values()}
    entries: Entries = {}
    counter: Counter[str] = Counter()
    for line, specification, outputs, tables in rows:
        matched = _SPECIFICATION.match(specification)
        op = by_text.get(specification)
        if matched is None or op is None:
            diagnostics.append((line, f"no operator has the schema {specification!r}"))
            continue
        if not tables:
            diagnostics.append((line, f"the entry of {op.name} has no autograd key"))
            continue
        op = _canonical(op, matched[1], operators)
        if op.name in entries:
            diagnostics.append((line, f"a second entry for {op.name}; it replaces the first"))
        conditions = [o for o in outputs or () if isinstance(o, str)] or None
        flags = [True if isinstance(o, str) else o for o in outputs] if outputs else None
        entries[op.name] = {}
        for key, formulas in tables:
            if key != DEFAULT_FORMULA and key not in AUTOGRAD:
                diagnostics.append((line, f"{key!r} is no autograd key that derivatives.yaml may name"))
            reader = _Reader(op, matched[1], key, flags, line)
            formula = reader.read(formulas)
            if formula.has_derivatives:
                prefix = node_prefix(formula.name) + (key if key != DEFAULT_FORMULA else "")
                formula.node = f"{prefix}{counter[prefix]}"
                counter[prefix] += 1
            formula.output_conditions = conditions
            formula.file = file
            entries[op.name][key] = formula
            diagnostics += reader.diagnostics
    _add_view_copies(entries, operators)
    return entries, diagnostics


def _canonical(op: Operator, name: str, operators: Mapping[str, Operator]) -> Operator:
    """The variant that carries the name of the entry: not out=, else the first there is (``canonical_function``)."""
    if op.base == name and not (op.schema and op.schema.out):
        return op
    group = op.group
    names = [n for n in (group.functional, group.inplace, group.mutable) if n] if group else []
    variants = [operators[n] for n in names]
    return next((v for v in variants if v.base == name), variants[0] if variants else op)


def _add_view_copies(entries: Entries, operators: Mapping[str, Operator]) -> None:
    """A view's formulas serve its copying variant too (``add_view_copy_derivatives``)."""
    for name, by_key in list(entries.items()):
        group = operators[name].view_group
        if group is None or group.view != name or not group.copy or group.copy in entries:
            continue
        copy = operators[group.copy]
        entries[copy.name] = {
            key: replace(f, name=f"{f.name}_copy.", op=copy, node=f.node and f"{f.node}_copy", generated_from=f)
            for key, f in by_key.items()
        }


class _Reader:
    """Reads the formulas of one entry and one key (``create_differentiability_info``)."""

    def __init__(self, op: Operator, name: str, key: str, flags: list[bool] | None, line: int) -> None:
        assert op.schema is not None
        self.op, self.name, self.key, self.flags, self.line = op, name, key, flags, line
        self.schema: Schema = op.schema
        self.diagnostics: Diagnostics = []
        self.arguments = _cpp_arguments(op, self.schema)
        self.argument_names = [name for name, _ in self.arguments]
        names = ["result" if n == "self" else n for n in return_names(self.schema)]
        self.results = [(name, return_value_type(r)) for name, r in zip(names, self.schema.returns)]

    def read(self, rows: Sequence[FormulaRow]) -> Formula:
        """The formula; its node is named by the caller, who counts."""
        flags = self.flags or [True] * len(self.schema.returns)
        available = [
            f"grad_{r.name}"
            for r, differentiable in zip(self.schema.returns, flags)
            if differentiable and r.name and r.type.is_tensor_like
        ]
        derivatives: list[Derivative] = []
        forward: list[tuple[tuple[str, ...], str, int]] = []
        non_differentiable: list[str] = []
        for raw, text, line in sorted(rows):
            names = tuple(n.strip() for n in raw.split(","))
            if names[0] not in self.argument_names:
                forward.append((names, text, line))
            elif text.lower().strip() == NON_DIFFERENTIABLE:
                non_differentiable += names
            else:
                derivatives.append(self._derivative(names, text, available, line))
        with_derivatives = {n for d in derivatives for n in d.vars}
        for name in sorted(with_derivatives.intersection(non_differentiable)):
            self.diagnostics.append((self.line, f"{self.op.name}: {name} has a formula and is non_differentiable"))
        arguments = [(n, t) for n, t in self.arguments if n in with_derivatives]
        self._check_gradients(derivatives)
        return Formula(
            name=self.name,
            op=self.op,
            node="",
            key=self.key,
            derivatives=derivatives,
            forward=[self._forward(outs, text, line, forward, derivatives, arguments) for outs, text, line in forward],
            args_with_derivatives=[n for n, _ in arguments],
            non_differentiable=non_differentiable,
            available_gradients=available,
            output_differentiability=self.flags,
            line=self.line,
        )

    def _derivative(self, names: tuple[str, ...], text: str, available: Sequence[str], line: int) -> Derivative:
        formula, inputs = saved_variables(text, self.arguments)
        formula, outputs = saved_variables(formula, self.results)
        used = tuple(sorted(name for name in available if has_ident(name, formula)))
        if any(i >= len(self.schema.returns) for i in gradient_indices(formula)):
            self.diagnostics.append((line, f"{self.op.name} has {len(self.schema.returns)} outputs: {text}"))
        return Derivative(names, formula, text, inputs, outputs, used, line)

    def _check_gradients(self, derivatives: Sequence[Derivative]) -> None:
        """``grad``, ``grads`` and ``grad_NAME`` must not be mixed (``check_grad_usage``)."""
        kinds = {
            "grad": any(has_ident("grad", d.formula) for d in derivatives),
            "grads": any(has_ident("grads", d.formula) for d in derivatives),
            "grad_NAME": any(d.named_gradients for d in derivatives),
        }
        used = [kind for kind, yes in kinds.items() if yes]
        if len(used) > 1:
            self.diagnostics.append((self.line, f"{self.op.name} mixes {' and '.join(used)}"))

    def _forward(
        self,
        outs: tuple[str, ...],
        text: str,
        line: int,
        all_forward: Sequence[object],
        derivatives: Sequence[Derivative],
        arguments: Sequence[tuple[str, str]],
    ) -> Forward:
        """Spell out the automatic formulas (``postprocess_forward_derivatives``)."""
        formula = text
        tangents = self._required(text, "_t", arguments)
        names = [n for n, _ in arguments]
        if text in (AUTO_ELEMENT_WISE, AUTO_LINEAR):
            single = len(all_forward) == 1 and len(outs) == 1
            if not single or not names or (text == AUTO_ELEMENT_WISE and (len(names) > 1 or len(derivatives) != 1)):
                self.diagnostics.append((line, f"{self.op.name}: {text} does not fit its inputs and outputs"))
            elif text == AUTO_ELEMENT_WISE:
                formula = _element_wise(derivatives[0].original, names[0])
                tangents = tuple(self.argument_names)
            else:
                formula = self._linear(names)
                tangents = tuple(names)
        primals = self._required(formula, "_p", arguments)
        return Forward(outs, formula, tangents, primals, line, text if formula != text else "")

    def _linear(self, names: Sequence[str]) -> str:
        """The operator itself, applied to the tangents."""
        args = [f"{n}_t" if n in names else n for n in self.argument_names]
        name = f"{self.name}_symint" if self.schema.has_symint else self.name
        if FUNCTION in self.op.variants:
            return f"at::{name}({', '.join(args)})"
        return f"{args[0]}.{name}({', '.join(args[1:])})"

    def _required(self, formula: str, postfix: str, arguments: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        foreach = is_foreach(self.op)
        return tuple(
            name
            for name, type_ in arguments
            # Functions that take lists handle the tangents themselves.
            if (foreach or type_ not in ("at::TensorList", "at::ITensorListRef")) and has_ident(name + postfix, formula)
        )


def _element_wise(backward: str, name: str) -> str:
    """The forward formula of an element-wise function, from its backward one: the Jacobian is diagonal."""
    formula = replace_ident("grad", f"{name}_t.conj()", backward)
    return f"({replace_ident(name, f'{name}_p', formula)}).conj()"


def _cpp_arguments(op: Operator, schema: Schema) -> list[tuple[str, str]]:
    """(name, C++ type) of the arguments of ``at::NAME``, SymInt where there is a choice (``cpp_arguments``)."""
    types = {a.name: value_type(a, tensor_list_ref=op.part_of_structured_group) for a in schema.arguments}
    types.setdefault("options", "at::TensorOptions")
    made = signature(schema, method=False, faithful=False, symint=schema.has_symint, no_default=op.cpp_no_default_args)
    return [(a.name, types[a.name]) for a in made.args]


def is_foreach(op: Operator) -> bool:
    """Whether it works on lists, element by element (``is_foreach_func``)."""
    return op.root.startswith("_foreach_")


def _once(saved: Iterable[Saved]) -> list[Saved]:
    first: dict[str, Saved] = {}
    for value in saved:
        first.setdefault(value.name, value)
    return list(first.values())
