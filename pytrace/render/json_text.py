"""Answers as JSON. The schema's name and version stand first; a field that is empty is left out; order is stable.

``pytrace/op/1``, ``pytrace/kernel/1``, ``pytrace/api/1``, ``pytrace/backward/1``, ``pytrace/at/1``,
``pytrace/search/1``: the fields are those of the classes in ``pytrace.trace.answers``. A field may be added within a
version; one that is renamed or changes its meaning raises it.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """A dataclass (and what it holds) as dicts and lists, without empty fields."""
    if is_dataclass(value) and not isinstance(value, type):
        found = {}
        for entry in fields(value):
            inner = getattr(value, entry.name)
            if inner is None or inner is False or inner == "" or inner == [] or inner == {}:
                continue
            if entry.name == "line" and inner == 0:
                continue
            found[entry.name] = plain(inner)
        return found
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def dumps(schema: str, answer: Any, tree: dict[str, str] | None = None) -> str:
    """The answer with its schema, and what tree it speaks of."""
    head: dict[str, Any] = {"schema": schema}
    if tree:
        head["tree"] = tree
    return json.dumps({**head, **plain(answer)}, indent=1, ensure_ascii=False) + "\n"
