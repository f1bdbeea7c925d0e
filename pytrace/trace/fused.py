"""What a kernel that Inductor wrote says of itself: its name lists the operators that it was fused from.

``triton_<kind>_fused_<operators>_<number>`` (torch/_inductor/codegen/triton.py: ``define_kernel``): the base names of
the operators, each once, sorted, joined by ``_`` (torch/_inductor/utils.py: ``get_fused_kernel_name``). Names hold
``_`` themselves; the order and the operators that there are tell where one ends.
"""

from __future__ import annotations

import re
from collections.abc import Set

from pytrace.model import EdgeKind, Node, NodeKind
from pytrace.store import Store

_NAME = re.compile(r"(?:triton|cpp)_(?:[a-z]+_)?fused_(?P<operators>\w+?)(?:_\d+)?(?:\(.*)?$")
_MOST_NAMES = 40


def split(text: str, known: Set[str]) -> list[str]:
    """``text`` as a sorted list of known names, the fewest that there can be; empty when it is none.

    >>> split("add_native_layer_norm", {"add", "native", "layer", "norm", "native_layer_norm"})
    ['add', 'native_layer_norm']
    """
    words = text.split("_")
    best: list[list[list[str]]] = [[] for _ in range(len(words) + 1)]  # per end: lists of names, the shortest first
    best[0] = [[]]
    for end in range(1, len(words) + 1):
        for start in range(end):
            name = "_".join(words[start:end])
            if name in known:
                best[end] += [[*before, name] for before in best[start] if not before or before[-1] < name]
        best[end] = sorted(best[end], key=len)[:_MOST_NAMES]
    return best[-1][0] if best[-1] else []


def told(store: Store, text: str) -> str:
    """A sentence about the operators in the name of a kernel, "" for any other name."""
    match = _NAME.match(text.strip("`'\" "))
    if not match:
        return ""
    operators = [n for n in store.all_nodes(NodeKind.OP) if n.name.startswith(("aten::", "prims::"))]
    names = split(match["operators"], {n.bare for n in operators})
    if not names:
        return ""
    wanted = [n for n in operators if n.bare in names]
    places = _lowerings(store, wanted)
    listed = ", ".join(f"{name} (lowered at {places[name]})" if name in places else name for name in names)
    return f"By its name it was fused from {listed}; `pytrace op {names[0]} --all` tells all about the first."


def _lowerings(store: Store, operators: list[Node]) -> dict[str, str]:
    """Where Inductor lowers operators, by their base names."""
    bare = {n.id: n.bare for n in operators}
    found: dict[str, str] = {}
    for edge in store.edges_from(list(bare), EdgeKind.REGISTERS_PYTHON):
        if edge.rule == "python-lowering" and edge.file:
            found.setdefault(bare[edge.src], f"{edge.file}:{edge.line}")
    return found
