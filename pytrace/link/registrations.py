"""What C++ registers: dispatch stubs -> functions, operators -> functions (``TORCH_LIBRARY``)."""

from __future__ import annotations

from pytrace.link.context import Context
from pytrace.link.registration_libraries import link_libraries
from pytrace.link.registration_stubs import link_stubs


def link(ctx: Context) -> None:
    """Add stub nodes with ``registers`` edges, operators that C++ defines, and ``dispatches`` edges to their kernels.

    Needs ``ctx.operators``, ``ctx.functions`` and ``ctx.macros``.
    """
    ctx.stubs = link_stubs(ctx)
    link_libraries(ctx)
