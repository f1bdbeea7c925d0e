"""Registered wrappers that get an operator as template argument: autocast's ``WrapFunction<…, &ATEN_FN(op)>``.

The wrapper calls what it is given (aten/src/ATen/autocast_mode.h: ``return (*F)(cached_cast(…)…)``). Which operator
that is depends on the registration, so for the wrapper each is one of N candidates.
"""

from __future__ import annotations

import json
import re

from pytrace.link.context import Context
from pytrace.model import EdgeKind, NodeKind

_GIVEN = re.compile(r"&\s*(?:at::_ops::(\w+)::call|ATEN_FN2?\(\s*(\w+)\s*(?:,\s*(\w+)\s*)?\))")


def link(ctx: Context) -> None:
    """Add ``calls_op`` edges (rule ``template-argument``) from registered wrappers to what they are given."""
    found: dict[tuple[int, int], tuple[str, int]] = {}
    for _src, dst, kind, _key, rule, file, line, _guard, _n, _owner, text in ctx.graph.edges:
        if kind != EdgeKind.DISPATCHES or rule != "torch-library-impl" or not text or "&" not in text:
            continue
        for struct, base, overload in _GIVEN.findall(json.loads(text).get("as", "")):
            # ATEN_FN and ATEN_FN2 are at::_ops::NAME::call (torch/library.h's users, ATen/Operators.h)
            operator = ctx.operators.by_ops_struct.get(struct or (f"{base}_{overload}" if overload else base))
            node = ctx.graph.find(NodeKind.OP, operator.name) if operator else None
            if node is not None:
                found.setdefault((dst, node), (file, line))
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
