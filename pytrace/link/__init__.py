"""From facts to the graph: one module per crossing, run in the order in which they need one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytrace.graph import Delta, Graph
from pytrace.link.state import State
from pytrace.model import Facts


def link(
    files: Mapping[str, tuple[str, Facts]], jobs: int = 1, early: Callable[[Graph], None] = lambda graph: None
) -> Graph:
    """The graph of a tree.

    ``files`` maps each path to its kind and facts; ``jobs`` is the number of processes that may be used; ``early`` is
    called with the graph once most of it is there.
    """
    from pytrace.link import (
        around,
        autograd_nodes,
        binding_lambdas,
        bindings,
        calls,
        cpp_frontend,
        dispatch,
        functions,
        generated,
        init_order,
        macros,
        operators,
        python,
        python_registrations,
        registrations,
        state,
        ufuncs,
        vendor_headers,
        wrapped,
    )
    from pytrace.link.context import Context

    ctx = Context(dict(sorted({**files, **vendor_headers.wanted(files)}.items())))
    macros.link(ctx, jobs)
    ctx.graph.states["link"] = state.pack(ctx)
    operators.link(ctx)
    functions.link(ctx)
    dispatch.link(ctx)
    generated.link(ctx)
    registrations.link(ctx)
    ufuncs.link(ctx)
    calls.link(ctx, jobs)
    early(ctx.graph)
    wrapped.link(ctx)
    cpp_frontend.link(ctx)
    bindings.link(ctx)
    binding_lambdas.link(ctx)
    init_order.link(ctx)
    python.link(ctx)
    python_registrations.link(ctx)
    around.link(ctx)
    autograd_nodes.link(ctx)
    return ctx.graph


def relink(
    state: State, before: Mapping[str, tuple[str, Facts]], after: Mapping[str, tuple[str, Facts]], jobs: int = 1
) -> Delta | None:
    """What a few edited files change in the graph of a store; None when everything must be linked anew.

    ``before`` and ``after`` are kind and facts of the changed files.
    """
    from pytrace.link import edited

    return edited.relink(state, before, after, jobs)
