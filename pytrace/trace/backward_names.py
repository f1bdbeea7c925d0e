"""Names that ``pytrace backward`` understands besides operators and formulas: messages, and autograd by hand."""

from __future__ import annotations

import re

from pytrace.model import EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import api, python_side, resolve, spelling
from pytrace.trace.answers import Backward, BackwardAnswer, Step
from pytrace.trace.region import Region
from pytrace.trace.resolve import Found
from pytrace.trace.walk import Walker, ref, via

#: torch/csrc/autograd/FunctionsManual.cpp: ``not_implemented_base``.
_MESSAGE = re.compile(r"derivative for ['\"]?(?P<name>[\w:. ]+?)['\"]? is not implemented")


def by_message(store: Store, text: str) -> Found:
    """The operators whose formula is ``not_implemented("NAME")`` for the NAME of a message, or of two plain words."""
    match = _MESSAGE.search(text) if "derivative for " in text else None
    name = match["name"] if match else spelling.clean(text)
    quoted = f'not_implemented("{name}")'
    formulas = [
        node
        for node in store.all_nodes(NodeKind.FORMULA)
        if any(quoted in str(row.get("formula", "")) for row in node.attrs.get("vars") or ())
    ]
    edges = store.edges_to([node.id for node in formulas], EdgeKind.DERIVATIVE)
    ops = sorted(store.nodes(e.src for e in edges).values(), key=lambda n: (n.file, n.line))
    if not ops:
        return Found([])
    return Found(ops, f"{quoted} is a formula of {', '.join(n.name for n in ops[:3])}")


def by_hand(store: Store, query: str, *, limit: int = 80) -> BackwardAnswer | None:
    """The backward of an autograd function in Python or C++, or of a hand-written node; None for another name."""
    python = [n for node in resolve.python_nodes(store, query) for n in _python(store, node)]
    if python:
        steps: list[Step] = []
        for node in python:
            steps += api.answer(store, node.name, [node], limit=limit, through=python_side.PYTHON_KINDS).roots
        sentence = f"A torch.autograd.Function: {', '.join(n.name for n in python)} runs in the backward pass."
        return BackwardAnswer(query, "", [], Backward("manual", sentence=sentence, manual=steps))
    cpp = _cpp(store, spelling.cpp_name(query))
    if not cpp:
        return None
    makers = store.edges_to([n.id for n in cpp], EdgeKind.BACKWARD)
    nodes = store.nodes(e.src for e in makers)
    steps = [Step(ref(nodes[e.src]), via(e), "closed") for e in makers]
    walker = Walker(Region(store), depth=1, limit=limit)
    steps += walker.draw([(node, None, frozenset()) for node in cpp])
    sentence = "A node of the autograd graph written by hand: who makes it, then what the backward pass runs."
    return BackwardAnswer(query, "", [], Backward("manual", sentence=sentence, manual=steps))


def _python(store: Store, node: Node) -> list[Node]:
    """The ``backward`` of the autograd function that a Python name is, or is a method of."""
    names = [f"{node.name}.backward"]
    if node.name.endswith((".forward", ".backward", ".apply")):
        names.append(f"{node.name.rpartition('.')[0]}.backward")
    ends = store.nodes(e.dst for e in store.edges_from(node.id, EdgeKind.ALIAS_OF))
    names += [f"{end.name}.backward" for end in ends.values()]
    found = [n for name in names for n in store.named(name, NodeKind.PYTHON)]
    recorded = {e.dst for e in store.edges_to([n.id for n in found], EdgeKind.BACKWARD)}
    return [n for n in found if n.id in recorded]


def _cpp(store: Store, name: str) -> list[Node]:
    """``NAME::apply`` or ``NAME::backward`` of a node or an autograd function in C++."""
    found = []
    for method in ("apply", "backward"):
        full = f"{name}::{method}"
        nodes = [n for n in store.bare(method, NodeKind.FUNCTION) if n.name == full or n.name.endswith(f"::{full}")]
        recorded = {e.dst for e in store.edges_to([n.id for n in nodes], EdgeKind.BACKWARD)}
        found += [n for n in nodes if n.id in recorded]
    return found
