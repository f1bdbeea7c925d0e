"""What C++ registers: dispatch stubs -> functions, operators -> functions (``TORCH_LIBRARY``)."""

from __future__ import annotations

from pytrace.link.context import Context
from pytrace.link.registration_stubs import link_stubs


def link(ctx: Context) -> None:
    """Add stub nodes with ``registers`` edges. Needs ``ctx.functions``."""
    link_stubs(ctx)
