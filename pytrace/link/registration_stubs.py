"""How a dispatch stub finds its function: stub nodes, and ``registers`` edges to what is registered per device.

The rule is ``aten/src/ATen/native/DispatchStub.h``. A stub has one slot per device, and for the CPU one per CPU
capability. ``REGISTER_DISPATCH`` does not say which: the compiler that reads the file decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytrace.extract.cpp_text import without_templates
from pytrace.link.context import Context
from pytrace.model import EdgeKind, NodeKind

#: CPU capabilities, in the order in which ``DispatchStub.h`` lists them.
CAPABILITIES = ("DEFAULT", "AVX512", "AVX2", "VSX", "ZVECTOR", "SVE256")

#: How files are compiled, by extension: nvcc and hipcc define ``__CUDACC__`` / ``__HIPCC__`` (both register into the
#: CUDA slot), Objective-C++ defines ``__OBJC__``.
_DEVICE_BY_EXTENSION = {"cu": "CUDA", "cuh": "CUDA", "hip": "CUDA", "mm": "MPS"}


@dataclass
class StubTable:
    """The stubs of the tree, by qualified name. Two namespaces may each have a stub of one bare name."""

    ids: dict[str, int] = field(default_factory=dict)
    _by_bare: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, qualified: str, node_id: int) -> None:
        """Enter a stub."""
        self.ids[qualified] = node_id
        self._by_bare[qualified.rpartition("::")[2]].append(qualified)

    def resolve(self, name: str, scope: str) -> int | None:
        """The stub that ``name``, as written in namespace ``scope``, means; None when there is no such stub.

        Namespaces are searched from the inside out, as C++ does; then any stub of this bare name is taken, the one
        in the least nested namespace first (a ``using namespace``, or a file that did not parse).
        """
        qualified = lookup(self.ids, name, scope)
        if qualified is None:
            others = [q for q in self._by_bare.get(name.rpartition("::")[2], ()) if f"::{q}".endswith(f"::{name}")]
            qualified = min(others, key=lambda q: (q.count("::"), q), default=None)
        return None if qualified is None else self.ids[qualified]

    def __contains__(self, bare: str) -> bool:
        return bare in self._by_bare


def lookup(known: Iterable[str], name: str, scope: str) -> str | None:
    """The qualified name in ``known`` that ``name`` means in ``scope``, searched from the innermost namespace."""
    name = name.removeprefix("::")
    while scope:
        if (qualified := f"{scope}::{name}") in known:
            return qualified
        scope = scope.rpartition("::")[0]
    return name if name in known else None


def device_of_file(path: str) -> str:
    """The device that ``REGISTER_DISPATCH`` means in this file, "" where the macro is not defined.

    A file in a folder ``cpu`` is compiled once per CPU capability (``cmake/Codegen.cmake``: ``native/cpu/*.cpp`` and
    ``native/quantized/cpu/kernels/*.cpp``).
    """
    by_extension = _DEVICE_BY_EXTENSION.get(path.rpartition(".")[2])
    if by_extension:
        return by_extension
    return "CPU" if "cpu" in path.split("/")[:-1] else ""


def slots(slot: str, path: str) -> tuple[str, tuple[str, ...]]:
    """(key, CPU capabilities) of a registration with this slot (``registration_macros.STUB_SLOTS``) in this file."""
    if slot.startswith("file"):
        device = device_of_file(path)
        if device != "CPU":
            return device, ()
        # REGISTER_DISPATCH gives AVX512 a null pointer: the next best capability runs instead.
        return "CPU", tuple(c for c in CAPABILITIES if c != "AVX512" or slot != "file")
    if slot == "every":
        return "CPU", CAPABILITIES
    return ("CPU", (slot,)) if slot in CAPABILITIES else (slot, ())


def target(expression: str) -> str:
    """The function that an expression such as ``&CPU_CAPABILITY::foo<true>`` names; "" for a null pointer."""
    name = expression.strip().removeprefix("&").strip()
    while name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip().removeprefix("&").strip()
    name = without_templates(name).replace(" ", "").replace("CPU_CAPABILITY::", "")
    return "" if name in ("nullptr", "NULL") else name


def link_stubs(ctx: Context) -> StubTable:
    """Make the stub nodes and their ``registers`` edges; returns the table of stubs.

    A node stands at the definition (the object), else at the declaration, else at its first registration; its attrs:
    ``qualified``; ``sites``: all declarations and definitions as [what, file, line]; ``type``: of the function
    pointer; ``no_cpu``: where the CPU slots are set to null; ``undefined``: true when no object was found.
    An edge's attrs: ``capabilities`` for the CPU, ``macro``, and ``as`` (the expression, if it has template arguments).
    """
    table = StubTable()
    sites = _sites(ctx)
    null = _null_slots(ctx, sites)
    for qualified in sorted(sites):
        rows = sites[qualified]
        _, file, line, _ = min(rows, key=lambda row: (row[0] != "define", row[1], row[2]))
        attrs: dict[str, Any] = {"qualified": qualified, "sites": [row[:3] for row in rows]}
        pointer = next((row[3] for row in rows if row[3]), "")
        if pointer:
            attrs["type"] = pointer
        if not any(row[0] == "define" for row in rows):
            attrs["undefined"] = True
        if qualified in null:
            attrs["no_cpu"] = null[qualified]
        _add(ctx, table, qualified, file, line, attrs)
    for path, rows in _registrations(ctx):
        _link_file(ctx, table, path, rows)
    return table


def _add(ctx: Context, table: StubTable, qualified: str, file: str, line: int, attrs: dict[str, Any]) -> int:
    bare = qualified.rpartition("::")[2]
    # A second stub of one bare name (at::native::copy_stub, at::native::cpublas::copy_stub) is a node of its own.
    make = ctx.graph.shared if ctx.graph.find(NodeKind.STUB, bare) is None else ctx.graph.node
    node_id = make(NodeKind.STUB, bare, file, line, owner=file, attrs=attrs)
    table.add(qualified, node_id)
    return node_id


def _qualify(scope: str, name: str) -> str:
    return f"{scope}::{name}" if scope else name


def _sites(ctx: Context) -> dict[str, list[tuple[str, str, int, str]]]:
    """Qualified stub name -> (what, file, line, pointer type), in order of file and line."""
    found: dict[str, list[tuple[str, str, int, str]]] = defaultdict(list)
    definitions: list[tuple[str, str, str, int]] = []
    for path, (_, facts) in ctx.files.items():
        for line, what, name, pointer, scope, _guard in facts.get("stub_sites", ()):
            if what == "declare":
                found[_qualify(scope, name)].append((what, path, line, pointer))
            else:
                definitions.append((scope, name, path, line))
    for scope, name, path, line in definitions:
        found[lookup(found, name, scope) or _qualify(scope, name)].append(("define", path, line, ""))
    for rows in found.values():
        rows.sort(key=lambda row: (row[1], row[2]))
    return found


def _registrations(ctx: Context) -> Iterable[tuple[str, list[Any]]]:
    return (
        (path, facts["stub_registrations"]) for path, (_, facts) in ctx.files.items() if "stub_registrations" in facts
    )


def _null_slots(ctx: Context, sites: dict[str, Any]) -> dict[str, list[list[Any]]]:
    """Qualified stub name -> [file, line, guard] of each REGISTER_NO_CPU_DISPATCH."""
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for path, rows in _registrations(ctx):
        for line, name, _function, _macro, slot, scope, guard in rows:
            if slot == "none":
                found[lookup(sites, name, scope) or _qualify(scope, name)].append([path, line, guard])
    return found


def _link_file(ctx: Context, table: StubTable, path: str, rows: Iterable[Any]) -> None:
    merged: dict[tuple[int, str, str, str, str], tuple[int, str, list[str], str]] = {}
    for line, name, expression, macro, slot, scope, guard in rows:
        function = target(expression)
        if slot == "none" or not function:
            continue
        key, capabilities = slots(slot, path)
        if not key:
            ctx.graph.unresolved_name(
                path, "stub-registration", name, line, f"{macro} says no device in this kind of file"
            )
            continue
        stub = table.resolve(name, scope)
        if stub is None:
            attrs = {"qualified": _qualify(scope, name), "sites": [], "undefined": True}
            stub = _add(ctx, table, _qualify(scope, name), path, line, attrs)
        # REGISTER_ARCH_DISPATCH + REGISTER_AVX2_DISPATCH + … of one function are one edge with several capabilities.
        seen = merged.setdefault((stub, function, key, guard, expression), (line, macro, [], scope))
        seen[2].extend(c for c in capabilities if c not in seen[2])
    for (stub, function, key, guard, expression), (line, macro, found, scope) in merged.items():
        ids = ctx.functions.resolve(function, path, scope, line)
        if not ids:
            ctx.graph.unresolved_name(
                path, "stub-registration", function, line, f"no definition of what {macro} registers"
            )
        edge_attrs: dict[str, Any] = {"macro": macro}
        if found:
            edge_attrs["capabilities"] = [c for c in CAPABILITIES if c in found]
        if "<" in expression:
            edge_attrs["as"] = expression.removeprefix("&")
        for node_id in ids:
            ctx.graph.edge(
                stub,
                node_id,
                EdgeKind.REGISTERS,
                key,
                rule="register-dispatch",
                file=path,
                line=line,
                guard=guard,
                candidates=len(ids),
                owner=path,
                attrs=edge_attrs,
            )
