"""What is behind a hand-written binding: the operators that its C++ function calls, through its helpers.

A ``PyMethodDef`` names a C function (``THPVariable_contiguous``). Its calls were linked with all others; here they are
followed from the function to the operators, and each operator becomes a ``binds`` edge of rule
``binding-implementation`` whose evidence is the line of the operator's call. So that a way down exists in C++ too, the
binding also ``calls`` its function (rule ``method-table``).

Some operators have hand-written C++ functions (``manual_cpp_binding``) that call others: ``Tensor::conj`` calls
``_conj``. What these call is behind the generated binding as well, as a candidate: rule ``manual-cpp-binding``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytrace.graph import Graph
from pytrace.link.binding_tables import Row
from pytrace.link.operators import OperatorTable
from pytrace.model import EdgeKind, NodeKind

#: Functions that a binding's way goes through. Everything else is machinery: parsing arguments, overrides, tracing,
#: making Python objects (torch/csrc/utils/python_arg_parser.h, torch/csrc/jit/frontend/tracer.h).
_FOLLOWED = re.compile(
    r"(?:torch::autograd::)?(?:THPVariable_|dispatch_|applySlicing|sequenceToVariable|valueToTensor)"
    r"|torch::utils::|at::indexing::|at::Tensor(?:Base)?::|torch::autograd::VariableHooks::|Property\w+::"
)
_MACHINERY = re.compile(
    r"THPVariable_(?:Wrap|Unpack|Check\w*|NewWithVar)$|::(?:Tensor|TensorBase|TensorIndex|Slice|wrap)$"
    r"|torch::utils::(?:maybe_initialize\w*|device_lazy_init|is_\w+|options_to_\w+|type_to_\w+)$"
    r"|at::TensorBase::(?:is_|device|dtype|sizes?$|strides?$|dim$|numel|options|layout|key_set|scalar_type)"
)
_DEPTH = 8
_HAND_WRITTEN = "at::Tensor::"


class Call(NamedTuple):
    """An operator that a function calls: the operator's node and the place of the call."""

    op: int
    file: str
    line: int
    guard: str


class CallGraph:
    """The calls of the C++ functions that bindings go through."""

    def __init__(self, graph: Graph) -> None:
        self.names: dict[int, str] = {}
        self.functions: dict[str, list[int]] = {}
        self._files: dict[int, str] = {}
        for node_id, kind, name, bare, file, *_ in graph.nodes:
            if kind == NodeKind.FUNCTION and _FOLLOWED.match(name) and not _MACHINERY.search(name):
                self.names[node_id] = name
                self._files[node_id] = file
                self.functions.setdefault(bare, []).append(node_id)
        self._calls: dict[int, list[int]] = {}
        self._ops: dict[int, list[Call]] = {}
        names = self.names
        for src, dst, kind, _, _, file, line, guard, *_ in graph.edges:
            if src in names:
                if kind == EdgeKind.CALLS and dst in names:
                    self._calls.setdefault(src, []).append(dst)
                elif kind == EdgeKind.CALLS_OP:
                    self._ops.setdefault(src, []).append(Call(dst, file, line, guard))

    def find(self, function: str, file: str) -> list[int]:
        """The definitions of a C function that a table in ``file`` names."""
        qualified = function.removesuffix("::getter") + "::fn" if function.endswith("::getter") else function
        nodes = [n for n in self.functions.get(qualified.rpartition("::")[2], ()) if self._ends(n, qualified)]
        here = [n for n in nodes if self._files[n] == file]
        return here or nodes

    def _ends(self, node: int, qualified: str) -> bool:
        name = self.names[node]
        return name == qualified or name.endswith("::" + qualified)

    def reached(self, nodes: Iterable[int]) -> Iterator[int]:
        """The functions that are called from these, themselves included."""
        level = list(dict.fromkeys(nodes))
        seen = set(level)
        for _ in range(_DEPTH):
            yield from level
            below = [dst for node in level for dst in self._calls.get(node, ()) if dst not in seen]
            level = list(dict.fromkeys(below))
            seen.update(level)

    def operators(self, nodes: Iterable[int]) -> Iterator[Call]:
        """The operators that are called from these functions and their helpers, each once."""
        seen: set[int] = set()
        for node in self.reached(nodes):
            for call in self._ops.get(node, ()):
                if call.op not in seen:
                    seen.add(call.op)
                    yield call


class Implementations:
    """Writes the edges from bindings to what their C++ functions call."""

    def __init__(self, graph: Graph, operators: OperatorTable) -> None:
        self.graph = graph
        self.operators = operators
        self.calls = CallGraph(graph)

    def manual(self, node: int, owner: str, row: Row, generated: Iterable[str]) -> None:
        """A hand-written binding. ``generated`` are the bindings whose C functions its own mentions."""
        graph = self.graph
        for function, key in ((row.function, "get" if row.how == "properties" else ""), (row.setter, "set")):
            if not function:
                continue
            found = self.calls.find(function, row.file)
            for target in found:
                self._edge(node, target, EdgeKind.CALLS, key, "method-table", row, len(found))
            for call in self.calls.operators(found):
                rule = "binding-implementation"
                graph.edge(
                    *(node, call.op, EdgeKind.BINDS, key),
                    rule=rule,
                    file=call.file,
                    line=call.line,
                    guard=call.guard,
                    owner=row.file,
                )
            for target in self._hand_written(found, row.name):
                self._edge(node, target, EdgeKind.BINDS, key, "manual-cpp-binding", row, 2)
        for name in generated:
            other = graph.find(NodeKind.BINDING, f"{owner}.{name}")
            if other is not None and other != node:
                self._edge(node, other, EdgeKind.CALLS, "", "binding-implementation", row, 1)

    def _edge(self, src: int, dst: int, kind: str, key: str, rule: str, row: Row, candidates: int) -> None:
        self.graph.edge(
            src, dst, kind, key, rule=rule, file=row.file, line=row.line, candidates=candidates, owner=row.file
        )

    def _hand_written(self, found: Iterable[int], name: str) -> Iterator[int]:
        """Operators whose hand-written C++ method of this name is on the way: it may answer without calling them."""
        names = {f"at::Tensor::{name}", f"at::TensorBase::{name}"}
        if any(self.calls.names[n] in names for n in self.calls.reached(found)):
            for overload in self.operators.methods(name):
                target = self.graph.find(NodeKind.OP, overload.op.name) if overload.manual else None
                if target is not None:
                    yield target

    def generated(self, node: int, name: str) -> None:
        """A generated binding whose operators have hand-written C++ functions."""
        found = [n for n in self.calls.functions.get(name, ()) if self.calls.names[n] == _HAND_WRITTEN + name]
        for call in self.calls.operators(found):
            self.graph.edge(
                *(node, call.op, EdgeKind.BINDS),
                rule="manual-cpp-binding",
                file=call.file,
                line=call.line,
                guard=call.guard,
                candidates=2,
            )
