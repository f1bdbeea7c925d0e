"""How an operator finds its kernel function: the dispatch table of ``native_functions.yaml`` to C++ definitions.

The rule is torchgen's: a key names a function of a namespace (``at::native`` when nothing is said), for structured
operators the method ``impl`` that ``TORCH_IMPL_FUNC`` defines. Kernels that only generated code holds become nodes
without a place, which say what writes them.
"""

from __future__ import annotations

from pytrace.link.context import Context
from pytrace.link.cpp_types import kind_of
from pytrace.link.functions import Symbol
from pytrace.link.operator_model import KernelRef, Operator
from pytrace.link.overloads import rank
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema.cpp import native_signature


def link(ctx: Context) -> None:
    """Add ``dispatches`` edges (key = dispatch key) and set ``ctx.kernels_of``; ``structured_meta`` edges."""
    for op in ctx.operators.by_name.values():
        src = ctx.graph.find(NodeKind.OP, op.name)
        if src is None:
            continue
        for key, ref in op.dispatch.items():
            ids, rule = _kernels(ctx, op, ref)
            ctx.kernels_of[op.name, key] = ids
            for dst in ids:
                ctx.graph.edge(
                    src,
                    dst,
                    EdgeKind.DISPATCHES,
                    key,
                    rule=rule,
                    file=op.file,
                    line=ref.line or op.line,
                    candidates=len(ids),
                )
    for op in ctx.operators.by_name.values():
        delegate = op.structured_delegate
        src = ctx.graph.find(NodeKind.OP, op.name)
        line = op.lines.get("structured_delegate", op.line)
        for key, ref in op.inherited.items():
            if (op.name, key) in ctx.kernels_of or src is None:
                continue
            ids = (ctx.kernels_of.get((delegate, key)) if delegate else None) or _kernels(ctx, op, ref)[0]
            ctx.kernels_of[op.name, key] = ids
            for dst in ids:
                ctx.graph.edge(
                    src,
                    dst,
                    EdgeKind.DISPATCHES,
                    key,
                    rule="structured-delegate",
                    file=op.file,
                    line=line,
                    candidates=len(ids),
                )

    for op in ctx.operators.by_name.values():
        _meta(ctx, op)


def _meta(ctx: Context, op: Operator) -> None:
    """The meta function of a structured group, named after its functional operator (torchgen/api/meta.py: ``name``).

    ``TORCH_META_FUNC2(add, Tensor)`` defines ``at::meta::structured_add_Tensor::meta``. No dispatch table names it: the
    generated Meta kernel, and the generated wrappers of all backends, call it.
    """
    out = ctx.operators.by_name.get(op.group.out) if op.group else None
    src = ctx.graph.find(NodeKind.OP, op.name)
    if op.group is None or out is None or not out.structured or src is None:
        return
    plain = op.group.functional.partition("::")[2].replace(".", "_")
    symbols = ctx.functions.by_name.get(f"at::meta::structured_{plain}::meta", ())
    for symbol in symbols:
        ctx.graph.edge(
            src,
            symbol.id,
            EdgeKind.STRUCTURED_META,
            "Meta",
            rule="structured-meta",
            file=out.file,
            line=out.lines.get("structured", out.line),
            candidates=len(symbols),
        )


def _kernels(ctx: Context, op: Operator, ref: KernelRef) -> tuple[list[int], str]:
    # What torchgen writes nobody wrote: a function of the generated name is an overload for others (``sum_out``).
    symbols = ctx.functions.by_name.get(ref.qualified, []) if ref.generated is None else []
    if symbols:
        return [s.id for s in _fitting(op, ref, symbols)], "yaml-dispatch"
    attrs = {}
    rule = "yaml-dispatch"
    if ref.generated is not None:
        rule = "generated-kernel"
        attrs["generated"] = {
            "what": ref.generated.what,
            "by": ref.generated.generator,
            "template": ref.generated.template,
        }
    node = ctx.graph.shared(NodeKind.FUNCTION, ref.qualified, attrs=attrs or None)
    if ref.generated is None:
        ctx.graph.unresolved_name(op.file, "kernel", ref.qualified, ref.line or op.line, "no definition in the tree")
    return [node], rule


def _fitting(op: Operator, ref: KernelRef, symbols: list[Symbol]) -> list[Symbol]:
    """The overload whose parameters are those of the operator's native signature (torchgen/api/native.py)."""
    if len(symbols) == 1 or op.schema is None or ref.structured:
        return symbols
    signature = native_signature(op.schema, ref.name, symint=ref.symint)
    wanted = tuple(
        "?".join((a.kind, "")) if a.optional and not a.kind.startswith("Opt") else a.kind for a in signature.args
    )
    ranked = []
    for symbol in symbols:
        parameters = []
        for text, _name, _default in symbol.parameters:
            kind = kind_of(text)
            parameters.append((kind[:-1], True) if kind.endswith("?") else (kind, False))
        ranked.append((rank(wanted, parameters, len(wanted) if len(parameters) == len(wanted) else 99), symbol))
    best = min(r for r, _ in ranked)
    return [s for r, s in ranked if r == best]
