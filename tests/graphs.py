"""Small graphs for tests of questions: written as text, put in a store as the indexer would.

Two kinds of lines::

    node  KIND NAME [PATH:LINE] [{json attrs}]
    edge  SOURCE KIND[=KEY] DESTINATION [@PATH:LINE] [xCANDIDATES] [!RULE] [{json attrs}] [when GUARD …]

A name in an edge is a node's name (the latest of that name); ``kind:name`` tells nodes of one name apart.
"""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

from pytrace.graph import Graph
from pytrace.store import Store
from pytrace.writer import write

_EDGE = re.compile(
    r"(?P<src>\S+) (?P<kind>[a-z_]+)(?:=(?P<key>\S*))? (?P<dst>\S+)"
    r"(?: @(?P<place>\S+))?(?: x(?P<candidates>\d+))?(?: !(?P<rule>\S+))?(?: (?P<attrs>\{.*\}))?"
    r"(?: when (?P<guard>.*))?$"
)
_NODE = re.compile(r"(?P<kind>[a-z_]+) (?P<name>.+?)(?: (?P<place>[^\s{]+:\d+(?:-\d+)?))?(?: (?P<attrs>\{.*\}))?$")


def parse(text: str) -> Graph:
    """The graph that the lines describe; ``ValueError`` names a line that is not understood."""
    graph = Graph()
    ids: dict[str, int] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "#":
            continue
        if word == "node" and (match := _NODE.match(rest)):
            file, first, last = _place(match["place"])
            attrs = json.loads(match["attrs"] or "{}")
            number = graph.node(match["kind"], match["name"], file, first, last, owner=file, attrs=attrs)
            ids[match["name"]] = ids[f"{match['kind']}:{match['name']}"] = number
        elif word == "edge" and (match := _EDGE.match(rest)):
            file, first, _ = _place(match["place"])
            graph.edge(
                ids[match["src"]],
                ids[match["dst"]],
                match["kind"],
                match["key"] or "",
                rule=match["rule"] or "test",
                file=file,
                line=first,
                guard=match["guard"] or "",
                candidates=int(match["candidates"] or 1),
                owner=file,
                attrs=json.loads(match["attrs"] or "{}"),
            )
        else:
            raise ValueError(line)
    return graph


def _place(text: str | None) -> tuple[str, int, int]:
    if not text:
        return "", 0, 0
    file, _, lines = text.rpartition(":")
    first, _, last = lines.partition("-")
    return file, int(first), int(last or first)


def store(folder: Path, text: str) -> Store:
    """An opened store with the graph that the lines describe."""
    path = folder / "index.db"
    db = sqlite3.connect(path, isolation_level=None)
    write(db, parse(text), [], {}, {"root": "/tree", "version": "9.9.9", "commit": "c0ffee", "schema": "2"})
    db.close()
    return Store(path)


#: An imitation of PyTorch: names and shapes of the paths as there, places made up.
MINI = (Path(__file__).parent / "data" / "mini.graph").read_text()
