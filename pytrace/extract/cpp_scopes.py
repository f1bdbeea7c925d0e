"""Namespaces and classes of one file: what a name that stands at an offset is qualified with; using declarations."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytrace.extract.cpp_text import split_top, squeeze, without_comments, without_templates

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMESPACE_WORDS = re.compile(r"\b(inline|namespace)\b|__attribute__\s*\(\(.*?\)\)")
_IDENT = re.compile(r"[A-Za-z_]\w*")
_COLON = re.compile(r"(?<!:):(?!:)")
_ACCESS = re.compile(r"\b(public|private|protected|virtual)\b")
_HIDDEN = "\0"  #: an anonymous namespace


class Scope(NamedTuple):
    """A namespace or class with its body."""

    start: int
    end: int
    name: str  #: qualified
    is_class: bool
    hidden: bool  #: in an anonymous namespace


NOWHERE = Scope(0, 0, "", False, False)

#: name, bases, start, end, fields (type, name), template parameters, in an anonymous namespace
ClassRow = tuple[str, tuple[str, ...], int, int, tuple[tuple[str, str], ...], str, bool]


def namespace_name(head: str) -> str:
    """The name in the head of a namespace definition.

    CPU_CAPABILITY, a macro for the instruction set that a file is compiled for, is no part of anything's name.

    >>> namespace_name("inline namespace a::b ")
    'a::b'
    """
    words = _NAMESPACE_WORDS.sub(" ", head).replace("::", " ").split()
    name = "::".join(word for word in words if word.isidentifier())
    return "" if name == "CPU_CAPABILITY" else name or _HIDDEN


class Scopes:
    """The scopes of one file, by start."""

    def __init__(self, text: str, captures: Mapping[str, Iterable[Node]]) -> None:
        spans: list[tuple[int, int, str, Node | None]] = []
        for node in captures.get("namespace", ()):
            start, end = node.start_byte, node.end_byte
            spans.append((start, end, namespace_name(text[start : text.find("{", start, end)]), None))
        for node in captures.get("class", ()):
            found = node.child_by_field_name("name")
            assert found is not None
            name = without_templates(squeeze(text[found.start_byte : found.end_byte]))
            spans.append((node.start_byte, node.end_byte, name, node))
        spans.sort(key=lambda s: (s[0], -s[1]))
        fields = _fields(text, captures.get("field", ())) if captures.get("class") else []
        places = [field[0] for field in fields]
        self.rows: list[Scope] = []
        self.classes: list[ClassRow] = []
        stack: list[Scope] = []
        for start, end, name, class_node in spans:
            while stack and stack[-1].end <= start:
                stack.pop()
            outer = stack[-1] if stack else NOWHERE
            hidden = outer.hidden or name == _HIDDEN
            qualified = outer.name if name in ("", _HIDDEN) else f"{outer.name}::{name}" if outer.name else name
            scope = Scope(start, end, qualified, class_node is not None, hidden)
            stack.append(scope)
            self.rows.append(scope)
            if class_node is not None:
                body = class_node.child_by_field_name("body")
                assert body is not None
                bases = _bases(text[start : body.start_byte])
                inside = fields[bisect_right(places, start) : bisect_left(places, end)]
                inner = tuple(field[1:] for field in inside)
                self.classes.append((qualified, bases, start, end, inner, template_head(text, start), hidden))
        self._starts = [scope.start for scope in self.rows]

    def at(self, offset: int) -> str:
        """The qualified name of the innermost scope around ``offset``."""
        index = bisect_right(self._starts, offset)
        while index:
            index -= 1
            if self.rows[index].end > offset:
                return self.rows[index].name
        return ""


def _bases(head: str) -> tuple[str, ...]:
    """The bases of a class, from the text between ``class`` and its body."""
    colon = _COLON.search(head)
    if colon is None:
        return ()
    return tuple(squeeze(_ACCESS.sub("", base)) for base in split_top(head[colon.end() :]))


def template_head(text: str, start: int) -> str:
    """The template parameter list that stands just before ``start``, or ""."""
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    if text[end - 1 : end] != ">":
        return ""
    begin = max(0, start - 600)
    closing = end - 1  # every ``>`` up to here was met
    index = text.rfind("<", begin, closing)
    depth = 1
    while index >= 0:
        depth += text.count(">", index, closing) - 1
        if depth == 0:
            return squeeze(text[index + 1 : end - 1]) if text[begin:index].rstrip().endswith("template") else ""
        closing = index
        index = text.rfind("<", begin, closing)
    return ""


def _fields(text: str, nodes: Iterable[Node]) -> list[tuple[int, str, str]]:
    """(offset, type, name) of the data members of all classes, by offset."""
    rows = []
    for node in nodes:
        kind = node.child_by_field_name("type")
        if kind is None:
            continue
        start = node.start_byte
        rest = text[kind.end_byte : node.end_byte].rstrip("; \n")
        head = rest.partition("(")[0]
        if len(head) < len(rest) and "=" not in head and "{" not in head:
            continue  # a method
        type_text = squeeze(text[start : kind.end_byte])
        for part in split_top(rest):
            match = _IDENT.search(part)
            if match:
                rows.append((start, type_text, match[0]))
    rows.sort(key=lambda row: row[0])
    return rows


#: kind (namespace | name | alias | nsalias), name, target, scope, offset
UsingRow = tuple[str, str, str, str, int]


def usings(text: str, captures: Mapping[str, Iterable[Node]], scopes: Scopes) -> list[UsingRow]:
    """Using declarations, aliases, typedefs, namespace aliases, each kind in order of position."""
    rows: list[UsingRow] = []
    for what in ("using", "alias", "typedef", "nsalias"):
        for start, end in sorted((node.start_byte, node.end_byte) for node in captures.get(what, ())):
            found = _using(what, squeeze(without_comments(text[start:end]).rstrip("; \n")))
            if found and found[2]:
                rows.append((*found, scopes.at(start), start))
    return rows


def _using(what: str, text: str) -> tuple[str, str, str] | None:
    """(kind, name, target) of one declaration."""
    if what == "using":
        body = text.removeprefix("using ")
        if body.startswith("namespace "):
            return "namespace", "", body[10:].removeprefix("::")
        return "name", body.rpartition("::")[2], body.removeprefix("::")
    if what == "typedef":
        target, _, name = text.removeprefix("typedef ").rpartition(" ")
        return ("alias", name, target) if name.isidentifier() else None
    name, mark, target = text.partition("=")
    if not mark:
        return None
    words = name.split()
    return "alias" if what == "alias" else "nsalias", words[-1] if words else "", target.strip()
