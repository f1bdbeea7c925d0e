"""What a reader does not ask about: plumbing. Decided by an operator's schema and a function's place, never by lists
of operators.

Plumbing is counted and named in one line of the tree, not dropped.
"""

from __future__ import annotations

import re

from pytrace.model import Node, NodeKind

#: Namespaces and classes whose functions carry an operator but do none of its work: no path leads through them.
INFRASTRUCTURE = (
    "c10::",  # types, checks, dispatcher
    "std::",
    "at::TensorIterator",  # shape, type and stride computation shared by every pointwise operator
    "at::TensorBase",
    "at::Context",
    "at::globalContext",
    "at::detail::",  # allocation of empty tensors
    "at::internal::",  # thread pool behind at::parallel_for
    "at::impl::",
    "at::namedinference::",  # names of dimensions
    "at::indexing::",  # Python-like indexing
    "at::vec::",  # SIMD wrappers: they are the loop's body
    "at::RecordFunction",
    "at::native::DispatchStub",
    "at::tracer::",
    "thrust::",
    "fmt::",
)
#: Arguments that make an operator a maker or mover of memory: torchgen's TensorOptions, MemoryFormat, copies.
_MEMORY_ARGUMENT = re.compile(r"\b(?:Layout|Device|MemoryFormat)\b|\bnon_blocking\b")
#: Of those the ones that move what they are given: ``copy_``, ``clone``, ``contiguous``, ``to``, ``resize_``.
_MOVES = re.compile(r"\bnon_blocking\b|^(?!.*\bLayout\b).*\bMemoryFormat\b")
#: Functions that decide whether another one may run (``use_cudnn``, ``should_fold``): their answer is the guard that
#: the tree shows, what they call to find it is not a path.
_QUESTION = re.compile(r"^_?(?:use|is|has|should|can|needs?|supports?|check)(?:_|$)|^[A-Z0-9_]+_CHECK$")
#: Functions with the names of operators that `is_plumbing` folds, called without dispatch: outputs are made ready.
_MOVER = re.compile(r"^_?(?:native_)?(?:resize|copy|zero|clone|contiguous)_?(?:symint|output|out_helper)?$")
#: Vendor calls that make, set up or ask: handles, descriptors, plans, attributes, sizes, versions. A verb stands before
#: or behind its object: CamelCase in CUDA's, ROCm's and MKL's libraries (``cublasLtMatmulDescCreate``, but not LAPACK's
#: ``getrf``), between underscores in MAGMA, oneDNN, MKL and XNNPACK, where ``xnn_create_X`` names the work.
_LIBRARY_PLUMBING = re.compile(
    r"[a-z\d](?:Create|Destroy|Set|Get|Init|Query|Error)(?=[A-Z\d_]|$)"
    r"|(?:[a-z](?:BufferSize|WorkSpaceSize|Size\d*)|_bufferSize\w*)$"
    r"|_(?:(?<!xnn_)create|destroy|init|initialize|deinitialize|get|set|query|clone|append|equal|len|permute)(?=[A-Z_]|$)"
    r"|_(?:version|strerror|log_\w+)$"
    r"|_delete_operator$|(?:^|_)desc$|^has_|^nccl(?:Comm|Group)"
)
#: What makes a kernel of a functor: launchers and loops are called so all over ATen (``gpu_kernel``,
#: ``cpu_kernel_vec``, ``multi_tensor_apply``). Other callees that take a lambda only run it (``parallel_for``).
_LAUNCHER = re.compile(r"kernel|multi_tensor|ufunc")
_ALIAS_RETURN = re.compile(r"->.*\(\w+\)")  # Tensor(a): a view
_TENSOR_RETURN = re.compile(r"->.*(?:\bTensor\b|\(\))")


def is_infrastructure(name: str) -> bool:
    """Whether the function of this qualified name is shared plumbing, below which nothing is shown."""
    return name.startswith(INFRASTRUCTURE)


def is_plumbing(op: Node) -> bool:
    """Whether the operator only allocates, moves, views or asks (``empty``, ``contiguous``, ``select``, ``size``)."""
    if op.kind != NodeKind.OP:
        return False
    schema = str(op.attrs.get("schema", ""))
    if "->" not in schema:  # none is known: a higher-order operator
        return False
    if op.attrs.get("view"):
        return True  # in place as well: ``detach_``, ``set_``
    return bool(_MEMORY_ARGUMENT.search(schema) or _ALIAS_RETURN.search(schema) or not _TENSOR_RETURN.search(schema))


def is_mover(op: Node) -> bool:
    """Whether the operator is plumbing that copies or resizes what it is given: its work when it is asked about."""
    return is_plumbing(op) and bool(_MOVES.search(str(op.attrs.get("schema", ""))))


def is_question(node: Node, movers: bool = False) -> bool:
    """Whether the node is a function that, by its name, only decides, checks, or moves memory.

    ``movers``: what moves memory is asked about, and does work.
    """
    if node.kind != NodeKind.FUNCTION:
        return False
    return bool(_QUESTION.match(node.bare) or (not movers and _MOVER.match(node.bare)))


def is_library_plumbing(node: Node) -> bool:
    """Whether a vendor's function only prepares a call or asks something."""
    return bool(_LIBRARY_PLUMBING.search(node.bare))


def is_launcher(name: str) -> bool:
    """Whether something given a functor makes a kernel of it, judged by its name."""
    return bool(_LAUNCHER.search(name))
