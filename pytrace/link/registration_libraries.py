"""What ``TORCH_LIBRARY`` blocks do to the dispatcher: operators that they define, kernels that they register.

The rules are ``torch/library.h`` and ``aten/src/ATen/core/library.cpp``. Generated registrations (``RegisterCPU.cpp``
and its like) are in no file of the tree: those come from the YAML (``link/operators.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytrace.extract.registration_functions import kernel
from pytrace.extract.registration_library import LibraryBlock, LibraryCall, calls
from pytrace.extract.registration_text import Lines, Span
from pytrace.link.context import Context
from pytrace.link.operators import add_node
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema.keys import CIA, canonical

#: A backend fallback: the kernel that a dispatch key uses for operators without one. Not an operator, so not ``op``.
FALLBACK = "fallback"

#: What the dispatcher puts in the table for ``CppFunction::makeFallthrough()`` and its like
#: (``aten/src/ATen/core/boxing/KernelFunction.cpp``).
_MADE_KERNELS = {"fallthrough": "c10::fallthrough_kernel", "not-supported": "c10::named_not_supported_kernel"}

#: Macros that ``registration_functions`` and ``registration_library`` read as they stand.
_KEPT = re.compile(r"TORCH_(?:FN|FN_TYPE|SELECTIVE_\w+)$")

#: Longest text of a registered expression that is kept.
_LONGEST = 240


def link_libraries(ctx: Context) -> None:
    """Add the operators that blocks define, ``dispatches`` edges for what they register, and fallbacks.

    Rules: ``torch-library-impl`` and ``torch-library-def``; ``fallthrough`` for a kernel that passes the call on.
    Edge attrs: ``block`` (line of the block: what ``torch._C._dispatch_dump`` shows), ``macro`` when a macro call in
    the block made it, ``how`` (``boxed``, ``lambda``, ``plumbing``, …), ``as`` (the expression, if it says more).
    """
    found = [(path, list(_calls(ctx, path, facts))) for path, (_, facts) in ctx.files.items() if _has(facts)]
    for path, rows in found:
        for call, _macro in rows:
            if call.what == "def":
                _define(ctx, path, call)
    for path, rows in found:
        for call, macro in rows:
            if call.target or call.how:
                _register(ctx, path, call, macro)


def _has(facts: dict[str, Any]) -> bool:
    return "library_calls" in facts


def _calls(ctx: Context, path: str, facts: dict[str, Any]) -> Iterator[tuple[LibraryCall, str]]:
    """(call, macro that made it or "") of one file, macro calls in blocks expanded."""
    for row in facts["library_calls"]:
        call = LibraryCall._make(row)
        if call.what == "macro":
            for made in expanded(ctx, path, call):
                yield made, call.name
        elif call.how == "unknown" and call.text and (text := _expand(ctx, path, call.text, call.line)):
            made_kernel = kernel(text)
            yield call._replace(target=made_kernel.target, how=made_kernel.how, text=made_kernel.text), ""
        else:
            yield call, ""


def _expand(ctx: Context, path: str, text: str, line: int) -> str:
    """``text``, which begins with a macro call, as the preprocessor would leave it at this line; "" if it cannot."""
    return ctx.macros.expand(path, text, line, _KEPT)


def expanded(ctx: Context, path: str, call: LibraryCall) -> list[LibraryCall]:
    """What a macro call in a block registers; all of it at the line of the call. [] when it registers nothing."""
    text = _expand(ctx, path, f"{call.name}({call.text})", call.line).encode()
    library = call.target
    if library.encode() not in text:
        return []
    block = LibraryBlock(1, call.how, call.namespace, call.key, call.scope, "", 1)
    rows = calls(text, Span(0, len(text)), block, library, Lines(text).of, lambda _: "")
    made: Iterator[LibraryCall] = (LibraryCall._make(row) for row in rows)
    return [
        row._replace(line=call.line, below=call.below, guard=call.guard, lines=0) for row in made if row.what != "macro"
    ]


def qualified(name: str, namespace: str) -> str:
    """``ns::name.overload`` of a schema or an operator name in a block of this namespace."""
    name = name.split("(", 1)[0].strip()
    return name if "::" in name else f"{namespace}::{name}"


def _define(ctx: Context, path: str, call: LibraryCall) -> None:
    text = call.name.strip()
    if not text or "$" in text:  # computed, or a placeholder of a code template
        return
    if "::" not in text.split("(", 1)[0]:
        text = f"{call.namespace}::{text}"
    add_node(ctx.graph, ctx.operators.add(text, file=path, line=call.line, tags=call.tags.split()), path)


def operator(ctx: Context, name: str, path: str, line: int) -> int:
    """The node of an operator that something is registered for; made when nothing defines it."""
    found = ctx.graph.find(NodeKind.OP, name)
    return found if found is not None else add_node(ctx.graph, ctx.operators.add(name, file=path, line=line), path)


def _register(ctx: Context, path: str, call: LibraryCall, macro: str) -> None:
    # Without a key, and for CatchAll, the dispatcher registers for CompositeImplicitAutograd
    # (OperatorEntry::registerKernel in aten/src/ATen/core/dispatch/OperatorEntry.cpp).
    key = canonical(call.key) if call.key not in ("", "CatchAll") else CIA
    if call.what == "fallback":
        source = ctx.graph.shared(FALLBACK, key, path, call.line, owner=path)
    elif not call.name or "$" in call.name:
        reason = "the operator's name is computed"
        ctx.graph.unresolved_name(path, "registration", call.target or call.how, call.line, reason)
        return
    else:
        source = operator(ctx, qualified(call.name, call.namespace), path, call.line)
    ids = _functions(ctx, path, call)
    attrs: dict[str, Any] = {"block": call.line - call.below}
    attrs.update((k, v) for k, v in (("macro", macro), ("how", call.how), ("as", call.text[:_LONGEST])) if v)
    for node_id in ids:
        ctx.graph.edge(
            source,
            node_id,
            EdgeKind.DISPATCHES,
            key,
            rule="fallthrough" if call.how == "fallthrough" else f"torch-library-{call.what}",
            file=path,
            line=call.line,
            guard=call.guard,
            candidates=len(ids),
            owner=path,
            attrs=attrs,
        )


def _functions(ctx: Context, path: str, call: LibraryCall) -> list[int]:
    """Nodes of what is registered; the block itself for a lambda, and for what has no definition in the tree."""
    target = _MADE_KERNELS.get(call.how) or call.target
    ids = ctx.functions.resolve(target, path, call.scope, call.line) if target else []
    if ids:
        return ids
    if call.how != "lambda":
        ctx.graph.unresolved_name(path, "registration", target or call.text, call.line, "no definition of the kernel")
    return [_block(ctx, path, call)]


def _block(ctx: Context, path: str, call: LibraryCall) -> int:
    """The function that the block is (``torch/library.h`` gives it this name, and a counter)."""
    words = (
        ("TORCH_LIBRARY_IMPL_init", call.namespace, call.key) if call.key else ("TORCH_LIBRARY_init", call.namespace)
    )
    name = "::".join(filter(None, (call.scope, "_".join(words))))
    line = call.line - call.below
    end = max(line, call.line + call.lines)
    return ctx.graph.shared(NodeKind.FUNCTION, f"{name}@{path}:{line}", path, line, end_line=end, owner=path)
