"""Counts over the rows of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytrace.report.rows import OperatorRow, Totals


def totals(rows: Sequence[OperatorRow], backends: Sequence[str]) -> Totals:
    """All counts of ``rows``; ``backends`` are the columns, for which "none" is counted too."""
    by_key: dict[str, Counter[str]] = {}
    for row in rows:
        for key, how in dict.fromkeys((cell.key, cell.how) for cell in row.cells):
            by_key.setdefault(key, Counter())[how] += 1
    return Totals(
        operators=len(rows),
        by_namespace=_counted(row.namespace for row in rows),
        by_key={key: dict(sorted(found.items())) for key, found in sorted(by_key.items(), key=_most)},
        by_backend={
            b: _counted(row.served.get(b, "") or "none" for row in rows)
            for b in backends
            if any(b in row.served for row in rows)
        },
        yaml=yaml_counts(rows),
        yaml_keys=yaml_keys(rows),
        autograd=_counted(row.autograd or "unknown" for row in rows),
    )


def _most(entry: tuple[str, Counter[str]]) -> tuple[int, str]:
    return -sum(entry[1].values()), entry[0]


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda entry: (-entry[1], entry[0])))


def yaml_counts(rows: Iterable[OperatorRow]) -> dict[str, int]:
    """What native_functions.yaml writes, and how many overloads torchgen makes on top."""
    rows = list(rows)
    written = [row for row in rows if row.written]
    return {
        "entries": len(written),
        "base names": len({row.local.partition(".")[0] for row in written}),
        "structured": sum(row.structured for row in written),
        "structured_delegate": sum(bool(row.delegates) for row in written),
        "implicit composite": sum(_is_implicit(row) for row in written),
        "generated overloads": sum(bool(row.generated_from) for row in rows),
    }


def _is_implicit(row: OperatorRow) -> bool:
    """Whether the entry has neither a dispatch table nor a delegate: no row stands below its own first line."""
    return not row.delegates and not _written_keys(row)


def _written_keys(row: OperatorRow) -> set[str]:
    return {cell.key for cell in row.cells if cell.file == row.file and cell.line > row.line and cell.how != "delegate"}


def yaml_keys(rows: Iterable[OperatorRow]) -> dict[str, int]:
    """How many entries write a row for each dispatch key."""
    count: Counter[str] = Counter()
    for row in rows:
        if row.written:
            count.update(_written_keys(row))
    return dict(sorted(count.items(), key=lambda entry: (-entry[1], entry[0])))
