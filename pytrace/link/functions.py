"""The C++ definitions of the tree, and which of them a name means at a place: nodes for functions and kernels.

A name is looked up as C++ does it: from the innermost enclosing scope outwards, the class's bases with the class, then
what ``using`` brings in. What has internal linkage is seen in its own file only, or where its header is included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from pytrace.extract.cpp_text import DEDUCED, template_arguments, without_templates
from pytrace.link.autograd_nodes import add_apply
from pytrace.link.context import Context
from pytrace.link.cpp_frontend import add_holders
from pytrace.link.cpp_types import kind_of
from pytrace.link.includes import Includes
from pytrace.link.vendor_headers import is_outside, vendor_attrs
from pytrace.model import EdgeKind, NodeKind

HEADERS = (".h", ".cuh", ".hpp", ".hh", ".inl", ".hip.h")


class Symbol:
    """One definition: a row of ``extract.cpp.Function``, which is taken apart when it is first looked into.

    Most of a tree's definitions are never looked at when a single file is linked anew (link/edited.py).
    """

    __slots__ = (
        "bare",
        "end",
        "file",
        "guard",
        "id",
        "kind",
        "line",
        "local",
        "name",
        "owner",
        "parameters",
        "refuses",
        "required",
        "returns",
        "row",
        "scope",
        "special",
        "specialises",
        "templates",
        "total",
    )

    id: int
    name: str
    scope: str
    bare: str
    kind: str
    line: int
    end: int
    file: str
    parameters: tuple[tuple[str, str, str], ...]
    total: int
    required: int
    returns: str
    local: bool
    owner: str
    templates: str
    guard: str
    special: str
    specialises: bool
    refuses: bool

    def __init__(self, node_id: int, row: Sequence[Any], file: str) -> None:
        self.id = node_id
        self.row = row
        self.file = file
        self.name = row[0]
        self.scope, _, self.bare = self.name.rpartition("::")

    def __getattr__(self, name: str) -> Any:
        """Called for what has no value yet: all of it gets one here."""
        if name not in self.__slots__:
            raise AttributeError(name)
        self._take_apart()
        return getattr(self, name)

    def _take_apart(self) -> None:
        row, file = self.row, self.file
        kind, line, end, parameters, returns, local, owner, templates = row[1:9]
        self.kind = kind
        self.line = line
        self.end = end
        self.parameters = parameters
        self.total = len(parameters) if not (parameters and parameters[-1][0].endswith("...")) else 99
        self.required = sum(1 for p in parameters if not p[2] and not p[0].endswith("..."))
        self.returns = str(returns)
        # Metal's libraries are compiled on their own (aten/src/ATen/CMakeLists.txt): no C++ file sees their functions
        self.local = bool(local) or file.endswith(".metal")
        self.owner = str(owner)
        self.templates = str(templates)
        # of a vendor's header the column holds the header
        self.guard = str(row[9]) if len(row) > 9 and not is_outside(file) else ""
        special = str(row[11]) if len(row) > 11 else ""
        self.special = special if special != DEDUCED else ""  #: the template arguments of a specialisation, as written
        self.specialises = bool(special)
        self.refuses = len(row) > 12 and bool(row[12])


class ClassInfo:
    """One class: its bases as written, the kinds of its fields."""

    __slots__ = ("bases", "fields", "file", "given", "line", "local", "name", "templates")

    def __init__(
        self,
        name: str,
        bases: Sequence[str],
        fields: Sequence[tuple[str, str]],
        templates: str,
        file: str,
        line: int,
        local: bool,
    ) -> None:
        self.name = name
        self.bases = [without_templates(b) for b in bases]
        self.given = [
            template_arguments(b) for b in bases if "&" in b
        ]  #: template arguments of bases that name functions
        self.fields = {n: t for t, n in fields}
        self.templates = templates
        self.file = file
        self.line = line
        self.local = local


class FunctionTable:
    """Definitions by qualified name, classes, aliases; and the lookup."""

    def __init__(self, includes: Includes) -> None:
        self.includes = includes
        self.by_name: dict[str, list[Symbol]] = defaultdict(list)
        self.by_bare: dict[str, list[Symbol]] = defaultdict(list)
        self.by_id: dict[int, Symbol] = {}
        self.by_file: dict[str, list[Symbol]] = {}
        self.classes: dict[str, list[ClassInfo]] = defaultdict(list)
        self.derived: dict[str, list[str]] = defaultdict(list)
        self.classes_by_bare: dict[str, set[str]] = defaultdict(set)
        self.aliases: dict[str, dict[str, list[tuple[str, str]]]] = {}
        self.global_aliases: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.using_namespaces: dict[str, list[tuple[str, str]]] = {}
        #: scope -> (header, row, target): ``namespace at { using namespace c10; }`` of c10/macros/Macros.h
        self.header_namespaces: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
        self.using_names: dict[str, dict[str, list[tuple[str, str]]]] = {}
        self.global_names: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.globals: dict[str, set[str]] = defaultdict(set)
        self._class_names: dict[tuple[str, str, str], list[str]] = {}
        self._lookups: dict[tuple[str, str, str], list[Symbol]] = {}

    # -- lookup -----------------------------------------------------------------------------------------------

    def visible(self, symbol: Symbol, file: str) -> bool:
        """Whether a definition can be meant in ``file``: external linkage, the same file, or an included header."""
        return (
            not symbol.local
            or symbol.file == file
            or (symbol.file.endswith(HEADERS) and self.includes.sees(file, symbol.file))
        )

    def lookup(self, name: str, scope: str, file: str) -> list[Symbol]:
        """Definitions that ``name``, as written in ``scope`` in ``file``, may mean: one overload set."""
        key = (name, scope, file)
        found = self._lookups.get(key)
        if found is None:
            found = self._lookups[key] = self._lookup(name, scope, file)
        return found

    def _lookup(self, name: str, scope: str, file: str) -> list[Symbol]:
        head, _, bare = name.rpartition("::")
        if bare not in self.by_bare:
            return []
        for enclosing in scopes(scope):
            found = self._in(f"{enclosing}::{name}" if enclosing else name, file)
            if found:
                return found
            if not head and enclosing in self.classes:
                found = self._in_bases(enclosing, bare, file, 0)
                if found:
                    return found
        for target in self._usings(name, scope, file):
            found = self._in(target, file)
            if found:
                return found
        if head:
            for owner in self.class_names(head, scope, file):
                found = self.methods(owner, bare, file)
                if found:
                    return found
        return []

    def _in(self, qualified: str, file: str) -> list[Symbol]:
        symbols = self.by_name.get(qualified)
        if not symbols:
            return []
        seen = [s for s in symbols if self.visible(s, file)]
        if len(seen) > 1:
            own = [s for s in seen if s.file == file]
            if own and any(s.local for s in own):
                return own
            hidden = [s for s in seen if s.local]
            if hidden and len(hidden) < len(seen):
                return hidden
            if len({s.file for s in seen}) > 1 and len(self.classes.get(seen[0].owner, ())) > 1:
                return self._of_seen_class(seen, file)
        return seen

    def infos(self, owner: str, file: str) -> list[ClassInfo]:
        """The classes of this name that ``file`` sees the definition of; all of them when it sees none.

        cuDNN's and MIOpen's sources have classes of one name (aten/src/ATen/cudnn, aten/src/ATen/miopen).
        """
        infos = self.classes.get(owner, [])
        if len(infos) < 2:
            return infos
        return [info for info in infos if self.includes.sees(file, info.file)] or infos

    def _of_seen_class(self, symbols: list[Symbol], file: str) -> list[Symbol]:
        infos = self.infos(symbols[0].owner, file)
        if len(infos) == len(self.classes[symbols[0].owner]):
            return symbols
        sees = self.includes.sees
        return [s for s in symbols if any(sees(s.file, info.file) for info in infos)] or symbols

    def _usings(self, name: str, scope: str, file: str) -> Iterator[str]:
        first, mark, rest = name.partition("::")
        for alias, target in self.names_of(first, file):
            if scope == alias or scope.startswith(alias) or not alias:
                yield target + mark + rest
                for enclosing in scopes(scope):
                    if enclosing:
                        yield f"{enclosing}::{target}{mark}{rest}"
        used = self.using_namespaces.get(file, [])
        for where, target in used + self._seen_namespaces(name, scope, file):
            if where and name.startswith(where + "::"):
                yield target + name[len(where) :]
            elif not where or scope == where or scope.startswith(where + "::"):
                yield f"{target}::{name}"
                for enclosing in scopes(where or scope):
                    if enclosing:
                        yield f"{enclosing}::{target}::{name}"

    def _seen_namespaces(self, name: str, scope: str, file: str) -> list[tuple[str, str]]:
        """(scope, target) of the using directives of included headers that matter to ``name`` in ``scope``."""
        around = {*scopes(scope), *scopes(name.rpartition("::")[0])}
        found = [
            (header, row, where, target)
            for where in around & self.header_namespaces.keys()
            for header, row, target in self.header_namespaces[where]
            if self.includes.sees(file, header)
        ]
        return [(where, target) for _, _, where, target in sorted(found)]

    def names_of(self, first: str, file: str) -> list[tuple[str, str]]:
        """(scope, target) of the aliases and using declarations of a name that ``file`` can see."""
        own = self.using_names.get(file, {}).get(first, [])
        return own + [(s, t) for s, t in self.global_names.get(first, ()) if (s, t) not in own]

    def class_names(self, name: str, scope: str, file: str) -> list[str]:
        """Qualified names of the classes that ``name`` may mean in ``scope``."""
        key = (name, scope, file)
        found = self._class_names.get(key)
        if found is None:
            found = self._class_names[key] = self._find_classes(name, scope, file)
        return found

    def _find_classes(self, name: str, scope: str, file: str) -> list[str]:
        name = without_templates(name).strip().removeprefix("::")
        bare = name.rpartition("::")[2]
        for enclosing in scopes(scope):
            qualified = f"{enclosing}::{name}" if enclosing else name
            if qualified in self.classes:
                return [qualified]
        head = name.rpartition("::")[0]
        for alias, target in self.names_of(bare, file):
            if not alias or scope.startswith(alias) or head == alias:
                plain = without_templates(target).strip()
                if plain != name:
                    found = self._class_direct(plain, scope)
                    if found:
                        return found
        for target in self._usings(name, scope, file):
            if target in self.classes:
                return [target]
        known = self.classes_by_bare.get(bare, ())
        fitting = [q for q in known if f"::{q}".endswith(f"::{name}") and self._sees_class(q, file)]
        return fitting if len(fitting) == 1 else []

    def _sees_class(self, name: str, file: str) -> bool:
        return any(i.file == file or self.includes.sees(file, i.file) for i in self.classes.get(name, ()))

    def _class_direct(self, name: str, scope: str) -> list[str]:
        for enclosing in scopes(scope):
            qualified = f"{enclosing}::{name}" if enclosing else name
            if qualified in self.classes:
                return [qualified]
        return []

    def methods(self, owner: str, name: str, file: str) -> list[Symbol]:
        """Definitions of ``owner::name``, or of the nearest base that has one."""
        return self._in(f"{owner}::{name}", file) or self._in_bases(owner, name, file, 0)

    def _in_bases(self, owner: str, name: str, file: str, depth: int) -> list[Symbol]:
        if depth > 6:
            return []
        for info in self.classes.get(owner, ()):
            for base in info.bases:
                for qualified in self._class_direct(base, owner) or self.class_names(
                    base, owner.rpartition("::")[0], file
                ):
                    if qualified == owner:
                        continue
                    found = self._in(f"{qualified}::{name}", file) or self._in_bases(qualified, name, file, depth + 1)
                    if found:
                        return found
        return []

    def global_kind(self, name: str) -> str:
        """The kind of a variable or constant of a namespace, when all of this name agree."""
        kinds = {kind_of(t) for t in self.globals.get(name.rpartition("::")[2], ())}
        return kinds.pop() if len(kinds) == 1 else ""

    def overriders(self, owner: str, name: str, file: str, depth: int = 0) -> list[Symbol]:
        """Definitions of a virtual method in the classes derived from ``owner``."""
        found: list[Symbol] = []
        if depth < 4:
            for derived in dict.fromkeys(self.derived.get(owner.rpartition("::")[2], ())):
                if derived != owner and owner in self._direct_bases(derived, file):
                    # a virtual call knows no linkage: the class may be hidden in the file that makes its objects
                    found += self.by_name.get(f"{derived}::{name}", ())
                    found += self.overriders(derived, name, file, depth + 1)
        return list(dict.fromkeys(found))

    def _direct_bases(self, owner: str, file: str) -> list[str]:
        names = []
        for info in self.classes.get(owner, ()):
            for base in info.bases:
                scope = owner.rpartition("::")[0]
                names += self._class_direct(base, owner) or self.class_names(base, scope, info.file)
        return names

    def field(self, owner: str, name: str, file: str, depth: int = 0) -> str:
        """The declared type of a member, "" when there is none."""
        for info in self.classes.get(owner, ()):
            if name in info.fields:
                return info.fields[name]
            if depth < 5:
                for base in info.bases:
                    for qualified in self.class_names(base, owner.rpartition("::")[0], file):
                        found = self.field(qualified, name, file, depth + 1) if qualified != owner else ""
                        if found:
                            return found
        return ""

    # -- for other crossings ----------------------------------------------------------------------------------

    def resolve(self, expr: str, file: str = "", scope: str = "", line: int = 0) -> list[int]:
        """Node ids of the definitions that a function expression may mean, best first.

        ``expr`` is a name as written (``&at::native::foo``, ``foo<bar>``, ``TORCH_FN(x)`` already taken apart). Empty
        when no definition is known. ``line`` prefers, among several in one file, the one nearest above it.
        """
        name = without_templates(expr.strip().lstrip("&*").strip()).removeprefix("::").strip()
        found = self.lookup(name, scope, file)
        functions = [s for s in found if s.kind != "kernel"] or found
        own = [s for s in functions if s.file == file]
        rest = [s for s in functions if s.file != file]
        own.sort(key=lambda s: (int(str(s.line)) > line > 0, -int(str(s.line))))
        return [s.id for s in own + rest]


def scopes(scope: str) -> Iterator[str]:
    """The scope and all around it, innermost first, the global one ("") last."""
    while scope:
        yield scope
        scope = scope.rpartition("::")[0]
    yield ""


def node_of(row: Sequence[Any], path: str) -> tuple[str, str, str, int, int]:
    """Kind, name, file, line and last line of the node of a definition (a row of ``extract.cpp.Function``)."""
    kind = NodeKind.CUDA_KERNEL if row[1] == "kernel" else NodeKind.FUNCTION
    return kind, row[0], "" if is_outside(path) else path, row[2], row[3]


def attrs_of(row: Sequence[Any]) -> dict[str, Any] | None:
    """Attributes of the node of a definition: ``guard``, ``macro``, ``device``."""
    attrs = {
        key: value for key, value in (("guard", row[9]), ("macro", row[10]), ("device", row[1] == "device")) if value
    }
    return attrs or None


#: A file's definitions (rows of ``extract.cpp.Function``) -> their nodes, one for each.
Identify = Callable[[str, Sequence[Any]], Sequence[int]]


def link(ctx: Context) -> None:
    """Make the function and kernel nodes and set ``ctx.functions``."""
    node = ctx.graph.node

    def identify(path: str, rows: Sequence[Any]) -> list[int]:
        if is_outside(path):
            return [node(*node_of(row, path), attrs=vendor_attrs(path, row)) for row in rows]
        return [node(*node_of(row, path), owner=path, attrs=attrs_of(row)) for row in rows]

    ctx.functions = tabulate(ctx, identify)
    for path, symbols in ctx.functions.by_file.items():
        add_dtypes(ctx, path, symbols, ctx.files[path][1].get("dtypes", ()))


def tabulate(ctx: Context, identify: Identify) -> FunctionTable:
    """The table of all definitions; ``identify`` knows their nodes."""
    sources = {path: facts for path, (kind, facts) in ctx.files.items() if kind in ("cpp", "template")}
    table = FunctionTable(Includes({path: facts.get("includes", ()) for path, facts in sources.items()}))
    defaults: dict[tuple[str, int], int] = {}
    for facts in sources.values():
        for name, _returns, rows in facts.get("prototypes", ()):
            required = sum(1 for r in rows if not r[2])
            key = (name, len(rows))
            defaults[key] = min(required, defaults.get(key, required))
    for path, facts in sources.items():
        symbols = []
        outside = is_outside(path)
        rows = facts.get("functions", ())
        for node_id, row in zip(identify(path, rows), rows, strict=True):
            symbol = Symbol(node_id, row, path)
            fewest = defaults.get((symbol.name, len(row[4])))
            if fewest is not None and fewest < symbol.required:
                symbol.required = fewest
            symbols.append(symbol)
            table.by_id[node_id] = symbol
            table.by_name[symbol.name].append(symbol)
            table.by_bare[symbol.bare].append(symbol)
        table.by_file[path] = symbols
        for name, bases, line, _end, fields, templates, local in facts.get("classes", ()):
            table.classes[name].append(ClassInfo(name, bases, fields, templates, path, line, local))
            if not outside:  # a vendor's class is meant only where its namespace is written or in use
                table.classes_by_bare[name.rpartition("::")[2]].add(name)
            for base in bases:
                table.derived[without_templates(base).rpartition("::")[2]].append(name)
        for name, type_text in facts.get("globals", ()):
            table.globals[name].add(type_text)
        _usings(table, path, facts.get("usings", ()))
    add_holders(table, sources)
    add_apply(table, sources)
    return table


def add_dtypes(
    ctx: Context, path: str, symbols: Sequence[Symbol], rows: Sequence[tuple[int, str, str, tuple[str, ...], int]]
) -> None:
    """Label nodes and ``dtypes`` edges; the types of an AT_DISPATCH_CASE join those of the SWITCH before it."""
    merged: list[tuple[int, str, list[str], int, str]] = []
    for function, macro, label, types, line in rows:
        if not label and merged and merged[-1][0] == function:
            merged[-1][2].extend(t for t in types if t not in merged[-1][2])
        elif label:
            merged.append((function, label, list(types), line, macro))
    for function, label, dtypes, line, macro in merged:
        node_id = ctx.graph.node(NodeKind.LABEL, label, path, line, owner=path)
        attrs = {"dtypes": dtypes, "macro": macro}
        ctx.graph.edge(
            symbols[function].id,
            node_id,
            EdgeKind.DTYPES,
            rule="at-dispatch",
            file=path,
            line=line,
            owner=path,
            attrs=attrs,
        )


def _usings(table: FunctionTable, path: str, rows: Sequence[tuple[str, str, str, str, int]]) -> None:
    names: dict[str, list[tuple[str, str]]] = defaultdict(list)
    header = path.endswith(HEADERS) or is_outside(path)
    for row, (what, name, target, scope, _line) in enumerate(rows):
        if what == "namespace":
            table.using_namespaces.setdefault(path, []).append((scope, target))
            if header and scope:
                table.header_namespaces[scope].append((path, row, target))
        else:
            names[name].append((scope, target))
            if header and scope and len(table.global_names[name]) < 8:
                table.global_names[name].append((scope, target))
    if names:
        table.using_names[path] = dict(names)


by_line = itemgetter(2)
__all__ = ["ClassInfo", "FunctionTable", "Symbol", "kind_of", "link", "scopes"]
