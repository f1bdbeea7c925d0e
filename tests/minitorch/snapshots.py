"""Snapshots: each source of the miniature tree with what was extracted and linked under its lines.

::

      12 | Tensor& sigmoid_(Tensor& self) {
         . function at::native::sigmoid_(Tensor& self) -> Tensor&           a fact of this file alone
         + function at::native::sigmoid_ to 16                              a node of the graph that begins here
         > uses_stub sigmoid_stub  !stub-call  when if (x)  1 of 2          an edge that this line is the evidence for
         ? launch grid: no __global__ function of this name is visible      a name that could not be resolved

Facts are shown of C++ only: functions, classes and calls with their type expressions (``extract/cpp_types.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pytrace.extract.cpp import Call, Class, Function
from pytrace.model import Facts
from tests.minitorch.tree import Mini

#: What the one-letter kinds of ``extract.cpp.Call`` mean.
CALLS = {
    "f": "call",
    "m": "method",
    "k": "launch",
    "n": "make",
    "r": "refer",
    "b": "operator",
    "p": "print",
    "t": "template",
}


def render(mini: Mini, path: str) -> str:
    """The snapshot of one file."""
    kind, facts = mini.facts[path]
    under = _facts(facts) if kind in ("cpp", "template") else {}
    unresolved = defaultdict(list)
    for where, what, name, line, reason in mini.graph.unresolved:
        if where == path:
            unresolved[line].append(f"? {what} {name}: {reason}")
    out = []
    for number, text in enumerate(mini.source(path).decode().splitlines(), 1):
        out.append(f"{number:4} | {text}".rstrip())
        lines = [
            *sorted(under.get(number, ())),
            *_nodes(mini, path, number),
            *_edges(mini, path, number),
            *sorted(unresolved[number]),
        ]
        out += [f"     {line}" for line in lines]
    return "\n".join(out) + "\n"


def _facts(facts: Facts) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for row in facts.get("functions", ()):
        function = Function(*row)
        shown = ", ".join(
            " ".join(filter(None, (kind, name))) + (f" = {default}" if default else "")
            for kind, name, default in function.parameters
        )
        marks = ["static"] * function.local + [f"template <{function.templates}>"] * bool(function.templates)
        text = f". {function.kind} {function.name}({shown}) -> {function.returns or 'nothing'}"
        found[function.line].append("  ".join((text, *marks, *filter(None, (function.guard,)))))
    for row in facts.get("classes", ()):
        cls = Class(*row)
        fields = "; ".join(f"{kind} {name}" for kind, name in cls.fields)
        bases = f" : {', '.join(cls.bases)}" if cls.bases else ""
        found[cls.line].append(f". class {cls.name}{bases} {{{fields}}}")
    for row in facts.get("calls", ()):
        call = Call(*row)
        receiver = f" on {call.receiver}" if call.receiver else ""
        templates = f"<{call.templates}>" if call.templates else ""
        guard = f"  when {call.guard}" if call.guard else ""
        found[call.line].append(
            f". {CALLS.get(call.kind, call.kind)} {call.name}{templates}({', '.join(call.arguments)}){receiver}{guard}"
        )
    return found


def _nodes(mini: Mini, path: str, line: int) -> Iterator[str]:
    for node in mini.nodes_at.get((path, line), ()):
        end = f" to {node.end_line}" if node.end_line > node.line else ""
        macro = f"  by macro {node.attrs['macro']}" if "macro" in node.attrs else ""
        yield f"+ {node.kind} {node.name}{end}{macro}"


def _edges(mini: Mini, path: str, line: int) -> Iterator[str]:
    rows = {
        f"> {mini.nodes[e.src].name} {e.kind}{f'={e.key}' if e.key else ''} {mini.nodes[e.dst].name}"
        f"  !{e.rule}{f'  when {e.guard}' if e.guard else ''}{f'  1 of {e.candidates}' if e.candidates > 1 else ''}"
        for e in mini.edges_at.get((path, line), ())
    }
    return iter(sorted(rows))
