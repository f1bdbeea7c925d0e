"""Ufunc operators to their loops: kernels that torchgen writes around a template of ``native/ufunc/NAME.h``.

``torchgen/dest/ufunc.py`` makes, of ``ufunc_inner_loop: Generic: add (…)`` in ``native_functions.yaml``,

* for the CPU the implementation (``ufunc_add_CPU``), which calls the stub ``add_stub``, and a loop function
  ``add_kernel`` in that stub, which hands ``ufunc::add`` to ``cpu_kernel_vec``;
* for CUDA the implementation, which calls a second ``add_kernel`` directly (that one is in the stub too), and functors
  around ``ufunc::add`` for ``gpu_kernel``.

Handwritten code uses the stub as well: ``sub.out`` calls ``add_stub`` with ``-alpha``.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytrace.link.context import Context
from pytrace.link.operator_model import Operator
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema.ufunc import GENERATOR, TEMPLATES, UfuncKernel, kernels

_RULE = "ufunc"
_NAMESPACE = "at::native"


def link(ctx: Context) -> None:
    """Add the generated nodes and their edges; functions, dispatch tables and stubs must be linked before."""
    for op in ctx.operators.by_name.values():
        if not op.ufunc or op.schema is None:
            continue
        try:
            made = kernels(op.schema, op.ufunc)
        except ValueError as error:
            ctx.graph.diagnostic(op.file, op.lines.get("ufunc_inner_loop", op.line), "operator", str(error))
            continue
        for kernel in made:
            _Linker(ctx, op, kernel).link()


class _Linker:
    """Adds what one generated kernel reaches; every edge cites the ``ufunc_inner_loop`` line."""

    def __init__(self, ctx: Context, op: Operator, kernel: UfuncKernel) -> None:
        self.ctx, self.op, self.kernel = ctx, op, kernel
        self.line = op.lines.get("ufunc_inner_loop", op.line)

    def link(self) -> None:
        """The implementation, the loop function in its stub, and what that calls."""
        kernel = self.kernel
        qualified = self.op.dispatch[kernel.key].qualified
        impl = self._made(NodeKind.FUNCTION, qualified, TEMPLATES[kernel.key], shared=True)
        loop = self._made(NodeKind.FUNCTION, kernel.function, kernel.template)
        stub = self.ctx.stubs.resolve(kernel.stub, _NAMESPACE)
        if stub is None:
            stub = self._made(NodeKind.STUB, kernel.stub, TEMPLATES["CPU"], shared=True)
        self._edge(stub, loop, EdgeKind.REGISTERS, kernel.key)
        if kernel.key == "CPU":
            self._edge(impl, stub, EdgeKind.USES_STUB)
        else:
            self._edge(impl, loop, EdgeKind.CALLS)
        self._calls(loop, kernel.launchers)
        functors = [self._made(NodeKind.FUNCTOR, f"{_NAMESPACE}::{name}", kernel.template) for name in kernel.functors]
        for functor in functors:
            self._edge(loop, functor, EdgeKind.INSTANTIATES, kernel.launchers[0].rpartition("::")[2])
        for caller in functors or [loop]:
            self._calls(caller, kernel.loops)

    def _calls(self, src: int, names: Iterable[str]) -> None:
        for name in names:
            symbols = self.ctx.functions.by_name.get(name) or ()
            for symbol in symbols:
                # The overload on vectors is compiled for the CPU only.
                if self.kernel.key == "CPU" or not any("Vectorized" in kind for kind, _, _ in symbol.parameters):
                    self._edge(src, symbol.id, EdgeKind.CALLS)
            if not symbols:
                self.ctx.graph.unresolved_name(self.op.file, "ufunc", name, self.line, "no definition in the tree")

    def _made(self, kind: str, name: str, template: str, *, shared: bool = False) -> int:
        attrs = {"generated": {"what": "ufunc loop", "by": GENERATOR, "template": template}, "device": self.kernel.key}
        if shared:
            return self.ctx.graph.shared(kind, name, attrs=attrs)
        # The loop functions of the two devices have one name in two files of the build.
        return self.ctx.graph.node(kind, name, attrs=attrs)

    def _edge(self, src: int, dst: int, kind: str, key: str = "") -> None:
        self.ctx.graph.edge(src, dst, kind, key, rule=_RULE, file=self.op.file, line=self.line)
