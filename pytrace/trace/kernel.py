"""``pytrace kernel`` and ``pytrace stub``: something in C++, who uses it, and (``--up``) the operators that reach it.

Up is a breadth-first walk against the edges, one query a level, that stops at operators and at derivative formulas.
It never loads the whole graph: the bound is told when it is met.
"""

from __future__ import annotations

from pytrace.model import EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup, python_side
from pytrace.trace.answers import Dtypes, KernelAnswer, Reached, Step
from pytrace.trace.climb import UP, Climb, called_by, some
from pytrace.trace.region import Region
from pytrace.trace.resolve import Found
from pytrace.trace.walk import Walker, dtypes, ref, via

#: A kernel that more operators (base names) than this reach says nothing about the operator: it is a driver.
GENERIC = 25
#: Why nothing is known above a device function: extract/cpp_blank.py blanks the bodies that would call it.
ON_DEVICE = "It runs on the device, and calls in device code are not read: what is above it is not known."
#: An internal operator's public callers are looked for so many operators further up.
_THROUGH = 3


def answer(
    store: Store,
    query: str,
    found: Found,
    *,
    up: bool = False,
    limit: int = 12,
    paths: int = 2,
    depth: int = 0,
) -> KernelAnswer:
    """Tell what the nodes in ``found`` are and who uses them; with ``up``, the operators that reach them.

    ``limit`` bounds the operators told (0: all), ``paths`` the ways told for each.
    """
    nodes = found.nodes
    result = KernelAnswer(
        query=query,
        how=found.how,
        nodes=[ref(n) for n in nodes],
        users=_users(store, nodes, limit),
        below=_below(store, nodes, depth, limit),
        dtypes=_dtypes(store, nodes),
        up=[],
        asked_up=up,
    )
    if not up:
        return result
    climb = Climb(store, [*nodes, *_of_functors(store, nodes)], device=found.device)
    above = operators_above(store, climb)
    if found.only is not None:
        above = [entry for entry in above if entry[0].id in found.only]
    reached, overloads = _families(store, above)
    bases = sorted({node.bare.rstrip("_") for node, _ in reached})
    result.operators = len(reached)
    result.generic = len(bases) > GENERIC and not all(n.kind == NodeKind.LIBRARY for n in nodes)
    if result.generic:
        result.bases = bases
        result.functors = _functors(store, climb)
    if not reached and not climb.stopped and all("device" in n.attrs for n in nodes):
        result.notes.append(ON_DEVICE)
    kept = reached[:limit] if limit else reached
    result.up = [_told(climb, node, end, paths) for node, end in kept]
    _add_callers(store, [node for node, _ in kept], result.up, overloads)
    if climb.stopped:
        result.stopped = (
            f"Stopped at {len(climb.nodes)} functions: more operators may reach it than the {len(reached)} counted."
        )
    return result


def _of_functors(store: Store, nodes: list[Node]) -> list[Node]:
    """The functors that ``nodes`` are methods of: who gives one to a launcher runs its methods on the device."""
    owners = {(n.name.rpartition("::")[0], n.file): n for n in nodes if n.kind == NodeKind.FUNCTION and "::" in n.name}
    return [functor for name, file in owners for functor in store.named(name, NodeKind.FUNCTOR) if functor.file == file]


def operators_above(store: Store, climb: Climb) -> list[tuple[Node, Node]]:
    """(operator, the end of the climb it stands for): itself, or the formula that makes it its backward.

    Nearest first, but ATen's before those of other namespaces: what people call.
    """
    found: dict[int, tuple[Node, Node]] = {}
    ends = [climb.nodes[i] for i in climb.ends]
    formulas = [n.id for n in ends if n.kind == NodeKind.FORMULA]
    owners = store.edges_to(formulas, EdgeKind.DERIVATIVE) if formulas else []
    nodes = store.nodes(e.src for e in owners)
    by_formula: dict[int, list[Node]] = {}
    for edge in owners:
        by_formula.setdefault(edge.dst, []).append(nodes[edge.src])
    for end in ends:
        if end.kind == NodeKind.OP:
            found[end.id] = (end, end)
    for end in ends:
        for op in by_formula.get(end.id, ()):
            found.setdefault(op.id, (op, end))

    def order(entry: tuple[Node, Node]) -> tuple[bool, int, str, int, str]:
        op, end = entry
        return (not op.name.startswith("aten::"), climb.ends[end.id], op.file, op.line, op.name)

    return sorted(found.values(), key=order)


def _families(store: Store, reached: list[tuple[Node, Node]]) -> tuple[list[tuple[Node, Node]], dict[int, list[Node]]]:
    """``reached`` without the operators that delegate to another one in it, and those by what they delegate to."""
    known = {op.id: op for op, _ in reached}
    edges = store.edges_from(list(known), EdgeKind.DELEGATES) if known else []
    to = {e.src: e.dst for e in edges if e.dst in known}
    overloads: dict[int, list[Node]] = {}
    for src, dst in to.items():
        overloads.setdefault(dst, []).append(known[src])
    return [(op, end) for op, end in reached if op.id not in to], overloads


def _told(climb: Climb, op: Node, end: Node, limit: int) -> Reached:
    ways, more = climb.paths(end.id, limit)
    if end.id != op.id:
        for way in ways:
            way.refs.append(ref(op))
    return Reached(ref(op), ways, more)


def _add_callers(store: Store, ops: list[Node], told: list[Reached], overloads: dict[int, list[Node]]) -> None:
    """Python names of each operator, what delegates to it, and the operators and formulas that call it."""
    slots = {op.id: slot for op, slot in zip(ops, told)}
    owner: dict[int, int] = {}
    for op_id, slot in slots.items():
        family = [op_id, *(n.id for n in overloads.get(op_id, ()))]
        slot.overloads = sorted(n.name for n in overloads.get(op_id, ()))
        names = python_side.up(store, family, limit=3)
        slot.python = [n.ref.name for n in names.python] or [n.ref.name for n in names.bindings[:2]]
        owner.update(dict.fromkeys(family, op_id))
    for op_id, callers in called_by(store, owner).items():
        slot = slots[op_id]
        slot.used_by = some(callers)
        if not any(python_side.is_public(name) for name in slot.python):
            slot.through = _python_through(store, callers)


def _python_through(store: Store, callers: list[Node]) -> list[str]:
    """Public Python names of the operators that call an internal one (or whose formula does), some calls further."""
    for _ in range(_THROUGH):
        ids = {n.id for n in callers if n.kind == NodeKind.OP}
        formulas = [n.id for n in callers if n.kind == NodeKind.FORMULA]
        ids |= {e.src for e in (store.edges_to(formulas, EdgeKind.DERIVATIVE) if formulas else ())}
        some_ids = sorted(ids)[:40]
        names = [n.ref.name for n in python_side.up(store, some_ids, limit=4).python] if some_ids else []
        if names or not some_ids:
            return names
        callers = called_by(store, dict.fromkeys(some_ids, some_ids[0])).get(some_ids[0], [])
    return []


def _users(store: Store, nodes: list[Node], limit: int) -> list[Step]:
    """Per node, what uses it: launches, instantiations, registrations, calls."""
    edges = store.edges_to([n.id for n in nodes], *UP)
    callers = store.nodes(e.src for e in edges)
    roots = []
    for node in nodes:
        root = Step(ref(node))
        known: dict[tuple[int, str], Step] = {}
        for edge in edges:
            if edge.dst != node.id or edge.src == node.id:
                continue
            step = known.get((edge.src, edge.kind))
            if step is None:
                known[edge.src, edge.kind] = step = Step(ref(callers[edge.src]), via(edge))
                root.steps.append(step)
            elif step.via is not None:
                if edge.key and edge.key not in step.via.key.split(", "):
                    step.via.key += f", {edge.key}"
                if edge.line != step.via.line and edge.line not in step.via.lines:
                    step.via.lines.append(edge.line)
        if limit and len(root.steps) > limit:
            root.state = f"{len(root.steps) - limit}"
            root.steps = root.steps[:limit]
        roots.append(root)
    return roots


def _below(store: Store, nodes: list[Node], depth: int, limit: int) -> list[Step]:
    """What stands below each function, stub or functor."""
    walker = Walker(Region(store), depth=depth, limit=limit * 3)
    starts = [n for n in nodes if n.kind in (NodeKind.FUNCTION, NodeKind.STUB, NodeKind.FUNCTOR)]
    # What some instantiations of a template reach is told here only: others reach what they give themselves.
    starts += store.nodes(lookup.instantiations(store, starts)).values()
    trees = walker.draw([(n, None, frozenset()) for n in starts[:10]])
    return [tree for tree in trees if tree.steps]


def _dtypes(store: Store, nodes: list[Node]) -> list[Dtypes]:
    """What the functions dispatch on; of a CUDA kernel, what the functions around its launches do."""
    ids = {n.id for n in nodes}
    launches = store.edges_to([n.id for n in nodes if n.kind == NodeKind.CUDA_KERNEL], EdgeKind.LAUNCHES)
    ids |= {edge.src for edge in launches}
    edges = store.edges_from(ids, EdgeKind.DTYPES) if ids else []
    known = store.nodes({i for e in edges for i in (e.src, e.dst)})
    return [entry for e in edges for entry in dtypes(known[e.src], [e], known)]


def _functors(store: Store, climb: Climb, most: int = 6) -> list[str]:
    """Examples of functors that the generic kernel's launchers are instantiated with."""
    near = [state[0] for state, distance in climb.distance.items() if distance <= 4]
    launchers = {climb.nodes[i].bare for i in near if climb.nodes[i].kind == NodeKind.FUNCTION}
    edges = store.edges_from(near[:500], EdgeKind.INSTANTIATES)
    made = store.nodes(e.dst for e in edges if e.key.rpartition("::")[2] in launchers)
    return sorted({n.name for n in made.values()})[:most]
