"""The backward of an operator: its formulas, what they call, and for a composite operator the parts that carry them.

The rules are those of tools/autograd/gen_variable_type.py: an operator with an entry in derivatives.yaml uses it; one
that is CompositeImplicitAutograd is differentiated through the operators it calls; any other raises "derivative for
… is not implemented" when it is differentiated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytrace.model import FORWARD_MODE, Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup
from pytrace.trace.answers import Backward, BackwardAnswer, Formula, FormulaVar, Part, Ref, Step, Via
from pytrace.trace.noise import is_plumbing
from pytrace.trace.region import Region
from pytrace.trace.table import TableRow, from_python, tables
from pytrace.trace.walk import Walker, ref, via

_BY_HAND = "Written by hand: its Autograd kernel, then what the backward pass runs."
_IN_PYTHON = "Its Autograd kernel is in Python:"
_NOT_DIFFERENTIABLE = (
    "Not differentiable: its results carry no gradient (their type, output_differentiability, or"
    " DONT_REQUIRE_DERIVATIVE in tools/autograd/gen_variable_type.py); nothing is recorded and nothing raised."
)
_IMPLICIT = "CompositeImplicitAutograd"
#: A composite operator may call composites; no chain in the tree is longer, and a loop must end.
_MAX_LEVELS = 4
_MAX_PARTS = 400


def of_operators(walker: Walker, ops: list[Node], known: dict[int, list[TableRow]]) -> Backward:
    """What the tree says about differentiating any of ``ops`` (overloads of one operator, with their tables).

    ``walker`` draws what the formulas call, within its limit.
    """
    store = walker.region.store
    formulas = formulas_of(store, ops)
    told = [formula(node, names, key) for node, names, key in formulas]
    used = _used_by(store, ops)
    manual = _manual(walker, ops, known)
    if formulas:
        for (node, _, _), entry in zip(formulas, told):
            entry.calls = calls(walker, node)
            entry.forward_only = _forward_only(walker.region, node)
        double = _double(walker, [node for node, _, _ in formulas])
        errors = _raising(store, [node.id for node, _, _ in formulas]) if _raises(told) else []
        return Backward("formula", told, [], double, used, manual=manual, errors=errors)
    if manual:
        return Backward("manual", [], [], [], used, _BY_HAND, manual)
    composite = [op for op in ops if any(row.key == _IMPLICIT for row in known[op.id])]
    if composite:
        parts = composite_parts(walker, composite, known)
        sentence = "No formula of its own: it is CompositeImplicitAutograd, so autograd records the operators it calls."
        return Backward("composite", [], parts, [], used, sentence)
    if all(op.attrs.get("kind") == "out" for op in ops):
        return Backward(
            "not-needed", [], [], [], used, "An out= variant: autograd refuses it for tensors that require grad."
        )
    # torchgen's strategy for each operator (tools/autograd/gen_variable_type.py); its out= forms are as the others.
    strategies = {str(op.attrs.get("autograd") or "") for op in ops if op.attrs.get("kind") != "out"}
    if strategies == {"not_differentiable"}:
        return Backward("not-differentiable", [], [], [], used, _NOT_DIFFERENTIABLE)
    registered = [(e, n) for _, e, n in from_python(store, ops) if e.key.startswith("Autograd")]
    if registered:
        sentence = f"{_IN_PYTHON} {', '.join(f'{n.name}, registered at {e.file}:{e.line}' for e, n in registered[:3])}."
        return Backward("manual", [], [], [], used, sentence)
    if strategies == {""}:
        sentence = "Unknown: an operator outside of native_functions.yaml without an Autograd kernel in the tree."
        return Backward("unknown", [], [], [], used, sentence, errors=_fallback(store, "basicAutograd"))
    names = ", ".join(op.name for op in ops[:3])
    sentence = (
        f"None: no entry in derivatives.yaml for {names}, and no composite kernel. A call with inputs that require grad"
        f' passes, and its backward raises "derivative for {ops[0].name.partition(".")[0]} is not implemented".'
    )
    return Backward("none", [], [], [], used, sentence, errors=_fallback(store, "autograd"))


def _raises(formulas: list[Formula]) -> bool:
    return any(var.not_implemented for entry in formulas for var in entry.vars)


def _manual(walker: Walker, ops: list[Node], known: dict[int, list[TableRow]]) -> list[Step]:
    """Trees of the Autograd kernels that C++ registers by hand, and of what they run in the backward pass."""
    rows = {row.function.id: row for op in ops for row in known[op.id] if row.key.startswith("Autograd")}
    rows = {i: row for i, row in rows.items() if row.edge.rule != "fallthrough"}
    region, store = walker.region, walker.region.store
    region.load(row.function for row in rows.values())
    steps: list[Step] = []
    for row in rows.values():
        steps.append(Step(ref(row.function), via(row.edge), "closed"))
        inside = [row.function.id, *region.below(row.function.id)]
        edges = store.edges_from([i for i in inside if region.nodes[i].kind == NodeKind.FUNCTION], EdgeKind.BACKWARD)
        # The nodes that helpers of every operator make (rebase_history makes CopySlices) say nothing about this one.
        own = [e for e in edges if e.src == row.function.id or e.rule == "autograd-function"]
        ends = store.nodes(e.dst for e in own)
        steps += walker.draw([(ends[e.dst], via(e), frozenset()) for e in own])
    return steps


def _raising(store: Store, formulas: list[int]) -> list[Ref]:
    """Where the text of a ``not_implemented("…")`` is made: what the function of this name calls."""
    edges = store.edges_from(formulas, EdgeKind.CALLS)
    ends = store.nodes(e.dst for e in edges)
    functions = {i for i, n in ends.items() if n.bare.startswith("not_implemented")}
    inner = store.nodes(e.dst for e in store.edges_from(functions, EdgeKind.CALLS))
    makers = [n for n in inner.values() if n.bare.startswith("not_implemented")]
    found = []
    for maker in makers:
        for edge in store.edges_from(maker.id, EdgeKind.CALLS)[:1]:
            found.append(Ref(maker.kind, maker.name, edge.file, edge.line))
    return found


def _fallback(store: Store, which: str) -> list[Ref]:
    """The kernel that an operator without a derivative gets, and the node that raises its message.

    torch/csrc/autograd/autograd_not_implemented_fallback.cpp, torch/csrc/autograd/functions/basic_ops.h.
    """
    names = [f"torch::autograd::{which}NotImplementedFallback"]
    names += ["torch::autograd::NotImplemented::NotImplemented"] if which == "autograd" else []
    found = [node for name in names for node in store.named(name, NodeKind.FUNCTION)]
    return [ref(node) for node in {node.name: node for node in found}.values()]


def answer(store: Store, query: str, how: str, ops: list[Node], *, depth: int = 1, limit: int = 90) -> BackwardAnswer:
    """``pytrace backward``: the same as in ``pytrace op``, with the formulas' calls opened down to kernels."""
    walker = Walker(Region(store), about=[op.bare for op in ops], depth=depth, limit=limit)
    return BackwardAnswer(query, how, [ref(op) for op in ops], of_operators(walker, ops, tables(store, ops)))


def formulas_of(store: Store, ops: Iterable[Node]) -> list[tuple[Node, list[str], str]]:
    """(formula node, names of the operators that use it, dispatch key), in the order of derivatives.yaml."""
    names = {op.id: op.name for op in ops}
    users: dict[tuple[int, str], list[str]] = {}
    for edge in store.edges_from(list(names), EdgeKind.DERIVATIVE):
        users.setdefault((edge.dst, edge.key), []).append(names[edge.src])
    nodes = store.nodes(node_id for node_id, _ in users)
    order = sorted(users, key=lambda u: (nodes[u[0]].line, nodes[u[0]].name, u[1]))
    return [(nodes[node_id], list(dict.fromkeys(users[node_id, key])), key) for node_id, key in order]


def formula(node: Node, ops: list[str], key: str = "Default") -> Formula:
    """A formula node as it is told."""
    return Formula(
        node.name,
        node.file,
        node.line,
        ops,
        key or "Default",
        [_variable(row, node.line) for row in node.attrs.get("vars") or ()],
        [_variable(row, node.line) for row in node.attrs.get("forward") or ()],
        not_differentiable=[str(name) for name in node.attrs.get("non_differentiable") or ()],
        output_differentiability=[str(value) for value in node.attrs.get("output_differentiability") or ()],
    )


def _variable(row: dict[str, Any], line: int) -> FormulaVar:
    names = row.get("vars") or row.get("names") or []
    text = str(row.get("formula", ""))
    return FormulaVar(
        [names] if isinstance(names, str) else [str(n) for n in names],
        text,
        int(row.get("line") or line),
        [str(n) for n in (*(row.get("saved_inputs") or ()), *(row.get("saved_outputs") or ()))],
        "not_implemented" in text,
    )


def calls(walker: Walker, node: Node) -> list[Step]:
    """The trees below what a formula calls in the backward pass."""
    edges = _backward_calls(walker.region.store, [node.id])
    ends = walker.region.store.nodes(e.dst for e in edges)
    roots: dict[int, tuple[Node, Via | None, frozenset[str]]] = {}
    for edge in edges:
        end = ends.get(edge.dst)
        if end is not None and edge.dst not in roots and not is_plumbing(end):
            roots[edge.dst] = (end, via(edge), frozenset())
    return walker.draw(list(roots.values()))


def _backward_calls(store: Store, formulas: list[int]) -> list[Edge]:
    """What the backward formulas call: without what only the forward-mode ones do."""
    edges = store.edges_from(formulas, EdgeKind.CALLS, EdgeKind.CALLS_OP)
    return [e for e in edges if e.key != FORWARD_MODE]


def _forward_only(region: Region, node: Node) -> list[str]:
    """The operators and functions that the forward-mode formulas of an entry call, and the backward ones do not."""
    edges = region.store.edges_from(node.id, EdgeKind.CALLS, EdgeKind.CALLS_OP)
    functions = {e.dst for e in edges if e.kind == EdgeKind.CALLS and e.key != FORWARD_MODE}
    backward = {end for ends in region.reach(functions).values() for end in ends}
    ends = region.store.nodes({e.dst for e in edges if e.key == FORWARD_MODE} - backward)
    return list(dict.fromkeys(end.name for end in ends.values() if not is_plumbing(end)))


def composite_parts(walker: Walker, ops: list[Node], known: dict[int, list[TableRow]]) -> list[Part]:
    """The operators inside composite ``ops`` that carry formulas, through composites inside them."""
    store = walker.region.store
    parts: dict[int, Part] = {}
    seen = {op.id for op in ops}
    level: list[tuple[Node, tuple[str, ...]]] = [(op, ()) for op in ops]
    for depth in range(_MAX_LEVELS):
        if depth:
            known = tables(store, [op for op, _ in level])
        bodies: dict[int, list[int]] = {
            op.id: [row.function.id for row in known[op.id] if row.key == _IMPLICIT] for op, _ in level
        }
        found = walker.region.reach({f for functions in bodies.values() for f in functions})
        inner: dict[int, tuple[str, ...]] = {}
        for op, through in level:
            way = (*through, op.name) if depth else through
            for function in bodies[op.id]:
                for end in found.get(function, ()):
                    if end not in seen:
                        seen.add(end)
                        inner[end] = way
        nodes = store.nodes(inner)
        has = {e.src: e.dst for e in reversed(store.edges_from(list(inner), EdgeKind.DERIVATIVE))}
        entries = store.nodes(has.values())
        level = []
        for node_id, way in inner.items():
            node = nodes[node_id]
            if node_id in has:
                entry = entries[has[node_id]]
                if not is_plumbing(node):
                    parts[node_id] = Part(node.name, entry.name, entry.file, entry.line, list(way))
            else:
                level.append((node, way))
        if not level or len(seen) > _MAX_PARTS:
            break
    # What few call is this operator's own part, and told before what everything is made of (add, cat).
    callers = lookup.callers(store, list(parts), EdgeKind.CALLS_OP)
    order = sorted(parts, key=lambda i: (not parts[i].op.rpartition("::")[2].startswith("_"), callers.get(i, 0)))
    return [parts[i] for i in order]


def _double(walker: Walker, formulas: list[Node]) -> list[Part]:
    """The operators that the formulas call, directly or in their functions, with the formula each one carries."""
    store = walker.region.store
    edges = _backward_calls(store, [f.id for f in formulas])
    direct = [e.dst for e in edges if e.kind == EdgeKind.CALLS_OP]
    functions = {e.dst for e in edges if e.kind == EdgeKind.CALLS}
    through = {end: function for function, ends in walker.region.reach(functions).items() for end in ends}
    ids = list(dict.fromkeys([*direct, *through]))
    nodes = store.nodes([*ids, *functions])
    has = {e.src: e.dst for e in reversed(store.edges_from(ids, EdgeKind.DERIVATIVE))}
    entries = store.nodes(has.values())
    parts = []
    for node_id in ids:
        node = nodes[node_id]
        if is_plumbing(node):
            continue
        way = [nodes[through[node_id]].name] if node_id not in direct else []
        entry = entries.get(has.get(node_id, -1))
        if entry is None:
            parts.append(Part(node.name, "", "", 0, way, str(node.attrs.get("autograd") or "")))
        else:
            parts.append(Part(node.name, entry.name, entry.file, entry.line, way))
    return parts


def _used_by(store: Store, ops: list[Node]) -> list[Formula]:
    """Formulas of other operators that call one of ``ops`` by name."""
    edges = store.edges_to([op.id for op in ops], EdgeKind.CALLS_OP)
    nodes = store.nodes(e.src for e in edges)
    callers = [n for n in nodes.values() if n.kind == NodeKind.FORMULA]
    users: dict[int, list[str]] = {n.id: [] for n in callers}
    back = store.edges_to(list(users), EdgeKind.DERIVATIVE)
    names = store.nodes(e.src for e in back)
    for edge in back:
        users[edge.dst].append(names[edge.src].name)
    forward = {e.src for e in edges if e.key == FORWARD_MODE} - {e.src for e in edges if e.key != FORWARD_MODE}
    return [
        Formula(n.name, n.file, n.line, users[n.id], forward_mode=n.id in forward)
        for n in sorted(callers, key=lambda n: (n.line, n.name))
    ]
