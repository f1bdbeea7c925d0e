"""Autograd written by hand: which code runs in the backward pass for what runs in the forward pass.

Three ways of PyTorch to write a backward without ``derivatives.yaml``, each with a ``backward`` edge from the function
that makes the node of the autograd graph to the function that the engine calls later:

* a C++ class derived from ``torch::autograd::Node``: whoever makes one -> its ``apply``
  (torch/csrc/autograd/function.h; ``CopyBackwards`` of ``copy_``);
* ``torch::autograd::Function<T>``: ``T::forward`` -> ``T::backward`` (torch/csrc/autograd/custom_function.h), and a
  call of ``T::apply`` is one of ``T::forward``;
* ``torch.autograd.Function`` in Python: ``forward`` -> ``backward``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytrace.extract.cpp_text import without_templates
from pytrace.link.context import Context
from pytrace.link.python_values import module_name
from pytrace.model import EdgeKind, Facts, NodeKind

if TYPE_CHECKING:
    from pytrace.link.functions import FunctionTable

_NODE = "torch::autograd::Node"
_FUNCTION = re.compile(r"(?:[\w:]*::)?autograd::Function<\s*[\w:]+\s*>$")
#: Base classes in Python whose ``apply`` records ``backward`` (torch/autograd/function.py).
_PYTHON_FUNCTION = re.compile(r"(?:^|\.)(?:Function|InplaceFunction|NestedIOFunction|_SingleLevelFunction)$")
_MAX_BASES = 6


def add_apply(table: FunctionTable, sources: Mapping[str, Facts]) -> None:
    """Let ``T::apply`` of a ``torch::autograd::Function<T>`` find ``T::forward``."""
    for path, name in _functions(sources):
        table.by_name.setdefault(f"{name}::apply", []).extend(table.methods(name, "forward", path))
        table.by_bare.setdefault("apply", [])  # a name that no definition has is not looked up


def _functions(sources: Mapping[str, Facts]) -> Iterator[tuple[str, str]]:
    """(file, class) of the classes derived from ``torch::autograd::Function``."""
    for path, facts in sources.items():
        for name, bases, *_ in facts.get("classes", ()):
            if any(_FUNCTION.match(base) for base in bases):
                yield path, name


def link(ctx: Context) -> None:
    """Add the ``backward`` edges. Needs ``ctx.functions`` and the nodes of Python's methods."""
    sources = {path: facts for path, (kind, facts) in ctx.files.items() if kind == "cpp"}
    for path, name in _functions(sources):
        for forward in ctx.functions.methods(name, "forward", path):
            for backward in ctx.functions.methods(name, "backward", path):
                _edge(ctx, forward.id, backward.id, "autograd-function", backward.file, int(str(backward.line)))
    _nodes(ctx, sources)
    _python(ctx)


def _edge(ctx: Context, src: int, dst: int, rule: str, file: str, line: int, guard: str = "") -> None:
    ctx.graph.edge(src, dst, EdgeKind.BACKWARD, rule=rule, file=file, line=line, guard=guard, owner=file)


def _nodes(ctx: Context, sources: Mapping[str, Facts]) -> None:
    """From the functions that make an object of a class derived from ``Node`` to its ``apply``."""
    table = ctx.functions
    made = {name: [s for s in table.by_name.get(f"{name}::apply", ()) if s.bare == "apply"] for name in _derived(table)}
    made = {name: found for name, found in made.items() if found}
    bares = {name.rpartition("::")[2] for name in made}
    for path, facts in sources.items():
        if not path.startswith("torch/csrc/"):
            continue
        symbols = table.by_file.get(path, ())
        seen: set[tuple[int, int]] = set()
        for call in facts.get("calls", ()):
            if call[1] != "n" or without_templates(call[2]).rpartition("::")[2] not in bares:
                continue
            maker = symbols[call[0]]
            for owner in table.class_names(call[2], maker.scope, path):
                for applied in made.get(owner, ()):
                    if (maker.id, applied.id) not in seen and maker.owner != owner:
                        seen.add((maker.id, applied.id))
                        _edge(ctx, maker.id, applied.id, "autograd-node", path, call[3], call[4])


def _derived(table: FunctionTable) -> Iterator[str]:
    """Classes that derive from ``torch::autograd::Node``, directly or not."""
    level = [_NODE]
    for _ in range(_MAX_BASES):
        level = [
            derived
            for owner in level
            for derived in dict.fromkeys(table.derived.get(owner.rpartition("::")[2], ()))
            if any(_is_base(table, derived, base, owner) for info in table.classes[derived] for base in info.bases)
        ]
        yield from level


def _is_base(table: FunctionTable, derived: str, base: str, owner: str) -> bool:
    if base.rpartition("::")[2] != owner.rpartition("::")[2] or derived == owner:
        return False
    file = table.classes[derived][0].file
    return owner in table.class_names(base, derived.rpartition("::")[0], file)


def _python(ctx: Context) -> None:
    for path, (kind, facts) in ctx.files.items():
        if not kind.startswith("python"):
            continue
        for name, bases in facts.get("bases", ()):
            if not any(_PYTHON_FUNCTION.search(base) for base in bases):
                continue
            qualified = f"{module_name(path)}.{name}"
            forward = ctx.graph.find(NodeKind.PYTHON, f"{qualified}.forward")
            backward = ctx.graph.find(NodeKind.PYTHON, f"{qualified}.backward")
            if forward is not None and backward is not None:
                line = next((row[2] for row in facts["definitions"] if row[0] == f"{name}.backward"), 0)
                _edge(ctx, forward, backward, "autograd-function", path, line)
