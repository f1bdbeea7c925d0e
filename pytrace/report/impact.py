"""What a change touches: from changed lines to operators, Python names, tests and benchmarks.

    patch ─▶ files and lines ─▶ functions, entries, registrations ─▶ operators ─▶ Python names ─▶ tests

The answer is bounded or says that it is not: a change that everything feels (a core header, shared infrastructure, the
generators) is *unbounded*, and no list of tests is pretended to be enough.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytrace.files import kind_of
from pytrace.model import NodeKind
from pytrace.report import changed, declared, including, queries, testing
from pytrace.report.changed import Changed
from pytrace.report.patches import FileChange, ranges
from pytrace.report.queries import NodeRow
from pytrace.report.rows import Place, Stamp
from pytrace.report.spread import Hit, Spread
from pytrace.report.stamp import stamp
from pytrace.store import Store
from pytrace.trace.noise import is_infrastructure
from pytrace.trace.python_side import is_public, rank

#: A header that more than this share of the files with kernels includes is included by everything.
_UNBOUNDED_SHARE = 0.5
#: So many operators are crossed to find a test, when nobody says how many.
_MOST_HOPS = 4
#: Files that every operator is generated from or by: nothing bounds a change there.
_GENERATORS = ("torchgen/", "tools/autograd/", "aten/src/ATen/templates/")


@dataclass(eq=False, repr=False)
class Touched:
    """Something that the change is of."""

    kind: str
    name: str
    file: str
    line: int
    how: str  #: ``changed``, ``entry``, ``registration``, ``mentions X``, ``file``, ``removed``, ``gone``, ``lost X``
    lines: list[str] = field(default_factory=list)  #: ranges, ``76-78``


@dataclass(eq=False, repr=False)
class WayStep:
    """One crossing of a path, from the operator down: what is reached, by which edge."""

    kind: str
    name: str
    file: str
    line: int
    via: str = ""  #: the kind of edge from the step before
    key: str = ""
    rule: str = ""
    at: str = ""  #: where the crossing is written
    guard: str = ""
    candidates: int = 1


@dataclass(eq=False, repr=False)
class Affected:
    """An operator that feels the change; overloads that feel it in the same way stand together."""

    op: Place
    distance: int
    hops: int  #: operators between it and the change
    certain: bool
    keys: list[str]
    way: list[WayStep]
    overloads: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    base: bool = False  #: it is gone: only the old revision has it


@dataclass(eq=False, repr=False)
class AffectedName:
    """A public Python name that feels the change."""

    name: str
    file: str
    line: int
    distance: int
    hops: int
    through: str  #: the operator, or the changed Python function
    certain: bool


@dataclass(eq=False, repr=False)
class ImpactReport:
    """Answer of ``pytrace impact``."""

    stamp: Stamp
    against: str  #: what the tree was compared with, as words
    files: list[dict[str, str]]  #: path, status, and why a file was not followed
    touched: list[Touched]
    operators: list[Affected]
    python: list[AffectedName]
    tests: list[testing.TestRun]
    entries: list[str]  #: OpInfo and ModuleInfo names
    benchmarks: list[str]
    unbounded: list[str]  #: reasons; empty when the answer is bounded
    hops: int
    beyond: int  #: operators that call the last ones and were not followed
    notes: list[str] = field(default_factory=list)


#: Gives the old text of a file, by its old path; None when it is not known.
OldSource = Callable[[str], "str | None"]


def report(
    store: Store,
    changes: Sequence[FileChange],
    *,
    against: str,
    hops: int | None = None,
    old_source: OldSource = lambda path: None,
) -> ImpactReport:
    """What ``changes`` touch. ``store`` is the index of the new state.

    ``hops`` is how many operators that call an affected one are crossed. None is one, and more when no test is found by
    that: an internal operator's tests are those of the operators above it.

    ``old_source`` gives the text of a file before the change: what is gone is looked up there.
    """
    root = store.meta("root")
    known = changed.evidence(store)
    found = [changed.find(store, change, _source(root, change.path), known) for change in changes]
    seeds = _Seeds()
    for one in found:
        for seed in one.seeds.values():
            seeds.add(seed.node, _touched(seed), seed.key)
    headers = any(one.header for one in found)
    reverse = including.reversed_includes(including.read(root, store)) if headers else {}
    named, common = declared.users(store, found, reverse) if headers else ([], [])
    for node, name in named:
        seeds.add(node, Touched(node.kind, node.name, node.file, node.line, f"mentions {name}"))
    notes, operators = _removed(store, changes, old_source, seeds)
    entries = testing.entries(root)
    for crossed in (hops,) if hops is not None else range(1, _MOST_HOPS + 1):
        spread = Spread(store, seeds.nodes.values(), crossed, seeds.keys)
        picked = _picked(spread, entries, operators)
        if picked or not spread.hits:
            break
    result = ImpactReport(stamp(store), against, _files(found), seeds.touched, [], [], [], [], [], [], crossed, 0)
    result.notes += notes
    picked += [entry for entry in _edited_entries(root, entries, changes) if entry not in picked]
    operators = [*_operators(spread), *operators]
    result.unbounded += common
    _bounds(store, reverse, found, spread, result)
    _fill(root, spread, operators, picked, result)
    return result


@dataclass
class _Seeds:
    """What the walk starts from, and how it is told."""

    nodes: dict[int, NodeRow] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    touched: list[Touched] = field(default_factory=list)

    def add(self, node: NodeRow, touched: Touched, key: str = "") -> None:
        """One more; a node that is a seed for two keys is one for all."""
        if node.id in self.nodes:
            if self.keys.get(node.id) != key:
                self.keys.pop(node.id, None)
            return
        self.nodes[node.id] = node
        self.touched.append(touched)
        if key:
            self.keys[node.id] = key


def _edited_entries(root: str, entries: Sequence[testing.Entry], changes: Sequence[FileChange]) -> list[testing.Entry]:
    """Test entries whose own text has changed."""
    from pytrace.report import edited_tests

    files = {entry.file for entry in entries}
    found = []
    for change in changes:
        if change.path in files:
            numbers = [line.number for line in change.added] + [first for first, _ in change.gaps]
            if change.whole:
                found += [entry for entry in entries if entry.file == change.path]
            else:
                found += edited_tests.of_lines(entries, change.path, _source(root, change.path), numbers)
    return found


def _source(root: str, path: str) -> list[str]:
    if not kind_of(path):
        return []
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read().split("\n")
    except (OSError, ValueError):
        return []


def _touched(seed: changed.Seed) -> Touched:
    how = {"inside": "changed", "around": "changed"}.get(seed.how, seed.how)
    lines = [f"{a}-{b}" if a != b else str(a) for a, b in ranges(seed.lines)]
    return Touched(seed.node.kind, seed.node.name, seed.node.file, seed.node.line, how, lines)


def _files(found: Iterable[Changed]) -> list[dict[str, str]]:
    rows = []
    for one in found:
        change = one.change
        path, old_path, status = change.path, change.old_path, change.status
        if change.whole and status == "modified":
            status = "named"
        if change.reversed:  # what the patch says, not what the tree looks like from its other side
            path, old_path = old_path, path
            status = {"added": "deleted", "deleted": "added"}.get(status, status)
        row = {"path": path, "status": status}
        if old_path and old_path != path:
            row["old_path"] = old_path
        if not one.kind:
            is_test = one.change.path.startswith("test/") and one.change.path.endswith(".py")
            row["note"] = "a test: run it" if is_test else "bears on no operator (not indexed)"
        elif not one.seeds and not one.outside and not one.change.removed:
            if not change.whole and not change.added and not change.gaps:
                row["note"] = "moved as it is" if change.status == "renamed" else "no line of it changed"
            else:
                row["note"] = "comments, blanks and includes only"
        rows.append(row)
    return rows


# -- what was removed ------------------------------------------------------------------------------------------------


def _removed(
    store: Store, changes: Sequence[FileChange], old_source: OldSource, seeds: _Seeds
) -> tuple[list[str], list[Affected]]:
    """Add what lost lines, and what used something that is gone, to ``seeds``.

    Returns notes, and the operators that are gone themselves.
    """
    from pytrace.report import gone, removed

    missing: list[FileChange] = []
    sources: dict[str, str] = {}
    unknown: list[str] = []
    for change in changes:
        if not kind_of(change.old_path):
            continue
        source = old_source(change.old_path)
        if source is None:
            if change.removed:
                unknown.append(change.old_path)
            continue
        sources[change.old_path] = source
        there, lost = removed.find(store, change, source) if change.removed else ([], False)
        for node, lines in there:
            shown = [f"{a}-{b}" if a != b else str(a) for a, b in ranges(lines)]
            seeds.add(node, Touched(node.kind, node.name, node.file, node.line, "removed", shown))
        if lost:
            missing.append(change)
    notes = []
    if unknown:
        notes.append(
            f"Lines were removed from {', '.join(unknown)}, whose old text is not known: it is not told who used what "
            "they held."
        )
    if not missing:
        return notes, []
    homes = {change.old_path or change.path: change.path for change in changes}
    found = gone.find(store, missing, sources, homes)
    for seed in found.seeds:
        told = _touched(seed)
        told.how = "gone"
        seeds.touched.append(told)
    for user in found.users:
        how = f"lost {user.lost}" if user.lost else "lost a registration"
        node = user.node
        seeds.add(node, Touched(node.kind, node.name, node.file, node.line, how), user.key)
    if found.unused:
        more = f" and {len(found.unused) - 3} more" if len(found.unused) > 3 else ""
        them = "them" if len(found.unused) > 1 else "it"
        notes.append(f"{', '.join(found.unused[:3])}{more}: gone, and nothing names {them}.")
    operators = [seed.node for seed in found.seeds if seed.node.kind == NodeKind.OP]
    return notes, [_gone_operator(node) for node in operators]


def _gone_operator(node: NodeRow) -> Affected:
    place = Place(node.name, node.file, node.line)
    return Affected(place, 0, 0, True, [], [WayStep(node.kind, node.name, node.file, node.line)], base=True)


# -- operators -------------------------------------------------------------------------------------------------------


def _operators(spread: Spread) -> list[Affected]:
    """The hits, nearest first; overloads of one base name that are hit through the same function stand together."""
    ordered = sorted(spread.hits.values(), key=_rank)
    edges = queries.edges_by_id(
        spread.store, sorted({edge for hit in ordered for _, edge in spread.way(hit.state) if edge})
    )
    groups: dict[tuple[str, str, int, bool], Affected] = {}
    for hit in ordered:
        way = _way(spread, hit, edges)
        base = hit.op.name.partition(".")[0].rstrip("_")
        key = (base, way[1].name if len(way) > 1 else "", hit.hops, hit.certain)
        one = groups.get(key)
        if one is None:
            place = Place(hit.op.name, hit.op.file, hit.op.line)
            groups[key] = Affected(place, hit.distance, hit.hops, hit.certain, sorted(hit.keys), way)
        else:
            one.overloads.append(hit.op.name)
            one.keys = sorted({*one.keys, *hit.keys})
    return list(groups.values())


def _rank(hit: Hit) -> tuple[bool, int, int, bool, str, int, str]:
    """Near ones first; of equally near ones the operator that owns the kernels before those that delegate to it."""
    delegates = '"structured":true' not in (hit.op.attrs or "")
    return not hit.certain, hit.hops, hit.distance, delegates, hit.op.file, hit.op.line, hit.op.name


def _way(spread: Spread, hit: Hit, edges: dict[int, tuple[str, str, str, str, int, str, int]]) -> list[WayStep]:
    steps = []
    via: tuple[str, str, str, str, int, str, int] = ("", "", "", "", 0, "", 1)
    for node, edge in spread.way(hit.state):
        kind, key, rule, file, line, guard, candidates = via
        at = f"{file}:{line}" if file else ""
        steps.append(WayStep(node.kind, node.name, node.file, node.line, kind, key, rule, at, guard, candidates))
        via = edges.get(edge, ("", "", "", "", 0, "", 1))
    return steps


# -- bounds ----------------------------------------------------------------------------------------------------------


def _bounds(
    store: Store,
    reverse: Mapping[str, Sequence[str]],
    found: Sequence[Changed],
    spread: Spread,
    result: ImpactReport,
) -> None:
    """Reasons why no list can be complete."""
    headers = [one for one in found if one.header]
    if headers:
        homes = _kernel_files(store)
        bounded: dict[bool, dict[str, int]] = {}
        for one in headers:
            seen = including.seen_by(one.change.path, reverse)
            share = len(seen & homes) / max(1, len(homes))
            if share > _UNBOUNDED_SHARE:
                result.unbounded.append(
                    f"{one.change.path} is included by {len(seen):,} files, {share:.0%} of those that hold kernels: "
                    "everything may feel a change outside of its functions."
                )
            elif seen:
                bounded.setdefault(one.change.whole, {})[one.change.path] = len(seen)
        result.notes += [note for whole in (False, True) for note in _headers(bounded.get(whole, {}), whole)]
    infrastructure = sorted(
        {t.name for t in result.touched if t.kind == NodeKind.FUNCTION and is_infrastructure(t.name)}
    )
    if infrastructure:
        more = f" and {len(infrastructure) - 3} more" if len(infrastructure) > 3 else ""
        result.unbounded.append(
            f"{', '.join(infrastructure[:3])}{more}: shared infrastructure that every operator may use; "
            "the graph does not keep all of its callers."
        )
    for one in found:
        path = one.change.path
        if kind_of(path) and one.change.status in ("modified", "renamed") and not os.path.exists(_full(store, path)):
            result.unbounded.append(
                f"{path} is not in this tree (is the patch of another revision, or of a folder above?): what its "
                "change touches is not known."
            )
        if one.kind and path.startswith(_GENERATORS) and one.kind not in ("derivatives", "deprecated"):
            result.unbounded.append(f"{path} is part of the generators: every operator's generated code may change.")
        if one.outside and one.kind == "tags":
            result.unbounded.append(f"{path}: tags of any operator may change.")
    kernels = _with_kernels(store)
    direct = {hit.op.id for hit in spread.hits.values() if hit.hops == 0}
    if kernels and len(direct & kernels) > _UNBOUNDED_SHARE * len(kernels):
        result.unbounded.append(f"{len(direct):,} operators reach the change directly: more than half of all.")


def _headers(seen: dict[str, int], whole: bool) -> list[str]:
    """Notes on headers that not everything includes, the most included first."""
    told = [
        f"{path} (included by {count:,} file{'s' if count > 1 else ''})"
        for path, count in sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    if not told:
        return []
    more = f" and {len(told) - 3} more headers" if len(told) > 3 else ""
    what = "Taken as changed" if whole else "Changed outside of functions"
    followed = "who uses their functions" if whole else "what names the changed things"
    return [f"{what}: {', '.join(told[:3])}{more}. Of what includes them, only {followed} was followed."]


def _full(store: Store, path: str) -> str:
    return os.path.join(store.meta("root"), path)


def _kernel_files(store: Store) -> set[str]:
    """Files that hold a function which some dispatch table names."""
    sql = (
        "SELECT DISTINCT f.path FROM edge e JOIN node n ON n.id = e.dst JOIN file f ON f.id = n.file"
        " WHERE e.kind = 'dispatches'"
    )
    return {row[0] for row in store.db.execute(sql)}


def _with_kernels(store: Store) -> set[int]:
    sql = "SELECT DISTINCT src FROM edge WHERE kind = 'dispatches' AND key IN ('CPU', 'CUDA', 'MPS', 'XPU')"
    return {row[0] for row in store.db.execute(sql)}


# -- names and tests -------------------------------------------------------------------------------------------------


def _fill(
    root: str, spread: Spread, operators: list[Affected], picked: list[testing.Entry], result: ImpactReport
) -> None:
    nodes = spread.nodes
    result.operators = operators
    by_op: dict[int, list[str]] = {}
    for named in spread.names.values():
        if named.node.kind != NodeKind.PYTHON or not is_public(named.node.name):
            continue
        through = nodes[named.op or named.root].name
        node = named.node
        result.python.append(
            AffectedName(node.name, node.file, node.line, named.distance, named.hops, through, named.certain)
        )
        if named.op:
            by_op.setdefault(named.op, []).append(node.name)
    result.python.sort(key=lambda n: (not n.certain, n.hops, n.distance, rank(n.name), n.name))
    ids = {hit.op.name: hit.op.id for hit in spread.hits.values()}
    for one in operators:
        names = [name for op in (one.op.name, *one.overloads) for name in by_op.get(ids.get(op, 0), ())]
        own = _base(one.op.name).rstrip("_")  # torch.cumsum before what calls it
        one.python = sorted(dict.fromkeys(names), key=lambda name: (name.rpartition(".")[2] != own, rank(name), name))
    result.beyond = _beyond(spread)
    keys = {key for one in operators for key in one.keys if one.hops == 0}
    result.entries = list(dict.fromkeys(entry.name for entry in picked))
    result.tests = _changed_tests(result) + testing.runs(root, picked, keys)
    found = testing.benchmarks(root, [n.name for n in result.python if n.hops == 0 or n.distance <= 1])
    result.benchmarks = [each.file for each in found]
    if operators and not picked:
        result.notes.append(
            f"No OpInfo or ModuleInfo entry reaches these operators over {result.hops} hops: no test is known, which "
            "does not say that none is needed."
        )


def _beyond(spread: Spread) -> int:
    """Operators whose kernels call one that was not followed further."""
    links = queries.links_to(spread.store, sorted(spread.last), ("calls_op",))
    return len({link[0] for link in links} - {state[0] for state in spread.steps})


def _picked(
    spread: Spread, entries: Sequence[testing.Entry], operators: Sequence[Affected] = ()
) -> list[testing.Entry]:
    """Entries whose Python name or operator feels the change, nearest first.

    ``operators`` add those that only the old revision knows.
    """
    cost: dict[str, int] = {}
    for named in spread.names.values():
        cost.setdefault(named.node.name, named.hops * 100 + named.distance + (0 if named.certain else 50))
    bases: dict[str, int] = {}
    for hit in spread.hits.values():
        weight = hit.hops * 100 + (0 if hit.certain else 50)
        base = _base(hit.op.name)
        bases[base] = min(weight, bases.get(base, weight))
    for one in operators:
        if one.base:
            bases.setdefault(_base(one.op.name), one.hops * 100)
    chosen = []
    for entry in entries:
        weights = [cost[name] for name in entry.python if name in cost]
        weights += [bases[name] for name in entry.operators if name in bases]
        if weights:
            chosen.append((min(weights), entry))
    chosen.sort(key=lambda pair: (pair[0], pair[1].file, pair[1].line))
    return [entry for _, entry in chosen]


def _base(name: str) -> str:
    """``aten::mul.Tensor`` -> ``mul``."""
    return name.partition("::")[2].partition(".")[0]


def _changed_tests(result: ImpactReport) -> list[testing.TestRun]:
    return [
        testing.TestRun(row["path"], [], "changed itself")
        for row in result.files
        if row.get("note") == "a test: run it" and os.path.basename(row["path"]).startswith("test_")
        and row["status"] != "deleted"
    ]  # fmt: skip
