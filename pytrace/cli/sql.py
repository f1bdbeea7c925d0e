"""``pytrace sql``: the index as a database, read-only."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from pytrace.cli import common
from pytrace.errors import BadQuestion

#: What a statement may do: read, and call functions. Everything else (ATTACH, PRAGMA that writes, …) is refused.
_ALLOWED = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))


@click.command()
@click.argument("statement", required=False, metavar="SELECT…")
@click.option("--schema", is_flag=True, help="Print the tables and what their columns hold.")
@common.format_option("table", "json", "csv")
@common.limit_option(0, "Stop after so many rows; 0 shows all.")
@common.store_options
@click.pass_context
def command(ctx: click.Context, statement: str | None, schema: bool, fmt: str, limit: int) -> None:
    """Ask the index in SQL.

    \b
    pytrace sql "SELECT kind, count(*) FROM node GROUP BY kind"
    pytrace sql "SELECT d.name, e.key FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst
                 WHERE s.name = 'aten::mul.out' AND e.kind = 'dispatches'"
    """
    if schema:
        from pytrace.store import INDEXES, SCHEMA

        common.emit(SCHEMA.strip() + "\n" + INDEXES.strip())
        return
    if not statement:
        raise BadQuestion('What shall be asked? `pytrace sql "SELECT …"`; `pytrace sql --schema` shows the tables.')
    store = common.open_store(ctx)
    heads, rows = ask(store.db, statement)
    if limit:
        from itertools import islice

        rows = islice(rows, limit)
    _print(fmt, heads, rows)


def ask(db: sqlite3.Connection, statement: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Column names and rows of one statement that reads. Raises ``BadQuestion``."""
    db.execute("PRAGMA query_only = 1")
    db.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
    try:
        cursor = db.execute(statement)
    except (sqlite3.Warning, sqlite3.ProgrammingError, ValueError) as error:
        raise BadQuestion(f"{str(error).rstrip('.')}. `pytrace sql` takes one statement.") from error
    except sqlite3.DatabaseError as error:
        if "not authorized" in str(error):
            raise BadQuestion(
                "The index is read-only: one SELECT (or WITH … SELECT) is all that can be asked."
            ) from error
        raise BadQuestion(f"SQLite says: {error}. `pytrace sql --schema` shows the tables.") from error
    return [column[0] for column in cursor.description or ()], _rows(cursor)


def _rows(cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
    try:
        yield from cursor
    except sqlite3.OperationalError as error:  # some mistakes show only when rows are made
        raise BadQuestion(f"SQLite says: {error}. `pytrace sql --schema` shows the tables.") from error


def _print(fmt: str, heads: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    if fmt == "json":
        import json

        heads = _told_apart(heads)
        text = ",\n ".join(json.dumps(dict(zip(heads, map(_plain, row))), ensure_ascii=False) for row in rows)
        common.emit(f"[{text}]")
    elif fmt == "csv":
        import csv

        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(heads)
        table.writerows([_plain(value) for value in row] for row in rows)
    else:
        common.emit(table_text(heads, [["" if v is None else str(_plain(v)) for v in row] for row in rows]))


def _told_apart(heads: Sequence[str]) -> list[str]:
    """Names of columns as keys: the second ``name`` is ``name_2``, so that none is lost."""
    taken: set[str] = set()
    found = []
    for head in heads:
        number, name = 1, head
        while name in taken:
            number += 1
            name = f"{head}_{number}"
        taken.add(name)
        found.append(name)
    return found


def _plain(value: Any) -> Any:
    """A value that every format can show: a blob becomes its length."""
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else value


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads, two spaces apart; numbers to the right."""
    columns = [[head, *(row[i].replace("\n", " ") for row in rows)] for i, head in enumerate(heads)]
    widths = [max(map(len, column)) for column in columns]
    numeric = [len(rows) > 0 and all(_is_number(value) for value in column[1:]) for column in columns]
    lines = []
    for n in range(len(rows) + 1):
        cells = [c[n].rjust(w) if right else c[n].ljust(w) for c, w, right in zip(columns, widths, numeric)]
        lines.append("  ".join(cells).rstrip())
        if n == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()
