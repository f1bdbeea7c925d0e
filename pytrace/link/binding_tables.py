"""Hand-written method tables: which type or module each one ends up in.

A table reaches its owner through initialisers (``PyTypeObject``, ``PyModuleDef``), assignments
(``T.tp_methods = methods.data()``) and functions that gather tables (``THPUtils_addPyMethodDefs(methods, table)``).
``Tables`` follows the names from the owner to the tables, across files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pytrace.model import Facts

#: What ends the name of a type whose one instance is added to the module (``_VariableFunctionsClass``,
#: torch/csrc/autograd/python_torch_functions_manual.cpp: initTorchFunctions).
_CLASS_SUFFIX = "Class"


class Row(NamedTuple):
    """One name of a table."""

    name: str
    file: str
    line: int
    function: str
    setter: str
    how: str  #: methods, properties, slots, renamed; or pybind11's def, class, …
    tensor: bool = False  #: whether it gives back a Tensor
    passes: tuple[str, ...] = ()  #: generated bindings of the same owner that the C function calls


class Generated(NamedTuple):
    """A table that a generator fills in: ``${py_method_defs}``."""

    template: str
    line: int
    sharded: bool


class Tables:
    """All tables of the tree, by owner."""

    def __init__(self, files: Iterable[tuple[str, Facts]]) -> None:
        self._facts: dict[str, dict[str, Any]] = {
            path: facts["bindings"] for path, facts in files if facts.get("bindings")
        }
        self._tables: dict[str, list[tuple[str, Any]]] = {}
        self._sources: dict[str, list[tuple[str, str]]] = {}
        for path, facts in self._facts.items():
            for table in facts.get("tables", ()):
                self._tables.setdefault(table[0], []).append((path, table))
            for target, source in (*facts.get("fills", ()), *facts.get("accessors", ())):
                self._sources.setdefault(target, []).append((path, source))
        self.rows: dict[str, list[Row]] = {}  #: owner -> rows
        self.generated: dict[str, Generated] = {}  #: owner -> the template that the generator fills in
        self.bases = _bases(self._facts)  #: class of pybind11 -> the classes after it in its order of resolution
        self._taken: set[tuple[str, str]] = set()
        for path, facts in self._facts.items():
            for variable, name, _, mentioned in facts.get("types", ()):
                self._own(_instance(name), path, [variable, *mentioned])
            for name, _, mentioned in facts.get("modules", ()):
                self._own(name, path, mentioned)
            for owner, name, line, function, how in facts.get("definitions", ()):
                self.rows.setdefault(owner, []).append(Row(name, path, line, function, "", how))

    def _own(self, owner: str, path: str, names: Iterable[str]) -> None:
        seen: set[tuple[str, str]] = set()
        todo = [(path, name) for name in names]
        while todo:
            at, name = todo.pop()
            if (at, name) in seen:
                continue
            seen.add((at, name))
            for where, table in self._find(self._tables, at, name):
                self._take(owner, where, table)
            todo += [(where, source) for where, source in self._find(self._sources, at, name)]
        self._rename(owner, path, seen)

    def of(self, path: str, name: str) -> Iterator[tuple[str, Any]]:
        """(path, table) of what a table, or a function that gives one, stands for when ``path`` names it."""
        seen: set[tuple[str, str]] = set()
        todo = [(path, name)]
        while todo:
            at, name = todo.pop()
            if (at, name) not in seen:
                seen.add((at, name))
                yield from self._find(self._tables, at, name)
                todo += self._find(self._sources, at, name)

    def _find(self, index: dict[str, list[tuple[str, Any]]], path: str, name: str) -> Iterator[tuple[str, Any]]:
        """Entries of this name: of the same file first, else of the file that opens the named namespace."""
        space, _, bare = name.rpartition("::")
        entries = index.get(bare, [])
        if not entries and bare[-1:].isdigit():
            # ``gatherTorchFunctions_0`` stands in the first file made from the template of ``…${shard_id}``.
            stem = bare.rstrip("0123456789").removesuffix("_")
            return iter([(w, v) for w, v in index.get(stem, []) if self._facts[w].get("sharded")])
        local = [(where, value) for where, value in entries if where == path]
        if local and not space:
            return iter(local)
        near = [(w, v) for w, v in entries if not space or space in self._facts[w].get("namespaces", ())]
        # A bare name such as ``methods`` is another table in every file; an external one is unlike its neighbours.
        return iter(near if space or len(near) == 1 or bare.startswith(("gather", "get_")) else [])

    def _take(self, owner: str, path: str, table: Any) -> None:
        name, kind, _, rows, placeholder = table
        if (path, name) in self._taken:
            return
        self._taken.add((path, name))
        if placeholder:
            self.generated[owner] = Generated(path, placeholder, bool(self._facts[path].get("sharded")))
        found = self.rows.setdefault(owner, [])
        tensors = frozenset(self._facts[path].get("tensors", ()))
        passes = {function: tuple(names) for function, names in self._facts[path].get("passes", ())}
        found += [
            Row(row, path, line, function, setter, kind, function in tensors, passes.get(function, ()))
            for row, line, function, setter in rows
        ]

    def _rename(self, owner: str, path: str, seen: set[tuple[str, str]]) -> None:
        for where in {path, *(at for at, _ in seen)}:
            if any(at == where for at, _ in seen) and owner in self.rows:
                for old, new, line in self._facts[where].get("renames", ()):
                    self.rows[owner].append(Row(new, where, line, old, "", "renamed"))


def _bases(files: Mapping[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The bases of pybind11's classes, by Python name, nearest first.

    A template argument behind the class is a base when it is bound itself, else the holder or the trampoline
    (``py::class_<Type, Base, Holder>``): a class of the same file, else the only one of the tree, has its last name.
    """
    rows = [(path, row) for path, facts in files.items() for row in facts.get("classes", ())]
    bound: dict[str, list[tuple[str, str]]] = {}
    for path, (name, cpp, _, _) in rows:
        bound.setdefault(cpp.rpartition("::")[2], []).append((path, name))
    direct: dict[str, list[str]] = {}
    for path, (name, _, others, given) in rows:
        parents = [given] if given else []
        for other in others:
            known = bound.get(other.rpartition("::")[2], [])
            near = [each for where, each in known if where == path]
            parents += near[:1] or [each for _, each in known if len(known) == 1]
        direct[name] = [each for each in parents if each != name]
    found: dict[str, list[str]] = {}
    for name in direct:
        above: dict[str, None] = {}
        todo = list(direct[name])
        while todo:
            each = todo.pop(0)
            if each not in above and each != name:
                above[each] = None
                todo += direct.get(each, ())
        if above:
            found[name] = list(above)
    return found


def _instance(name: str) -> str:
    bare = name.rpartition(".")[2]
    return name.removesuffix(_CLASS_SUFFIX) if bare.startswith("_") and bare.endswith(_CLASS_SUFFIX) else name
