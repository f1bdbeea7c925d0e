"""Facts of ``native_functions.yaml``, ``tags.yaml`` and ``deprecated.yaml``: their entries with lines.

Facts:

* ``entries``: ``(line, func, fields)`` per operator, as written; ``fields`` maps the other keys to a bool, a str or a
  list of str, ``dispatch`` and ``ufunc_inner_loop`` to a list of ``(key text, value, line)``, and ``lines`` to the
  lines of the keys that edges cite.
* ``tags``: ``(line, name, description)``.
* ``deprecated``: ``(line, signature, call)``, the ``name`` and ``aten`` of an entry.
* ``diagnostics``: ``(line, kind, message)``.
"""

from __future__ import annotations

from typing import Any

from pytrace.extract.yaml_nodes import Diagnostic, Entry, Field, read_entries
from pytrace.model import Facts

VERSION = 1

#: Keys whose line is evidence of an edge.
_CITED = ("structured_delegate", "autogen", "ufunc_inner_loop")

#: Key -> what its value must be (``NativeFunction.from_yaml`` in torchgen/model.py).
_SHAPES: dict[str, tuple[str, ...]] = {
    "func": ("text",),
    "variants": ("text",),
    "structured": ("flag",),
    "structured_delegate": ("text",),
    "structured_inherits": ("text",),
    "precomputed": ("list",),
    "autogen": ("text",),
    "ufunc_inner_loop": ("text", "table"),
    "dispatch": ("table",),
    "tags": ("text", "list"),
    "python_module": ("text",),
    "category_override": ("text",),
    "device_check": ("text",),
    "device_guard": ("flag",),
    "manual_kernel_registration": ("flag",),
    "manual_cpp_binding": ("flag",),
    "cpp_no_default_args": ("list",),
    "use_const_ref_for_mutable_tensors": ("flag",),
}


def extract(source: bytes) -> Facts:
    """Facts of one of the three files; which one it is shows in the keys of its entries."""
    entries, diagnostics = read_entries(source)
    facts: Facts = {"entries": [], "tags": [], "deprecated": []}
    for entry in entries:
        _entry(entry, facts, diagnostics)
    return {**{key: rows for key, rows in facts.items() if rows}, "diagnostics": diagnostics}


def _entry(entry: Entry, facts: Facts, diagnostics: list[Diagnostic]) -> None:
    texts = {f.key: f.value for f in entry.fields.values() if isinstance(f.value, str)}
    if "func" in texts:
        checked = {f.key: _checked(f, diagnostics) for f in entry.fields.values() if f.key != "func"}
        fields = {k: v for k, v in checked.items() if v is not None}
        if lines := {k: entry.fields[k].line for k in _CITED if k in fields}:
            fields["lines"] = lines
        facts["entries"].append((entry.line, texts["func"], fields))
    elif "tag" in texts:
        facts["tags"].append((entry.line, texts["tag"], texts.get("desc", "").strip()))
    elif "name" in texts and "aten" in texts:
        facts["deprecated"].append((entry.line, texts["name"], texts["aten"]))
    else:
        keys = ", ".join(entry.fields) or "nothing"
        diagnostics.append((entry.line, "entry", f"neither an operator nor a tag nor a deprecated signature: {keys}"))


def _checked(field: Field, diagnostics: list[Diagnostic]) -> Any:
    """The value of a field in the shape that its key promises, or None with a diagnostic."""
    shapes = _SHAPES.get(field.key)
    if shapes is None:
        diagnostics.append((field.line, "entry", f"unknown key {field.key!r}"))
        return None
    value = field.value
    if isinstance(value, bool):
        if "flag" in shapes:
            return value
    elif isinstance(value, str):
        if "text" in shapes:
            return value
    elif isinstance(value, list):
        if "table" in shapes and all(isinstance(item, Field) and isinstance(item.value, str) for item in value):
            return [tuple(item) for item in value]
        if "list" in shapes and all(isinstance(item, str) for item in value):
            return value
    diagnostics.append((field.line, "entry", f"the value of {field.key!r} is not a {' or a '.join(shapes)}"))
    return None
