"""``pytrace binding``: a C++ name of the binding layer, or a name that C++ gives to Python, and what belongs to it.

From a C++ name: where it is defined, the Python names that it stands behind, who calls it, what it calls. From a
Python name: the file that holds its code, the generator or the method table, the C++ function, who puts it into Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup, resolve, spelling
from pytrace.trace.answers import Ref, Via
from pytrace.trace.walk import ref, via

#: What the generator writes in front of a generated binding's C++ function (gen_python_functions.py: get_pycname).
_GENERATED = "THPVariable_"
#: Where the binding layer stands; what is defined elsewhere comes after it.
_LAYER = ("torch/csrc/", "tools/autograd/templates/")


@dataclass(eq=False, repr=False)
class End:
    """The other end of an edge, with the evidence."""

    ref: Ref
    via: Via


@dataclass(eq=False, repr=False)
class CppName:
    """A definition: who calls it, the Python names it stands behind, what it puts into Python."""

    ref: Ref
    bound: list[End] = field(default_factory=list)
    callers: list[End] = field(default_factory=list)
    more_callers: int = 0
    calls: list[End] = field(default_factory=list)
    more_calls: int = 0
    provides: list[str] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class PythonBinding:
    """A name that C++ gives to Python."""

    ref: Ref
    how: str  #: ``generated``, or how it is written by hand: methods, properties, class, def, type, …
    holds: str = ""  #: the file that has its code
    generator: str = ""
    template: str = ""
    function: str = ""  #: its C++ function as the table names it
    setter: str = ""
    signatures: list[str] = field(default_factory=list)
    implemented_by: list[End] = field(default_factory=list)
    calls: list[End] = field(default_factory=list)  #: of a lambda that pybind11 is given
    ops: list[End] = field(default_factory=list)
    provided_by: list[End] = field(default_factory=list)  #: the initialisers that put it (or its owner) into Python
    aliases: list[End] = field(default_factory=list)  #: Python names that are this object
    callers: list[End] = field(default_factory=list)
    more_callers: int = 0
    members: int = 0


@dataclass(eq=False, repr=False)
class BindingAnswer:
    """Answer of ``pytrace binding``."""

    query: str
    how: str
    cpp: list[CppName]
    python: list[PythonBinding]
    note: str = ""


def answer(store: Store, query: str, *, limit: int = 20) -> BindingAnswer:
    """Tell of a name; both lists are empty when the index has no such name. ``limit`` bounds callers (0: all)."""
    python = [n for n in _python(store, query) if n.kind == NodeKind.BINDING]
    found = resolve.cpp_nodes(store, query, NodeKind.FUNCTION, NodeKind.CUDA_KERNEL)
    cpp = [] if "." in spelling.clean(query) or found.how.startswith("there is no") else found.nodes
    inside = [n for n in cpp if n.file.startswith(_LAYER)]
    cpp = inside or cpp
    note = ""
    if not cpp and not python:
        python, note = _generated(store, spelling.cpp_name(query))
    return BindingAnswer(
        query,
        found.how if cpp else "",
        [_cpp(store, node, limit) for node in cpp[: limit or None]],
        [_binding(store, node, limit) for node in python[: limit or None]],
        note,
    )


def _python(store: Store, text: str) -> list[Node]:
    """Bindings that a dotted name means: itself, what it is an alias of, or every binding with this last part."""
    text = spelling.clean(text)
    if "::" in text:
        return []
    star = [f"torch._C.{text.removeprefix('torch.')}"] if text.startswith("torch.") else []  # from torch._C import *
    for name in (*spelling.python_names(text), *star):
        exact = store.named(name, NodeKind.BINDING)
        if exact:
            return exact
        for alias in store.named(name, NodeKind.PYTHON):
            ends = store.nodes(e.dst for e in store.edges_from(alias.id, EdgeKind.ALIAS_OF))
            bound = [n for n in ends.values() if n.kind == NodeKind.BINDING]
            if bound:
                return bound
    inherited = [n for n in resolve.python_nodes(store, text) if n.kind == NodeKind.BINDING] if "." in text else []
    if inherited:
        return inherited
    last = text.rpartition(".")[2]
    return [n for n in store.bare(last, NodeKind.BINDING) if n.name == text or n.name.endswith(f".{text}")]


def _generated(store: Store, name: str) -> tuple[list[Node], str]:
    """The generated bindings whose C++ function would have this name; it stands in no file of the tree."""
    bare = name.rpartition("::")[2]
    if not bare.startswith(_GENERATED):
        return [], ""
    known = [
        n for n in store.bare(bare.removeprefix(_GENERATED), NodeKind.BINDING) if n.attrs.get("from") == "generated"
    ]
    return known, f"{bare} is in no file of the tree: the binding generator writes it." if known else ""


def _cpp(store: Store, node: Node, limit: int) -> CppName:
    bound = store.edges_to(node.id, EdgeKind.IMPLEMENTED_BY)
    callers, more = _ends(store, store.edges_to(node.id, EdgeKind.CALLS, EdgeKind.MAY_CALL), "src", limit)
    whole = [node.id, *lookup.instantiations(store, [node])]
    calls, more_calls = _ends(store, store.edges_from(whole, EdgeKind.CALLS, EdgeKind.CALLS_OP), "dst", limit)
    given = store.edges_from(node.id, EdgeKind.PROVIDES)
    names = store.nodes(e.dst for e in given)
    return CppName(
        ref(node),
        _ends(store, bound, "src", 0)[0],
        callers,
        more,
        calls,
        more_calls,
        list(dict.fromkeys(names[e.dst].name for e in given)),
    )


def _binding(store: Store, node: Node, limit: int) -> PythonBinding:
    attrs = node.attrs
    callers, more = _ends(store, store.edges_to(node.id, EdgeKind.CALLS), "src", limit)
    lambdas = [e for e in store.edges_from(node.id, EdgeKind.CALLS) if e.rule == "pybind11-lambda"]
    how = "generated" if attrs.get("from") == "generated" else str(attrs.get("how", ""))
    return PythonBinding(
        ref(node),
        how,
        str(attrs.get("holds", "")),
        str(attrs.get("generator", "")),
        _place(attrs.get("template"), attrs.get("template_line")),
        str(attrs.get("function", "")),
        str(attrs.get("setter", "")),
        [str(text) for text in attrs.get("signatures") or ()],
        _ends(store, store.edges_from(node.id, EdgeKind.IMPLEMENTED_BY), "dst", 0)[0],
        _ends(store, lambdas, "dst", limit)[0],
        _ends(store, store.edges_from(node.id, EdgeKind.BINDS), "dst", 0)[0],
        _providers(store, node),
        _ends(store, store.edges_to(node.id, EdgeKind.ALIAS_OF), "src", limit)[0],
        callers,
        more,
        lookup.members(store, node.name)[0],
    )


def _place(path: object, line: object) -> str:
    return f"{path}:{line}" if path and line else str(path or "")


def _providers(store: Store, node: Node) -> list[End]:
    """Who puts a binding into Python: itself, else the type or module that it belongs to."""
    owners = [node]
    owner = node.name.rpartition(".")[0]
    while owner:
        owners += store.named(owner, NodeKind.BINDING)
        owner = owner.rpartition(".")[0]
    for candidate in owners:
        edges = store.edges_to(candidate.id, EdgeKind.PROVIDES)
        if edges:
            return _ends(store, edges, "src", 0)[0]
    return []


def _ends(store: Store, edges: Iterable[Edge], end: str, limit: int) -> tuple[list[End], int]:
    """The other ends, each once with its further lines, and how many were left out."""
    rows = list(edges)
    nodes = store.nodes(e.src if end == "src" else e.dst for e in rows)
    found: dict[object, End] = {}
    for edge in rows:
        node = nodes[edge.src if end == "src" else edge.dst]
        key = node.name if edge.candidates > 1 else node.id  # overloads of which one is meant are one entry
        known = found.get(key)
        if known is None:
            found[key] = End(ref(node), via(edge))
        elif edge.line != known.via.line and edge.line not in known.via.lines:
            known.via.lines.append(edge.line)
    ends = sorted(found.values(), key=lambda e: (e.ref.kind != NodeKind.PYTHON, e.via.file, e.via.line))
    kept = ends[:limit] if limit else ends
    return kept, len(ends) - len(kept)
