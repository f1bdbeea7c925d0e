"""Registered wrappers that get an operator as template argument: autocast's ``WrapFunction<…, &ATEN_FN(op)>``.

The wrapper calls what it is given (aten/src/ATen/autocast_mode.h: ``return (*F)(cached_cast(…)…)``), or hands it on to
a template that does (aten/src/ATen/functorch/BatchRulesRandomness.cpp). Which operator that is depends on the
registration, so for the wrapper each is one of N candidates.
"""

from __future__ import annotations

import json
import re

from pytrace.extract.cpp_text import split_top
from pytrace.link.context import Context
from pytrace.link.cpp_types import kind_of
from pytrace.link.operator_calls import OperatorCalls
from pytrace.model import EdgeKind, NodeKind

#: ``WrapFunction<…, Tensor(const Tensor&, ScalarType), &at::norm>``: the last signature tells the overload.
_BY_SIGNATURE = re.compile(r"\(([^()]*)\)\s*,\s*&\s*(?:::)?(?:at|torch)::(\w+)\s*>")
_GIVEN = re.compile(r"&\s*(?:at::_ops::(\w+)::call|ATEN_FN2?\(\s*(\w+)\s*(?:,\s*(\w+)\s*)?\))")


def link(ctx: Context) -> None:
    """Add ``calls_op`` edges (rule ``template-argument``) from registered wrappers to what they are given."""
    found: dict[tuple[int, int], tuple[str, int]] = {}
    chooser = OperatorCalls(ctx.operators)
    for _src, dst, kind, _key, rule, file, line, _guard, _n, _owner, text in ctx.graph.edges:
        if kind != EdgeKind.DISPATCHES or rule != "torch-library-impl" or not text or "&" not in text:
            continue
        written = json.loads(text).get("as", "")
        names = []
        for struct, base, overload in _GIVEN.findall(written):
            # ATEN_FN and ATEN_FN2 are at::_ops::NAME::call (torch/library.h's users, ATen/Operators.h)
            operator = ctx.operators.by_ops_struct.get(struct or (f"{base}_{overload}" if overload else base))
            names += [operator.name] if operator else []
        for signature, base in _BY_SIGNATURE.findall(written):
            fitting = chooser.overloads(base, False, tuple(map(kind_of, split_top(signature))))
            names += fitting if len(fitting) == 1 else []
        nodes = [node for name in names if (node := ctx.graph.find(NodeKind.OP, name)) is not None]
        for function in _calling(ctx, dst) if nodes else ():
            found.update({(function, node): (file, line) for node in nodes if (function, node) not in found})
    counts: dict[int, int] = {}
    for dst, _ in found:
        counts[dst] = counts.get(dst, 0) + 1
    for (dst, node), (file, line) in found.items():
        ctx.graph.edge(
            dst,
            node,
            EdgeKind.CALLS_OP,
            rule="template-argument",
            file=file,
            line=line,
            candidates=counts[dst],
            owner=file,
        )


def _calling(ctx: Context, wrapper: int) -> list[int]:
    """A wrapper, and the templates that it hands what it is given on to."""
    found = [wrapper]
    for function in found:  # grows while it is walked
        found += sorted(ctx.hands_on.get(function, set()).difference(found))
    return found
