"""Facts of one C, C++, CUDA, HIP, Objective-C++ or Metal file.

``extract(source)`` parses the same-length-normalised bytes once with the CUDA grammar (which extends the C++ one) and
reads what ``queries/cpp/structure.scm`` finds, in order of position. What comes out, all plain values:

functions   rows of ``Function``: every definition, in order of position
calls       rows of ``Call``: what a function's body calls, launches, constructs or names; lambdas belong to the
            function around them
classes     rows of ``Class``
usings      (kind, name, target, scope): using declarations, aliases, typedefs, namespace aliases
includes    included paths as written
defines     rows of macros.Define
constants   (name, value, conditional): macros that are plainly true or false
invocations (name, arguments, line, scope, guard): macro calls at file, namespace or class level
environments {function: {name: type expression}} of functions with possible macro calls
dtypes      (function, macro, label, types, line) of AT_DISPATCH_*
globals     (name, type): variables and constants of a namespace
prototypes  (name, scope, parameters): declarations without a body (they hold the default arguments)
alerts      (line, text) of alertNotDeterministic
errors      number of ERROR nodes' presence: 0 or 1
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pytrace.extract import cbindings, cpp_alerts, cpp_events, jiterator, macros, registrations
from pytrace.extract.cpp_blank import blank_unread
from pytrace.extract.cpp_bodies import Bodies, Body
from pytrace.extract.cpp_guards import Directive, PreprocessorGuards, guards_of, includes
from pytrace.extract.cpp_heads import head_of, parameter_rows, plain_name, returns_of, structured_name
from pytrace.extract.cpp_scopes import NOWHERE, Scope, Scopes, template_head, usings
from pytrace.extract.cpp_text import DEDUCED, close_of, squeeze, template_arguments
from pytrace.extract.normalise import has_error_node, normalise_common, repair
from pytrace.model import Facts

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

VERSION = 3

#: What stands before an explicit specialisation, seen from the start of its declaration.
_SPECIALISES = re.compile(r"template\s*<\s*>\s*$")
#: A method that is there to be overridden: its body says that this class does not support it.
_VIRTUAL = re.compile(r"\bvirtual\b")
_REFUSES = re.compile(
    r"\{(?:\s|//[^\n]*\n|/\*[^*]*\*/)*"
    r"(?:throw\b|(?:AT_ERROR|C10_THROW_ERROR)\s*\(|(?:TORCH_(?:CHECK|INTERNAL_ASSERT)\w*|AT_ASSERTM?)\s*\(\s*false\b)"
)


class Function(NamedTuple):
    """One definition."""

    name: str  #: qualified
    kind: str  #: function | kernel (``__global__``) | device (``__device__`` only)
    line: int
    end_line: int
    parameters: tuple[tuple[str, str, str], ...]  #: (type, name, default) as written
    returns: str  #: return type as written
    local: bool  #: internal linkage: static, or in an anonymous namespace
    owner: str  #: the class it is a member of, qualified, or ""
    templates: str  #: template parameter list as written, or ""
    guard: str  #: preprocessor guard around it
    macro: str = ""  #: the macro that made it, when its text is an expansion
    #: of an explicit specialisation (``template <>``): its template arguments as written, or ``DEDUCED``
    special: str = ""
    refuses: bool = False  #: a virtual method whose default body only raises: a call runs a derived class's


class Call(NamedTuple):
    """One thing that a function's body reaches for."""

    function: int  #: index into functions
    #: f call, m method call, k launch, n construction, r reference to a function, b binary operator, p printed,
    #: t template argument, c use of a class template
    kind: str
    name: str  #: callee without template arguments
    line: int
    guard: str
    arguments: tuple[str, ...]  #: type expressions
    receiver: str  #: type expression of the receiver (kind m, b, i), or ""
    templates: str  #: template arguments as written; of the LOOKUPS of ``cpp_callee`` the arguments
    raw: str = ""  #: text of the arguments of a possible macro call


class Class(NamedTuple):
    """One class or struct with a body."""

    name: str
    bases: tuple[str, ...]
    line: int
    end_line: int
    fields: tuple[tuple[str, str], ...]  #: (type, name)
    templates: str
    local: bool


@cache
def parser() -> Parser:
    """The CUDA parser of this process."""
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def extract(source: bytes) -> Facts:
    """Facts of the file with these bytes; see the module's docstring. Never raises for any input."""
    normal = normalise_common(source)
    tree, clean = _parse(blank_unread(normal))
    facts = structure(tree, clean, source.decode("latin-1"))
    facts.update(registrations.extract(tree, source))
    facts.update(cbindings.extract(tree, normal))
    facts.update(cpp_alerts.extract(source))
    facts.update(jiterator.extract(source))
    rows = macros.defines(source)
    if rows:
        facts["defines"] = rows
        constants = _constants(rows, source.decode("latin-1"))
        if constants:
            facts["constants"] = constants
    return facts


def _parse(normal: bytes) -> tuple[Tree, bytes]:
    """The tree of a normalised source, and the bytes of the same length that it was made from.

    What few files need (``normalise.repair``) is done to those whose tree has an error.
    """
    tree = parser().parse(normal)
    if tree.root_node.has_error and has_error_node(tree.root_node):
        repaired = repair(normal)
        if repaired is not normal:
            return parser().parse(repaired), repaired
    return tree, normal


def _constants(
    rows: list[tuple[str, tuple[str, ...] | None, str | None, int]], text: str
) -> list[tuple[str, bool, bool]]:
    """(name, value, conditional) of the macros that are plainly true or false, so that ``#if NAME()`` is decided."""
    found = [
        (name, body, line)
        for name, parameters, body, line in rows
        if not parameters and body in ("true", "false", "0", "1")
    ]
    if not found:
        return []
    guards = guards_of(text)
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    return [(name, body in ("true", "1"), bool(guards.at(starts[line - 1]))) for name, body, line in found]


def structure(tree: Tree, clean: bytes, original: str, outer: Sequence[Mapping[str, str]] = ()) -> Facts:
    """The part of the facts that comes from the query.

    ``outer``: for each function of the text the type expressions of the names that it sees from outside (a macro's
    expansion sees the locals of the function that it stands in).
    """
    text = clean.decode("latin-1")
    language = parser().language
    assert language is not None
    captures, events = cpp_events.find(tree.root_node, language, text, bool(outer))
    # Lines are those of the original: normalisation may move a newline by a few columns.
    line = _lines(original)
    guards = guards_of(original)
    lines_with_hash = guards.rows
    scopes = Scopes(text, captures)
    functions, bodies = _functions(text, original, captures["function"], scopes, guards, line)
    read = Bodies(text, captures, events, bodies, outer, guards, scopes, line)
    facts: Facts = {
        "functions": functions,
        "classes": [(*row[:2], line(row[2]), line(row[3]), *row[4:]) for row in scopes.classes],
        "calls": read.calls,
        "usings": [(*row[:4], line(row[4])) for row in usings(text, captures, scopes)],
        "includes": includes(original, lines_with_hash),
        "prototypes": read.prototypes,
        "globals": read.globals,
        "dtypes": read.dtypes,
        "environments": read.environments,
        "invocations": _invocations(original, bodies, lines_with_hash, guards, scopes, line),
        "errors": int(tree.root_node.has_error and has_error_node(tree.root_node)),
    }
    return {key: value for key, value in facts.items() if value}


def _lines(text: str) -> Callable[[int], int]:
    """The function that tells the line (from 1) of an offset: counted from the last one asked for, which is near."""
    at, line = 0, 1

    def line_of(offset: int) -> int:
        nonlocal at, line
        if offset >= at:
            line += text.count("\n", at, offset)
        else:
            line -= text.count("\n", offset, at)
        at = offset
        return line

    return line_of


def _functions(
    text: str,
    original: str,
    nodes: Sequence[Node],
    scopes: Scopes,
    guards: PreprocessorGuards,
    line: Callable[[int], int],
) -> tuple[list[tuple[object, ...]], list[Body]]:
    """Rows of ``Function``, and for each what the reading of its body needs, by position."""
    rows: list[tuple[object, ...]] = []
    bodies: list[Body] = []
    stack: list[Scope] = []
    at = 0
    for start, end, _, node in sorted([(n.start_byte, n.end_byte, i, n) for i, n in enumerate(nodes)]):
        while at < len(scopes.rows) and scopes.rows[at].start <= start:
            while stack and stack[-1].end <= scopes.rows[at].start:
                stack.pop()
            stack.append(scopes.rows[at])
            at += 1
        while stack and stack[-1].end <= start:
            stack.pop()
        head = head_of(node)
        if head is None:
            continue
        scope = stack[-1] if stack else NOWHERE
        name_start, name_end = head.name
        raw = text[name_start:name_end]
        before = text[start : head.declarator]
        outer = scope.name
        owner = outer if scope.is_class else ""
        special = structured_name(raw, outer)
        if special is not None:
            name, owner = special
        elif head.nested:
            continue
        else:
            name = plain_name(raw)
            if not owner and "::" in name:
                owner = f"{outer}::{name.rpartition('::')[0]}" if outer else name.rpartition("::")[0]
            name = f"{outer}::{name}" if outer else name
        kind = "function"
        if original.rfind("__global__", start, name_start) >= 0:
            kind = "kernel"
        elif "__device__" in before and "__host__" not in before:
            kind = "device"
        local = scope.hidden or (not scope.is_class and "static" in before.split())
        parameters = tuple(parameter_rows(text[head.parameters[0] : head.parameters[1]]))
        returns = returns_of(text[start:name_start], text[head.parameters[1] + 1 : head.body])
        guard = guards.at(start)
        templates = template_head(text, start)
        rows.append((name, kind, line(name_start), line(end), parameters, returns, local, owner, templates, guard, ""))
        if not templates and _SPECIALISES.search(text, max(0, start - 40), start):
            rows[-1] += (squeeze(template_arguments(raw)) if raw.endswith(">") else DEDUCED,)
        elif owner and _VIRTUAL.search(text[start:name_start]) and _REFUSES.match(text, head.body):
            rows[-1] += ("", True)
        bodies.append(Body(start, end, head.body, kind == "function", guard, parameters))
    return rows, bodies


def bodies(texts: list[str], outer: list[dict[str, str]]) -> list[list[Call]]:
    """The calls of each of ``texts``, statements as they would stand in a function that sees the names of ``outer``."""
    whole = "\n".join(f"void expansion_{n}() {{ {t.replace(chr(10), ' ')} ; }}" for n, t in enumerate(texts))
    source = whole.encode("latin-1", "replace")
    tree, clean = _parse(normalise_common(source))
    facts = structure(tree, clean, source.decode("latin-1"), outer)
    found: list[list[Call]] = [[] for _ in texts]
    numbers = [
        int(f[0].rpartition("_")[2]) if f[0].startswith("expansion_") else -1 for f in facts.get("functions", ())
    ]
    for row in facts.get("calls", ()):
        if numbers[row[0]] >= 0:
            found[numbers[row[0]]].append(Call(*row))
    return found


# A pattern that begins with a literal is found many times faster than one with ``^``.
_INVOCATION = re.compile(r"\n[ \t]*(?:(?:static|inline)[ \t]+)?([A-Z_][A-Z0-9_]+)[ \t]*\(")
#: A second macro call on the line of the first.
_BESIDE = re.compile(r"[ \t]*;?[ \t]*([A-Z_][A-Z0-9_]+)[ \t]*\((?=[^;{}\n]*\)[ \t]*(?:;|\n|[A-Z]))")
_INVOCATION_AT_START = re.compile(_INVOCATION.pattern.removeprefix(r"\n"))


def _invocations(
    text: str,
    bodies: Sequence[Body],
    lines_with_hash: Sequence[Directive],
    guards: PreprocessorGuards,
    scopes: Scopes,
    line: Callable[[int], int],
) -> list[tuple[str, str, int, str, str]]:
    """Macro calls that stand at file, namespace or class level: (name, arguments, line, scope, guard)."""
    rows: list[tuple[str, str, int, str, str]] = []
    hashes = [row.start for row in lines_with_hash]
    for found in _outside(text, bodies):
        offset, opening = found.start(1), found.end() - 1
        index = bisect_right(hashes, offset)
        if index and lines_with_hash[index - 1].end > offset:
            continue
        if found[1].startswith(("TORCH_IMPL_FUNC", "TORCH_META_FUNC", "TORCH_PRECOMPUTE", "TORCH_LIBRARY")):
            continue
        beside: re.Match[str] | None = found
        while beside is not None:
            opening = beside.end() - 1
            close = close_of(text, opening, min(len(text), opening + 20001))
            arguments = text[opening + 1 : close - 1]
            rows.append((beside[1], arguments, line(offset), scopes.at(offset), guards.at(offset)))
            beside = _BESIDE.match(text, close)
    return rows


def _outside(text: str, bodies: Sequence[Body]) -> Iterator[re.Match[str]]:
    """Every match of ``_INVOCATION`` that begins outside of functions."""
    first = _INVOCATION_AT_START.match(text)
    if first and not (bodies and bodies[0].start <= first.start(1)):
        yield first
    at = 0
    for body in bodies:
        if body.end > at:
            if body.start > at:
                yield from (m for m in _INVOCATION.finditer(text, at, body.start + 1) if m.start(1) < body.start)
            at = body.end
    yield from _INVOCATION.finditer(text, at)
