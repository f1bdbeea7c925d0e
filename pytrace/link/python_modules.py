"""The modules and classes of ``torch/``, as the facts of their files state them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytrace.model import Facts


class Definition(NamedTuple):
    """A function, method, property or class that a file defines."""

    module: Module
    qual: str  #: name within the module
    kind: str  #: see ``extract/python.py``
    line: int
    end: int
    returns: str  #: symbol of the result
    decorators: tuple[str, ...]

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.module.name}.{self.qual}"


class Alias(NamedTuple):
    """An assignment of a module or class body."""

    qual: str
    line: int
    symbol: str
    arguments: tuple[str, ...]


class Import(NamedTuple):
    """A name that a module imports."""

    target: str  #: absolute
    line: int


Entry = Definition | Alias | Import


class Class:
    """A class with what its own body and its methods say."""

    __slots__ = (
        *("aliases", "attributes", "bases", "definition", "members", "module", "names", "qual", "setters"),
        "subclasses",
    )

    def __init__(self, module: Module, definition: Definition) -> None:
        self.module = module
        self.qual = definition.qual
        self.definition = definition
        self.bases: tuple[str, ...] = ()
        self.members: dict[str, Definition] = {}
        self.setters: dict[str, Definition] = {}
        self.aliases: dict[str, Alias] = {}
        #: attribute -> (symbol, symbols of the arguments when it is a call)
        self.attributes: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self.names: set[str] = set()  #: all members, aliases and attributes
        self.subclasses: list[Class] = []

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.module.name}.{self.qual}"


class Module:
    """One file."""

    def __init__(self, path: str, facts: Facts) -> None:
        self.path = path
        self.name, self.is_package = module_name(path)
        self.facts = facts
        self.classes: dict[str, Class] = {}
        self.definitions: list[Definition] = []
        self.entries: dict[str, Entry] = {}
        self.stars = [(self.absolute(target), line) for target, line in facts.get("stars", ())]
        self.lists: dict[str, list[str]] = {}
        for name, _, rows in facts.get("strings", ()):
            self.lists[name] = self.lists.get(name, []) + rows  # ``__all__ += [...]``
        self._read(facts)

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def absolute(self, target: str) -> str:
        """The absolute name of an import's target: ``..functional`` in ``torch.nn.modules.linear``."""
        if not target.startswith("."):
            return target
        rest = target.lstrip(".")
        base = self.package
        for _ in range(len(target) - len(rest) - 1):
            base = base.rpartition(".")[0]
        return f"{base}.{rest}" if rest else base

    @property
    def exported(self) -> list[str] | None:
        """``__all__``, None when there is none."""
        return self.lists.get("__all__")

    def _read(self, facts: Facts) -> None:
        entries = self.entries
        placed: dict[str, int] = {}

        def place(name: str, line: int, entry: Entry) -> None:
            if line >= placed.get(name, 0):
                entries[name] = entry
                placed[name] = line

        for local, target, line in facts.get("imports", ()):
            place(local, line, Import(self.absolute(target), line))
        for qual, kind, line, end, returns, decorators in facts.get("definitions", ()):
            definition = Definition(self, qual, kind, line, end, returns, tuple(decorators))
            self.definitions.append(definition)
            owner, _, name = qual.rpartition(".")
            if kind == "c":
                self.classes[qual] = Class(self, definition)
            if not owner:
                place(name, line, definition)
            elif owner in self.classes:
                members = self.classes[owner].setters if kind == "w" else self.classes[owner].members
                members[name] = definition
        for qual, line, symbol, arguments in facts.get("aliases", ()):
            alias = Alias(qual, line, symbol, tuple(arguments))
            owner, _, name = qual.rpartition(".")
            if not owner:
                place(name, line, alias)
            elif owner in self.classes:
                self.classes[owner].aliases[name] = alias
        for qual, bases in facts.get("bases", ()):
            if qual in self.classes:
                self.classes[qual].bases = tuple(bases)
        for qual, attribute, symbol, arguments in facts.get("attributes", ()):
            if qual in self.classes:
                self.classes[qual].attributes.setdefault(attribute, []).append((symbol, tuple(arguments)))
        for cls in self.classes.values():
            cls.names.update(cls.members, cls.aliases, cls.attributes)

    def uses(self, qual: str) -> Iterable[tuple[int, str, int]]:
        """(line, symbol, guard) of what a function of this module uses."""
        rows: Iterable[tuple[int, str, int]] = self.facts.get("uses", {}).get(qual, ())
        return rows

    def guard(self, number: int) -> str:
        """The text of a guard."""
        return str(self.facts["guards"][number]) if number >= 0 else ""


def module_name(path: str) -> tuple[str, bool]:
    """``torch/nn/__init__.py`` -> (``torch.nn``, True); ``torch/nn/init.py`` -> (``torch.nn.init``, False)."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        return ".".join(parts[:-1]), True
    return ".".join(parts), False


def modules(files: Iterable[tuple[str, Facts]]) -> Iterator[Module]:
    """The modules of Python files."""
    return (Module(path, facts) for path, facts in files)
