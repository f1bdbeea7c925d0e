"""Kernels that exist only in generated code: what torchgen writes into them, and from what.

``torchgen/native_function_generation.py`` writes an ``out=`` kernel that calls the functional operator, resizes and
copies (the helpers stand in the template ``CompositeViewCopyKernels.cpp``), and a functional one that clones and calls
the mutating operator. ``torchgen/gen_functionalization_type.py`` writes ``view_copy`` kernels: the view, cloned.
"""

from __future__ import annotations

from pytrace.link.context import Context
from pytrace.link.operator_model import Operator
from pytrace.model import EdgeKind, NodeKind


def link(ctx: Context) -> None:
    """Add the edges that leave generated kernel functions, ``generated_from`` edges to their operators among them."""
    for op in ctx.operators.by_name.values():
        for key, ref in op.dispatch.items():
            if ref.generated is None:
                continue
            src = ctx.graph.find(NodeKind.FUNCTION, ref.qualified)
            if src is None:
                continue
            template = ref.generated.template
            own = ctx.graph.find(NodeKind.OP, op.name)
            if own is not None:
                ctx.graph.edge(src, own, EdgeKind.GENERATED_FROM, rule="generated-kernel", file=op.file, line=op.line)
            called = ctx.graph.find(NodeKind.OP, op.generated_calls)
            if called is None:
                continue
            ctx.graph.edge(src, called, EdgeKind.CALLS_OP, rule="generated-kernel", file=template, line=1)
            for helper, lists in _helpers(op, key):
                for symbol in ctx.functions.by_name.get(f"at::native::{helper}", ()):
                    takes_list = "List" in symbol.parameters[0][0]
                    if takes_list in lists:
                        ctx.graph.edge(
                            src,
                            symbol.id,
                            EdgeKind.CALLS,
                            rule="generated-kernel",
                            file=template,
                            line=int(symbol.line),
                        )


def _helpers(op: Operator, key: str) -> list[tuple[str, set[bool]]]:
    """(helper of the template, whether its list and its single form are used)."""
    if op.schema is None:
        return []
    if op.schema.out:
        lists = {a.type.is_list for a in op.schema.out}
        return [("resize_out_helper", lists), ("copy_arg", lists)]
    if key == "CompositeExplicitAutogradNonFunctional":
        lists = {r.type.is_list for r in op.schema.returns}
        return [("clone_arg", lists)]
    return [("clone_arg", {a.type.is_list for a in op.schema.arguments if "Tensor" in str(a.type)} or {False})]
