"""A kernel's name as a profiler prints it -> what in the index it is.

A generic driver (``vectorized_elementwise_kernel``) is launched for hundreds of operators; its template arguments tell
which: a functor, or the host function whose lambda it runs. Each of them, and the kernel itself, is reached by a set of
operators; what all of them share is the answer. A functor or host function that the tree does not have comes from
another version: then the nearest names are told, and nothing is matched. Kernels of vendors have no source in the tree:
their library's entry points answer, with their call sites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytrace.model import Node, NodeKind
from pytrace.names import KernelName, Path, Vendor, read, vendor_of
from pytrace.store import Store
from pytrace.trace import fused, lookup, search
from pytrace.trace.climb import Climb
from pytrace.trace.noise import is_library_plumbing
from pytrace.trace.resolve import Found, cpp_nodes

#: More base names of operators than this and a part of the name tells nothing (``kernel.GENERIC``).
_GENERIC = 25
#: What PyTorch calls the structs that kernels are made for; others among template arguments are data (``OpaqueType``).
_FUNCTOR = re.compile(r"\w*(?:Functors?\w*|[a-z]Ops?|Epilogue|_functor\w*|_op)$")
#: nvcc names a lambda of a host function by the function and a number: <crt/host_defines.h>, extended lambdas.
_NVCC_LAMBDA = "__nv_dl_tag"
#: Sources that nvcc or hipcc compiles, and headers that only they include.
_GPU_FILE = re.compile(r"\.cuh?$|\.hip$|/(?:cuda|cudnn|hip|miopen)/")
#: The rest of a name that was cut in front, inside nvcc's name of a lambda: ``…&at::native::foo, 4u>, …``.
_CUT_IN_FRONT = re.compile(r"(?:…|\.\.\.)?\s*&((?:\(anonymous namespace\)::|\w+::)*\w+), \d+u>")
_MOST_IN_FILE = 12
#: What the jiterator calls a kernel that reads vectors: aten/src/ATen/native/cuda/jit_utils.cpp.
_VECTORIZED = re.compile(r"(\w+)_vectorized(\d+)_kernel")


class _Identity(NamedTuple):
    """A part of the name that tells: how it is called, its nodes, the operators above them (id -> base name)."""

    name: str
    nodes: list[Node]
    operators: dict[int, str]
    device: str = ""  #: "cuda" when the operators reach it on a GPU, "" when they only do on another device
    is_host: bool = False

    @property
    def tells(self) -> bool:
        """Whether it stands for few enough operators."""
        return 0 < len(set(self.operators.values())) <= _GENERIC

    @property
    def is_standard(self) -> bool:
        """Whether it is a function object of C++ itself, which only narrows down what the rest of the name tells."""
        return self.name.startswith("std::")

    @property
    def ambiguous(self) -> bool:
        """Whether several structs have this name: who makes one of them may make any."""
        return (
            len({n.file for n in self.nodes if n.kind == NodeKind.FUNCTION and n.name.startswith(f"{self.name}::")}) > 1
        )


def find(store: Store, text: str) -> Found | None:
    """What a profiler's name stands for; None when ``text`` is no such name and should be read as a plain one.

    An answer without nodes says why in ``how``.
    """
    front = _CUT_IN_FRONT.match(text.strip("`'\" "))
    if front:
        function = front.group(1).replace("(anonymous namespace)::", "")
        nodes = _nodes(store, function, True, ())
        how = f"the name is cut in front; it is made for a lambda in {function}"
        return Found(nodes, how) if nodes else Found([], f"{how}, which is not in this tree.")
    compiled = _compiled(store, text.strip())
    if compiled is not None:
        return compiled
    name = read(text)
    if name.dialect == "plain" and (not vendor_of(text) or cpp_nodes(store, text).nodes):
        return None
    head = _head(store, name)
    vendor = None if any(n.name == name.name for n in head) else vendor_of(text)
    if vendor is not None:
        return _vendor(store, vendor, text)
    if not name.name or name.name in ("at", "at::native") or (name.cut and not head):
        return _by_unit(store, name)
    inner = list(_identities(name))
    if not inner:
        return Found(head, _read_as(name, name.name)) if head and "<" in text else None
    return _told_apart(store, name, head, inner)


def _compiled(store: Store, text: str) -> Found | None:
    """A kernel that was compiled at run time for vectors: its code is that of the one for single elements."""
    vectorized = _VECTORIZED.fullmatch(text)
    nodes = store.named(f"{vectorized[1]}_kernel", NodeKind.FUNCTOR) if vectorized else []
    if vectorized is None or not nodes:
        return None
    return Found(nodes, f"{nodes[0].name}, compiled at run time for vectors of {vectorized[2]}", device="cuda")


def _told_apart(store: Store, name: KernelName, head: list[Node], inner: list[tuple[str, bool]]) -> Found | None:
    """The answer for a kernel with functors or host functions among its template arguments."""
    known = _gathered(store, name, inner)
    whole = _Identity(name.name, head, *_operators(store, head))
    standard = [part for part in known if part.is_standard and part.tells]
    known = [part for part in known if not part.is_standard]
    telling = [part for part in known if part.tells and not (whole.tells and part.ambiguous)]
    best = min(telling, key=lambda part: len(part.operators), default=None)
    lost = [part for part in known if not part.nodes]
    # What stands inside another comes after it: a wrapper around something unknown tells nothing.
    if lost and (best is None or known.index(lost[-1]) > known.index(best)):
        return Found([], _drift(store, name, head, [part.name for part in lost]))
    if best is None:
        if not (head and standard):
            return Found(head, _read_as(name, name.name)) if head else None
        how = f"{_read_as(name, name.name)}, made for {', '.join(part.name for part in standard)}"
        one = whole if whole.tells else standard[0]
        return Found(one.nodes, how, (), _shared(one, [whole, *standard]), one.device)
    shared = _shared(best, [*telling, *([whole] if whole.tells else []), *standard])
    around = head or store.named(name.name, NodeKind.FUNCTION)
    how = f"read as {best.name}, which {_place(name.name, around)} was made for"
    if lost:
        how += f"; {', '.join(part.name for part in lost)} is not in this tree: the name is from another version"
    return Found(best.nodes, how, (), shared, best.device)


def _shared(one: _Identity, others: Iterable[_Identity]) -> frozenset[int]:
    """The operators of ``one`` that are those of all others too; another that has none of them does not count."""
    shared = set(one.operators)
    for other in others:
        shared = shared & other.operators.keys() or shared
    return frozenset(shared)


def _gathered(store: Store, name: KernelName, inner: list[tuple[str, bool]]) -> list[_Identity]:
    """What is known of each part; one without nodes is not in the tree, though its name is that of a functor."""
    parts: list[_Identity] = []
    for inner_name, is_host in inner:
        found = {inner_name: _nodes(store, inner_name, is_host, name.units)}
        half = name.cut and _tail(inner_name) == name.last
        if half and not found[inner_name]:
            found = _beginning(store, inner_name) or {f"{inner_name}…": []}
        for full, nodes in found.items():
            if nodes or half or is_host or _FUNCTOR.match(_tail(full)):
                parts.append(_Identity(full, nodes, *_operators(store, nodes), is_host))
    return parts


def _beginning(store: Store, start: str) -> dict[str, list[Node]]:
    """The functors whose names begin like this, when they are one."""
    names = {n.name for n in store.all_nodes(NodeKind.FUNCTOR) if n.name.startswith(start) and "{" not in n.name}
    return {name: _nodes(store, name, False, ()) for name in names} if len(names) == 1 else {}


def _read_as(name: KernelName, what: str) -> str:
    return f"read as {what}" + (f", compiled in {name.units[0]}.*" if name.units else "")


def _place(name: str, head: list[Node]) -> str:
    return f"{name} ({head[0].at})" if head else f"{name} (not in this tree)"


def _identities(name: KernelName) -> Iterator[tuple[str, bool]]:
    """(qualified name, whether it is a host function around a lambda) of all that stands in the template arguments."""
    seen: set[str] = set()
    for argument in name.arguments:
        for path in argument.walk():
            found = _identity(path)
            if found and found[0] not in seen:
                seen.add(found[0])
                yield found


def _identity(path: Path) -> tuple[str, bool] | None:
    if path.bare == _NVCC_LAMBDA:
        functions = [p for p in path.arguments() if "::" in p.name]
        return (functions[-1].name, True) if functions else None
    if path.is_lambda:
        return (path.name, True) if path.name else None
    name = path.name
    if re.fullmatch(r"std::(?:__\w+::)?[a-z_]+", name):
        return (re.sub(r"__\w+::", "", name), False)  # ``std::plus``; libc++ puts it into ``std::__1``
    if name.startswith(("std::", "c10::", "thrust::", "cub::", "__nv_")) or not name:
        return None
    # A type of the language has no capital and no namespace.
    return None if "::" not in name and name == name.lower() else (name, False)


def _nodes(store: Store, name: str, is_host: bool, units: Iterable[str]) -> list[Node]:
    """Nodes of a functor (itself, and its methods, which whoever makes it reaches) or of a host function."""
    if is_host:
        return _for_gpu(_in_units(store.named(name, NodeKind.FUNCTION) or _same_tail(store, name), units))
    if name.startswith("std::"):
        return store.named(name, NodeKind.FUNCTOR)
    bare = name.rpartition("::")[2]
    nodes = store.named(name, NodeKind.FUNCTOR) or [
        n for n in store.bare(bare, NodeKind.FUNCTOR) if _tail(n.name) == bare
    ]
    owner = nodes[0].name if nodes else name
    return nodes + lookup.methods(store, owner)


def _same_tail(store: Store, name: str) -> list[Node]:
    """Functions of this name in another namespace; a class in front of a method is part of the name."""
    parts = name.split("::")
    first_class = next((i for i, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    tail = "::".join(parts[min(first_class, len(parts) - 1) :])
    if tail.startswith("operator"):
        tail = "::".join(parts[-2:])
    if tail.startswith("operator"):
        return []
    return [n for n in store.bare(parts[-1], NodeKind.FUNCTION) if n.name == tail or n.name.endswith(f"::{tail}")]


def _for_gpu(nodes: list[Node]) -> list[Node]:
    """Without the namesakes for the CPU: a profiler's name is that of a kernel on a GPU."""
    return [n for n in nodes if _GPU_FILE.search(n.file)] or nodes


def _tail(name: str) -> str:
    return name.rpartition("::")[2]


def _head(store: Store, name: KernelName) -> list[Node]:
    """The ``__global__`` functions of this name, of the file in its anonymous namespace when one fits."""
    if not name.name:
        return []
    found = store.named(name.name, NodeKind.CUDA_KERNEL)
    found = found or [n for n in store.bare(_tail(name.name), NodeKind.CUDA_KERNEL) if _alike(n.name, name.name)]
    return _in_units(found, name.units)


def _alike(one: str, other: str) -> bool:
    """Whether two qualified names differ only in that one has more namespaces, or in namespaces of ``at``."""
    within_at = one.startswith("at::") and other.startswith("at::")
    longer = "::" in one and other.endswith(f"::{one}")
    return within_at or longer or one.endswith(f"::{other}")


def _in_units(nodes: list[Node], units: Iterable[str]) -> list[Node]:
    own = [n for n in nodes if any(n.file.rpartition("/")[2].startswith(unit) for unit in units)]
    return own or nodes


def _operators(store: Store, nodes: list[Node]) -> tuple[dict[int, str], str]:
    """The operators above on a GPU (those that stand for a formula's included), by id, with their base names.

    When there are none, those on any device: a CPU's stack trace names lambdas as a profiler does. Also the device.
    """
    from pytrace.trace.kernel import operators_above

    for device in ("cuda", "") if nodes else ():
        above = operators_above(store, Climb(store, nodes, device=device))
        if above:
            return {op.id: op.bare.rstrip("_") for op, _ in above}, device
    return {}, ""


def _drift(store: Store, name: KernelName, head: list[Node], lost: list[str]) -> str:
    what = ", ".join(lost)
    near: list[str] = []
    for lost_name in lost:
        bare = lost_name.rstrip("…").rpartition("::")[2]
        near += [n.name for n in search.nearest(store, bare, kinds=(NodeKind.FUNCTOR, NodeKind.FUNCTION))]
    told = f" Nearest: {', '.join(dict.fromkeys(near))}." if near else ""
    where = f" {_place(name.name, head)} is still there, but tells no operator." if head else ""
    return f"{what} is not in this tree: the name is from another version.{where}{told}"


def _vendor(store: Store, vendor: Vendor, text: str) -> Found:
    intro = f"a kernel of {vendor.library} ({vendor.what}): its source is not in the tree"
    if not vendor.entry:
        what = fused.told(store, text)
        return Found([], f"This is {intro}{'. ' + what if what else ', and nothing in C++ starts it by name.'}")
    nodes = _entry_points(store, vendor.entry) or (_entry_points(store, vendor.loose) if vendor.loose else [])
    if not nodes:
        words = f"{vendor.library.split()[0].rstrip(',').lower()} {vendor.what}"
        hint = f"`pytrace search {words}` looks for what belongs to it."
        return Found([], f"This is {intro}, and the index knows no call of an entry point that could start it. {hint}")
    return Found(nodes, f"{intro}; it is started by one of these entry points", device="cuda")


def _entry_points(store: Store, pattern: str) -> list[Node]:
    """The vendors' functions of these names that start work: what sets it up is none of them.

    A function of a vendor's C++ headers (``link/vendor_headers.py``) is meant by a pattern that is its whole name.
    """
    entry = re.compile(pattern)
    named = [n for n in store.all_nodes(NodeKind.LIBRARY) if entry.fullmatch(n.name)]
    named += [n for n in store.named(pattern, NodeKind.FUNCTION) if "header" in n.attrs]
    return [n for n in named if not is_library_plumbing(n)]


def _by_unit(store: Store, name: KernelName) -> Found | None:
    """A name that was cut before it said anything but its source file."""
    if not name.units:
        return None
    paths = [p for unit in name.units for p in lookup.paths_beginning(store, unit)]
    nodes = [n for path in paths for n in lookup.in_file(store, path, (NodeKind.CUDA_KERNEL,))]
    nodes = nodes or [n for path in paths for n in lookup.launching(store, path)]
    if not nodes:
        return Found(
            [], f"The name is cut; it was compiled in a file {name.units[0]}.*, which the index does not have."
        )
    return Found(nodes[:_MOST_IN_FILE], f"the name is cut; the part with its source file says {', '.join(paths)}")
