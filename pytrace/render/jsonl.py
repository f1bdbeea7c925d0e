"""The whole graph, one JSON object a line.

Node: ``{"t":"node","id","kind","name","file","line"}``, with ``end_line`` and ``attrs`` when there are any.
Edge: ``{"t":"edge","kind","src","dst","key","file","line","rule"}``, with ``guard``, ``candidates`` (when more than
one end is possible) and ``attrs`` when there are any. Ids are strings that mean something within one export only;
kinds and keys are those of ``pytrace.model``. Names are without template arguments: a node for some instantiations of a
template has the name of the template, and ``"attrs":{"instantiations":"some"}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from pytrace.model import SOME, Edge, Node


def lines(nodes: Iterable[Node], edges: Iterable[Edge]) -> Iterator[str]:
    """Each node, then each edge, as a line with its newline."""
    # Written by hand: json.dumps of a dict for each row takes three times as long, and there are 300,000 of them.
    known: dict[str, str] = {}
    for node_id, kind, name, file, line, end_line, attrs in nodes:
        if file not in known:
            known[file] = quoted(file)
        end = f',"end_line":{end_line}' if end_line > line else ""
        name = name.removesuffix(SOME)
        yield (
            f'{{"t":"node","id":"{node_id}","kind":"{kind}","name":{quoted(name)},"file":{known[file]},"line":{line}'
            f"{end}{_attrs(attrs)}}}\n"
        )
    for src, dst, kind, key, rule, file, line, guard, candidates, attrs in edges:
        if file not in known:
            known[file] = quoted(file)
        if guard not in known:
            known[guard] = quoted(guard)
        when = f',"guard":{known[guard]}' if guard else ""
        many = f',"candidates":{candidates}' if candidates > 1 else ""
        yield (
            f'{{"t":"edge","kind":"{kind}","src":"{src}","dst":"{dst}","key":{quoted(key)},"file":{known[file]},'
            f'"line":{line},"rule":"{rule}"{when}{many}{_attrs(attrs)}}}\n'
        )


def _attrs(attrs: dict[str, Any]) -> str:
    if not attrs:
        return ""
    from json import dumps

    return f',"attrs":{dumps(attrs, separators=(",", ":"), sort_keys=True)}'
