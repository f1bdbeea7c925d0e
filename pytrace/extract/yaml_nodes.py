"""YAML lists of entries, read with the line of every key; one broken entry does not take the others along.

Both ``native_functions.yaml`` and ``derivatives.yaml`` are a list of mappings. PyYAML's composer (its C one reads
15,000 lines in 0.07 s) gives nodes that know their lines, which the loader throws away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: (line, kind, message), as in the facts.
Diagnostic = tuple[int, str, str]

#: Characters that YAML forbids, and line breaks that YAML counts and editors do not: a space keeps the lines true.
_ODD = re.compile("\r(?!\n)|[\x85\u2028\u2029]|[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTRY = re.compile(r"^- ", re.MULTILINE)
_TRUE = frozenset(("yes", "true", "on"))


class Field(NamedTuple):
    """One key of an entry: its line and its plain value.

    The value is None, a bool, a str (numbers stay text), a list of values, or a list of ``Field`` for a mapping.
    """

    key: str
    value: Any
    line: int


class Entry(NamedTuple):
    """One mapping of the list: the line of its dash and its fields by key."""

    line: int
    fields: dict[str, Field]


def read_entries(source: bytes) -> tuple[list[Entry], list[Diagnostic]]:
    """All entries that can be read, and what was odd about the others."""
    text, diagnostics = _decode(source)
    try:
        return _entries(text, 0, diagnostics), diagnostics
    except (yaml.YAMLError, RecursionError) as error:
        whole = _problem(error, 0)
    entries: list[Entry] = []
    broken = 0
    for line, chunk in _chunks(text):
        try:
            entries += _entries(chunk, line, diagnostics)
        except (yaml.YAMLError, RecursionError) as error:
            broken += 1
            diagnostics.append(_problem(error, line))
    if not broken:
        diagnostics.append(whole)
    return entries, diagnostics


def _decode(source: bytes) -> tuple[str, list[Diagnostic]]:
    diagnostics: list[Diagnostic] = []
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = source.decode("utf-8-sig", "replace")
        line = source.count(b"\n", 0, error.start) + 1
        diagnostics.append((line, "encoding", f"not UTF-8: {error.reason} at byte {error.start}"))
    if found := _ODD.search(text):
        line = text.count("\n", 0, found.start()) + 1
        diagnostics.append((line, "encoding", f"the character {found.group()!a} has no place in YAML"))
        text = _ODD.sub(" ", text)
    return text, diagnostics


def _problem(error: Exception, line: int) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or str(error).splitlines()[0]
    return (line + (mark.line + 1 if mark else 1), "yaml", str(said))


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """(lines before it, text) of every piece that begins with a dash in the first column."""
    starts = [m.start() for m in _ENTRY.finditer(text)]
    line, seen = 0, 0
    for start, end in zip(starts, [*starts[1:], len(text)]):
        line += text.count("\n", seen, start)
        seen = start
        yield line, text[start:end]


def _entries(text: str, line: int, diagnostics: list[Diagnostic]) -> list[Entry]:
    root = yaml.compose(text, Loader=Loader)
    if root is None or root.tag == "tag:yaml.org,2002:null":
        return []
    if not isinstance(root, yaml.SequenceNode):
        diagnostics.append((line + root.start_mark.line + 1, "yaml", "expected a list of entries"))
        return []
    entries = []
    for node in root.value:
        at = line + node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            entries.append(Entry(at, {f.key: f for f in _fields(node, line, diagnostics)}))
        else:
            diagnostics.append((at, "yaml", "expected an entry with keys"))
    return entries


def _fields(node: Any, line: int, diagnostics: list[Diagnostic], depth: int = 0) -> list[Field]:
    fields: list[Field] = []
    seen = set()
    for key, value in node.value:
        at = line + key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            diagnostics.append((at, "yaml", "a key that is no plain text"))
            continue
        if key.value in seen:
            # torchgen (yaml_utils.py) refuses the file; the first value is kept.
            diagnostics.append((at, "yaml", f"duplicate key {key.value!r}"))
            continue
        seen.add(key.value)
        fields.append(Field(key.value, _value(value, line, diagnostics, depth), at))
    return fields


def _value(node: Any, line: int, diagnostics: list[Diagnostic], depth: int) -> Any:
    if isinstance(node, yaml.ScalarNode):
        tag = node.tag
        if tag == "tag:yaml.org,2002:bool":
            return node.value.lower() in _TRUE
        return None if tag == "tag:yaml.org,2002:null" else node.value
    if depth >= 3:
        # Nothing in these files is deeper; anchors could otherwise make a small file endless.
        diagnostics.append((line + node.start_mark.line + 1, "yaml", "nested too deep"))
        return None
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, line, diagnostics, depth + 1) for item in node.value]
    return _fields(node, line, diagnostics, depth + 1)
