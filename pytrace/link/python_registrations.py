"""What Python registers: operators, and ``registers_python`` edges from operators to Python functions.

``key`` of an edge is a dispatch key for what the dispatcher gets (rules ``python-library-impl``: ``Library.impl`` and
what ends there; ``python-py-impl``: ``OpOverload.py_impl``), and the name of the table for the others:
``decomposition``, ``meta``, ``lowering``, ``fallback``, ``fake``, ``onnx_symbolic``, ``flop_formula``, …

The edge stands at the call that registers, which is what PyTorch itself reports. When that call is in a loop or a
factory, attrs ``from`` is the top-level statement that led to it, the line a person looks for.
"""

from __future__ import annotations

from typing import Any

from pytrace.link.context import Context
from pytrace.link.operators import add_node
from pytrace.link.python_interpreter import Interpreter
from pytrace.link.python_primitives import Event, Primitives
from pytrace.link.python_values import Function, Partial, Path, Site, module_name
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema.keys import CIA, canonical

#: op -> python
REGISTERS_PYTHON = "registers_python"


class _Operators:
    """``python_primitives.Operators`` on the operator table, and on the kernels that C++ registers."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        nodes = {row[0]: row[2] for row in ctx.graph.nodes if row[1] == NodeKind.OP}
        self._kernels = {
            (nodes[edge[0]], edge[3])
            for edge in ctx.graph.edges
            if edge[2] == EdgeKind.DISPATCHES and edge[3] == CIA and edge[0] in nodes
        }

    def overloads(self, packet: str) -> list[str]:
        """Full names of the overloads of a packet."""
        return [op.name for op in self.ctx.operators.overloads(packet)]

    def exists(self, name: str) -> bool:
        """Whether the overload is known."""
        return name in self.ctx.operators.by_name

    def define(self, schema: str, site: Site) -> str:
        """Enter an operator."""
        op = self.ctx.operators.add(schema, file=site.file, line=site.line)
        add_node(self.ctx.graph, op, site.file)
        return op.name

    def has_kernel(self, name: str, key: str) -> bool:
        """Whether the YAML or C++ registers a kernel for this key itself."""
        op = self.ctx.operators.by_name.get(name)
        return (op is not None and key in op.dispatch) or (name, key) in self._kernels

    def is_view(self, name: str) -> bool:
        """``OpOverload.is_view`` (torch/_ops.py): an argument is aliased, and none is written."""
        op = self.ctx.operators.by_name.get(name)
        marks = [a.annotation for a in op.schema.arguments if a.annotation] if op is not None and op.schema else []
        return bool(marks) and not any(mark.is_write for mark in marks)

    def arguments(self, name: str) -> list[tuple[str, str]] | None:
        """Names and types of the arguments."""
        op = self.ctx.operators.by_name.get(name)
        return [(a.name, str(a.type)) for a in op.schema.arguments] if op is not None and op.schema else None


def link(ctx: Context) -> None:
    """Run the programs of all Python files and add what they register. Needs ``ctx.operators`` and the C++ side."""
    files = {path: facts for path, (_, facts) in ctx.files.items() if facts.get("py_program")}
    primitives = Primitives(_Operators(ctx))
    interpreter = Interpreter(files, primitives)
    primitives.resolve = interpreter.path
    interpreter.run_all(_roots(ctx))
    for path, line, message in interpreter.diagnostics:
        ctx.graph.diagnostic(path, line, "python", message)
    for event in primitives.events:
        if event.rule != "python-define":
            _add(ctx, event)
    _higher_order(ctx)


def _higher_order(ctx: Context) -> None:
    """``calls_op`` edges from the classes of higher-order operators to these: calling the instance runs the operator.

    torch/_ops.py: ``HigherOrderOperator``; the name is what the class gives to ``super().__init__``.
    """
    for path, (_, facts) in ctx.files.items():
        for code in facts.get("py_program", ()):
            if code[0] != "class" or not code[6] or not any(base[-1] == "HigherOrderOperator" for base in code[5]):
                continue
            op = ctx.graph.find(NodeKind.OP, f"higher_order::{code[6]}")
            owner = f"{module_name(path)}.{code[2]}"
            names = (f"{owner}.__call__", owner)
            sources = (node for name in names if (node := ctx.graph.find(NodeKind.PYTHON, name)) is not None)
            source = next(sources, None)
            if op is not None and source is not None:
                line = code[1]
                ctx.graph.edge(source, op, EdgeKind.CALLS_OP, rule="python-op", file=path, line=line, owner=path)


def _roots(ctx: Context) -> list[str]:
    """What the packages import as they are imported, in source order: where ``import torch`` begins."""
    rows = [
        (path, row[2], row[1])
        for path, (kind, facts) in ctx.files.items()
        if kind in ("python", "python_outline") and path.count("/") == 1 and path.endswith("/__init__.py")
        for row in facts.get("imports", ())
    ]
    return [target for _, _, target in sorted(rows)]


def _add(ctx: Context, event: Event) -> None:
    name = event.op
    source = ctx.graph.find(NodeKind.OP, name)
    if source is None:
        if not name.startswith("higher_order::") and name not in ctx.operators.by_name:
            reason = f"no such operator for {event.key}"
            ctx.graph.unresolved_name(event.site.file, "python-registration", name, event.site.line, reason)
            return
        source = add_node(
            ctx.graph, ctx.operators.add(name, file=event.site.file, line=event.site.line), event.site.file
        )
    attrs: dict[str, Any] = {}
    if (event.site.top_file, event.site.top_line) != (event.site.file, event.site.line):
        attrs["from"] = f"{event.site.top_file}:{event.site.top_line}"
    ctx.graph.edge(
        source,
        _function(ctx, event),
        REGISTERS_PYTHON,
        canonical(event.key),
        rule=event.rule,
        file=event.site.file,
        line=event.site.line,
        owner=event.site.file,
        attrs=attrs,
    )


def _function(ctx: Context, event: Event) -> int:
    """The node of the Python function; the module of the registration when the function is not known."""
    function = event.function
    while isinstance(function, Partial):
        function = function.function
    if type(function) is list:  # a function with its parameters
        function = next((part for part in function if isinstance(part, Function)), function)
    if isinstance(function, Function):
        return ctx.graph.shared(
            NodeKind.PYTHON,
            function.qualified,
            function.file,
            function.line,
            end_line=function.end_line,
            owner=function.file,
        )
    name = function.name if isinstance(function, Path) else module_name(event.site.file)
    if not isinstance(function, Path):
        reason = f"what is registered as {event.key} is computed"
        ctx.graph.unresolved_name(event.site.file, "python-registration", event.op, event.site.line, reason)
    found = ctx.graph.find(NodeKind.PYTHON, name)
    return found if found is not None else ctx.graph.shared(NodeKind.PYTHON, name, *_place(ctx, name))


def _place(ctx: Context, name: str) -> tuple[str, int]:
    """Where a dotted name is defined, by the facts of its module; ("", 0) when that is not known."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        for path in ("/".join(parts[:cut]) + ".py", "/".join(parts[:cut]) + "/__init__.py"):
            if path in ctx.files:
                local = ".".join(parts[cut:])
                rows = ctx.files[path][1].get("definitions", ())
                return next(((path, int(row[2])) for row in rows if row[0] == local), ("", 0))
    return "", 0
