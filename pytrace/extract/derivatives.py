"""Facts of ``tools/autograd/derivatives.yaml``: the entries as written, with the line of every formula.

Facts:

* ``entries``: ``(line, schema, output differentiability, formulas)``; the third is None or a list of bool and str
  (conditions); the fourth a list of ``(dispatch key, [(names, formula, line), …])``, the key being ``Default`` when the
  entry has no ``dispatch``.
* ``diagnostics``: ``(line, kind, message)``.

What the keys mean is said at the top of that file and in ``tools/autograd/load_derivatives.py``.
"""

from __future__ import annotations

from typing import Any

from pytrace.extract.yaml_nodes import Diagnostic, Entry, Field, read_entries
from pytrace.model import Facts
from pytrace.schema.keys import DEFAULT_FORMULA, FormulaRow

VERSION = 1

_NAME, _OUTPUTS, _DISPATCH = "name", "output_differentiability", "dispatch"


def extract(source: bytes) -> Facts:
    """The entries of ``derivatives.yaml``."""
    entries, diagnostics = read_entries(source)
    rows = [row for entry in entries if (row := _row(entry, diagnostics))]
    return {"entries": rows, "diagnostics": diagnostics}


def _row(entry: Entry, diagnostics: list[Diagnostic]) -> tuple[Any, ...] | None:
    fields = dict(entry.fields)
    name = fields.pop(_NAME, None)
    if name is None or not isinstance(name.value, str):
        diagnostics.append((entry.line, "entry", "an entry without the schema of an operator under 'name'"))
        return None
    outputs = _outputs(fields.pop(_OUTPUTS, None), diagnostics)
    dispatch = fields.pop(_DISPATCH, None)
    if dispatch is None:
        tables = [(DEFAULT_FORMULA, _formulas(list(fields.values()), diagnostics))]
    else:
        for extra in fields.values():
            diagnostics.append((extra.line, "entry", f"{extra.key!r} beside 'dispatch' has no effect"))
        tables = _tables(dispatch, diagnostics)
    return (entry.line, name.value, outputs, tables)


def _outputs(field: Field | None, diagnostics: list[Diagnostic]) -> list[bool | str] | None:
    if field is None:
        return None
    if isinstance(field.value, list) and all(isinstance(item, (bool, str)) for item in field.value):
        # An empty list is no list: load_derivatives.py tests its truth.
        return field.value or None
    diagnostics.append((field.line, "entry", f"{_OUTPUTS} is not a list of booleans or conditions"))
    return None


def _tables(dispatch: Field, diagnostics: list[Diagnostic]) -> list[tuple[str, list[FormulaRow]]]:
    tables = []
    for table in dispatch.value if isinstance(dispatch.value, list) else [dispatch]:
        if isinstance(table, Field) and isinstance(table.value, list):
            fields = [f for f in table.value if isinstance(f, Field)]
            tables.append((table.key, _formulas(fields, diagnostics)))
        else:
            diagnostics.append((dispatch.line, "entry", "'dispatch' is not a table of formulas by autograd key"))
    return tables


def _formulas(fields: list[Field], diagnostics: list[Diagnostic]) -> list[FormulaRow]:
    rows = []
    for field in fields:
        if isinstance(field.value, str):
            rows.append((field.key, field.value, field.line))
        else:
            diagnostics.append((field.line, "entry", f"the formula of {field.key!r} is not a text"))
    return rows
