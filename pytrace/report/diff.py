"""Two states of a tree side by side: what an operator is, how it is dispatched, what differentiates it.

Both sides are compared by names and texts. A line that only moved is no difference; a kernel that stands in another
file is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from pytrace.model import EdgeKind, NodeKind
from pytrace.report import operators, queries
from pytrace.report.rows import OperatorRow, Place, Stamp
from pytrace.report.stamp import stamp
from pytrace.store import Store
from pytrace.trace.devices import device_of

#: A gone and a new kernel this similar by name are told as a rename (with the table rows that say so).
_SIMILAR = 0.6


@dataclass(eq=False, repr=False)
class Change:
    """One difference: of what, what it was, what it is, and where each side says so."""

    what: str  #: ``CUDA``, ``schema``, ``tags``, ``self`` (a formula's variable), …
    old: str
    new: str
    old_place: str = ""
    new_place: str = ""


@dataclass(eq=False, repr=False)
class Subject:
    """An operator, formula or stub with its differences."""

    name: str
    place: str
    changes: list[Change]


@dataclass(eq=False, repr=False)
class Moved:
    """A kernel that stands elsewhere, or has another name."""

    kind: str
    old: Place
    new: Place
    why: str  #: ``moved``, ``renamed``
    operators: list[str] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Single:
    """Something that only one side has; ``like`` are the other side's names that are nearest."""

    name: str
    place: str
    text: str = ""
    like: list[str] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class DiffReport:
    """Answer of ``pytrace diff``."""

    old: Stamp
    new: Stamp
    added: list[Single] = field(default_factory=list)
    removed: list[Single] = field(default_factory=list)
    schemas: list[Subject] = field(default_factory=list)  #: schema, tags, structured
    dispatch: list[Subject] = field(default_factory=list)
    gained: dict[str, list[str]] = field(default_factory=dict)  #: backend -> operators that it can run now
    lost: dict[str, list[str]] = field(default_factory=dict)
    kernels: list[Moved] = field(default_factory=list)
    kernels_added: list[Single] = field(default_factory=list)
    kernels_removed: list[Single] = field(default_factory=list)
    formulas_added: list[Single] = field(default_factory=list)
    formulas_removed: list[Single] = field(default_factory=list)
    formulas: list[Subject] = field(default_factory=list)
    stubs: list[Subject] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether nothing differs."""
        return not any(value for name, value in vars(self).items() if name not in ("old", "new"))


def report(old: Store, new: Store) -> DiffReport:
    """What differs from ``old`` to ``new``."""
    before = {row.name: row for row in operators.rows(old, details=False)}
    after = {row.name: row for row in operators.rows(new, details=False)}
    result = DiffReport(stamp(old), stamp(new))
    result.added = _singles(after, before)
    result.removed = _singles(before, after)
    kept = [(before[name], after[name]) for name in sorted(before.keys() & after.keys())]
    for was, now in kept:
        _add(result.schemas, now, _schema(was, now))
        _add(result.dispatch, now, _dispatch(was, now))
        _backends(result, was, now)
    _kernels(result, old, new, before, after)
    _formulas(result, old, new)
    _stubs(result, old, new)
    return result


def _add(subjects: list[Subject], row: OperatorRow, changes: list[Change]) -> None:
    if changes:
        subjects.append(Subject(row.name, _at(row.file, row.line), changes))


def _at(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file


# -- operators -------------------------------------------------------------------------------------------------------


def _singles(here: Mapping[str, OperatorRow], there: Mapping[str, OperatorRow]) -> list[Single]:
    only = sorted(here.keys() - there.keys())
    others = sorted(there.keys() - here.keys())
    return [
        Single(name, _at(here[name].file, here[name].line), here[name].schema, get_close_matches(name, others, n=2))
        for name in only
    ]


def _schema(was: OperatorRow, now: OperatorRow) -> list[Change]:
    places = (_at(was.file, was.line), _at(now.file, now.line))
    pairs = (
        ("schema", was.schema, now.schema),
        ("tags", ", ".join(was.tags), ", ".join(now.tags)),
        ("structured", _structured(was), _structured(now)),
        ("autograd", was.autograd, now.autograd),
    )
    return [Change(what, old, new, *places) for what, old, new in pairs if old != new]


def _structured(row: OperatorRow) -> str:
    return "structured" if row.structured else f"delegates to {row.delegates}" if row.delegates else "not structured"


def _dispatch(was: OperatorRow, now: OperatorRow) -> list[Change]:
    """Keys whose function is another one; what is inherited is told by the operator that owns it."""
    old, new = _table(was), _table(now)
    changes = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, ("", "")), new.get(key, ("", ""))
        if before[0] != after[0]:
            changes.append(Change(key, before[0], after[0], before[1], after[1]))
    return changes


def _table(row: OperatorRow) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for cell in row.cells:
        if cell.how == "delegate":
            continue
        names = " | ".join(sorted({place.name for place in cell.functions})) or cell.how
        first = cell.functions[0].at if cell.functions else _at(cell.file, cell.line)
        if cell.key in found:
            names = f"{found[cell.key][0]}, {names}"
        found[cell.key] = (names, first)
    return found


def _backends(result: DiffReport, was: OperatorRow, now: OperatorRow) -> None:
    for backend in operators.PLAIN:
        before, after = was.served.get(backend, ""), now.served.get(backend, "")
        if after and not before:
            result.gained.setdefault(backend, []).append(now.name)
        if before and not after:
            result.lost.setdefault(backend, []).append(now.name)


# -- kernels ---------------------------------------------------------------------------------------------------------


def _kernels(
    result: DiffReport, old: Store, new: Store, before: Mapping[str, OperatorRow], after: Mapping[str, OperatorRow]
) -> None:
    """Kernel functions and ``__global__`` functions: in another file, renamed, new, gone."""
    was, now = _homes(old), _homes(new)
    used = _users(before, after)
    for key in sorted(was.keys() & now.keys()):
        gone, come = _difference(was[key], now[key])
        if gone and come:
            kind, name = key
            result.kernels.append(
                Moved(kind, Place(name, *gone[0]), Place(name, *come[0]), "moved", used.get(name, []))
            )
    gone_names = sorted(was.keys() - now.keys())
    new_names = sorted(now.keys() - was.keys())
    for kind, name in gone_names:
        candidate = _renamed(kind, name, was, now, new_names, result.dispatch)
        if candidate:
            new_names.remove((kind, candidate))
            result.kernels.append(
                Moved(
                    kind,
                    Place(name, *was[kind, name][0]),
                    Place(candidate, *now[kind, candidate][0]),
                    "renamed",
                    used.get(candidate, used.get(name, [])),
                )
            )
        else:
            result.kernels_removed.append(_kernel(kind, name, was, [n for _, n in new_names]))
    result.kernels_added = [_kernel(kind, name, now, []) for kind, name in new_names]


#: (kind, name) -> the places where it is defined.
_Homes = dict[tuple[str, str], list[tuple[str, int]]]


def _homes(store: Store) -> _Homes:
    """Where kernels are: CUDA kernels, and functions that a dispatch table or a stub names."""
    wanted = {edge[1] for edge in queries.links(store, EdgeKind.DISPATCHES, EdgeKind.REGISTERS)}
    found: _Homes = {}
    rows = [*queries.nodes_by_id(store, sorted(wanted)).values(), *queries.nodes(store, NodeKind.CUDA_KERNEL)]
    for node in rows:
        if node.file and node.kind in (NodeKind.FUNCTION, NodeKind.CUDA_KERNEL):
            found.setdefault((node.kind, node.name), []).append((node.file, node.line))
    return found


def _difference(
    was: Sequence[tuple[str, int]], now: Sequence[tuple[str, int]]
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Places whose file only one side has."""
    old_files, new_files = {file for file, _ in was}, {file for file, _ in now}
    return [p for p in was if p[0] not in new_files], [p for p in now if p[0] not in old_files]


def _users(*tables: Mapping[str, OperatorRow]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for table in tables:
        for row in table.values():
            for cell in row.cells:
                if cell.how not in ("delegate", "fallthrough"):
                    for place in cell.functions:
                        found.setdefault(place.name, {})[row.name] = None
    return {name: list(ops) for name, ops in found.items()}


def _renamed(
    kind: str,
    name: str,
    was: _Homes,
    now: _Homes,
    candidates: Sequence[tuple[str, str]],
    dispatch: Iterable[Subject],
) -> str:
    """The new name of a kernel that is gone: what stands in its row of the table, else the most similar of its file."""
    new = {n for k, n in candidates if k == kind}
    for subject in dispatch:
        for change in subject.changes:
            if change.old == name and change.new in new:
                return change.new
    files = {file for file, _ in was[kind, name]}
    same_file = [n for n in sorted(new) if files & {file for file, _ in now[kind, n]}]
    rated = [(SequenceMatcher(None, name, other).ratio(), other) for other in same_file]
    best = max(rated, default=(0.0, ""))
    return best[1] if best[0] >= _SIMILAR and len(rated) else ""


def _kernel(kind: str, name: str, homes: _Homes, others: Sequence[str]) -> Single:
    return Single(name, _at(*homes[kind, name][0]), kind, get_close_matches(name, others, n=2, cutoff=0.8))


# -- formulas and stubs ----------------------------------------------------------------------------------------------


def _formulas(result: DiffReport, old: Store, new: Store) -> None:
    was = {node.name: node for node in queries.nodes(old, NodeKind.FORMULA)}
    now = {node.name: node for node in queries.nodes(new, NodeKind.FORMULA)}
    for name in sorted(now.keys() - was.keys()):
        result.formulas_added.append(_formula(now[name], [n for n in was if n not in now]))
    for name in sorted(was.keys() - now.keys()):
        result.formulas_removed.append(_formula(was[name], [n for n in now if n not in was]))
    for name in sorted(was.keys() & now.keys()):
        before, after = was[name], now[name]
        if before.attrs == after.attrs:
            continue
        old_texts, new_texts = formula_texts(before.attributes()), formula_texts(after.attributes())
        places = (_at(before.file, before.line), _at(after.file, after.line))
        changes = [
            Change(key, old_texts.get(key, ""), new_texts.get(key, ""), *places)
            for key in sorted(old_texts.keys() | new_texts.keys())
            if old_texts.get(key, "") != new_texts.get(key, "")
        ]
        if changes:
            result.formulas.append(Subject(name, _at(after.file, after.line), changes))


def _formula(node: queries.NodeRow, others: Sequence[str]) -> Single:
    attrs = node.attributes()
    return Single(
        node.name, _at(node.file, node.line), str(attrs.get("op") or ""), get_close_matches(node.name, others, n=1)
    )


def formula_texts(attrs: Mapping[str, Any]) -> dict[str, str]:
    """variable -> formula, ``forward:result`` -> forward formula, of a formula's attributes."""
    found = {}
    for entry in attrs.get("vars") or ():
        found[", ".join(entry.get("vars") or ())] = str(entry.get("formula") or "")
    for entry in attrs.get("forward") or ():
        found[f"forward {', '.join(entry.get('vars') or ())}"] = str(entry.get("formula") or "")
    return found


def _stubs(result: DiffReport, old: Store, new: Store) -> None:
    was, now = _registered(old), _registered(new)
    for name in sorted(was.keys() | now.keys()):
        before, after = was.get(name, {}), now.get(name, {})
        changes = [
            Change(device.upper(), *_sides(before.get(device), after.get(device)))
            for device in sorted(before.keys() | after.keys())
            if set(before.get(device, {})) != set(after.get(device, {}))
        ]
        if changes:
            result.stubs.append(Subject(name, changes[0].new_place or changes[0].old_place, changes))


#: function -> where it was registered.
_Sites = dict[str, str]


def _sides(before: _Sites | None, after: _Sites | None) -> tuple[str, str, str, str]:
    before, after = before or {}, after or {}
    return (
        ", ".join(sorted(before)),
        ", ".join(sorted(after)),
        next(iter(before.values()), ""),
        next(iter(after.values()), ""),
    )


def _registered(store: Store) -> dict[str, dict[str, _Sites]]:
    """stub -> device -> function -> registration."""
    edges = list(queries.edges(store, EdgeKind.REGISTERS))
    ends = queries.nodes_by_id(store, sorted({end for edge in edges for end in (edge.src, edge.dst)}))
    names = {node.id: node.name for node in ends.values()}
    found: dict[str, dict[str, _Sites]] = {}
    for edge in edges:
        device = device_of(edge.key) or edge.key.lower()
        sites = found.setdefault(names.get(edge.src, ""), {}).setdefault(device, {})
        sites.setdefault(names.get(edge.dst, ""), f"{edge.file}:{edge.line}")
    return found
