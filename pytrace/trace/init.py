"""``pytrace init``: how ``import torch`` fills ``torch._C``, in the order in which it happens.

Python imports ``torch._C``, C's ``PyInit__C`` calls ``initModule`` (torch/csrc/Module.cpp), and that calls one
initialiser after another. What each one puts into Python are its ``provides`` edges; the order is that of the lines of
the calls. Later, Python calls bindings that fill in more (``torch._C._initExtension``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup
from pytrace.trace.answers import Ref, Via
from pytrace.trace.walk import ref, via

ENTRY = "PyInit__C"
#: How deep an initialiser may call others that provide something; deeper ones are not looked for.
_LEVELS = 6


@dataclass(eq=False, repr=False)
class Provided:
    """Names that an initialiser puts into one owner by one statement or table, in the order of the source."""

    owner: str  #: ``torch._C``, ``torch._C._autograd``
    kind: str  #: function, class, type, module, object, property
    names: list[str]
    file: str  #: where the first of the names is written: a row of the table, the pybind11 definition
    line: int
    at: int = 0  #: the line of the initialiser that puts them in
    guard: str = ""
    table: str = ""  #: the method table
    members: int = 0  #: of a type or module: how many names it has
    generated: int = 0  #: of these, how many the binding generator writes


@dataclass(eq=False, repr=False)
class Initialiser:
    """A function that fills in something, and the functions that it calls for it."""

    ref: Ref
    via: Via | None = None
    provides: list[Provided] = field(default_factory=list)
    unnamed: list[int] = field(default_factory=list)  #: lines that put in names which are computed
    calls: list[Initialiser] = field(default_factory=list)
    others: list[Call] = field(default_factory=list)  #: what else it calls, in order; only told of the first
    seen: bool = False  #: told at another place


@dataclass(eq=False, repr=False)
class Call:
    """A call that fills in nothing."""

    name: str
    at: str


@dataclass(eq=False, repr=False)
class Later:
    """What Python calls after the import began: a binding that fills in more."""

    binding: Ref
    callers: list[Via]
    caller_names: list[str]
    fills: Initialiser


@dataclass(eq=False, repr=False)
class InitAnswer:
    """Answer of ``pytrace init``."""

    imported: list[Via]  #: where Python imports the module
    entry: Ref | None
    root: Initialiser | None
    later: list[Later]
    initialisers: int = 0
    names: int = 0
    sentence: str = ""


def answer(store: Store) -> InitAnswer:
    """Tell the whole import. When the tree has no ``PyInit__C`` the answer says so and is otherwise empty."""
    entry = next(iter(store.named(ENTRY, NodeKind.FUNCTION)), None)
    if entry is None:
        return InitAnswer([], None, None, [], sentence=f"The tree has no {ENTRY}: torch/csrc is not in it.")
    calls = store.edges_from(entry.id, EdgeKind.CALLS)
    imported = [via(e) for e in store.edges_to(entry.id, EdgeKind.CALLS) if e.rule == "python-import"]
    drawer = _Drawer(store)
    root = None
    if calls:
        root = drawer.draw(store.node(calls[0].dst), via(calls[0]), first=True)
    later = _later(store, drawer)
    answer = InitAnswer(imported, ref(entry), root, later)
    answer.initialisers, answer.names = drawer.count, len(drawer.given)
    return answer


class _Drawer:
    """Draws initialisers; each function is told once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.useful, self.calls, self.nodes = _leading(store)
        self.opened: set[int] = set()
        self.given: set[int] = set()  #: bindings told
        self.count = 0
        self.computed = _computed(store)

    def draw(self, node: Node, edge: Via | None, *, first: bool = False) -> Initialiser:
        """One initialiser and all below it; ``first``: with what else it calls."""
        told = Initialiser(ref(node), edge)
        if node.id in self.opened:
            told.seen = True
            return told
        self.opened.add(node.id)
        self.count += 1
        told.provides = self._provides(node.id)
        told.unnamed = [line for line in self.computed.get(node.file, ()) if node.line <= line <= node.end_line]
        for call in self.calls.get(node.id, ()):
            if call.dst in self.useful and call.dst != node.id:
                told.calls.append(self.draw(self.nodes[call.dst], via(call)))
        if first:
            told.others = self._others(node, told)
        return told

    def _others(self, node: Node, told: Initialiser) -> list[Call]:
        """The calls in between, as far as the first name that pybind11 defines: below are bodies of such functions."""
        last = min((p.at for p in told.provides if p.kind == "function" and not p.table), default=node.end_line)
        known = {c.ref.name for c in told.calls}
        # ``THPUtils_addPyMethodDefs(methods, python_functions())`` is told by what it adds
        adding = {p.at + i for p in told.provides if p.table for i in (0, 1)}
        edges = self.store.edges_from(node.id, EdgeKind.CALLS)
        edges = [e for e in edges if e.line < last and e.file == node.file and e.line not in adding]
        ends = self.store.nodes(e.dst for e in edges)
        found: dict[tuple[str, int], Call] = {}
        for edge in edges:
            name = ends[edge.dst].name
            if name not in known and (name, edge.line) not in found:
                found[name, edge.line] = Call(name, f"{edge.file}:{edge.line}")
        return list(found.values())

    def _provides(self, function: int) -> list[Provided]:
        edges = self.store.edges_from(function, EdgeKind.PROVIDES)
        ends = self.store.nodes(e.dst for e in edges)
        types = {
            ends[e.dst].attrs.get("tp_name") or ends[e.dst].name for e in edges if e.key in ("type", "class", "module")
        }
        groups: dict[tuple[str, str, str, str], Provided] = {}
        told: set[tuple[int, str]] = set()  #: ``PyType_Ready(&T)``, then ``PyModule_AddObject(module, "T", made)``
        for edge in sorted(edges, key=lambda e: e.line):
            node = ends[edge.dst]
            owner, _, bare = node.name.rpartition(".")
            self.given.add(node.id)
            if owner in types or (node.id, edge.guard) in told:
                continue  # told by its type, or already
            told.add((node.id, edge.guard))
            table = str(edge.attrs.get("table", ""))
            alone = str(edge.line) if table or edge.key in ("type", "module", "object") else ""
            key = (owner, edge.key, table, edge.guard + alone)
            group = groups.get(key)
            if group is None:
                group = groups[key] = Provided(
                    owner, edge.key, [], node.file or edge.file, node.line or edge.line, edge.line, edge.guard, table
                )
                if edge.key in ("type", "module", "object"):
                    names = {node.name, str(node.attrs.get("tp_name") or node.name)}
                    counts = [lookup.members(self.store, name) for name in sorted(names)]
                    group.members, group.generated = (sum(column) for column in zip(*counts))
            if bare not in group.names:
                group.names.append(bare)
        return list(groups.values())


def _leading(store: Store) -> tuple[set[int], dict[int, list[Edge]], dict[int, Node]]:
    """Functions from which something is provided, the calls between them in source order, and their nodes."""
    providers = {e.src for e in store.all_edges(EdgeKind.PROVIDES)}
    nodes = store.nodes(providers)
    providers |= set(_computing(store, nodes))
    useful, frontier = set(providers), set(providers)
    for _ in range(_LEVELS):
        edges = store.edges_to(frontier, EdgeKind.CALLS)
        fresh = {e.src for e in edges} - useful
        found = store.nodes(fresh)
        nodes.update(found)
        frontier = {i for i in fresh if found[i].kind == NodeKind.FUNCTION and not found[i].name.endswith("operator()")}
        useful |= frontier
        if not frontier:
            break
    calls: dict[int, list[Edge]] = {}
    nodes.update(store.nodes(useful - nodes.keys()))
    for edge in store.edges_from(useful, EdgeKind.CALLS):
        if edge.dst in useful:
            calls.setdefault(edge.src, []).append(edge)
    for edges in calls.values():
        edges.sort(key=lambda e: e.line)
    return useful, calls, nodes


def _computed(store: Store) -> dict[str, list[int]]:
    """Lines, by file, that put names into Python which are computed."""
    found: dict[str, list[int]] = {}
    for path, line, *_ in lookup.unresolved_of(store, "binding"):
        found.setdefault(path, []).append(line)
    return found


def _computing(store: Store, known: dict[int, Node]) -> list[int]:
    """The functions around these lines; they are added to ``known``."""
    ids = []
    for path, lines in _computed(store).items():
        for line in lines:
            for node in store.at(path, line):
                if node.kind == NodeKind.FUNCTION:
                    known[node.id] = node
                    ids.append(node.id)
                    break
    return ids


def _later(store: Store, drawer: _Drawer) -> list[Later]:
    """Bindings whose C++ function fills in more, and the Python code that calls them."""
    edges = store.edges_to(drawer.useful, EdgeKind.IMPLEMENTED_BY)
    bindings = store.nodes(e.src for e in edges)
    callers: dict[int, list[Edge]] = {}
    for call in store.edges_to(list(bindings), EdgeKind.CALLS, EdgeKind.ALIAS_OF):
        if call.kind == EdgeKind.CALLS:
            callers.setdefault(call.dst, []).append(call)
    names = store.nodes(e.src for rows in callers.values() for e in rows)
    found: list[tuple[bool, str, int, Later]] = []
    for edge in edges:
        node = drawer.nodes[edge.dst]
        if edge.dst in drawer.opened or edge.src not in callers:
            continue
        rows = callers[edge.src]
        told = Later(
            ref(bindings[edge.src]), [via(r) for r in rows], [names[r.src].name for r in rows], drawer.draw(node, None)
        )
        if told.fills.provides or told.fills.calls or told.fills.unnamed:
            found.append((rows[0].file != "torch/__init__.py", rows[0].file, rows[0].line, told))
    return [told for *_, told in sorted(found, key=lambda row: row[:3])]
