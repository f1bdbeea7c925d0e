"""An extractor and a link stage of a few lines, to test the indexer alone.

A source is a list of lines: ``def NAME`` makes a function, ``call NAME`` an edge from the last function. Some words
make the extractor misbehave. Every extraction is noted in the file named by FAKE_LOG, so that a test can count.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping

from pytrace.graph import Delta, Graph
from pytrace.link.state import State
from pytrace.model import Facts

VERSION = 1


def extract(source: bytes) -> Facts:
    """Facts of a source."""
    text = source.decode("utf-8", "replace")
    log = os.environ.get("FAKE_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(text.strip().split("\n")[0] + "\n")
    if "EXPLODE" in text:
        raise RuntimeError("exploded")
    if "RECURSE" in text:
        return extract(source)
    if "DIE" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "HANG" in text:
        time.sleep(60)
    rows = [(number, line.split()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    facts: Facts = {"rows": [(n, words[0], words[-1]) for n, words in rows]}
    if b"\xff" in source:
        facts["diagnostics"] = [(1, "encoding", "not UTF-8")]
    return facts


def link(
    files: Mapping[str, tuple[str, Facts]], jobs: int = 1, early: Callable[[Graph], None] = lambda graph: None
) -> Graph:
    """The graph of all facts; ``early`` is called between its nodes and its edges."""
    graph = Graph()
    functions: dict[str, int] = {}
    calls: list[tuple[int, str, str, int]] = []
    for path, (_, facts) in files.items():
        last = 0
        for line, word, name in facts["rows"]:
            if word == "def":
                last = functions[name] = graph.node("function", name, path, line, owner=path)
            elif word == "call":
                calls.append((last, name, path, line))
    early(graph)
    for src, name, path, line in calls:
        if name in functions:
            graph.edge(src, functions[name], "calls", rule="call", file=path, line=line, owner=path)
        else:
            graph.unresolved_name(path, "call", name, line, "no such function")
    return graph


def relink(
    state: State, before: Mapping[str, tuple[str, Facts]], after: Mapping[str, tuple[str, Facts]], jobs: int
) -> Delta | None:
    """The delta of changed files that define what they defined before."""
    if before.keys() != after.keys():
        return None
    store = state.store
    delta = Delta(list(after), added=Graph(first_id=1 + max(n.id for n in store.all_nodes())))
    for path, (_, facts) in after.items():
        rows = facts["rows"]
        old = [name for _, word, name in before[path][1]["rows"] if word == "def"]
        if [name for _, word, name in rows if word == "def"] != old:
            return None
        last = 0
        for line, word, name in rows:
            (node,) = store.named(name) or (None,)
            if word == "def" and node is not None:
                last = node.id
                delta.kept.append((last, line, line, {"kept": True}))
            elif word == "call" and node is not None:
                delta.added.edge(last, node.id, "calls", rule="call", file=path, line=line, owner=path)
            elif word == "call":
                delta.added.unresolved_name(path, "call", name, line, "no such function")
    return delta
