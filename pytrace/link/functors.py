"""What generic launchers are instantiated with: a functor, or a lambda, as a node of its own.

A launcher (``gpu_kernel``, ``multi_tensor_apply``) is a function template; a functor is given to it as argument whose
type is a template parameter, or as a template argument: a class with ``operator()``, a function object of the standard
library, or a lambda, which is named after the function around it and its line; or a string with code that is compiled
while PyTorch runs (``link/jiterator.py``). One edge is one use: the host function (source), the functor (destination),
the launcher (key).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pytrace.extract.cpp_text import split_top, template_arguments, without_templates
from pytrace.link.context import Context
from pytrace.link.cpp_types import kind_of
from pytrace.link.overloads import KNOWN
from pytrace.link.registration_stubs import device_of_file
from pytrace.link.resolved import CallRow
from pytrace.link.templates import parameter_names
from pytrace.model import EdgeKind, NodeKind

if TYPE_CHECKING:
    from pytrace.link.cpp_scope import Types
    from pytrace.link.functions import FunctionTable, Symbol
    from pytrace.link.jiterator import Jiterator

#: The function objects of C++'s <functional>: kernels of the foreach and scan families are made for them, and differ in
#: nothing else.
STANDARD = frozenset(
    f"std::{name}"
    for name in (
        *("plus", "minus", "multiplies", "divides", "modulus", "negate", "identity"),
        *("equal_to", "not_equal_to", "greater", "less", "greater_equal", "less_equal"),
        *("logical_and", "logical_or", "logical_not", "bit_and", "bit_or", "bit_xor", "bit_not"),
    )
)


#: What makes a class the work of a kernel: it is called, or it reduces (the operations of
#: aten/src/ATen/native/SharedReduceOps.h, some of which only inherit theirs).
METHODS = ("operator()", "reduce")


class Use(NamedTuple):
    """One functor given to one launcher; ``launcher`` is "" for a functor made inside other arguments.

    ``compiled``: a code that the launcher compiles while PyTorch runs, by the name of its kernel.
    """

    host: int
    name: str
    file: str
    line: int
    launcher: str
    at: int
    guard: str
    compiled: bool = False


class Functors:
    """Collects the uses of one file after another."""

    def __init__(self, functions: FunctionTable, types: Types, jiterator: Jiterator) -> None:
        self.functions = functions
        self.jiterator = jiterator
        self.types = types
        self._uses: dict[Use, None] = {}

    def given(self, host: Symbol, launcher: Symbol, call: CallRow, path: str) -> None:
        """Note the functors among the arguments of a call of a function template."""
        compiled = self.jiterator.kernel(launcher, call, path)
        if compiled is not None:
            self._uses[Use(host.id, *compiled, launcher.bare, call[3], call[4], True)] = None
        for name, file, line in self._among(host, launcher, call, path):
            self._uses[Use(host.id, name, file, line, launcher.bare, call[3], call[4])] = None

    def made(self, host: Symbol, owner: str, call: CallRow) -> None:
        """Note an object of a class with ``operator()`` that is made among other arguments."""
        info = self.functions.classes[owner][0]
        self._uses[Use(host.id, owner, info.file, info.line, "", call[3], call[4])] = None

    def _among(self, host: Symbol, launcher: Symbol, call: CallRow, path: str) -> Iterator[tuple[str, str, int]]:
        names = parameter_names(launcher.templates)
        arguments, parameters = call[5], launcher.parameters
        for number, expression in enumerate(arguments):
            text = parameters[min(number, len(parameters) - 1)][0] if parameters else ""
            if number >= len(parameters) and not text.endswith("..."):
                break
            if kind_of(text.rstrip(".")) not in names:
                continue
            if expression == "Tlambda":
                yield f"{host.name}::{{lambda:{call[3]}}}", path, call[3]
                continue
            if expression[:5] in ("Cstd:", "Tstd:"):
                standard = without_templates(expression[1:])
                if standard in STANDARD:
                    yield standard, "", 0
                    continue
            kind = self.types.kind(expression, host.scope, path)
            if kind and " " not in kind and kind not in KNOWN:
                yield from self._classes(kind, host, path)
        # On the host a class given to a template is rarely there to be a kernel (the cells of recurrent networks).
        if call[7] and device_of_file(path) == "CUDA":
            yield from self._in_templates(call[7], host, path)

    def _in_templates(self, text: str, host: Symbol, path: str) -> Iterator[tuple[str, str, int]]:
        """Functors among template arguments, at any depth: ``reduce<scalar_t, ReduceOp<std::plus<scalar_t>>>``."""
        for part in split_top(text):
            plain = without_templates(part).strip()
            if plain in STANDARD:
                yield plain, "", 0
                continue
            if plain.startswith("std::") or not plain:
                continue
            yield from self._classes(plain, host, path)
            if "<" in part:
                yield from self._in_templates(template_arguments(part), host, path)

    def _classes(self, name: str, host: Symbol, path: str) -> Iterator[tuple[str, str, int]]:
        for owner in self.functions.class_names(name, host.scope, path):
            if any(self.functions.methods(owner, method, path) for method in METHODS):
                info = self.functions.classes[owner][0]
                yield owner, info.file, info.line

    def drain(self) -> list[Use]:
        """What was noted, forgotten here. A functor with a launcher is not told without one as well."""
        with_launcher = {(use.host, use.name) for use in self._uses if use.launcher}
        found = [use for use in self._uses if use.launcher or (use.host, use.name) not in with_launcher]
        self._uses.clear()
        return found


def add(ctx: Context, path: str, uses: list[Use]) -> None:
    """Put the uses of a file into the graph."""
    graph = ctx.graph
    for host, name, file, line, launcher, at, guard, compiled in uses:
        attrs = {"compiled": "at run time"} if compiled else {"standard": "functional"} if name in STANDARD else None
        node = graph.shared(NodeKind.FUNCTOR, name, file, line, owner=file, attrs=attrs)
        graph.edge(
            host, node, EdgeKind.INSTANTIATES, launcher, rule="functor", file=path, line=at, guard=guard, owner=path
        )
