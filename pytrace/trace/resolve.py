"""What people type -> nodes of the index.

Each function returns the nodes and a sentence that says how the text was understood ("" when it is simply the
node's name). Nothing is guessed: when several readings fit, all nodes of the likeliest reading are returned, and an
empty list means that the index holds no such name (``search.nearest`` then finds what is close).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pytrace.model import EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import messages, python_side, spelling
from pytrace.trace.noise import is_plumbing

#: What ``pytrace kernel`` may be asked about.
CPP_KINDS = (NodeKind.CUDA_KERNEL, NodeKind.FUNCTION, NodeKind.FUNCTOR, NodeKind.STUB, NodeKind.LIBRARY)
#: Without a better reason, a Python name answers with at most so many operators, out of so many times as many.
_MAX_BASES = 4
_MOST_NAMED = 16
#: How often a name may stand for another one.
_MOST_ALIASES = 5
#: Shorter names than this must be the same to be taken for one another.
_LEAST_ALIKE = 5


class Found(NamedTuple):
    """Nodes, how the text was understood, and names that also fit but were not taken.

    ``only``, when it is not None, names the operators that the text leaves of all those above the nodes; ``device`` is
    the one that the text speaks of ("" for any).
    """

    nodes: list[Node]
    how: str = ""
    others: tuple[str, ...] = ()
    only: frozenset[int] | None = None
    device: str = ""


def operators(store: Store, text: str) -> Found:
    """The operator overloads that ``text`` names: directly, by a Python name, a C++ name, or an autograd node."""
    text = spelling.clean(text)
    message = messages.read(text)
    if message is not None:
        ops = operators(store, message.op).nodes
        exact = [n for n in ops if n.name.partition(".")[0] == message.op or n.name == message.op]
        return Found(exact or ops, messages.verdict(store, message, exact or ops)) if ops else Found([])
    function = messages.python_function(text)
    if function:
        return operators(store, function)
    node = messages.autograd_node(text)
    if node:
        return operators(store, node)
    for namespace, base, overload in spelling.op_names(text):
        found = _overloads(store, namespace, base or "", overload)
        if found:
            own = {name for n in found for name in (n.name, n.name.removeprefix("aten::"))}
            plain = text in own or (base == text and not namespace)
            return Found(found, "" if plain else f"{text} is the operator {found[0].name.partition('.')[0]}")
    named = python_nodes(store, text)
    if named:
        return _behind_python(store, text, named)
    formulas = store.named(text, NodeKind.FORMULA)
    if formulas:
        edges = store.edges_to([f.id for f in formulas], EdgeKind.DERIVATIVE)
        ops = sorted(store.nodes(e.src for e in edges).values(), key=_order)
        return Found(ops, f"{text} is the autograd node of {_names(ops)}")
    return _behind_function(store, text) if re.search(r"::|^TORCH_", text) else Found([])


def _behind_function(store: Store, text: str) -> Found:
    """The operators whose dispatch table names a C++ function, given by its qualified name."""
    name = spelling.cpp_name(text)
    functions = store.named(name, NodeKind.FUNCTION)
    if name.startswith("structured_"):
        functions = cpp_nodes(store, text, NodeKind.FUNCTION).nodes
    edges = store.edges_to([f.id for f in functions], EdgeKind.DISPATCHES) if functions else []
    ops = sorted(store.nodes(e.src for e in edges).values(), key=_order)
    return Found(ops, f"{text} is a kernel function of {_names(ops)}" if ops else "")


def _overloads(store: Store, namespace: str, base: str, overload: str | None) -> list[Node]:
    """Overloads of ``base`` and, when the text names neither an overload nor an in-place form, of ``base_``."""
    nodes = store.bare(base, NodeKind.OP)
    if overload is None and not base.endswith("_"):
        nodes += store.bare(f"{base}_", NodeKind.OP)
    if namespace:
        nodes = [n for n in nodes if n.name.partition("::")[0] == namespace]
    elif any(n.name.startswith("aten::") for n in nodes):
        nodes = [n for n in nodes if n.name.startswith("aten::")]
    if overload is not None:
        nodes = [n for n in nodes if n.name.rpartition("::")[2].partition(".")[2] == overload]
    return sorted(nodes, key=_order)


def _order(node: Node) -> tuple[bool, bool, int, str]:
    """Hand-written before generated, then as the YAML has them."""
    generated = "generated_from" in node.attrs
    return (generated, not node.file.endswith("native_functions.yaml"), node.line, node.name)


def _names(nodes: list[Node], most: int = 4) -> str:
    names = [n.name for n in nodes[:most]]
    return ", ".join(names) + (f" and {len(nodes) - most} more" if len(nodes) > most else "")


def _behind_python(store: Store, text: str, named: list[Node]) -> Found:
    """The operators nearest behind a Python name, those called like it first."""
    ways = python_side.down(store, named)
    ops = {way.op.id: way.op for way in ways}
    if not ops:
        unread = [node for _, node in python_side.ends(store, named).unread]
        if unread:
            how = (
                f"No operator was found behind {named[0].name} ({named[0].at}): what {_names(unread)} call is not read."
            )
            return Found([], how)
        cpp = python_side.ends_in_cpp(store, named)
        if cpp:
            how = f"No operator stands behind {named[0].name} ({named[0].at}): it calls C++ ({_names(cpp)})."
            return Found([], how)
        return Found([], f"{named[0].name} ({named[0].at}) is pure Python: no operator stands behind it.")
    last = text.rpartition(".")[2]
    likeness = {way.op.bare: _alike(way.op.bare, last) for way in ways}
    best = max(likeness.values())
    alike = [way for way in ways if best and likeness[way.op.bare] == best]
    working = list(dict.fromkeys(way.op.bare for way in ways if not is_plumbing(way.op)))
    pool = alike or [way for way in ways if way.op.bare in working]
    place = f"{named[0].name} ({named[0].at})"
    if not pool:
        names = ", ".join(dict.fromkeys(way.op.bare for way in ways))
        how = f"{place} is pure Python, as far as its calls can be resolved: no operator that computes stands behind it"
        return Found([], f"{how}, what it calls allocates, views or asks ({names}).")
    nearest = min(way.distance for way in pool)
    bases = list(dict.fromkeys(way.op.bare for way in pool if way.distance == nearest))
    if not alike and (len(bases) > _MAX_BASES or len(working) > _MAX_BASES * len(bases)):
        names = ", ".join(working[:_MOST_NAMED]) + (", …" if len(working) > _MOST_NAMED else "")
        how = (
            f"{place} calls {len(working)} operators, and none is called like it: {names}. `pytrace op NAME` tells one."
        )
        return Found([], how)
    taken = bases[:_MAX_BASES]
    nodes = [op for op in ops.values() if op.bare in taken]
    rest = sorted((way for way in ways if way.op.bare not in taken), key=lambda way: is_plumbing(way.op))
    others = tuple(dict.fromkeys(way.op.bare for way in rest))
    full = named[0].name
    how = f"{text}{'' if full == text else f' ({full})'} calls {', '.join(taken)}"
    return Found(sorted(nodes, key=_order), how, others)


def _alike(base: str, name: str) -> int:
    """How much an operator's base name is that of the Python name: 0 not, 1 inside, 2 begins alike, 3 the same."""
    flat = base.lower().replace("_", "")
    wanted = name.lower().replace("_", "")
    if flat == wanted:
        return 3
    if min(len(flat), len(wanted)) < _LEAST_ALIKE:
        return 0
    if flat.startswith(wanted) or wanted.startswith(flat):
        return 2
    return int(wanted in flat)


def python_nodes(store: Store, text: str) -> list[Node]:
    """Python names and bindings that ``text`` may be short for; the best reading's nodes only."""
    text = spelling.clean(text)
    for name in spelling.python_names(text):
        found = store.named(name, NodeKind.PYTHON, NodeKind.BINDING)
        if found:
            return found
        found = _members(store, name)
        if found:
            return found
    if "." not in text and not text[:1].isupper():
        return []
    # `nn.LSTM` when the alias is not in the index: the class by its last part, its package by the first ones.
    head, _, last = spelling.python_names(text)[0].rpartition(".")
    inside = [n for n in store.bare(last, NodeKind.PYTHON) if not head or n.name.startswith(f"{head}.")]
    shortest = min((n.name.count(".") for n in inside), default=0)
    return [n for n in inside if n.name.count(".") == shortest]


def _members(store: Store, name: str) -> list[Node]:
    """``torch.nn.LSTM.to``: a member of a class that is known by another name, or of a class that it inherits from."""
    owner, _, member = name.rpartition(".")
    classes = store.named(owner, NodeKind.PYTHON, NodeKind.BINDING) if owner else []
    for _ in range(_MOST_ALIASES):
        known = [node for node in classes if node.attrs.get("kind") == "class" or node.kind == NodeKind.BINDING]
        for cls in known:
            # A type of C has the members of the name that it gives itself (torch._C._ImperativeEngine: _EngineBase).
            for base in (cls.name, *cls.attrs.get("bases", ()), *filter(None, [cls.attrs.get("tp_name")])):
                found = store.named(f"{base}.{member}", NodeKind.PYTHON, NodeKind.BINDING)
                if found:
                    return found
        ends = [edge.dst for node in classes for edge in store.edges_from(node.id, EdgeKind.ALIAS_OF)]
        if known or not ends:
            break
        classes = list(store.nodes(ends).values())
    return []


def cpp_nodes(store: Store, text: str, *kinds: str) -> Found:
    """C++ things that ``text`` names: bare or qualified, with or without template arguments and parameters."""
    kinds = kinds or CPP_KINDS
    name = spelling.cpp_name(text)
    if not name:
        return Found([])
    last = name.rpartition("::")[2]
    found = [n for n in store.bare(last, *kinds) if n.name == name or n.name.endswith(f"::{name}")]
    exact = [n for n in found if n.name == name]
    if exact and "::" in name:
        found = exact
    how = "" if spelling.clean(text) in {name, *(n.name for n in found)} else f"read as {name}"
    if not found and NodeKind.LIBRARY in kinds:
        # The headers of vendors give an entry point its old name by a #define (cublas_v2.h); programs export the new.
        found = store.bare(f"{last}_v2", NodeKind.LIBRARY)
        how = f"{name} is exported as {found[0].name}" if found else ""
    if not found and NodeKind.FUNCTION in kinds:
        # The YAML and the headers of a build call a structured kernel by the name that its struct is made from.
        found = [n for n in store.bare("impl", NodeKind.FUNCTION) if n.name.endswith(f"::structured_{last}::impl")]
        how = f"{name} is a structured kernel" if found else ""
    if not found and "::" in name:
        # A profiler's name keeps namespaces that another version had: what has the same last part, said as such.
        found = store.bare(last, *kinds)
        how = f"there is no {name}; these have its last part" if found else ""
    return Found(sorted(found, key=lambda n: (kinds.index(n.kind), n.name, n.file, n.line)), how)


def kernels(store: Store, text: str) -> Found:
    """What ``pytrace kernel`` is asked about. For a generic kernel printed with its template arguments, the functor
    or host function in them answers instead: it is what tells the operator.
    """
    from pytrace.trace import alerts, labels, profiled

    if alerts.is_message(text) and (found := alerts.find(store, text)):
        return found
    if " not implemented for " in text and (found := labels.find(store, text)):
        return found
    found = profiled.find(store, text) or cpp_nodes(store, text)
    return found if found.nodes or found.how else alerts.find(store, text) or labels.find(store, text) or found
