"""Reports as CSV (RFC 4180, ``\\n`` as line end): one line for each operator and key, so that a spreadsheet can pivot.

A cell that begins as a formula would (``=``, ``+``, ``-``, ``@``) gets an apostrophe: names are other people's text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from pytrace.report.rows import OperatorReport, Place, StubReport

OPERATOR_COLUMNS = (
    "operator", "namespace", "kind", "structured", "tags", "file", "line", "key", "how", "function", "function_file",
    "function_line", "through", "stubs", "registered", "kernels", "functors", "libraries", "dtypes", "autograd",
    "formulas", "meta", "decomposition", "batching",
)  # fmt: skip
STUB_COLUMNS = ("stub", "file", "line", "device", "function", "function_file", "function_line", "sites", "operators")


def _plain(value: object) -> str:
    text = " ".join(
        "".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in str(value)).split()
    )
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def write(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The table as text."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(heads)
    table.writerows([_plain(value) for value in row] for row in rows)
    return out.getvalue()


def report(found: OperatorReport) -> str:
    """``pytrace report --format csv``."""
    return write(OPERATOR_COLUMNS, _operator_rows(found))


def _operator_rows(found: OperatorReport) -> Iterable[Sequence[object]]:
    for row in found.rows:
        left = (row.name, row.namespace, row.kind, _yes(row.structured), _join(row.tags), row.file, row.line or "")
        right = (row.autograd, _names(row.formulas), row.meta, _names(row.decomposition), row.batching)
        if not row.cells:
            yield (*left, *[""] * 10, *right)
        for cell in row.cells:
            first = cell.functions[0] if cell.functions else Place("")
            below = cell.below
            reached = (
                (
                    _join(below.stubs), _names(below.registered), _names(below.kernels), _join(below.functors),
                    _join(below.libraries), _join(below.dtypes),
                )
                if below is not None
                else ("",) * 6
            )  # fmt: skip
            names = " | ".join(dict.fromkeys(f.name for f in cell.functions))
            yield (*left, cell.key, cell.how, names, first.file, first.line or "", cell.through, *reached, *right)


def stubs(found: StubReport) -> str:
    """``pytrace report --stubs --format csv``."""
    return write(
        STUB_COLUMNS,
        (
            (
                row.name, row.file, row.line or "", device, function.name, function.file, function.line or "",
                _join(row.sites.get(device, [])), _join(row.operators),
            )
            for row in found.rows
            for device in found.devices
            for function in row.registered.get(device, [])
        ),
    )  # fmt: skip


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _join(names: Iterable[str]) -> str:
    return "; ".join(names)


def _names(places: Iterable[Place]) -> str:
    return "; ".join(dict.fromkeys(place.name for place in places))
