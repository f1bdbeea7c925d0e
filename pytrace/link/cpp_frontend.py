"""The C++ frontend (``torch/csrc/api``): modules, their holders, optimizers, down to the functions that they run.

A user writes ``torch::nn::Linear``: a holder that ``TORCH_MODULE(Linear)`` makes around ``LinearImpl``
(torch/csrc/api/include/torch/nn/pimpl.h). ``holder->forward(x)`` and ``holder(x)`` are ``forward`` of the class it
holds. A class becomes a node of its own, as Python's classes are, with a ``calls`` edge to each of its methods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytrace.link.context import Context
from pytrace.model import EdgeKind, Facts, NodeKind

if TYPE_CHECKING:
    from pytrace.link.functions import ClassInfo, FunctionTable, Symbol

#: Where the frontend's headers stand.
FRONTEND = "torch/csrc/api/include/"
_FOLDER = "torch/csrc/api/"
_HOLDER = re.compile(r"(?:[\w:]*::)?ModuleHolder<\s*(.+?)\s*>$")
#: Classes that every class of the frontend comes from: what they define is theirs, not the derived class's.
_ROOTS = frozenset(("Module", "ModuleHolder", "Cloneable", "Optimizer"))
#: What runs when an object is called or made; the other methods are below these. What has none of them (a data
#: loader) is told with all its methods.
_CALLED = re.compile(r"forward(?:_with_packed_input)?$|step$|operator\(\)$")
_MADE = ("reset", "reset_parameters")
#: Methods that say how a module is printed, copied or saved: nothing that a call of it runs.
_HOUSEKEEPING = frozenset(("pretty_print", "clone", "clone_", "save", "load", "serialize"))
_MAX_BASES = 6


def add_holders(table: FunctionTable, sources: Mapping[str, Facts]) -> None:
    """Let each holder find the methods of the class it holds, and ``forward`` as its ``operator()``."""
    for path, facts in sources.items():
        if path.startswith(FRONTEND):
            for name, held in _holders(facts):
                impl = next(iter(table.class_names(held, name.rpartition("::")[0], path)), "")
                if not impl:
                    continue
                for info in table.classes[name]:
                    info.bases.append(impl)
                table.by_name.setdefault(f"{name}::operator()", []).extend(table.methods(impl, "forward", path))


def _holders(facts: Facts) -> Iterator[tuple[str, str]]:
    """(class, what it holds as written) of the holders of one file."""
    for name, bases, *_ in facts.get("classes", ()):
        for base in bases:
            held = _HOLDER.match(base)
            if held:
                yield name, held[1]


def link(ctx: Context) -> None:
    """Add the nodes of the frontend's classes; ``calls`` edges (rule ``cpp-class``, key = method) to their methods."""
    table = ctx.functions
    members = _members(ctx)
    for path, (kind, facts) in ctx.files.items():
        if kind != "cpp" or not path.startswith(FRONTEND):
            continue
        holders = dict(_holders(facts))
        for name, _, line, end, *_ in facts.get("classes", ()):
            methods = _run(list(_methods(table, members, name, path)))
            if not methods:
                continue  # options: constructors only
            attrs = {"holds": holders[name]} if name in holders else {}
            node = ctx.graph.node(NodeKind.CPP_CLASS, name, path, line, end, owner=path, attrs=attrs)
            for method in methods:
                ctx.graph.edge(
                    node, method.id, EdgeKind.CALLS, method.bare, rule="cpp-class", file=path, line=line, owner=path
                )


def _members(ctx: Context) -> dict[str, list[Symbol]]:
    """Methods of the frontend's classes, without those that only ask or that a macro makes (``TORCH_ARG``)."""
    found: dict[str, list[Symbol]] = {}
    for path, symbols in ctx.functions.by_file.items():
        if not path.startswith(_FOLDER):
            continue
        for symbol, row in zip(symbols, ctx.files[path][1].get("functions", ())):
            if not row[10] and symbol.bare not in _HOUSEKEEPING and not symbol.bare.startswith("~"):
                found.setdefault(symbol.scope, []).append(symbol)
    return found


def _run(methods: list[Symbol]) -> list[Symbol]:
    """Of the methods of a class those that a use of it runs; [] when it only has constructors."""
    called = [m for m in methods if _CALLED.match(m.bare)]
    made = [m for m in methods if m.bare in _MADE or _is_constructor(m)]
    return [*called, *made] if called else methods if len(made) < len(methods) else []


def _is_constructor(method: Symbol) -> bool:
    return method.bare == method.scope.rpartition("::")[2]


def _methods(table: FunctionTable, members: Mapping[str, list[Symbol]], name: str, path: str) -> Iterator[Symbol]:
    """The methods that objects of a class have: its own, and those of its bases that it does not hide."""
    taken: set[str] = set()
    for owner in _lineage(table, name, path):
        found = [s for s in members.get(owner, ()) if s.bare not in taken]
        yield from found
        taken.update(s.bare for s in found)


def _lineage(table: FunctionTable, name: str, path: str) -> list[str]:
    """A class and the classes that it derives from, nearest first, up to the roots of the frontend."""
    order, level = [name], [name]
    for _ in range(_MAX_BASES):
        above: list[str] = []
        for owner in level:
            for info in table.classes.get(owner, ()):
                above += [base for base in _bases(table, info, path) if base not in order]
        level = list(dict.fromkeys(above))
        order += level
    return order


def _bases(table: FunctionTable, info: ClassInfo, path: str) -> Iterator[str]:
    for base in info.bases:
        if base.rpartition("::")[2] not in _ROOTS:
            yield from table.class_names(base, info.name.rpartition("::")[0], path)
