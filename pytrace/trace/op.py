"""``pytrace op``: everything about an operator, from the Python name to the kernels and the backward."""

from __future__ import annotations

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import around, lookup, python_side
from pytrace.trace import backward as backward_side
from pytrace.trace.answers import Dtypes, OpAnswer, Overload, Path, PythonName, Row, Via
from pytrace.trace.climb import called_by, some
from pytrace.trace.devices import canonical, device_of, is_plain
from pytrace.trace.noise import is_mover
from pytrace.trace.region import Region
from pytrace.trace.resolve import Found
from pytrace.trace.table import TableRow, from_python, rows_for, tables
from pytrace.trace.walk import Walker, builds, ref, via

#: Lines that ``pytrace op`` spends on what the formulas call; ``pytrace backward`` has more.
_BACKWARD_LINES = 20
#: What is called from more places than this is plumbing of everything; its callers say nothing.
_MANY_CALLS = 120


def answer(
    store: Store,
    query: str,
    found: Found,
    *,
    device: str = "",
    depth: int = 1,
    limit: int = 90,
    python_limit: int = 8,
    every: bool = False,
) -> OpAnswer:
    """Tell all about the operators in ``found`` (see ``resolve.operators``).

    ``device`` keeps the keys and registrations of one device (and what serves every one). ``depth`` is how many
    operators deep the trees are opened, ``limit`` how many lines they may have together (0: no limit). ``every``: tell
    all that stands round about them, with what is missing.
    """
    device = canonical(device)
    ops = [n for n in found.nodes if n.kind == NodeKind.OP]
    known = tables(store, ops)
    rows = _rows(ops, known, from_python(store, ops))
    names = python_side.up(store, [op.id for op in ops], limit=python_limit)
    region = Region(store, movers=bool(ops) and all(map(is_mover, ops)))
    walker = Walker(region, about=[op.bare for op in ops], depth=depth, limit=limit)
    paths = _paths(walker, ops, known, device)
    notes = []
    if found.others:
        more = ", ".join(found.others[:8]) + (f" and {len(found.others) - 8} more" if len(found.others) > 8 else "")
        notes.append(f"It also calls {more}; `pytrace api {query}` shows the way to each.")
    if device and not any(device_of(key) in (device, "") for row in rows for key in row.keys):
        notes.append(f"No row of the dispatch table serves {device}.")
    if region.stopped:
        notes.append(f"Stopped at {len(region.nodes)} functions: what lies deeper is not told.")
    shown = rows
    if device:
        shown = [r for r in rows if any(device_of(k) in (device, "") for k in r.keys)]
    return OpAnswer(
        query=query,
        how=found.how,
        overloads=[overload(op) for op in ops],
        bindings=names.bindings,
        python=names.python,
        more_python=names.more,
        python_places=names.places,
        used_by=_used_by(store, ops),
        dispatch=shown,
        paths=paths,
        dtypes=_dtypes(paths),
        backward=backward_side.of_operators(Walker(region, depth=0, limit=_BACKWARD_LINES), ops, known)
        if ops
        else None,
        device=device,
        notes=notes,
        around=_around(store, ops, known, region, names.python if every else None),
    )


def _around(
    store: Store,
    ops: list[Node],
    known: dict[int, list[TableRow]],
    region: Region,
    python: list[PythonName] | None,
) -> list[around.Section]:
    """What stands round about ``ops``; all of it when the Python names that lead to them are given."""
    found = around.sections(store, ops, known, region, every=python is not None)
    if python is None:
        return found
    names = [name.ref.name for name in python]
    more = around.module_tests(store, names)
    tests = next((section for section in found if section.name == "tests"), None)
    if tests is None and more:
        found.append(around.Section("tests", more))
    elif tests is not None:
        tests.items += more
    return [*found, around.benchmarks(store.meta("root"), names)]


def overload(op: Node) -> Overload:
    """An overload as it is told: traits are what torchgen says of it."""
    attrs = op.attrs
    traits = []
    kind = str(attrs.get("kind") or "")
    if kind and kind != "functional":
        traits.append({"inplace": "in-place", "out": "out="}.get(kind, kind))
    if attrs.get("structured"):
        traits.append("structured")
    if attrs.get("view"):
        traits.append("view")
    traits += [str(tag) for tag in attrs.get("tags") or ()]
    return Overload(op.name, str(attrs.get("schema") or ""), op.file, op.line, traits)


def _rows(ops: list[Node], known: dict[int, list[TableRow]], python: list[tuple[Node, Edge, Node]]) -> list[Row]:
    """The dispatch tables of all overloads, each row told once: by the operator that owns it.

    ``python`` are the kernels that Python registers.
    """
    rows: dict[tuple[str, int], Row] = {}
    asked = [op.name for op in ops]
    for op in ops:
        variants = builds((row.function, row.edge) for row in known[op.id])
        for row in known[op.id]:
            slot = rows.get((row.owner.name, row.function.id))
            if slot is None:
                slot = Row(row.owner.name, [], ref(row.function), via(row.edge))
                slot.function.note = slot.function.note or variants.get(row.function.id, "")
                rows[row.owner.name, row.function.id] = slot
            if row.owner.id == op.id:
                slot.via = via(row.edge)  # what it says itself, not what those say that inherit it
            if row.key not in slot.keys:
                slot.keys.append(row.key)
            if op.name != row.owner.name and op.name not in slot.shared_by:
                slot.shared_by.append(op.name)
    for op, edge, function in python:
        slot = rows.setdefault((op.name, function.id), Row(op.name, [], ref(function), via(edge)))
        if edge.key not in slot.keys:
            slot.keys.append(edge.key)
    order = {name: place for place, name in enumerate(asked)}
    return sorted(rows.values(), key=lambda r: order.get(r.op, len(order)))


def _paths(walker: Walker, ops: list[Node], known: dict[int, list[TableRow]], device: str) -> list[Path]:
    """A tree for each function that a call may land in: backends' own kernels first, then composite ones.

    Left out are the backends that only sparse or quantized tensors use (unless there is nothing else, or their
    device was asked for), and the wrappers of generated overloads: they call the overload they were made from.
    """
    wanted = frozenset({device}) if device else frozenset[str]()
    paths: dict[int, tuple[TableRow, list[str], list[str]]] = {}
    for op in [op for op in ops if "generated_from" not in op.attrs] or ops:
        rows = rows_for(known[op.id], wanted)
        plain = any(is_plain(row.key) for row in rows)
        for row in rows:
            if not device and plain and not is_plain(row.key):
                continue
            _, keys, owners = paths.setdefault(row.function.id, (row, [], []))
            if row.key not in keys:
                keys.append(row.key)
            if row.owner.name not in owners:
                owners.append(row.owner.name)
    picked = sorted(paths.values(), key=lambda path: _place(path[0]))
    roots: list[tuple[Node, Via | None, frozenset[str]]] = []
    for row, keys, _ in picked:
        serving = {device_of(key) for key in keys}
        roots.append((row.function, via(row.edge), wanted or frozenset(serving if "" not in serving else ())))
    trees = walker.draw(roots)
    return [Path(owners[0], keys, tree) for (_, keys, owners), tree in zip(picked, trees)]


def _used_by(store: Store, ops: list[Node]) -> list[str]:
    """Operators and formulas whose code calls one of ``ops``; when they are legion, only how many calls there are."""
    ids = [op.id for op in ops]
    calls = lookup.count_to(store, ids, EdgeKind.CALLS_OP)
    if calls > _MANY_CALLS:
        return [f"{calls} places"]
    return some(called_by(store, dict.fromkeys(ids, ids[0])).get(ids[0], [])) if calls else []


def _place(row: TableRow) -> tuple[bool, bool]:
    """Backends' own kernels before composite ones, and of these the functional before the out= variant."""
    composite = row.key.startswith("Composite")
    return (composite, composite and row.owner.attrs.get("kind") == "out")


def _dtypes(paths: list[Path]) -> list[Dtypes]:
    """The dtype sets met in the trees, each once, with the device of the tree they stand in."""
    found: dict[tuple[str, str, int], Dtypes] = {}
    for path in paths:
        todo = [(path.tree, device_of(path.keys[0]))]
        while todo:
            step, device = todo.pop(0)
            if step.via is not None and step.via.key and device_of(step.via.key.split(",")[0]):
                device = device_of(step.via.key.split(",")[0])
            if step.ref.kind == NodeKind.OP:
                continue  # what another operator supports is its own matter
            for entry in step.dtypes:
                entry.device = device
                found.setdefault((entry.label, entry.file, entry.line), entry)
            todo += [(child, device) for child in step.steps]
    return list(found.values())
