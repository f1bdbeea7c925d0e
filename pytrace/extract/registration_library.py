"""``TORCH_LIBRARY``, ``TORCH_LIBRARY_FRAGMENT`` and ``TORCH_LIBRARY_IMPL`` blocks in one C++ file: ``torch/library.h``.

A block is a function with one parameter, the library (``m`` by custom). What is done to it is read call by call:
``m.def``, ``m.impl``, ``m.fallback``. A macro call inside a block (``VMAP_SUPPORT(op, rule)``) is kept as it is
written; the link stage expands it, and reads the expansion with ``calls``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tree_sitter import Tree

from pytrace.extract.cpp_guards import PreprocessorGuards, guards_of
from pytrace.extract.registration_functions import Kernel, kernel
from pytrace.extract.registration_text import Lines, Span, arguments, block_end, clean, literal, place
from pytrace.model import Facts

_BLOCK = re.compile(rb"TORCH_LIBRARY(_IMPL|_FRAGMENT)?(?:_THIS_API_IS_FOR_PER_OP_REGISTRATION_ONLY)?\s*\(")
_BRACE = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*\{", re.S)
#: In a block: comments, strings and directives are passed over; then a call on the library, or a macro call.
_CALL = (
    rb'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^[ \t]*#[^\n\\]*(?:\\.[^\n\\]*)*'
    rb"|\b(?P<library>%s)\s*\.\s*(?P<method>\w+)\s*(?:<[^;(){}]*>\s*)?\("
    rb"|\b(?P<macro>_*[A-Z][A-Z0-9_]*|[A-Z][A-Z0-9]+_\w+)\s*\("
)
_OPERATOR = re.compile(rb"\.op\s*\(")
_SELECTIVE = re.compile(rb"(?:TORCH_SELECTIVE_NAME|TORCH_SELECTIVE_SCHEMA|(?:torch::)?schema)\s*(?=\()")
_TAGS = re.compile(r"(?:at::)?Tag::(\w+)")


class LibraryBlock(NamedTuple):
    """One block."""

    line: int
    kind: str  #: ``def``, ``fragment``, ``impl``
    namespace: str  #: ``_`` means all
    key: str  #: dispatch key of an ``impl`` block, else ""
    scope: str  #: the C++ namespace around it
    guard: str
    end_line: int


class LibraryCall(NamedTuple):
    """One registration in a block, or one macro call in it."""

    line: int
    below: int  #: lines below the line of the block
    what: str  #: ``def``, ``impl``, ``fallback``, ``op`` (``RegisterOperators().op``), or ``macro``
    namespace: str
    key: str
    name: str  #: schema of a def, operator of an impl; "" when it is no literal; name of a macro
    target: str  #: function, without template arguments; of a macro the name of the library parameter
    how: str  #: see registration_functions.Kernel
    text: str  #: the function as written, when that says more; of a macro its arguments
    scope: str
    guard: str
    lines: int  #: how many more lines the call has: those of a lambda
    tags: str  #: tags of a def, separated by blanks


def extract_libraries(tree: Tree, source: bytes) -> Facts:
    """Facts about library blocks, or {} when the file has none.

    ``libraries``: rows of LibraryBlock; ``library_calls``: rows of LibraryCall.
    """
    old = b"RegisterOperators()" in source
    if not old and b"TORCH_LIBRARY" not in source:
        return {}
    blocks: list[tuple[object, ...]] = []
    rows: list[tuple[object, ...]] = []
    lines, guards = Lines(source), guards_of(source.decode("latin-1"))
    for match in _BLOCK.finditer(source):
        before = source[match.start() - 1 : match.start()]
        if before.isalnum() or before == b"_":
            continue
        spans, end = arguments(source, match.end() - 1, templates=False)
        scope = place(tree, match.start())
        texts = [clean(source[a:b]) for a, b in spans]
        kind = (match.group(1) or b"_DEF").decode()[1:].lower()
        brace = _BRACE.match(source, end) if end > 0 else None
        if scope is None or brace is None or len(texts) != (3 if kind == "impl" else 2):
            continue
        line = lines.of(match.start())
        stop = block_end(source, brace.end() - 1)
        if stop < 0:
            stop = len(source)
        block = LibraryBlock(
            line, kind, texts[0], texts[1] if kind == "impl" else "", scope, guards.at(match.start()), line
        )
        rows += calls(source, Span(brace.end(), stop - 1), block, texts[-1], lines.of, guards.at)
        blocks.append(tuple(block._replace(end_line=lines.of(stop))))
    if old:
        rows += _operators(tree, source, lines, guards)
    facts: Facts = {}
    if blocks:
        facts["libraries"] = blocks
    if rows:
        facts["library_calls"] = rows
    return facts


def _operators(tree: Tree, source: bytes, lines: Lines, guards: PreprocessorGuards) -> Iterator[tuple[object, ...]]:
    """The old way, ``RegisterOperators().op("ns::name(…) -> …", &f)``: each call is a block of its own."""
    for match in _OPERATOR.finditer(source):
        spans, end = arguments(source, match.end() - 1)
        scope = place(tree, match.start())
        name = _name(source[slice(*spans[0])]) if spans else None
        if scope is None or name is None or "::" not in name:
            continue
        line = lines.of(match.start())
        block = LibraryBlock(line, "def", "", "", scope, "", line)
        common = (scope, guards.at(match.start()))
        yield from _call(source, "op", spans, block, line, common, lines.of(end) - line)


def calls(
    source: bytes,
    span: Span,
    block: LibraryBlock,
    library: str,
    line_of: Callable[[int], int],
    guard_of: Callable[[int], str],
) -> Iterator[tuple[object, ...]]:
    """The registrations in ``span``, the body of ``block``; ``library`` is the name of the block's parameter.

    Used for the bodies of blocks, and for the expansions of macro calls in them.
    """
    pattern = re.compile(_CALL % re.escape(library.encode()), re.M | re.S)
    at = span.start
    while match := pattern.search(source, at, span.end):
        at = match.end()
        method, macro = match["method"], match["macro"]
        if method is None and macro is None:
            continue
        spans, end = arguments(source, at - 1, templates=macro is None)
        if end < 0:
            continue
        at = end
        line = line_of(match.start())
        common = (block.scope, guard_of(match.start()))
        if macro is not None:
            text = clean(source[match.end() : end - 1])
            what = (line, line - block.line, "macro", block.namespace, block.key, macro.decode())
            yield (*what, library, block.kind, text, *common, 0, "")
        elif method in (b"def", b"impl", b"fallback"):
            yield from _call(source, method.decode(), spans, block, line, common, line_of(end) - line)


def _call(
    source: bytes, method: str, spans: list[Span], block: LibraryBlock, line: int, common: tuple[str, str], lines: int
) -> Iterator[tuple[object, ...]]:
    """One call on the library. ``m.impl`` may name its key first: ``m.impl("add", DispatchKey::CPU, f)`` (old form)."""
    name, tags = "", ""
    parts = [source[a:b] for a, b in spans]
    if method != "fallback" and parts:
        name = _name(parts.pop(0)) or ""
    key = block.key
    if len(parts) > 1 and (found := re.fullmatch(rb"\s*(?:c10::)?(?:DispatchKey::|k)(\w+)\s*", parts[0])):
        key = found.group(1).decode()
        parts.pop(0)
    found_kernel = Kernel("", "")
    for part in parts:
        text = clean(part)
        if text.startswith("{"):
            tags = " ".join(_TAGS.findall(text))
        elif not (found_kernel.target or found_kernel.how):
            found_kernel = kernel(text)
    # A schema whose tags come first: m.def(schema, {tags}, f); one without a function: it is defined, no more.
    yield (
        line,
        line - block.line,
        method,
        block.namespace,
        found_kernel.key or key,
        name,
        found_kernel.target,
        found_kernel.how,
        found_kernel.text,
        *common,
        lines,
        tags,
    )


def _name(text: bytes) -> str | None:
    """The literal in ``"name"``, ``TORCH_SELECTIVE_NAME("name")``, ``torch::schema("…", alias analysis)``."""
    stripped = text.strip()
    if found := _SELECTIVE.match(stripped):
        spans, _ = arguments(stripped, found.end())
        return literal(stripped[slice(*spans[0])]) if spans else None
    return literal(stripped)
