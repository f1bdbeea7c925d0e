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
from pytrace.trace import lookup, search
from pytrace.trace.climb import Climb
from pytrace.trace.resolve import Found, cpp_nodes

#: More base names of operators than this and a part of the name tells nothing (``kernel.GENERIC``).
_GENERIC = 25
#: What PyTorch calls the structs that kernels are made for; others among template arguments are data (``OpaqueType``).
_FUNCTOR = re.compile(r"\w*(?:Functors?\w*|[a-z]Ops?|Epilogue|_functor\w*|_op)$")
#: nvcc names a lambda of a host function by the function and a number: <crt/host_defines.h>, extended lambdas.
_NVCC_LAMBDA = "__nv_dl_tag"
_MOST_IN_FILE = 12


class _Identity(NamedTuple):
    """A part of the name that tells: how it is called, its nodes, the operators above them (id -> base name)."""

    name: str
    nodes: list[Node]
    operators: dict[int, str]

    @property
    def tells(self) -> bool:
        """Whether it stands for few enough operators."""
        return 0 < len(set(self.operators.values())) <= _GENERIC

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
    name = read(text)
    if name.dialect == "plain" and (not vendor_of(text) or cpp_nodes(store, text).nodes):
        return None
    head = _head(store, name)
    vendor = None if head else vendor_of(text)
    if vendor is not None:
        return _vendor(store, vendor)
    if not name.name or name.name in ("at", "at::native") or (name.cut and not head):
        return _by_unit(store, name)
    inner = list(_identities(name))
    if not inner:
        return Found(head, _read_as(name, name.name)) if head and "<" in text else None
    return _told_apart(store, name, head, inner)


def _told_apart(store: Store, name: KernelName, head: list[Node], inner: list[tuple[str, bool]]) -> Found | None:
    """The answer for a kernel with functors or host functions among its template arguments."""
    known: list[_Identity] = []
    lost: list[str] = []
    for inner_name, is_host in inner:
        nodes = _nodes(store, inner_name, is_host, name.units)
        if nodes:
            known.append(_Identity(inner_name, nodes, _operators(store, nodes)))
        elif inner_name.rpartition("::")[2] == name.last and name.cut:
            lost.append(f"{inner_name}…")
        elif is_host or _FUNCTOR.match(inner_name.rpartition("::")[2]):
            lost.append(inner_name)
    whole = _Identity(name.name, head, _operators(store, head)) if head else None
    telling = [identity for identity in known if identity.tells]
    if whole and whole.tells:
        telling = [identity for identity in telling if not identity.ambiguous]
    if not telling:
        if lost:
            return Found([], _drift(store, name, head, lost))
        return Found(head, _read_as(name, name.name)) if head else None
    best = min(telling, key=lambda identity: len(identity.operators))
    shared = set(best.operators)
    for other in [*telling, *([whole] if whole and whole.tells else [])]:
        shared = shared & other.operators.keys() or shared
    how = f"read as {best.name}, which {_place(name.name, head)} was made for"
    if lost:
        how += f"; {', '.join(lost)} is not in this tree: the name is from another version"
    return Found(best.nodes, how, (), frozenset(shared))


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
    if name.startswith(("std::", "c10::", "thrust::", "cub::", "__nv_")) or not name:
        return None
    # A type of the language has no capital and no namespace.
    return None if "::" not in name and name == name.lower() else (name, False)


def _nodes(store: Store, name: str, is_host: bool, units: Iterable[str]) -> list[Node]:
    """Nodes of a functor (itself, and its methods, which whoever makes it reaches) or of a host function."""
    if is_host:
        return _in_units(store.named(name, NodeKind.FUNCTION), units) or _same_tail(store, name)
    bare = name.rpartition("::")[2]
    nodes = store.named(name, NodeKind.FUNCTOR) or [
        n for n in store.bare(bare, NodeKind.FUNCTOR) if _tail(n.name) == bare
    ]
    owner = nodes[0].name if nodes else name
    return nodes + lookup.members(store, owner)


def _same_tail(store: Store, name: str) -> list[Node]:
    """Functions whose name ends like this one, in another namespace: a class and its method count as one."""
    parts = name.split("::")
    tail = "::".join(parts[-2:]) if parts[-1].startswith("operator") else parts[-1]
    if not tail or tail.startswith("operator"):
        return []
    return [n for n in store.bare(parts[-1], NodeKind.FUNCTION) if n.name == tail or n.name.endswith(f"::{tail}")]


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
    return within_at or one.endswith(f"::{other}") or other.endswith(f"::{one}")


def _in_units(nodes: list[Node], units: Iterable[str]) -> list[Node]:
    own = [n for n in nodes if any(n.file.rpartition("/")[2].startswith(unit) for unit in units)]
    return own or nodes


def _operators(store: Store, nodes: list[Node]) -> dict[int, str]:
    """The operators above (those that stand for a formula's included), by id, with their base names."""
    from pytrace.trace.kernel import operators_above

    return {op.id: op.bare.rstrip("_") for op, _ in operators_above(store, Climb(store, nodes))}


def _drift(store: Store, name: KernelName, head: list[Node], lost: list[str]) -> str:
    what = ", ".join(lost)
    near: list[str] = []
    for lost_name in lost:
        bare = lost_name.rstrip("…").rpartition("::")[2]
        near += [n.name for n in search.nearest(store, bare, kinds=(NodeKind.FUNCTOR, NodeKind.FUNCTION))]
    told = f" Nearest: {', '.join(dict.fromkeys(near))}." if near else ""
    where = f"{_place(name.name, head)} " + ("is still there, but tells no operator" if head else "neither")
    return f"{what} is not in this tree: the name is from another version. {where}.{told}"


def _vendor(store: Store, vendor: Vendor) -> Found:
    intro = f"a kernel of {vendor.library} ({vendor.what}): its source is not in the tree"
    if not vendor.entry:
        return Found([], f"This is {intro}, and nothing in the tree's C++ starts it by name.")
    pattern = re.compile(vendor.entry)
    nodes = [n for n in store.all_nodes(NodeKind.LIBRARY) if pattern.fullmatch(n.name)]
    if not nodes:
        return Found([], f"This is {intro}, and the index knows no call of an entry point that could start it.")
    return Found(nodes, f"{intro}; it is started by one of these entry points")


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
