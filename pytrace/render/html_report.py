"""``pytrace report --format html``: one file with a sortable, filterable table of all operators.

The rows are data; the script keeps only those on screen in the document, so that thousands open at once. A row opens
to everything that the report knows of the operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pytrace.render.html_parts import asset, page, text
from pytrace.render.report_text import FAMILIES, backward_word, short
from pytrace.report.rows import HOW, Cell, OperatorReport, OperatorRow, Place
from pytrace.report.stamp import permalink


def report(found: OperatorReport) -> str:
    """The document."""
    heads = ["operator", *found.backends, *FAMILIES, "backward", "vmap", "decomposition", "tags"]
    question = found.question or "all operators"
    body = [
        "<header>",
        "<h1>How each backend implements the operators</h1>",
        f'<p class="stamp">{text(str(found.stamp))} · {text(question)}</p>',
        '<div class="tools" role="toolbar" aria-label="Filters">',
        '<input id="search" type="search" placeholder="Name or tag ( / )" aria-label="Filter by name or tag">',
        *_filters(found),
        '<button id="theme" type="button">Light or dark</button>',
        '<span id="count" role="status"></span>',
        "</div>",
        "</header>",
        '<div class="scroll" tabindex="-1"><table><thead><tr>',
        *(f'<th scope="col"><button type="button">{text(head)}<span></span></button></th>' for head in heads),
        "</tr></thead><tbody></tbody></table></div>",
        '<p class="legend">'
        + " · ".join(f'<b class="{how}">{how}</b> {text(what)}' for how, what in HOW.items())
        + "</p>",
        "<noscript><p class=legend>The table needs JavaScript; --format csv or markdown does not.</p></noscript>",
        "<dialog aria-label=Operator></dialog>",
    ]
    data = json.dumps(_data(found, heads), ensure_ascii=False, separators=(",", ":"))
    return page("pytrace report", body, style=asset("table.css"), script=asset("table.js"), data=data)


def _filters(found: OperatorReport) -> Iterable[str]:
    for place, backend in enumerate(found.backends, 1):
        options = ['<option value="*">' + text(backend) + "</option>", '<option value="any">any way</option>']
        options.append('<option value="none">none</option>')
        present = {_served(row, backend) for row in found.rows}
        options += [f'<option value="{how}">{how}</option>' for how in HOW if how in present]
        yield f'<select data-column="{place}" aria-label="{text(backend)}">{"".join(options)}</select>'


def _served(row: OperatorRow, backend: str) -> str:
    if backend in row.served:
        return row.served[backend]
    return next((cell.how for cell in row.cells if cell.key == backend), "")


def _data(found: OperatorReport, heads: list[str]) -> dict[str, Any]:
    """Rows as numbers into a table of words: each word is written once."""
    words: dict[str, int] = {"": 0}

    def number(word: str) -> int:
        return words.setdefault(word, len(words))

    rows: list[list[Any]] = []
    for row in found.rows:
        cells = [_served(row, backend) for backend in found.backends]
        cells += [row.family(prefix) for prefix in FAMILIES.values()]
        cells += [backward_word(row), row.batching]
        made = row.decomposition[0].name.rpartition(".")[2] if row.decomposition else ""
        cells += [made, ", ".join(row.tags)]
        rows.append([row.name, f"{row.file}:{row.line}" if row.file else "", *map(number, cells)])
    probe = permalink(found.stamp, "x")
    return {
        "heads": heads,
        "backends": len(found.backends),
        "base": probe[:-1] if probe else "",
        "rows": rows,
        "details": [_details(row) for row in found.rows],
        "words": list(words),
    }


def _details(row: OperatorRow) -> dict[str, Any]:
    rest = [("backward", formula.name, formula.at) for formula in row.formulas]
    rest += [("decomposition", place.name, place.at) for place in row.decomposition]
    if row.delegates:
        rest.append(("delegates to", row.delegates, ""))
    if row.generated_from:
        rest.append(("generated from", row.generated_from, ""))
    return {"schema": row.schema, "cells": [_cell(cell) for cell in row.cells], "rest": rest}


def _cell(cell: Cell) -> list[Any]:
    how = f"{cell.how} to {cell.through}" if cell.through else cell.how
    functions = [(place.name, place.at) for place in cell.functions] if cell.how != "fallthrough" else []
    reached = []
    if cell.below is not None and cell.how != "delegate":  # the out= operator tells it
        for what, names in (
            ("stubs", cell.below.stubs),
            ("registered", _names(cell.below.registered)),
            ("kernels", _names(cell.below.kernels)),
            ("functors", cell.below.functors),
            ("libraries", cell.below.libraries),
            ("dtypes", cell.below.dtypes),
        ):
            if names:
                reached.append((what, names))
    return [cell.key, how, functions, reached]


def _names(places: Iterable[Place]) -> list[str]:
    return list(dict.fromkeys(short(place.name) for place in places))
