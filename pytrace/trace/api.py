"""``pytrace api``: a name that a user writes, down to the operators it calls."""

from __future__ import annotations

from collections import deque

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import python_side
from pytrace.trace.answers import ApiAnswer, ApiBinding, ApiOp, Folded, Step
from pytrace.trace.noise import is_infrastructure, is_plumbing
from pytrace.trace.walk import ref, via

_DOWN = (EdgeKind.ALIAS_OF, EdgeKind.BINDS, EdgeKind.CALLS_OP, EdgeKind.CALLS)
_LEVELS = 12
#: Lines for what calls C++ without an operator: an aside.
_CPP_LINES = 20
#: The rules of edges between names of one thing.
_SAME = ("python-import", "python-assignment", "python-member")
#: Why a function's parameters are folded: what they do is the caller's.
_RUNS = "calls what it is given"


def answer(
    store: Store,
    query: str,
    nodes: list[Node],
    *,
    depth: int = 0,
    limit: int = 80,
    through: frozenset[str] = python_side.PYTHON_KINDS,
) -> ApiAnswer:
    """Tell the way from ``nodes`` (names of Python or of the C++ frontend) to operators: as a tree, and as a flat list.

    ``depth`` bounds the levels of calls drawn (0: as many as the limit of lines allows), ``limit`` the lines;
    ``through`` are the kinds of nodes that lie on the way.
    """
    ways = python_side.down(store, nodes, through)
    ops = [ApiOp(ref(w.op), w.distance, list(w.through), list(w.guards), any(map(_is_making, w.through))) for w in ways]
    roots = _draw(store, nodes, depth or _LEVELS, limit, through)
    ends = python_side.ends(store, nodes) if through is python_side.PYTHON_KINDS else python_side.Ends([], [])
    sentence = ""
    if not ways and ends.unread:
        sentence = "No operator was found behind this name: what calls them may stand in what is not read."
    elif not ways and through is not python_side.PYTHON_KINDS:
        sentence = "No operator stands behind this name, as far as the index can tell."
    elif not ways and any(each.why not in (_RUNS, "plumbing") for root in roots for each in _folded(root)):
        sentence = "Which of the registered functions runs is decided by the arguments: `pytrace api` tells of each."
    elif not ways and any(map(_runs, roots)):
        sentence = "No operator stands behind this name itself: it calls what it is given."
    elif not ways and any(map(_ends_in_cpp, roots)):
        sentence = "No operator stands behind this name, as far as the index can tell: it ends in C++."
    elif not ways:
        sentence = "Pure Python: no operator stands behind this name, as far as the index can tell."
    how = "" if any(n.name == query for n in nodes) else f"{query} is {_reading(query, nodes)}"
    cpp = [ApiBinding(python_side.binding(node), distance) for distance, node in ends.cpp]
    return ApiAnswer(query, how, roots, ops, sentence, cpp, [ref(node) for _, node in ends.unread])


def _reading(query: str, nodes: list[Node]) -> str:
    """What a short name was taken for; a variable's (`x.add_`) is not known to be a tensor, and is told so."""
    names = ", ".join(node.name for node in nodes[:3])
    variable = nodes[0].name.startswith("torch.Tensor.") and query.split(".")[0] not in ("torch", "Tensor")
    return f"read as a method of a tensor, {names}" if variable else names


def _ends_in_cpp(step: Step) -> bool:
    """Whether it is a binding, or one is drawn below."""
    return step.ref.kind == NodeKind.BINDING or any(map(_ends_in_cpp, step.steps))


def _folded(step: Step) -> list[Folded]:
    """What is folded in a tree."""
    return [*step.folded, *(each for below in step.steps for each in _folded(below))]


def _runs(step: Step) -> bool:
    """Whether the function that the name stands for calls what it is given."""
    same = [below for below in step.steps if below.via is not None and below.via.rule in _SAME]
    return any(each.why == _RUNS for each in step.folded) or any(map(_runs, same))


def _is_making(name: str) -> bool:
    """Whether the name is what runs when an object is made: not what a call of it does."""
    if name.endswith((".__init__", ".__new__", ".reset_parameters", "::reset", "::reset_parameters")):
        return True
    owner, mark, last = name.rpartition("::")
    return bool(mark) and owner.rpartition("::")[2] == last  # a constructor


def _draw(store: Store, starts: list[Node], levels: int, limit: int, through: frozenset[str]) -> list[Step]:
    """Trees of calls that lead to an operator (when none is there: to C++), breadth first, each name opened once."""
    nodes, out = _load(store, starts, levels, through)
    registries = _registries(store, nodes)
    ends = {i for i, n in nodes.items() if n.kind == NodeKind.OP} | registries.keys()
    useful = _leading(nodes, out, ends)
    if not useful:
        ends = {i for i, n in nodes.items() if n.kind == NodeKind.BINDING}
        useful, limit = _leading(nodes, out, ends), min(limit or _CPP_LINES, _CPP_LINES)
    useful |= _defined(starts, out)
    roots = [Step(ref(n)) for n in starts]
    queue = deque(zip(roots, starts))
    opened: set[int] = set()
    lines = len(roots)
    while queue:
        step, node = queue.popleft()
        if node.id in opened:
            step.state = "seen"
            continue
        below_it = [e for e in out.get(node.id, ()) if e.dst in useful]
        if limit and lines >= limit:
            step.state = "cut" if below_it else ""
            continue
        opened.add(node.id)
        step.folded += registries.get(node.id, ())
        if runs := node.attrs.get("runs"):
            step.folded.append(Folded(_RUNS, [str(name) for name in runs]))
        plumbing: dict[str, None] = {}
        known: dict[tuple[int, str], Step] = {}
        for edge in sorted(below_it, key=lambda e: _is_making(nodes[e.dst].name)):
            end = nodes[edge.dst]
            if end.kind == NodeKind.OP and is_plumbing(end) and node.kind != NodeKind.BINDING:
                plumbing[end.name] = None
                continue
            if (edge.dst, edge.guard) in known:
                told = known[edge.dst, edge.guard].via
                assert told is not None
                if edge.line != told.line and edge.line not in told.lines:
                    told.lines.append(edge.line)
                continue
            told_end = python_side.binding(end) if end.kind == NodeKind.BINDING else ref(end)
            step_below = known[edge.dst, edge.guard] = Step(told_end, via(edge))
            step.steps.append(step_below)
            lines += 1
            if end.kind != NodeKind.OP:
                queue.append((step_below, end))
        if plumbing:
            step.folded.append(Folded("plumbing", list(plumbing)))
            lines += 1
    return roots


def _defined(starts: list[Node], out: dict[int, list[Edge]]) -> set[int]:
    """What the names stand for: where it is defined is told in any case."""
    found: set[int] = set()
    todo = [n.id for n in starts]
    while todo:
        for edge in out.get(todo.pop(), ()):
            if edge.kind == EdgeKind.ALIAS_OF and edge.dst not in found:
                found.add(edge.dst)
                todo.append(edge.dst)
    return found


def _load(
    store: Store, starts: list[Node], levels: int, through: frozenset[str]
) -> tuple[dict[int, Node], dict[int, list[Edge]]]:
    nodes = {n.id: n for n in starts}
    out: dict[int, list[Edge]] = {}
    frontier = list(nodes)
    for _ in range(levels):
        if not frontier or len(nodes) > 3000:
            break
        edges = store.edges_from(frontier, *_DOWN)
        for node_id in frontier:
            out[node_id] = []
        nodes.update(store.nodes({e.dst for e in edges} - nodes.keys()))
        for edge in edges:
            out[edge.src].append(edge)
        ends = dict.fromkeys(e.dst for e in edges)
        frontier = [
            i for i in ends if i not in out and nodes[i].kind in through and not is_infrastructure(nodes[i].name)
        ]
    return nodes, out


def _registries(store: Store, nodes: dict[int, Node]) -> dict[int, list[Folded]]:
    """Of functions that look others up where decorators have put them: which, one of them is run."""
    python = [i for i, n in nodes.items() if n.kind == NodeKind.PYTHON]
    edges = [e for e in store.edges_from(python, EdgeKind.MAY_CALL) if e.rule == "python-registry"]
    ends = store.nodes(e.dst for e in edges)
    found: dict[int, dict[str, list[str]]] = {}
    for edge in edges:
        found.setdefault(edge.src, {}).setdefault(edge.key, []).append(ends[edge.dst].name)
    return {src: [_registered(by, names) for by, names in rows.items()] for src, rows in found.items()}


def _registered(by: str, names: list[str]) -> Folded:
    """The functions that one decorator has stored; those of its own module by their short names."""
    module = by.rpartition(".")[0]
    name = by.removeprefix(f"{module}.")
    return Folded(f"one of {len(names)} registered with @{name}", [n.removeprefix(f"{module}.") for n in names])


def _leading(nodes: dict[int, Node], out: dict[int, list[Edge]], ends: set[int]) -> set[int]:
    """Nodes from which one of ``ends`` is reached, and those themselves."""
    into: dict[int, list[int]] = {}
    for src, edges in out.items():
        for edge in edges:
            into.setdefault(edge.dst, []).append(src)
    todo = list(ends)
    found = set(todo)
    while todo:
        for src in into.get(todo.pop(), ()):
            if src not in found:
                found.add(src)
                todo.append(src)
    return found
