"""What each C++ function puts into Python: the initialisers that fill ``torch._C`` when it is imported.

Adds, all of them edges of evidence for ``pytrace init`` and ``pytrace binding``:

* ``provides`` edges, function -> binding, key = what it is (function, class, property, type, module, object); the
  line is where the function does it. Rules: ``pybind11``, ``method-table``, ``module-object``, ``python-type``;
* binding nodes for the types, modules and objects themselves (``torch._C.Size``; attrs ``how``, ``type``, ``tp_name``);
* ``implemented_by`` edges, binding -> C++ function, for what is written by hand;
* where Python begins: ``calls`` edges of a module that imports ``torch._C`` (to ``PyInit__C``), or calls a binding of
  it while it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pytrace.link.binding_tables import Tables
from pytrace.link.context import Context
from pytrace.link.python_values import module_name
from pytrace.model import EdgeKind, NodeKind

ROOT = "torch._C"
#: The function that Python calls when it imports the module (torch/csrc/stub.c).
ENTRY = "PyInit__C"
#: Where a module that nothing names is ``torch._C``: its sources, and what is generated into them. Other extension
#: modules are built of their own folders (functorch/csrc).
_OF_ROOT = ("torch/", "tools/autograd/templates/")
#: Called for every documented name: it fills nothing.
_DOCSTRING = "._add_docstr"
_HOW = {"methods": "function", "properties": "property", "slots": "function", "class": "class"}


class _Use(NamedTuple):
    """A row of ``extract/cbinding_uses.py``."""

    line: int
    what: str
    name: str
    owner: str
    value: str
    guard: str


def link(ctx: Context) -> None:
    """Needs ``ctx.functions`` and the binding nodes (``link/bindings.py``)."""
    sources = {path: facts for path, (_, facts) in ctx.files.items() if facts.get("bindings")}
    linker = _Linker(ctx, Tables(sources.items()))
    for path, facts in sources.items():
        linker.file(path, facts["bindings"])
    linker.implementations()
    _python(ctx)


class _Linker:
    """Adds the edges of one file after another."""

    def __init__(self, ctx: Context, tables: Tables) -> None:
        self.ctx = ctx
        self.graph = ctx.graph
        self.tables = tables
        self.at: dict[tuple[str, int, str], int] = {}  # file, line, last name -> binding
        self.generated: dict[str, list[int]] = {}  # template -> generated bindings
        self.bound: list[tuple[int, str, str, int]] = []  # binding, file, C++ function, line
        #: modules that a ``PyModuleDef`` of any file names
        self.made = {row[0] for _, facts in ctx.files.values() for row in facts.get("bindings", {}).get("modules", ())}
        for row in ctx.graph.nodes:
            if row[1] == NodeKind.BINDING and row[4]:
                self.at[row[4], row[5], row[3]] = row[0]

    def file(self, path: str, facts: dict[str, Any]) -> None:
        """Everything that the functions of one file provide."""
        self.path = path
        symbols = self.ctx.functions.by_file.get(path, ())
        rows = self.ctx.files[path][1].get("functions", ())
        # torch/csrc/utils/pythoncapi_compat.h defines PyModule_AddType for old Pythons: the API, no initialiser
        self.spans = [(row[2], row[3], s.id) for s, row in zip(symbols, rows) if not s.bare.startswith("PyModule_")]
        self.types = {row[0]: row[1] for row in facts.get("types", ())}
        self.modules = self._modules(facts)
        uses = [_Use(*row) for row in facts.get("uses", ())]
        added = {use.value for use in uses if use.what == "object"}
        told: set[str] = set()
        for use in uses:
            if use.what == "table":
                self._table(use)
            elif use.what == "object":
                self._object(use)
            elif use.what == "module":
                for table in self._tables_of(use, facts) - {each.value for each in uses}:
                    told.add(table)
                    self._table(use._replace(value=table))
            elif use.what == "unnamed" and self._function(use.line) is not None:
                reason = f"what it is called in Python is computed: {use.name}"
                self.graph.unresolved_name(path, "binding", use.value, use.line, reason)
            elif use.what == "type" and use.value in self.types and use.value not in added:
                self._provide(use, self._node(self.types[use.value], use, "type"), "type", "python-type")
        for table, _, line, _, _ in facts.get("tables", ()):
            function = self._function(line)
            if function is not None and table not in told and not any(use.value == table for use in uses):
                self._table(_Use(line, "table", "", "", table, ""))
        self._pybind(facts.get("definitions", ()))
        for _, _, _, rows, _ in facts.get("tables", ()):
            self.bound += [
                (self.at[path, line, name], path, function, line)
                for name, line, function, _ in rows
                if function and (path, line, name) in self.at
            ]

    def _function(self, line: int) -> int | None:
        """The innermost function of the file around a line."""
        return max((span for span in self.spans if span[0] <= line <= span[1]), default=(0, 0, None))[2]

    def _modules(self, facts: dict[str, Any]) -> list[tuple[int, str, str]]:
        """(line, variable, module): ``x = PyModule_Create(&def)``, ``x = PyImport_ImportModule("torch")``."""
        found: list[tuple[int, str, str]] = []
        for row in facts.get("uses", ()):
            use = _Use(*row)
            if use.what == "import":
                found.append((use.line, use.owner, use.name))
            elif use.what == "module":
                above = [name for name, line, _ in facts.get("modules", ()) if line <= use.line]
                if above and use.owner:
                    found.append((use.line, use.owner, above[-1]))
        return found

    def _tables_of(self, use: _Use, facts: dict[str, Any]) -> set[str]:
        """The method tables of this file that the definition of a module, which is made here, names."""
        above = [mentioned for _, line, mentioned in facts.get("modules", ()) if line <= use.line]
        return {row[0] for row in facts.get("tables", ())}.intersection(above[-1] if above else ())

    def _held(self, variable: str, line: int) -> str:
        """The module that a variable holds at a line of a function; "" when it is none that the function makes."""
        function = self._function(line)
        return next(
            (
                name
                for at, known, name in reversed(self.modules)
                if known == variable and self._function(at) == function
            ),
            "",
        )

    def _node(self, name: str, use: _Use, how: str, **attrs: str) -> int:
        """The binding node of a type, module or object; what pybind11 or a table defines has one already."""
        given = {"from": "manual", "how": how, "holds": self.path, **{k: v for k, v in attrs.items() if v}}
        return self.graph.shared(NodeKind.BINDING, name, self.path, use.line, owner=self.path, attrs=given)

    def _object(self, use: _Use) -> None:
        owner = self._held(use.owner, use.line) or (ROOT if self.path.startswith(_OF_ROOT) else "")
        if not owner:
            reason = f"what {use.owner or 'its module'} is called in Python is not known"
            self.graph.unresolved_name(self.path, "binding", use.name or use.value, use.line, reason)
            return
        module = self._held(use.value, use.line)
        if use.value in self.types:
            name = f"{owner}.{use.name}"
            node = self._node(name, use, "type", type=use.value, tp_name=self.types[use.value])
            self._provide(use, node, "type", "python-type")
        elif module:
            self._provide(use, self._node(module, use, "module"), "module", "module-object")
        else:
            name = f"{owner}.{use.name}"
            what = "module" if name in self.made else "object"
            node = self._node(name, use, what, value=use.value)
            self._provide(use, node, what, "module-object")

    def _table(self, use: _Use) -> None:
        for path, (table, kind, _, rows, _) in self.tables.of(self.path, use.value):
            for name, line, *_ in rows:
                node = self.at.get((path, line, name))
                if node is not None:
                    self._provide(use, node, _HOW.get(kind, "function"), "method-table", table)

    def _pybind(self, rows: Sequence[tuple[str, str, int, str, str]]) -> None:
        classes = {f"{owner}.{name}" for owner, name, _, _, how in rows if how == "class"}
        for owner, name, line, function, how in rows:
            node = self.graph.find(NodeKind.BINDING, f"{owner}.{name}")
            if node is None:
                continue
            if function:
                self.bound.append((node, self.path, function, line))
            if owner not in classes:
                use = _Use(line, "definition", name, owner, "", "")
                self._provide(use, node, "class" if how == "class" else "function", "pybind11")

    def _provide(self, use: _Use, node: int, key: str, rule: str, table: str = "") -> None:
        function = self._function(use.line)
        if function is not None:
            self.graph.edge(
                function,
                node,
                EdgeKind.PROVIDES,
                key,
                rule=rule,
                file=self.path,
                line=use.line,
                guard=use.guard,
                owner=self.path,
                attrs={"table": table} if table else None,
            )

    def implementations(self) -> None:
        """Which C++ function each binding written by hand stands for."""
        for node, path, function, line in dict.fromkeys(self.bound):
            ids = self._resolve(function, path, line)
            for target in ids:
                self.graph.edge(
                    node,
                    target,
                    EdgeKind.IMPLEMENTED_BY,
                    rule="method-table",
                    file=path,
                    line=line,
                    candidates=len(ids),
                    owner=path,
                )

    def _resolve(self, function: str, path: str, line: int) -> list[int]:
        facts = self.ctx.files[path][1]["bindings"]
        for scope in (*facts.get("namespaces", ()), ""):
            ids = self.ctx.functions.resolve(function, path, scope, line)
            if ids:
                return ids
        return []


def _python(ctx: Context) -> None:
    """What Python modules do with ``torch._C`` while they are imported."""
    entry = next((s.id for s in ctx.functions.by_name.get(ENTRY, ())), None)
    for path, (kind, facts) in ctx.files.items():
        if not kind.startswith("python"):
            continue
        ends: list[tuple[int, int, str]] = []
        if path == "torch/__init__.py" and entry is not None:
            ends += [(line, entry, "python-import") for target, line in facts.get("stars", ()) if target == ROOT]
        for line, target, *_ in facts.get("calls", ()):
            if not target.startswith(f"@{ROOT}.") or target.endswith(_DOCSTRING):
                continue
            binding = ctx.graph.find(NodeKind.BINDING, target[1:])
            if binding is not None:
                ends.append((line, binding, "python-module"))
        if not ends:
            continue
        module = ctx.graph.shared(NodeKind.MODULE, module_name(path), path, 1, owner=path)
        for line, end, rule in ends:
            ctx.graph.edge(module, end, EdgeKind.CALLS, rule=rule, file=path, line=line, owner=path)
