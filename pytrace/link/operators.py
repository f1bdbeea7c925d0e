"""Operators and how they are found: by name, by base, by the C++ names that mean them.

``link`` builds the table from ``native_functions.yaml`` and adds the ``op`` nodes with

* ``delegates`` edges of rule ``structured-delegate``: a functional or in-place operator to the structured out= one
  whose kernels it uses, and
* ``generated_from`` edges of rule ``autogen``: an operator that torchgen makes up to the one whose entry says so,

and, through ``pytrace.link.formulas``, the formulas of their derivatives.

Operators of other namespaces come from C++ registrations: ``OperatorTable.add``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

from pytrace.graph import Graph
from pytrace.link import formulas
from pytrace.link.context import Context
from pytrace.link.operator_model import FUNCTION, METHOD, Builder, KernelRef, Operator
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema import CppSignature, parse_schema, signature, signature_flags, split_namespace
from pytrace.schema.cpp import cpp_name


class CppOverload(NamedTuple):
    """One thing that ``at::NAME(…)`` or ``x.NAME(…)`` may mean."""

    op: Operator
    signature: CppSignature
    #: the C++ function is written by hand (``manual_cpp_binding``): it may answer without calling the operator
    manual: bool


class OperatorTable:
    """All operators. Reads are dictionary look-ups; the C++ signatures of a name are made when first asked for."""

    def __init__(self, operators: Iterable[Operator] = ()) -> None:
        self.by_name: dict[str, Operator] = {}  #: ``aten::add.Tensor`` -> operator
        self.by_base: dict[str, list[Operator]] = {}  #: ``add`` -> overloads, of any namespace, in order
        self.formulas = formulas.FormulaTable()  #: derivatives, and which operator uses which
        self._functions: dict[str, tuple[CppOverload, ...]] = {}
        self._methods: dict[str, tuple[CppOverload, ...]] = {}
        for op in operators:
            self._insert(op)

    def _insert(self, op: Operator) -> None:
        self.by_name[op.name] = op
        self.by_base.setdefault(op.base, []).append(op)

    def add(self, text: str, *, file: str = "", line: int = 0, tags: Iterable[str] = ()) -> Operator:
        """Add an operator that C++ or Python defines, from its schema with namespace, or from its name alone.

        An operator that is there already is returned as it is. A schema that is not understood is kept as text,
        with ``schema`` None.
        """
        namespace, local = split_namespace(text.partition("(")[0].strip())
        name = f"{namespace}::{local}"
        if (known := self.by_name.get(name)) is not None:
            return known
        schema = None
        if "(" in text:
            try:
                schema = parse_schema(f"{local}{text[text.index('(') :]}")
            except ValueError:
                schema = None
        base, _, overload = local.partition(".")
        # No at:: function and no method is generated for it.
        op = Operator(
            name, namespace, base, overload, text, schema, file, line, variants=frozenset(), tags=frozenset(tags)
        )
        self._insert(op)
        return op

    def overloads(self, packet: str) -> list[Operator]:
        """All overloads of ``aten::add`` (``aten`` when no namespace is given)."""
        namespace, base = split_namespace(packet)
        return [op for op in self.by_base.get(base, ()) if op.namespace == namespace]

    # -- C++ names ---------------------------------------------------------------------------------------------------

    @cached_property
    def by_cpp_name(self) -> dict[str, list[Operator]]:
        """``add``, ``add_out``, ``add_outf``, ``view_symint`` -> operators of the ``at`` namespace with that name."""
        index: dict[str, list[Operator]] = {}
        for op in self.by_name.values():
            if op.schema is not None and op.variants:
                flags = signature_flags(op.schema)
                for name in {cpp_name(op.schema, faithful=faithful, symint=symint) for faithful, symint in flags}:
                    index.setdefault(name, []).append(op)
        return index

    @cached_property
    def by_ops_struct(self) -> dict[str, Operator]:
        """``add_Tensor`` -> the operator that ``at::_ops::add_Tensor::call`` and ``::redispatch`` mean."""
        return {op.schema.name.unambiguous: op for op in self.by_name.values() if op.schema and op.variants}

    def functions(self, name: str) -> tuple[CppOverload, ...]:
        """What ``at::NAME(…)`` may mean; empty when no operator is called so."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = tuple(self._overloads(name, FUNCTION))
        return found

    def methods(self, name: str) -> tuple[CppOverload, ...]:
        """What ``tensor.NAME(…)`` may mean; the signatures do not hold ``self``."""
        found = self._methods.get(name)
        if found is None:
            found = self._methods[name] = tuple(self._overloads(name, METHOD))
        return found

    def _overloads(self, name: str, variant: str) -> Iterable[CppOverload]:
        # Without manual_cpp_binding the generated function has the name itself, with it `__dispatch_NAME`
        # (CppSignature.name in torchgen/api/types/signatures.py).
        plain = name.removeprefix("__dispatch_")
        for op in self.by_cpp_name.get(plain, ()):
            if variant not in op.variants or op.schema is None or (plain != name and not op.manual_cpp_binding):
                continue
            for faithful, symint in signature_flags(op.schema):
                if cpp_name(op.schema, faithful=faithful, symint=symint) == plain:
                    made = signature(
                        op.schema,
                        method=variant == METHOD,
                        faithful=faithful,
                        symint=symint,
                        no_default=op.cpp_no_default_args,
                    )
                    yield CppOverload(op, made, op.manual_cpp_binding and plain == name)

    # -- kernels -----------------------------------------------------------------------------------------------------

    @cached_property
    def by_kernel(self) -> dict[str, list[tuple[Operator, str, KernelRef]]]:
        """``at::native::add_sparse`` -> (operator, dispatch key, kernel) of every own table that names it."""
        index: dict[str, list[tuple[Operator, str, KernelRef]]] = {}
        for op in self.by_name.values():
            for key, ref in op.dispatch.items():
                index.setdefault(ref.qualified, []).append((op, key, ref))
        return index


def read(ctx: Context) -> OperatorTable:
    """The operators that ``native_functions.yaml`` defines or implies; what is odd there becomes diagnostics."""
    tags = [name for _, facts in ctx.of_kind("tags") for _, name, _ in facts.get("tags", ())]
    operators: list[Operator] = []
    for path, facts in ctx.of_kind("native_functions"):
        builder = Builder(path, tags)
        operators += builder.build(facts.get("entries", ()))
        for where, line, kind, message in builder.diagnostics:
            ctx.graph.diagnostic(where, line, kind, message)
    return OperatorTable(operators)


def link(ctx: Context) -> None:
    """Set ``ctx.operators`` and add the nodes of the operators, with the formulas of their derivatives."""
    ctx.operators = table = read(ctx)
    operators = list(table.by_name.values())
    table.formulas = formulas.read(ctx, table.by_name)
    for op in operators:
        add_node(ctx.graph, op, autograd=table.formulas.autograd(op) if table.formulas.entries else "")
    for op in operators:
        _add_edges(ctx.graph, op)
    formulas.add_to_graph(ctx.graph, table.formulas, table.by_name)


def add_node(graph: Graph, op: Operator, owner: str = "", autograd: str = "") -> int:
    """The node of an operator, with what a reader asks first in ``attrs``.

    ``autograd`` is how it takes part in autograd (``formula_match.autograd_kind``), "" when that is not known.
    """
    return graph.shared(NodeKind.OP, op.name, op.file, op.line, owner=owner, attrs=_attrs(op, autograd))


def _attrs(op: Operator, autograd: str) -> dict[str, Any]:
    attrs: dict[str, Any] = {
        "schema": op.text, "kind": op.kind, "variants": sorted(op.variants), "autograd": autograd
    }  # fmt: skip
    if op.tags:
        attrs["tags"] = sorted(op.tags)
    for key in ("python_module", "structured_inherits", "generated_from", "generated_calls"):
        if value := getattr(op, key):
            attrs[key] = value
    for key in ("structured", "manual_cpp_binding", "manual_kernel_registration"):
        if getattr(op, key):
            attrs[key] = True
    if op.is_view:
        attrs["view"] = True
    if op.ufunc:
        attrs["ufunc"] = op.ufunc
    if op.group:
        attrs["group"] = [n for n in (op.group.functional, op.group.inplace, op.group.mutable, op.group.out) if n]
    if op.view_group and op.view_group.copy:
        attrs["view_copy"] = op.view_group.copy
    if op.generated_keys:
        attrs["generated_keys"] = {key: list(made) for key, made in op.generated_keys.items()}
    return {key: value for key, value in attrs.items() if value}


def _add_edges(graph: Graph, op: Operator) -> None:
    src = graph.find(NodeKind.OP, op.name)
    assert src is not None  # made just before
    delegate = graph.find(NodeKind.OP, op.structured_delegate)
    if delegate is not None:
        line = op.lines.get("structured_delegate", op.line)
        graph.edge(src, delegate, EdgeKind.DELEGATES, rule="structured-delegate", file=op.file, line=line)
    source = graph.find(NodeKind.OP, op.generated_from)
    if source is not None:
        line = op.lines.get("autogen", op.line)
        graph.edge(src, source, EdgeKind.GENERATED_FROM, rule="autogen", file=op.file, line=line)
