"""Facts of one Python file: what it defines, imports and re-exports, and what each function uses.

``extract`` returns

========================  ===========================================================================================
``definitions``           (qualified name, kind, line, end line, symbol of the result, decorator symbols);
                          kind is ``c`` class, ``f`` function, ``m`` method, ``s`` static, ``k`` class method,
                          ``p`` property, ``w`` property setter
``bases``                 (class, symbols of its bases)
``imports``, ``stars``    (local name, target, line); (module, line): relative targets keep their leading dots
``aliases``               (name, line, symbol of the value, symbols of the arguments when the value is a call): the
                          assignments of module and class bodies; the name "" is ``sys.modules[__name__]``
``attributes``            (class, attribute, symbol, symbols of the arguments): ``self.x = …`` and declarations
``strings``               (name, line, strings): lists of strings at module level, ``__all__`` among them
``spreads``               (symbol, line, name of the list of exceptions): the loops over ``dir(…)`` that fill
                          ``globals()``
``calls``                 (line, symbol of the callee, start of the arguments' source): calls at module level
``uses``                  qualified name -> (line, symbol, guard number or -1): what the function calls or names;
                          nested functions belong to the outermost one. ``a|b`` is "b when a resolves to nothing"
``stores``                (function, symbol of the container): a function, or one inside it, that stores what it is
                          given under a key of a container of the module: ``_TABLE[key] = function``
``given``                 (function, parameter): what it is given and calls, nothing being known of it
``guards``                texts of the conditions
``shards``                (line, number): how many files a generator spreads its output over (``num_shards=``)
========================  ===========================================================================================

The symbols are explained in ``python_symbols``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from operator import attrgetter

from tree_sitter import Node, Parser, Query, QueryCursor

from pytrace.extract import python_registrations, python_tests
from pytrace.extract.python_cut import Excerpt, cut_bodies, cut_numbers
from pytrace.extract.python_reader import Reader
from pytrace.extract.python_values import language
from pytrace.extract.queries import load
from pytrace.model import Facts

VERSION = 1

_SELF = re.compile(r"self\.(\w+)(.*)")
_NAME = re.compile(rb"(?:(?:async\s+)?def\s+|class\s+)?([A-Za-z_]\w*)(?=\s*[:=(])")
_SHARDS = re.compile(rb"\bnum_shards=(\d+)")


@lru_cache(maxsize=1)
def _tools() -> tuple[Parser, Query]:
    return Parser(language()), Query(language(), load("python/events"))


def extract(source: bytes) -> Facts:
    """The facts that a Python file states (see the module's docstring); any bytes are fine."""
    return read(source, outline=False)


def read(source: bytes, *, outline: bool) -> Facts:
    """The facts of a file; with ``outline`` without ``uses`` and ``guards``: no function's body is read."""
    parser, query = _tools()
    excerpt = cut_bodies(source) if outline else cut_numbers(source)
    text = excerpt.text
    tree = parser.parse(text)
    reader = Reader(text, outline=outline)
    reader.names.update(_module_names(text, tree.root_node))
    errors: list[Node] = []
    if outline:
        reader.sweep(list(_outline(tree.root_node)))
    else:
        captures = QueryCursor(query).captures(tree.root_node)
        # Captures come in no order; wanted is that of their start, outer before inner.
        events = captures.get("event", [])
        events.sort(key=attrgetter("end_byte"), reverse=True)
        events.sort(key=attrgetter("start_byte"))
        reader.sweep(events)
        errors = captures.get("error", [])
    lines = [excerpt.line(node.start_point[0] + 1) for node in errors]
    if not lines and tree.root_node.has_error:
        lines = [1]
    facts = _facts(reader)
    if not excerpt.is_whole:
        _renumber(facts, excerpt)
    registrations = python_registrations.extract(tree, source, excerpt)
    diagnostics = registrations.pop("diagnostics", [])
    facts.update(registrations)
    facts.update(python_tests.extract(source))
    facts["shards"] = _shards(source)
    facts["diagnostics"] = _diagnostics(source, lines) + diagnostics
    return facts


def _shards(source: bytes) -> list[tuple[int, int]]:
    if b"num_shards=" not in source:
        return []
    return [(source.count(b"\n", 0, found.start()) + 1, int(found[1])) for found in _SHARDS.finditer(source)]


#: Facts that hold a line, and where in their rows it stands.
_LINES = {"imports": 2, "stars": 1, "aliases": 1, "strings": 1, "spreads": 1, "calls": 0}


def _renumber(facts: Facts, excerpt: Excerpt) -> None:
    """Give the facts of an excerpt the lines of the source."""
    line = excerpt.line
    facts["definitions"] = [(q, k, line(a), line(b), *more) for q, k, a, b, *more in facts["definitions"]]
    for name, at in _LINES.items():
        facts[name] = [(*row[:at], line(row[at]), *row[at + 1 :]) for row in facts[name]]
    facts["uses"] = {
        qual: [(line(at), symbol, guard) for at, symbol, guard in rows] for qual, rows in facts["uses"].items()
    }


#: Statements that an outline reads.
_STATEMENTS = frozenset(("class_definition", "function_definition", "import_statement", "import_from_statement"))
#: Statements whose blocks belong to the body around them.
_BLOCKS = frozenset(("if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause"))
_NESTED = _BLOCKS | {"block", "with_statement", "decorated_definition", "module", "expression_statement"}


#: How deep statements may stand in statements of a module's body.
_DEPTH = 50


def _outline(node: Node, depth: int = 0) -> Iterator[Node]:
    """The statements of module and class bodies, in order, and the calls in their lists."""
    for child in node.named_children if depth < _DEPTH else ():
        kind = child.type
        if kind in _STATEMENTS or kind in ("decorator", "for_statement", "call"):
            yield child
            if kind in ("class_definition", "for_statement"):
                body = child.child_by_field_name("body")
                if body is not None:
                    yield from _outline(body, depth + 1)
        elif kind == "assignment":
            yield child
            right = child.child_by_field_name("right")
            if right is not None and right.type in ("list", "tuple", "call"):
                yield from (right,) if right.type == "call" else (c for c in right.named_children if c.type == "call")
        elif kind in _NESTED:
            yield from _outline(child, depth + 1)


def _facts(reader: Reader) -> Facts:
    ignored = _ignored_attributes(reader)
    members = {row[0].rpartition(".")[2] for row in reader.definitions if row[1] != "f"}
    uses: dict[str, list[tuple[int, str, int]]] = {}
    results = {}
    for qual, scope in reader.functions:
        results[qual] = scope.returns
        rows = [
            (line, symbol, guard)
            for (symbol, guard), line in scope.events.items()
            if _followed(symbol, ignored, members)
        ]
        if rows:
            uses[qual] = uses.get(qual, []) + rows
    definitions = [(q, k, line, end, results.get(q, ""), d) for q, k, line, end, d in reader.definitions]
    return {
        "definitions": definitions,
        "bases": reader.bases,
        "imports": reader.import_rows,
        "stars": reader.stars,
        "aliases": reader.aliases,
        "attributes": reader.attributes,
        "strings": reader.strings,
        "spreads": reader.spreads,
        "calls": reader.module_calls,
        "uses": uses,
        "stores": reader.stores,
        "given": list(reader.given),
        "guards": reader.guards.texts,
    }


def _module_names(source: bytes, root: Node) -> Iterator[str]:
    """The names that the module's own body defines or assigns."""
    for child in root.children:
        if child.type == "decorated_definition":
            child = child.child_by_field_name("definition") or child
        found = _NAME.match(source, child.start_byte)
        if found:
            yield found[1].decode()


def _ignored_attributes(reader: Reader) -> set[str]:
    """Attributes that this file assigns, and never anything that could lead on."""
    typed = {attribute for _, attribute, _, _ in reader.attributes}
    return reader.plain - typed - {row[0].rpartition(".")[2] for row in reader.definitions}


def _followed(symbol: str, ignored: set[str], members: set[str]) -> bool:
    """Whether the link stage could make anything of a symbol."""
    found = _SELF.match(symbol)
    if found is None:
        return True
    name, rest = found.groups()
    # ``self.x`` named as a value leads on only when it is a method or a property.
    return name not in ignored and (bool(rest) or name in members)


def _diagnostics(source: bytes, errors: list[int]) -> list[tuple[int, str, str]]:
    rows = [(line, "syntax", "the Python grammar could not read this") for line in errors]
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        rows.append((source.count(b"\n", 0, error.start) + 1, "encoding", "not UTF-8"))
    return rows
