"""The table operator x backend: how each operator is implemented.

Rows of the graph are read whole, by kind, and joined here in memory; no operator is walked alone. Which kernel serves
a backend that has none of its own follows ``OperatorEntry.cpp`` (``schema.keys.kernel_key``), with one addition: what
torchgen generates around another overload serves a backend only if that overload does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from pytrace.model import EdgeKind, NodeKind
from pytrace.report import queries
from pytrace.report.filters import SOURCES, Filter, key_test, matches
from pytrace.report.queries import EdgeRow, NodeRow
from pytrace.report.reach import Reach
from pytrace.report.rows import HOW, SERVING_NOTHING, Cell, OperatorReport, OperatorRow, Place
from pytrace.report.stamp import stamp
from pytrace.report.totals import totals
from pytrace.schema import keys
from pytrace.store import Store
from pytrace.trace.devices import device_of, key_order

#: Backends that a report always has as columns; the other ones as far as anything is registered for them.
PLAIN = ("CPU", "CUDA", "MPS", "XPU", "Meta")
#: op -> python; the edge kind of what Python registers.
REGISTERS_PYTHON = "registers_python"
#: The rule of what Python registers for its own dispatcher only.
_PY_IMPL = "python-py-impl"
#: Words for the rule of a ``dispatches`` edge, strongest first when a key has several.
_HOW = {
    "yaml-dispatch": "kernel",
    "structured-delegate": "delegate",
    "generated-kernel": "generated",
    "torch-library-impl": "library",
    "torch-library-def": "library",
    "torch-library-fallback": "library",
    "fallthrough": "fallthrough",
}
#: Tables of Python beside the dispatcher's that say how an operator behaves without data.
_FAKE = ("meta", "fake")
_BATCHING = ("FuncTorchBatched", "BatchedNestedTensor", "FuncTorchBatchedDecomposition")


class _Edges(NamedTuple):
    """The edges that leave operators, by operator."""

    dispatches: dict[int, list[EdgeRow]]
    python: dict[int, list[EdgeRow]]
    derivative: dict[int, list[EdgeRow]]
    metas: dict[int, list[EdgeRow]]
    delegates: dict[int, int]
    generated: dict[int, int]


def rows(store: Store, *, details: bool = True, sources: Container[str] = HOW) -> list[OperatorRow]:
    """All operators of the index, ATen's first, by name; with ``details`` also what their kernel functions reach.

    ``sources`` are the words of ``HOW`` that count: what is served otherwise is left out.
    """
    ops = {row.id: row for row in queries.nodes(store, NodeKind.OP)}
    found = _edges(store)
    wanted = {
        e.dst
        for group in (found.dispatches, found.python, found.derivative, found.metas)
        for es in group.values()
        for e in es
    }
    rows = queries.nodes_by_id(store, sorted(wanted)).values()
    ends = {node.id: Place(node.name, node.file, node.line) for node in rows}
    reach = Reach(store) if details else None
    made = {op_id: _row(op, found, ops, ends) for op_id, op in ops.items()}
    for row in made.values():
        row.cells = [cell for cell in row.cells if cell.how in sources]
    for op_id, row in made.items():
        row.served = {backend: _served(backend, op_id, made, found, ()) for backend in PLAIN}
        row.meta = row.served["Meta"] or _fake(found.python.get(op_id, ()))
        if reach is not None:
            _fill(reach, row, found.dispatches.get(op_id, ()))
    return sorted(made.values(), key=lambda row: (row.namespace != "aten", row.name))


def _edges(store: Store) -> _Edges:
    groups: dict[str, dict[int, list[EdgeRow]]] = {}
    for edge in queries.edges(
        store,
        EdgeKind.DISPATCHES,
        REGISTERS_PYTHON,
        EdgeKind.DERIVATIVE,
        EdgeKind.STRUCTURED_META,
        EdgeKind.DELEGATES,
        EdgeKind.GENERATED_FROM,
    ):
        groups.setdefault(edge.kind, {}).setdefault(edge.src, []).append(edge)
    return _Edges(
        groups.get(EdgeKind.DISPATCHES, {}),
        groups.get(REGISTERS_PYTHON, {}),
        groups.get(EdgeKind.DERIVATIVE, {}),
        groups.get(EdgeKind.STRUCTURED_META, {}),
        {src: found[0].dst for src, found in groups.get(EdgeKind.DELEGATES, {}).items()},
        {src: found[0].dst for src, found in groups.get(EdgeKind.GENERATED_FROM, {}).items()},
    )


def _row(op: NodeRow, edges: _Edges, ops: dict[int, NodeRow], ends: dict[int, Place]) -> OperatorRow:
    attrs = op.attributes()
    delegate = edges.delegates.get(op.id)
    source = edges.generated.get(op.id)
    python = edges.python.get(op.id, ())
    through = ops[delegate].name if delegate in ops else ""
    # An operator without a schema (``torch/_ops.py``, HigherOrderOperator) is dispatched by Python alone.
    by_python = "(" not in str(attrs.get("schema") or "")
    cells = _cells(edges.dispatches.get(op.id, ()), python, ends, through, "python" if by_python else "py_impl")
    _add_generated(cells, attrs.get("generated_keys") or {}, through)
    for cell in cells:
        if cell.key == "Meta" and cell.how == "generated":
            cell.functions = [ends[edge.dst] for edge in edges.metas.get(op.id, ())]
    cells.sort(key=lambda cell: key_order(cell.key))
    derivative = edges.derivative.get(op.id, ())
    return OperatorRow(
        name=op.name,
        schema=str(attrs.get("schema") or ""),
        file=op.file,
        line=op.line,
        kind=str(attrs.get("kind") or ""),
        structured=bool(attrs.get("structured")),
        tags=[str(tag) for tag in attrs.get("tags") or ()],
        autograd=str(attrs.get("autograd") or ""),
        formulas=_unique(ends[e.dst] for e in derivative if e.dst in ends),
        meta="",
        decomposition=_unique(ends[e.dst] for e in python if e.key == "decomposition" and e.dst in ends),
        batching=_batching(cells),
        cells=cells,
        served={},
        delegates=through,
        generated_from=ops[source].name if source in ops else "",
        written=bool(op.file) and op.file.endswith("native_functions.yaml") and source not in ops,
    )


def _cells(
    dispatches: Iterable[EdgeRow], python: Iterable[EdgeRow], ends: dict[int, Place], through: str, py_impl: str
) -> list[Cell]:
    """One cell for each key and way of being served; ``py_impl`` is the word for what ``py_impl`` registers."""
    found: dict[tuple[str, str], Cell] = {}
    for edge in dispatches:
        how = _HOW.get(edge.rule, "library")
        if keys.key_kind(edge.key) == "composite" and how in ("kernel", "library"):
            how = "composite"
        elif keys.key_kind(edge.key) == "composite" and how == "generated":
            how = "wrapper"
        cell = found.get((edge.key, how))
        if cell is None:
            cell = Cell(edge.key, how, [], edge.file, edge.line, through if how == "delegate" else "")
            found[edge.key, how] = cell
        if edge.dst in ends:
            cell.functions.append(ends[edge.dst])
    for edge in sorted(python, key=lambda edge: edge.rule == _PY_IMPL):
        if keys.key_kind(edge.key) == "unknown":
            continue  # a table of Python's own, not the dispatcher's
        how = py_impl if edge.rule == _PY_IMPL else "python"
        if how == "py_impl" and (edge.key, "python") in found:
            continue  # ``torch/_meta_registrations.py`` registers one function in both tables
        cell = found.setdefault((edge.key, how), Cell(edge.key, how, [], edge.file, edge.line))
        if edge.dst in ends:
            cell.functions.append(ends[edge.dst])
    return list(found.values())


def _add_generated(cells: list[Cell], generated: dict[str, list[str]], through: str) -> None:
    """Keys for which torchgen writes a wrapper that no edge stands for: structured Meta, functional composites."""
    known = {cell.key for cell in cells}
    for key, made in generated.items():
        if key not in known:
            how = "wrapper" if keys.key_kind(key) == "composite" else "generated"
            cells.append(
                Cell(key, how, [], str(made[1]) if len(made) > 1 else "", 0, through if how == "wrapper" else "")
            )


def _served(backend: str, op_id: int, made: dict[int, OperatorRow], edges: _Edges, above: tuple[int, ...]) -> str:
    """How a dense tensor of ``backend`` is served: a word of ``HOW``, or "" when a call would fail."""
    row = made[op_id]
    by_key = {cell.key: cell for cell in row.cells if cell.how not in SERVING_NOTHING}
    key = keys.kernel_key(backend, by_key)
    if not key:
        return ""
    how = by_key[key].how
    if how != "wrapper" or op_id in above:
        return how
    around = edges.delegates.get(op_id, edges.generated.get(op_id))
    if around is None or around not in made:
        return how
    return "wrapper" if _served(backend, around, made, edges, (*above, op_id)) else ""


def _fake(python: Iterable[EdgeRow]) -> str:
    return "python" if any(edge.key in _FAKE for edge in python) else ""


def _batching(cells: list[Cell]) -> str:
    by_key = {cell.key: cell for cell in cells}
    for key in _BATCHING:
        if key in by_key:
            if by_key[key].how == "fallthrough":
                return "fallthrough"
            return "decomposes" if key == "FuncTorchBatchedDecomposition" else "rule"
    return "composite" if keys.CIA in by_key else ""


def _fill(reach: Reach, row: OperatorRow, dispatches: Iterable[EdgeRow]) -> None:
    by_key: dict[str, list[int]] = {}
    for edge in dispatches:
        if edge.rule != "fallthrough":
            by_key.setdefault(edge.key, []).append(edge.dst)
    for cell in row.cells:
        if cell.how in ("fallthrough", "python", "py_impl", "wrapper") or keys.key_kind(cell.key) not in (
            "backend",
            "composite",
        ):
            continue
        cell.below = reach.of([i for i in by_key.get(cell.key, ()) if i in reach.nodes], device_of(cell.key))


def _unique(places: Iterable[Place]) -> list[Place]:
    return list({(p.name, p.file, p.line): p for p in places}.values())


def report(store: Store, keep: Filter, *, backends: Sequence[str] = (), details: bool = True) -> OperatorReport:
    """The report that ``pytrace report`` prints: the operators that ``keep`` lets pass.

    ``backends`` are the columns; by default the dense backends of ``PLAIN``, and every key that ``keep`` names.
    """
    sources = SOURCES[keep.sources][1] if keep.sources else HOW
    everything = rows(store, details=details, sources=sources)
    kept = keep.apply(everything)
    columns = [key_test(name).key or name for name in backends] or default_backends(keep)
    return OperatorReport(
        stamp=stamp(store),
        question=keep.sentence(),
        backends=columns,
        rows=kept,
        totals=totals(kept, columns),
        of=len(everything),
        unmatched=[glob for glob in keep.ops if not any(matches(row, glob) for row in everything)],
    )


def default_backends(keep: Filter) -> list[str]:
    """The dense backends, and every key that a filter names."""
    named = [*keep.has, *keep.lacks, *keep.missing, *([keep.implement] if keep.implement else [])]
    columns = list(PLAIN)
    for key in [key_test(name).key for name in named]:
        if key and key not in columns:
            columns.insert(-1, key)
    return columns
