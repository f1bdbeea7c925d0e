"""What Python source may ask of a binding: does it exist, is it a property, does it give back a Tensor?"""

from __future__ import annotations

import json
import re
from typing import Any

from pytrace.graph import Graph
from pytrace.link.operators import OperatorTable
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema import Schema

#: Nodes of ``link/init_order.py`` that stand for a type, module or object, not for what can be called.
_MADE = re.compile(r'"how":"(?:type|module|object)"')


class BindingTable:
    """The bindings that ``link/bindings.py`` put into the graph, and the types that ``link/init_order.py`` did."""

    def __init__(self, graph: Graph, operators: OperatorTable) -> None:
        self.ids: dict[str, int] = {}
        self.owners: set[str] = set()
        self._attrs: dict[str, str | None] = {}
        self._types: dict[str, str] = {}  #: a type of C's API -> the name that it has itself, which its members have
        bindings: dict[int, str] = {}
        names: dict[int, str] = {}
        for node in graph.nodes:
            kind = node[1]
            if kind == NodeKind.BINDING:
                name = node[2]
                attrs = node[8]
                if attrs is not None and _MADE.search(attrs):
                    own = json.loads(attrs).get("tp_name", name)
                    if own != name:
                        self._types[name] = own
                    continue
                self.ids[name] = node[0]
                self._attrs[name] = node[8]
                bindings[node[0]] = names[node[0]] = name
                owner = name.rpartition(".")[0]
                while owner and owner not in self.owners:
                    self.owners.add(owner)
                    owner = owner.rpartition(".")[0]
            elif kind == NodeKind.OP:
                names[node[0]] = node[2]
        self._operators = operators
        self._first: dict[str, str] = {}  #: binding -> an operator behind it
        self._same: dict[str, str] = {}  #: binding -> the binding that has the same C function
        self._leading: set[str] = set()
        for edge in graph.edges:
            source = bindings.get(edge[0])
            if source is None:
                continue
            kind, target = edge[2], names.get(edge[1])
            if kind != EdgeKind.IMPLEMENTED_BY and (kind != EdgeKind.CALLS or target is not None):
                self._leading.add(source)
            if kind == EdgeKind.BINDS and target is not None:
                self._first.setdefault(source, target)
            elif kind == EdgeKind.ALIAS_OF and target is not None:
                self._same[source] = target

    def exists(self, name: str) -> bool:
        """Whether there is a binding of this name."""
        return name in self.ids

    def owner(self, name: str) -> bool:
        """Whether the name stands for a module or class, which has members."""
        return (
            name in self.owners or self._types.get(name) in self.owners or '"bases":' in (self._attrs.get(name) or "")
        )

    def member(self, owner: str, name: str) -> str:
        """The binding that is a member of a module or class: its own, else that of its nearest base; "" for none."""
        own = self._types.get(owner, owner)
        full = f"{own}.{name}"
        if full in self.ids or full in self.owners or full in self._types:
            return full
        text = self._attrs.get(own)
        for base in json.loads(text)["bases"] if text is not None and '"bases":' in text else ():
            if f"{base}.{name}" in self.ids:
                return f"{base}.{name}"
        return ""

    def below(self, owner: str) -> list[str]:
        """The bare names of an owner's bindings."""
        start = len(owner) + 1
        return [name[start:] for name in self.ids if name.startswith(owner + ".") and "." not in name[start:]]

    def attrs(self, name: str) -> dict[str, Any]:
        """The attributes of a binding's node."""
        text = self._attrs.get(name)
        loaded: dict[str, Any] = json.loads(text) if text else {}
        return loaded

    def is_property(self, name: str) -> bool:
        """Whether reading the name runs a getter."""
        text = self._attrs.get(name)
        return text is not None and '"how":"properties"' in text

    def leads_on(self, name: str) -> bool:
        """Whether an operator is behind the binding."""
        return name in self._leading

    def has_setter(self, name: str) -> bool:
        """Whether it is a property that can be assigned to."""
        text = self._attrs.get(name)
        return text is not None and '"setter":' in text

    def result(self, name: str) -> str:
        """``T`` a Tensor, ``T{}`` several Tensors, "" anything else or unknown."""
        name = self._same.get(name, name)
        first = self._first.get(name)
        if first is not None:
            op = self._operators.by_name.get(first)
            return tensors_returned(op.schema) if op is not None else ""
        text = self._attrs.get(name)
        return "T" if text is not None and '"tensor":true' in text else ""


def tensors_returned(schema: Schema | None) -> str:
    """The symbol of what an operator returns."""
    if schema is None or not any(r.type.is_tensor_like for r in schema.returns):
        return ""
    single = len(schema.returns) == 1 and not schema.returns[0].type.is_list
    return "T" if single else "T{}"
