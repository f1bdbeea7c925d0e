"""From facts to the graph: one module per crossing, run in the order in which they need one another."""

from __future__ import annotations

from collections.abc import Mapping

from pytrace.graph import Graph
from pytrace.model import Facts


def link(files: Mapping[str, tuple[str, Facts]], jobs: int = 1) -> Graph:
    """The graph of a tree.

    ``files`` maps each path to its kind and facts; ``jobs`` is the number of processes that may be used.
    """
    from pytrace.link import (
        around,
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
        ufuncs,
        wrapped,
    )
    from pytrace.link.context import Context

    ctx = Context(dict(sorted(files.items())))
    macros.link(ctx)
    operators.link(ctx)
    functions.link(ctx)
    dispatch.link(ctx)
    generated.link(ctx)
    registrations.link(ctx)
    ufuncs.link(ctx)
    calls.link(ctx)
    wrapped.link(ctx)
    cpp_frontend.link(ctx)
    bindings.link(ctx)
    python.link(ctx)
    python_registrations.link(ctx)
    init_order.link(ctx)
    around.link(ctx)
    return ctx.graph
