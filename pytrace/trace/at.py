"""``pytrace at FILE:LINE``: what stands on a line, which crossings were read there, which operators reach it."""

from __future__ import annotations

import re

from pytrace.errors import BadQuestion, UnknownName
from pytrace.model import SOME, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace import kernel, lookup
from pytrace.trace.answers import AtAnswer, Step
from pytrace.trace.resolve import CPP_KINDS, Found
from pytrace.trace.walk import ref, via

#: A frame as Python prints it.
_PYTHON_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)')


def parse(text: str) -> tuple[str, int]:
    """``path:line`` (``path:line:column``, a frame of a Python traceback) taken apart.

    Raises ``BadQuestion`` with an example.
    """
    match = _PYTHON_FRAME.search(text) or re.fullmatch(r"\s*(.+?):(\d+)(?::\d+)?:?\s*", text)
    if not match or int(match.group(2)) < 1:
        shown = "".join(c if c.isprintable() else "\ufffd" for c in text[:200])
        raise BadQuestion(f"`{shown}` is not FILE:LINE, for example aten/src/ATen/native/RNN.cpp:1429.")
    return match.group(1), int(match.group(2))


def locate(store: Store, path: str, root: str) -> str:
    """The indexed file that ``path`` means: relative to the tree, absolute, or the unique file with this ending.

    Raises ``UnknownName`` with the files that end alike.
    """
    path = path.replace("\\", "/")
    if root and path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    path = path.removeprefix("./")
    tail = path
    while True:
        found = lookup.paths_like(store, tail, 6)
        if found and (found[0] == tail or len(found) == 1):
            return found[0]
        if found:
            listed = "".join(f"\n  {name}" for name in found)
            raise UnknownName(f"Several indexed files end in {tail}:{listed}", found)
        # A stack trace has another machine's folders in front: /pytorch/aten/src/… or /build/torch/….
        _, slash, tail = tail.partition("/")
        if not slash:
            raise UnknownName(f"No indexed file is called {path}. `pytrace stats` counts what is indexed.")


def answer(store: Store, path: str, line: int, *, limit: int = 8, paths: int = 1) -> AtAnswer:
    """Tell of ``path:line`` (an indexed file): nodes around it, innermost first, crossings on it, operators above."""
    nodes = store.at(path, line)
    here = _crossings(store, path, line)
    seeds = [n for n in nodes if n.kind in CPP_KINDS][:1]
    result = AtAnswer(path, line, [ref(n) for n in nodes], here, [])
    if seeds:
        above = kernel.answer(store, f"{path}:{line}", Found(seeds), up=True, limit=limit, paths=paths)
        result.up, result.operators = above.up, above.operators
        if above.stopped:
            result.sentence = above.stopped
        elif not above.operators:
            result.sentence = (above.notes or ["No operator reaches it, as far as the index can tell."])[0]
    elif not nodes and not here:
        result.sentence = "Nothing that the index knows of stands on this line."
    elif any(n.kind == NodeKind.OP for n in nodes):
        first = next(n for n in nodes if n.kind == NodeKind.OP)
        result.sentence = f"`pytrace op {first.name.removeprefix('aten::')}` tells all about it."
    return result


def _crossings(store: Store, path: str, line: int) -> list[Step]:
    """The edges whose evidence is this line: one step for each source, its ends below."""
    sources = list(dict.fromkeys(src for src, _ in lookup.edges_at(store, path, line)))
    edges = [e for e in store.edges_from(sources) if e.file == path and e.line == line] if sources else []
    nodes: dict[int, Node] = store.nodes([i for e in edges for i in (e.src, e.dst)])
    steps: dict[int, Step] = {}
    told: dict[tuple[int, int], Step] = {}
    for edge in edges:
        step = steps.setdefault(edge.src, Step(ref(nodes[edge.src])))
        if edge.kind == EdgeKind.GENERATED_FROM or nodes[edge.dst].name.endswith(SOME):
            continue
        below = told.get((edge.src, edge.dst))
        if below is None:
            below = told[edge.src, edge.dst] = Step(ref(nodes[edge.dst]), via(edge))
            step.steps.append(below)
        elif below.via is not None and edge.kind == below.via.kind and edge.key not in below.via.key.split(", "):
            below.via.key += f", {edge.key}"
    return [step for step in steps.values() if step.steps]
