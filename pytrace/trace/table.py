"""Dispatch tables as the graph has them. Rows that an operator inherits are edges of its own (``model.EdgeKind``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytrace.model import Edge, EdgeKind, Node
from pytrace.store import Store
from pytrace.trace.devices import device_of, is_layer, is_plain, key_order

#: The rule of a row that comes from the out= operator which the operator delegates to.
_INHERITED = "structured-delegate"
#: Rules of the kernels that Python gives to the dispatcher, and to a higher-order operator itself.
_LIBRARY = frozenset(("python-library-impl",))
_HIGHER = frozenset(("python-library-impl", "python-py-impl"))


class TableRow(NamedTuple):
    """One key of one operator: the function, the edge that says so, and the operator whose row it is."""

    key: str
    function: Node
    edge: Edge
    owner: Node


def tables(store: Store, ops: Iterable[Node]) -> dict[int, list[TableRow]]:
    """The dispatch tables of ``ops`` by id, in order of keys, in a few queries for all of them together."""
    asked = {op.id: op for op in ops}
    edges = store.edges_from(list(asked), EdgeKind.DISPATCHES, EdgeKind.DELEGATES) if asked else []
    nodes = {**store.nodes({e.dst for e in edges} - asked.keys()), **asked}
    delegates = {e.src: e.dst for e in edges if e.kind == EdgeKind.DELEGATES}
    found: dict[int, list[TableRow]] = {op_id: [] for op_id in asked}
    for edge in edges:
        if edge.kind == EdgeKind.DISPATCHES and edge.dst in nodes:
            owner = delegates.get(edge.src, edge.src) if edge.rule == _INHERITED else edge.src
            found[edge.src].append(TableRow(edge.key, nodes[edge.dst], edge, nodes[owner]))
    for rows in found.values():
        rows.sort(key=lambda row: key_order(row.key))
    return found


def rows_for(rows: list[TableRow], devices: frozenset[str]) -> list[TableRow]:
    """The rows that a call on one of ``devices`` may take: their own keys, else the composite ones.

    Without a device: the composite rows and the plain CPU and CUDA ones; when there are none, every row.
    """
    rows = [row for row in rows if not is_layer(row.key)] or rows
    if not devices:
        return [row for row in rows if is_plain(row.key)] or rows
    own = [row for row in rows if device_of(row.key) in devices]
    # The plain key stands for a strided tensor on this device; without it a composite kernel serves it.
    plain = [row for row in own if row.key.lower() in devices]
    if devices <= {row.key.lower() for row in plain}:
        return plain
    return own + [row for row in rows if row.key.startswith("Composite")]


def from_python(store: Store, ops: Iterable[Node]) -> list[tuple[Node, Edge, Node]]:
    """(operator, edge, function) of the kernels that Python gives to the dispatcher: ``torch.library.Library.impl``.

    A higher-order operator, which has no schema, is dispatched by what ``py_impl`` is given. Those for the Meta key
    stand round about the operator, with its other meta functions.
    """
    known = {op.id: op for op in ops}
    edges = store.edges_from(list(known), EdgeKind.REGISTERS_PYTHON) if known else []
    rules = {i: _HIGHER if "(" not in str(op.attrs.get("schema") or "") else _LIBRARY for i, op in known.items()}
    edges = [e for e in edges if e.rule in rules[e.src] and e.key != "Meta"]
    functions = store.nodes(e.dst for e in edges)
    return [(known[e.src], e, functions[e.dst]) for e in edges]
