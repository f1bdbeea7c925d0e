"""The vocabulary of the graph: node kinds, edge kinds, locations, evidence. Nothing in pytrace stands below it.

Principles

* A node is something that a file of the tree says exists, or that PyTorch's generators make from
  such a thing (then ``attrs["generated"]`` says by what).
* An edge is a crossing derived from facts. It carries its evidence: the rule that made it, the
  ``file:line`` it was read at, the guard around that line, and the number of candidates
  (1 means certain).
* Rows are plain tuples on the hot path (indexing makes hundreds of thousands); the NamedTuples here
  name their columns, in the order in which the store keeps them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: Facts of one file: fact kind -> list of rows. Only what ``marshal`` can write: None, bool, int,
#: float, str, bytes, tuple, list, dict.
Facts = dict[str, Any]


class NodeKind:
    """Kinds of nodes; the words of DESIGN and of the export."""

    OP = "op"  #: an operator overload, ``aten::mul.Tensor``
    FUNCTION = "function"  #: a C++ host function, ``at::native::mul_kernel_cuda``
    CUDA_KERNEL = "cuda_kernel"  #: a ``__global__`` function
    STUB = "stub"  #: a ``DispatchStub`` object, bare: ``mul_stub``
    LIBRARY = "library"  #: the entry point of a vendor library: ``cublasSgemm``
    FUNCTOR = "functor"  #: a struct with ``operator()`` or a lambda given to a generic launcher
    BINDING = "binding"  #: a name that C++ gives to Python: ``torch._C._VariableFunctions.lstm``
    PYTHON = "python"  #: a name a user can write: ``torch.nn.functional.linear``
    MODULE = "module"  #: a Python module that fills ``torch._C`` or calls into it while it is imported
    FORMULA = "formula"  #: one entry of ``derivatives.yaml``, named by its node: ``MulBackward0``
    MACRO = "macro"  #: a ``#define`` that takes part in an edge
    CPP_CLASS = "cpp_class"  #: a class of the C++ frontend: ``torch::nn::Linear``, ``torch::optim::SGD``
    ALERT = "alert"  #: the text of an ``alertNotDeterministic``: "… does not have a deterministic implementation"
    DOC = "doc"  #: where a builtin gets its documentation: a call of ``_add_docstr``
    TEST = "test"  #: an entry of PyTorch's own tests: ``OpInfo("nn.functional.mse_loss", …)``, ``ModuleInfo(…)``
    LABEL = "label"  #: the name an ``AT_DISPATCH_*`` gives: ``"…" not implemented for 'Half'``


#: The end of the name of a node that stands for some instantiations of a template: what depends on the stub, value or
#: type that it is given starts there (``at::native::unary_op_impl_out<…>``). The template itself has a ``may_call``
#: edge to it, and who gives what decides has edges of its own. The export leaves the mark out, like all template
#: arguments.
SOME = "<…>"
#: The key of what only a formula's forward-mode derivative calls: the backward pass does not run it.
FORWARD_MODE = "forward-mode"


class EdgeKind:
    """Kinds of edges: source kind -> destination kind, and what ``key`` holds."""

    #: function -> function; python -> python | binding; formula -> function, key = ``forward-mode`` or ""
    CALLS = "calls"
    #: function -> function, python -> python: through a virtual method or a registry, one of N; from a template to
    #: what holds for some of its instantiations (``SOME``). Who makes the object, or gives the template argument, has
    #: a ``calls`` edge to it; a walk that follows this edge as well leaves what its start can reach.
    MAY_CALL = "may_call"
    CALLS_OP = "calls_op"  #: function | python | formula -> op; key of a formula's as with ``calls``
    ALIAS_OF = "alias_of"  #: python -> python | binding: a plain re-export
    BINDS = "binds"  #: binding -> op
    DISPATCHES = "dispatches"  #: op -> function; key = dispatch key
    #: op -> the out= op whose structured kernels it uses. What it inherits are ``dispatches`` edges of its own (rule
    #: ``structured-delegate``): the out= op may have more keys, which a delegating op does not inherit.
    DELEGATES = "structured_delegate"
    #: op -> the meta function of its structured group; key = Meta. Every backend's generated wrapper calls it first.
    STRUCTURED_META = "structured_meta"
    REGISTERS = "registers"  #: stub -> function; key = CPU | CUDA | MPS | AVX2 | …
    USES_STUB = "uses_stub"  #: function -> stub
    LAUNCHES = "launches"  #: function -> cuda_kernel
    INSTANTIATES = "instantiates"  #: function -> functor; key = the generic launcher
    CALLS_LIBRARY = "calls_library"  #: function -> library
    DERIVATIVE = "derivative"  #: op -> formula; key = the dispatch key of the formula, ``Default``
    DTYPES = "dtypes"  #: function -> label; attrs["dtypes"] = the element types it dispatches on
    #: function -> function, python -> python: what the first makes or records runs the second in the backward pass
    BACKWARD = "backward"
    ALERTS = "alerts"  #: function -> alert
    DOCUMENTED = "documented"  #: binding | python -> doc
    TESTED_BY = "tested_by"  #: op | python -> test; key = the option that names the op: name, aten_backward_name, …
    #: op -> python; key = dispatch key, or the table it is entered in: decomposition, meta, lowering, fallback, fake, …
    REGISTERS_PYTHON = "registers_python"
    PROVIDES = "provides"  #: function -> binding: puts it into Python; key = function, class, type, module, object, …
    IMPLEMENTED_BY = "implemented_by"  #: binding -> the C++ function of a method table or a pybind11 definition
    GENERATED_FROM = "generated_from"  #: generated node -> what it is generated from


class Node(NamedTuple):
    """One node. ``file`` is a path relative to the tree's root, "" when generated or external.

    ``attrs`` is JSON-able; what it may hold is documented per kind in ARCHITECTURE.md.
    """

    id: int
    kind: str
    name: str
    file: str
    line: int
    end_line: int
    attrs: dict[str, Any]

    @property
    def bare(self) -> str:
        """The last part of the name: ``at::native::foo`` -> ``foo``, ``torch.nn.LSTM`` -> ``LSTM``."""
        return bare(self.kind, self.name)

    @property
    def at(self) -> str:
        """``path:line``, or "" when the node has no place in the tree."""
        return f"{self.file}:{self.line}" if self.file else ""


class Edge(NamedTuple):
    """One edge with its evidence."""

    src: int
    dst: int
    kind: str
    key: str
    rule: str
    file: str
    line: int
    guard: str
    candidates: int
    attrs: dict[str, Any]

    @property
    def certain(self) -> bool:
        """Whether the crossing has one possible end."""
        return self.candidates <= 1


def bare(kind: str, name: str) -> str:
    """Last part of ``name``: what people type.

    An operator's bare name is its base name without namespace and overload (``aten::mul.Tensor`` -> ``mul``).
    """
    if kind == NodeKind.OP:
        return name.rpartition("::")[2].partition(".")[0]
    if kind in (NodeKind.PYTHON, NodeKind.BINDING):
        return name.replace("::", ".").rpartition(".")[2]
    return name.rpartition("::")[2]
