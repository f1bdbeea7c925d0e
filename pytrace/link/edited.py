"""Linking a few edited C++ files anew, without the rest of the tree.

An edit inside of function bodies changes what these functions reach, and the lines of everything below. It does not
change what any other file means. So: when all that the file *offers* is as before (its definitions, classes, macros,
registrations, what it includes, its uses of templates), only its own calls are resolved again, and everything else that
it owns moves to its new lines. In every other case ``relink`` says that it cannot tell, and everything is linked.

What the rest of the tree offers is kept in the store: see link/state.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytrace.graph import Delta, Graph
from pytrace.link import calls, functions, macros, registration_stubs
from pytrace.link.binding_lambdas import Lambdas
from pytrace.link.context import Context
from pytrace.link.resolved import Packed
from pytrace.link.resolver import Resolver
from pytrace.link.state import BODY, CPP, State
from pytrace.link.vendor_headers import is_outside
from pytrace.model import EdgeKind, Facts, NodeKind
from pytrace.store import Store

#: Rules of the edges that ``calls`` makes from one file alone: they are made anew.
_MADE_ANEW = frozenset(
    (
        *("call", "operator-call", "tensor-operator", "direct-dispatch", "stub-call", "launch", "reference"),
        *("construct", "message", "library-call", "functor", "at-dispatch", "operator-lookup"),
    )
)


def relink(
    state: State, before: Mapping[str, tuple[str, Facts]], after: Mapping[str, tuple[str, Facts]], jobs: int
) -> Delta | None:
    """What the edits of a few files change, or None when everything must be linked.

    ``before`` and ``after`` are kind and facts of the changed files.
    """
    if before.keys() != after.keys() or any(kind not in CPP for kind, _ in (*before.values(), *after.values())):
        return None
    if any(_offer(path, before[path][1]) != _offer(path, after[path][1]) for path in after):
        return None
    store, ctx = state.store, state.context
    if ctx is None:
        return None
    table = ctx.macros
    old = {path: _joined(table, path, facts) for path, (_, facts) in before.items()}
    new = {path: _joined(table, path, facts) for path, (_, facts) in after.items()}
    if any(_offer(path, old[path]) != _offer(path, new[path]) for path in new):
        return None
    matched = {path: _match(path, old[path].get("functions", ()), new[path].get("functions", ())) for path in new}
    if None in matched.values():
        return None
    for path in new:
        ctx.files[path] = ctx.files[path][0], new[path]
    known = {path: _ids(store, path, old[path].get("functions", ())) for path in new}
    if None in known.values():
        return None
    delta = Delta(list(new), added=Graph(store.last_node() + 1))
    ids = {
        path: [found[at] if at >= 0 else _new_node(ctx, delta, path, number) for number, at in enumerate(places)]
        for path in new
        if (found := known[path]) is not None and (places := matched[path]) is not None
    }
    _tables(ctx, store, ids)
    resolver = Resolver(ctx)
    resolver.op_nodes = {node.name: node.id for node in store.all_nodes(NodeKind.OP)}
    try:
        told = all(_file(ctx, store, resolver, delta, path, old[path], new[path]) for path in sorted(new))
    except _Unknown:
        return None
    return delta if told else None


def _joined(table: macros.MacroTable, path: str, facts: Facts) -> Facts:
    more = macros.expand_file(table, path, facts) if facts.get("invocations") else {}
    found, gone = macros.expand_bodies(table, path, facts) if facts.get("environments") else ([], set())
    return macros.with_bodies(macros.joined(facts, more) if more else dict(facts), found, gone)


def _offer(path: str, facts: Facts) -> Any:
    """What a file offers to others: its facts without bodies, line numbers and what only itself can see."""
    found = {key: _without_numbers(rows) for key, rows in facts.items() if key not in BODY}
    found["functions"] = [row for row in found.get("functions", ()) if not _own(path, row)]
    return found


def _own(path: str, row: Any) -> bool:
    """Whether a function can be seen in its own file only: internal linkage, and no header."""
    return bool(row[6]) and not path.endswith(functions.HEADERS)


def _match(path: str, old: Any, new: Any) -> list[int] | None:
    """For each function of ``new`` its number in ``old``, -1 for one that only the file itself sees and that is new.

    None when a function went, or one came that others may see.
    """
    found, at = [], 0
    for row in new:
        if at < len(old) and _without_numbers(old[at]) == _without_numbers(row):
            found.append(at)
            at += 1
        elif _own(path, row):
            found.append(-1)
        else:
            return None
    return found if at == len(old) else None


def _without_numbers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_without_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_numbers(item) for key, item in value.items()}
    return 0 if isinstance(value, int) and not isinstance(value, bool) else value


def _ids(store: Store, path: str, rows: Any) -> list[int] | None:
    """The nodes of the functions of an edited file as it was, in their order; None when one is not found.

    Not by the order of ids: a function that came with an earlier edit has an id behind all others.
    """
    nodes: dict[tuple[str, str, int], list[int]] = {}
    for node in store.owned_nodes(path):
        nodes.setdefault((node.kind, node.name, node.line), []).append(node.id)
    found = []
    for row in rows:
        kind, name, _, line, *_ = functions.node_of(row, path)
        ids = nodes.get((kind, name, line))
        if not ids:
            return None
        found.append(ids.pop(0))
    return found


def _tables(ctx: Context, store: Store, edited: Mapping[str, list[int]]) -> None:
    """The tables of the link stage, with the ids that the store knows; those of the functions of ``edited`` files."""
    ids = store.owned_ids(NodeKind.FUNCTION, NodeKind.CUDA_KERNEL)

    def identify(path: str, rows: Sequence[Any]) -> Sequence[int]:
        if is_outside(path):
            return _outside(store, [row[0] for row in rows])
        # Of a file that was edited before, the state knows the functions that it had at first; they come first here.
        return edited[path] if path in edited else ids.get(path, [])[: len(rows)]

    ctx.functions = functions.tabulate(ctx, identify)
    ctx.graph = Graph()  # what was odd is in the store already
    ctx.stubs = registration_stubs.StubTable()
    for node in store.all_nodes(NodeKind.STUB):
        ctx.stubs.add(str(node.attrs.get("qualified", node.name)), node.id)
    for operator, key, kernel in store.sources(NodeKind.OP, EdgeKind.DISPATCHES):
        ctx.kernels_of.setdefault((operator, key), []).append(kernel)


def _vendor_uses(packed: Packed, outside: set[int]) -> set[Any]:
    """What a file uses of vendors' headers (link/vendor_headers.py): their functions, and names that they may know."""
    return {row[1] for row in packed[0] if row[1] in outside} | {call[1] for call in packed[2] if "::" in call[1]}


def _outside(store: Store, names: list[str]) -> list[int]:
    """The nodes of functions of a vendor's headers, which no file owns, in the order of ``names``."""
    ids = {
        name: [n.id for n in store.named(name, NodeKind.FUNCTION) if "header" in n.attrs]
        for name in dict.fromkeys(names)
    }
    return [ids[name].pop(0) for name in names]


def _new_node(ctx: Context, delta: Delta, path: str, number: int) -> int:
    row = ctx.files[path][1]["functions"][number]
    return delta.added.node(*functions.node_of(row, path), owner=path, attrs=functions.attrs_of(row))


def _file(ctx: Context, store: Store, resolver: Resolver, delta: Delta, path: str, old: Facts, new: Facts) -> bool:
    """Put one file's part into the delta; False when it cannot be told from this file alone."""
    symbols = ctx.functions.by_file.get(path, [])
    if len(symbols) != len(new.get("functions", ())):
        return False
    known = [s for s in symbols if s.id <= store.last_node()]
    if len(known) != len(old.get("functions", ())):
        return False
    resolver.note_aliases(path, old.get("usings", ()))
    resolver.lambdas = Lambdas(old)
    before = resolver.pack(resolver.resolve_calls(path, known, old.get("calls", ())))
    after = resolver.pack(resolver.resolve(path, new))
    if _without_numbers(before[4:]) != _without_numbers(after[4:]):
        return False  # virtual calls, uses of templates: other files' edges may depend on them
    if [row[2][1] for row in before[5][2]] != [row[2][1] for row in after[5][2]]:
        return False  # what pybind11 lambdas call
    outside = {s.id for path, found in ctx.functions.by_file.items() if is_outside(path) for s in found}
    if not _vendor_uses(after, outside) <= _vendor_uses(before, outside):
        return False  # what nothing used before has no edges yet
    lines = _Lines()
    kept = {s.id for s in known}
    pairs = [row for s, row in zip(symbols, new.get("functions", ()), strict=True) if s.id in kept]
    lines.learn("functions", old.get("functions", ()), pairs)
    for key, rows in new.items():
        if key not in BODY and key != "functions":
            lines.learn(key, old[key], rows)
    lines.learn("", before[4:], after[4:])
    return _nodes(store, delta, path, new, symbols, lines) and _edges(
        store, delta, path, lines, ctx, resolver, after, new
    )


#: Where the facts of a file hold lines, by column.
_LINE_COLUMNS = {
    "functions": (2, 3),
    "classes": (2, 3),
    "usings": (4,),
    "defines": (3,),
    "invocations": (2,),
    "stub_sites": (0,),
    "stub_registrations": (0,),
    "library_calls": (0,),
}


class _Lines:
    """Old lines -> new lines, learnt from facts that are the same but for their lines."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._perhaps: dict[int, int] = {}  # numbers that may be lines, or counts, or flags
        self._sorted: list[int] | None = None

    def learn(self, key: str, old: Any, new: Any) -> None:
        """Pair the lines of two facts of one shape."""
        columns = _LINE_COLUMNS.get(key)
        if columns is None:
            self._guess(old, new)
            return
        for a, b in zip(old, new, strict=True):
            for column in columns:
                self._known[a[column]] = b[column]
            if key == "library_calls":  # (line, lines below the block's line, …)
                self._known[a[0] - a[1]] = b[0] - b[1]

    def _guess(self, old: Any, new: Any) -> None:
        if isinstance(old, (list, tuple)):
            for a, b in zip(old, new, strict=True):
                self._guess(a, b)
        elif isinstance(old, dict):
            for key, value in old.items():
                self._guess(value, new[key])
        elif isinstance(old, int) and not isinstance(old, bool):
            self._perhaps[old] = new

    def of(self, line: int) -> int | None:
        """The new line of ``line``; between two known lines that moved alike, it moved with them. None: unknown."""
        if not line:
            return 0
        found = self._known.get(line, self._perhaps.get(line))
        if found is not None:
            return found
        if self._sorted is None:
            self._sorted = sorted(self._known)
        at = bisect_right(self._sorted, line)
        around = self._sorted[max(0, at - 1) : at + 1]
        moves = {self._known[known] - known for known in around}
        return line + moves.pop() if len(moves) == 1 else None

    def attrs(self, value: Any, path: str) -> Any:
        """Attributes with the lines in them moved: ``block`` and ``line``, and what follows a path of this file."""
        if isinstance(value, dict):
            return {
                key: self._moved(item) if key in ("block", "line") and isinstance(item, int) else self.attrs(item, path)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [
                self._moved(item)
                if isinstance(item, int) and number and value[number - 1] == path
                else self.attrs(item, path)
                for number, item in enumerate(value)
            ]
        return value

    def _moved(self, line: int) -> int:
        found = self.of(line)
        if found is None:
            raise _Unknown
        return found


class _Unknown(Exception):
    """A line whose new place is not known."""


def _nodes(store: Store, delta: Delta, path: str, new: Facts, symbols: list[Any], lines: _Lines) -> bool:
    rows = {symbol.id: row for symbol, row in zip(symbols, new.get("functions", ()), strict=True)}
    for node in store.owned_nodes(path):
        if node.kind == NodeKind.LABEL or (node.kind == NodeKind.FUNCTOR and "::{lambda:" in node.name):
            continue  # made anew with the calls
        row = rows.get(node.id)
        if row is not None:
            delta.kept.append((node.id, row[2], row[3], lines.attrs(node.attrs, path)))
            continue
        line, end = lines.of(node.line), lines.of(node.end_line)
        if line is None or end is None:
            return False
        delta.kept.append((node.id, line, end, lines.attrs(node.attrs, path)))
    return True


def _edges(
    store: Store,
    delta: Delta,
    path: str,
    lines: _Lines,
    ctx: Context,
    resolver: Resolver,
    packed: Packed,
    new: Facts,
) -> bool:
    graph = delta.added
    owned = store.owned_edges(path)
    templates = {e.dst: e.src for e in owned if e.kind == EdgeKind.MAY_CALL and e.rule == "template-argument"}
    given = set()  # calls that hold for some instantiations of a template (link/instantiations.py)
    for edge in owned:
        if edge.rule in _MADE_ANEW:
            continue
        if edge.src in templates:
            given.add((templates[edge.src], edge.dst, edge.kind, edge.guard))
        line = lines.of(edge.line) if edge.file == path else edge.line
        if line is None:
            return False
        graph.edge(
            edge.src,
            edge.dst,
            edge.kind,
            edge.key,
            rule=edge.rule,
            file=edge.file,
            line=line,
            guard=edge.guard,
            candidates=edge.candidates,
            owner=path,
            attrs=lines.attrs(edge.attrs, path) if edge.file == path else edge.attrs,
        )
    for kind, name, line, reason in _kept_unresolved(store, path):
        moved = lines.of(line)
        if moved is None:
            return False
        graph.unresolved_name(path, kind, name, moved, reason)
    rows, lost, libraries, functors = packed[:4]
    rows = [row for row in rows if (row[0], row[1], row[2], row[6]) not in given]
    _known_nodes(store, graph, NodeKind.LIBRARY, [entry[1] for entry in libraries])
    _known_nodes(store, graph, NodeKind.FUNCTOR, [entry[1] for entry in functors if "::{lambda:" not in entry[1]])
    ctx.graph = graph
    calls.add(ctx, path, resolver.unpack(ctx, path, (rows, lost, libraries, functors, [], (([], [], []), [], []))))
    functions.add_dtypes(ctx, path, ctx.functions.by_file.get(path, []), new.get("dtypes", ()))
    return True


def _kept_unresolved(store: Store, path: str) -> Iterator[tuple[str, str, int, str]]:
    """Unresolved names of a file that ``calls`` does not find again by itself."""
    return (
        (kind, name, line, reason)
        for owner, line, kind, name, reason in store.unresolved()
        if owner == path and kind not in ("call", "method", "launch")
    )


def _known_nodes(store: Store, graph: Graph, kind: str, names: list[str]) -> None:
    """Let the graph use the store's nodes of these names."""
    for name in dict.fromkeys(names):
        for node in store.named(name, kind)[:1]:
            graph.use(kind, name, node.id)
