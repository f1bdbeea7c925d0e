"""What ``TORCH_LIBRARY`` blocks do to the dispatcher: operators that they define, kernels that they register.

The rules are ``torch/library.h`` and ``aten/src/ATen/core/library.cpp``. Generated registrations (``RegisterCPU.cpp``
and its like) are in no file of the tree: those come from the YAML (``link/operators.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytrace.extract.cpp_text import split_top, without_templates
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

#: ``enum class CastPolicy`` of ``aten/src/ATen/autocast_mode.h``: a template argument of every autocast wrapper.
_POLICY = re.compile(r"\bCastPolicy::(\w+)")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")

#: Longest text of a registered expression that is kept.
_LONGEST = 600


def link_libraries(ctx: Context) -> None:
    """Add the operators that blocks define, ``dispatches`` edges for what they register, and fallbacks.

    Rules: ``torch-library-impl``, ``torch-library-def``, ``torch-library-op`` (the old ``RegisterOperators().op``);
    ``fallthrough`` for a kernel that passes the call on.
    Edge attrs: ``block`` (line of the block: what ``torch._C._dispatch_dump`` shows), ``macro`` when a macro call in
    the block made it, ``how`` (``boxed``, ``lambda``, ``plumbing``, …), ``as`` (the expression, if it says more),
    ``policy`` (of autocast).
    """
    found = [
        (path, list(_calls(ctx, path, facts)))
        for path, (_, facts) in ctx.files.items()
        if "library_calls" in facts and not is_test(path)
    ]
    for path, rows in found:
        for call, _macro in rows:
            if call.what in ("def", "op"):
                _define(ctx, path, call)
    for path, rows in found:
        for call, macro in rows:
            if call.target or call.how:
                _register(ctx, path, call, macro)


def is_test(path: str) -> bool:
    """Whether a file is built into a test program: what it registers is not in PyTorch (``add`` for a made-up key)."""
    *folders, name = path.split("/")
    return "test" in folders or "tests" in folders or name.rpartition(".")[0].endswith(("_test", "_tests"))


def _calls(ctx: Context, path: str, facts: dict[str, Any]) -> Iterator[tuple[LibraryCall, str]]:
    """(call, macro that made it or "") of one file, macro calls in blocks expanded."""
    for row in facts["library_calls"]:
        call = LibraryCall._make(row)
        if call.what == "macro":
            for made in expanded(ctx, path, call):
                yield made, call.name
        elif (macro := _macro_argument(call)) and (text := _expand(ctx, path, macro, call.line)) not in ("", macro):
            found = kernel(text)
            yield call._replace(target=found.target, how=found.how, text=found.text), ""
        else:
            yield call, ""


def _macro_argument(call: LibraryCall) -> str:
    """What may be a macro in place of the function: ``AUTOGRAD_FALLBACK``, ``BATCH_RULE(f)``."""
    if call.how == "unknown":
        return call.text
    return call.target if not call.how and _MACRO.fullmatch(call.target) else ""


def _expand(ctx: Context, path: str, text: str, line: int) -> str:
    """``text``, which begins with a macro call, as the preprocessor would leave it at this line; "" if it cannot."""
    return ctx.macros.expand(path, text, line, _KEPT)


def expanded(ctx: Context, path: str, call: LibraryCall) -> list[LibraryCall]:
    """What a macro call in a block registers; all of it at the line of the call. [] when it registers nothing."""
    made = _read(call, _expand(ctx, path, f"{call.name}({call.text})", call.line))
    if not made:
        # An argument that is itself an expansion may hold commas that do not separate: f<a, b>.
        parts = [f"({part})" if "," in part else part for part in split_top(call.text)]
        made = _read(call, _expand(ctx, path, f"{call.name}({', '.join(parts)})", call.line))
    return made


def _read(call: LibraryCall, text: str) -> list[LibraryCall]:
    """The registrations in the expansion of a macro call."""
    source = text.encode()
    block = LibraryBlock(1, call.how, call.namespace, call.key, call.scope, "", 1)
    rows = calls(source, Span(0, len(source)), block, call.target, Lines(source).of, lambda _: "")
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
    ids, candidates = _functions(ctx, path, call)
    attrs: dict[str, Any] = {"block": call.line - call.below}
    attrs.update((k, v) for k, v in (("macro", macro), ("how", call.how), ("as", call.text[:_LONGEST])) if v)
    if policy := _POLICY.search(call.text):
        attrs["policy"] = policy[1]
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
            candidates=candidates,
            owner=path,
            attrs=attrs,
        )


def _functions(ctx: Context, path: str, call: LibraryCall) -> tuple[list[int], int]:
    """Nodes of what is registered, and how many candidates that are.

    The block itself for a lambda, and for what has no definition in the tree.
    """
    target = _MADE_KERNELS.get(call.how) or call.target
    if target:
        ids = ctx.functions.resolve(target, path, call.scope, call.line)
        if len(ids) > 1 and call.what != "fallback":
            ids = _overload(ctx, qualified(call.name, call.namespace), ids)
        if ids or (ids := _generated(ctx, target, call.scope)):
            return ids, len(ids)
        if ids := _through_alias(ctx, target, path, call.scope):
            return ids[:1], len(ids)  # specialisations of one template: the first stands for them all
    if call.how != "lambda":
        ctx.graph.unresolved_name(path, "registration", target or call.text, call.line, "no definition of the kernel")
    return [_block(ctx, path, call)], 1


def _overload(ctx: Context, name: str, ids: list[int]) -> list[int]:
    """Of the overloads of a C++ function those that the operator's own dispatch table names, if any.

    Most often a kernel is registered once more, for another key: ``OP_DECOMPOSE2(flatten, using_ints)``.
    """
    op = ctx.operators.by_name.get(name)
    known = {node for key in op.dispatch for node in ctx.kernels_of.get((name, key), ())} if op is not None else set()
    return [node for node in ids if node in known] or ids


def _through_alias(ctx: Context, target: str, path: str, scope: str) -> list[int]:
    """``Wrapper::type::call``, where class ``Wrapper`` says ``using type = Other<…>``: ``Other::call``."""
    head, _, method = target.rpartition("::")
    owner, _, alias = head.rpartition("::")
    if not owner:
        return []
    for qualified_owner in ctx.functions.class_names(owner, scope, path):
        for info in ctx.functions.classes.get(qualified_owner, ()):
            for where, other in ctx.functions.names_of(alias, info.file):
                name = f"{without_templates(other)}::{method}"
                if where == qualified_owner and (
                    ids := ctx.functions.resolve(name, path, qualified_owner.rpartition("::")[0])
                ):
                    return ids
    return []


def _generated(ctx: Context, target: str, scope: str) -> list[int]:
    """A function that only generated code defines (``at::native::diagonal_copy``): its node is made already."""
    name = target.removeprefix("::")
    while True:
        found = ctx.graph.find(NodeKind.FUNCTION, f"{scope}::{name}" if scope else name)
        if found is not None:
            return [found]
        if not scope:
            return []
        scope = scope.rpartition("::")[0]


def _block(ctx: Context, path: str, call: LibraryCall) -> int:
    """The function that the block is; the extractor names it after the macro."""
    for macro in ("TORCH_LIBRARY_IMPL",) if call.key else ("TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT"):
        ids = ctx.functions.resolve(macro, path, call.scope, call.line)
        if ids:
            return ids[0]
    line = call.line - call.below
    name = "::".join(filter(None, (call.scope, "TORCH_LIBRARY_IMPL" if call.key else "TORCH_LIBRARY")))
    return ctx.graph.node(NodeKind.FUNCTION, name, path, line, max(line, call.line + call.lines), owner=path)
