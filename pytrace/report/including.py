"""Which sources see a header: the ``#include`` lines of the tree, followed backwards.

The index keeps calls, not inclusions; a change in a header outside of functions (a macro, a member, a constant) is
felt by whoever includes it. The lines are read from the tree when such a change is asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from posixpath import basename, dirname, normpath

from pytrace.link.includes import ROOTS
from pytrace.store import Store

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|import)[ \t]*[<"]([^>"\n]+)', re.M)
#: torchgen writes one header for each operator from these templates (torchgen/gen.py: gen_per_operator_headers).
_PER_OPERATOR = ("Function.h", "Operator.h")
_TEMPLATES = "aten/src/ATen/templates/"


def read(root: str, store: Store) -> dict[str, list[str]]:
    """path -> included names as written, for every C++ file of the index; a file that is gone includes nothing."""
    found = {}
    for path, kind, _ in store.file_rows():
        if kind in ("cpp", "template"):
            try:
                with open(os.path.join(root, path), "rb") as file:
                    names = _INCLUDE.findall(file.read())
            except OSError:
                names = []
            found[path] = [name.decode("utf-8", "replace") for name in names]
    return found


def reversed_includes(includes: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """path -> files that include it themselves."""
    found: dict[str, list[str]] = {}
    for path, names in includes.items():
        here = dirname(path)
        for name in names:
            for target in _targets(here, name, includes):
                found.setdefault(target, []).append(path)
    return found


def _targets(here: str, name: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """The files of the tree that a name means: itself, or the template that a generated header is made from."""
    for candidate in (normpath(f"{here}/{name}"), *(f"{root}{name}" for root in ROOTS)):
        if candidate in known:
            return [candidate]
    if not name.startswith("ATen/"):
        return []
    templates = _PER_OPERATOR if name.startswith("ATen/ops/") else (basename(name),)
    return [f"{_TEMPLATES}{template}" for template in templates if f"{_TEMPLATES}{template}" in known]


def seen_by(header: str, reverse: Mapping[str, Sequence[str]]) -> set[str]:
    """The files that include ``header``, directly or not."""
    found: set[str] = set()
    todo = [header]
    while todo:
        for path in reverse.get(todo.pop(), ()):
            if path not in found:
                found.add(path)
                todo.append(path)
    return found
