"""The table stub x device: who registered what, and which operators need it."""

from __future__ import annotations

from collections.abc import Iterable

from pytrace.errors import BadQuestion
from pytrace.model import EdgeKind, NodeKind
from pytrace.report import queries
from pytrace.report.rows import OperatorRow, Place, StubReport, StubRow
from pytrace.report.stamp import stamp
from pytrace.store import Store
from pytrace.trace.devices import canonical, device_of, known


def report(
    store: Store,
    *,
    operators: Iterable[OperatorRow] = (),
    has: tuple[str, ...] = (),
    lacks: tuple[str, ...] = (),
) -> StubReport:
    """All stubs with a registration for every device of ``has`` and none for any of ``lacks``, by name.

    Raises ``BadQuestion`` for a device that is none.

    ``operators`` (with what they reach) tell which of them need each stub.
    """
    rows = _rows(store, _needed_by(operators))
    has, lacks = tuple(map(canonical, has)), tuple(map(canonical, lacks))
    for device in (*has, *lacks):
        if device not in known() and not any(device in row.registered for row in rows):
            raise BadQuestion(f"There is no device {device}. Known ones: {', '.join(known())}.")
    kept = [
        row for row in rows if all(d in row.registered for d in has) and not any(d in row.registered for d in lacks)
    ]
    devices = sorted({device for row in rows for device in row.registered} | set(lacks), key=_device_order)
    words = [f"with {d.upper()}" for d in has] + [f"without {d.upper()}" for d in lacks]
    return StubReport(
        stamp=stamp(store),
        question=f"stubs {', '.join(words)}" if words else "",
        devices=devices,
        rows=kept,
        totals={device: sum(device in row.registered for row in kept) for device in devices},
        of=len(rows),
    )


def _rows(store: Store, needed: dict[str, list[str]]) -> list[StubRow]:
    stubs = {n.id: n for n in queries.nodes(store, NodeKind.STUB)}
    made = {i: StubRow(n.name, n.file, n.line, {}, {}, needed.get(n.name, [])) for i, n in stubs.items()}
    edges = [e for e in queries.edges(store, EdgeKind.REGISTERS) if e.src in made]
    wanted = {e.dst for e in edges}
    ends = {n.id: Place(n.name, n.file, n.line) for n in queries.nodes(store, NodeKind.FUNCTION) if n.id in wanted}
    for edge in edges:
        row, device = made[edge.src], device_of(edge.key) or edge.key.lower()
        functions = row.registered.setdefault(device, [])
        if edge.dst in ends and ends[edge.dst] not in functions:
            functions.append(ends[edge.dst])
        site = f"{edge.file}:{edge.line}"
        if site not in row.sites.setdefault(device, []):
            row.sites[device].append(site)
    return sorted(made.values(), key=lambda row: (row.name, row.file, row.line))


def _needed_by(operators: Iterable[OperatorRow]) -> dict[str, list[str]]:
    """Stub -> operators whose kernel functions reach it; those that delegate are told by the one they delegate to."""
    found: dict[str, dict[str, None]] = {}
    for row in operators:
        for cell in row.cells:
            if cell.below is not None and cell.how != "delegate":
                for name in cell.below.stubs:
                    found.setdefault(name, {})[row.name] = None
    return {name: list(ops) for name, ops in found.items()}


def _device_order(device: str) -> tuple[int, str]:
    order = ("cpu", "cuda", "hip", "mps", "xpu")
    return (order.index(device) if device in order else len(order), device)
