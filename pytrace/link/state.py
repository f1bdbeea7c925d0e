"""The link state of a store: what the rest of the tree offers when a few files are linked anew (link/edited.py).

It holds the facts of all C++ files after macro expansion, without the bodies of functions, and those of the YAML files
that define operators.
"""

from __future__ import annotations

import marshal
from functools import cached_property

from pytrace.link.context import Context
from pytrace.store import Store

#: Kinds of files that can be linked alone, and all whose facts the state holds.
CPP = ("cpp", "template")
_KINDS = (*CPP, "native_functions", "tags")
#: What the bodies of functions say: not part of the state, and free to change.
BODY = frozenset(("calls", "dtypes", "environments", "errors", "diagnostics"))


class State:
    """The link state of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def context(self) -> Context | None:
        """All files, with the tables of macros and operators; None when the store has no state.

        Making it takes longer than reading a file: ask for it while other processes read.
        """
        from pytrace.link import macros, operators

        packed = self.store.state("link")
        if packed is None:
            return None
        ctx = Context(marshal.loads(packed))
        ctx.macros = macros.MacroTable(ctx)
        ctx.operators = operators.read(ctx)
        return ctx


def pack(ctx: Context) -> bytes:
    """The link state of a tree, to be kept in its store."""
    kept = {
        path: (kind, {key: rows for key, rows in facts.items() if key not in BODY})
        for path, (kind, facts) in ctx.files.items()
        if kind in _KINDS
    }
    return marshal.dumps(kept)
