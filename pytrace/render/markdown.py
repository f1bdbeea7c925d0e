"""Reports as GitHub Markdown. Every text that came from the tree is escaped: names may hold ``|``, ``<`` or ``*``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from pytrace.render.report_text import backward_word, short
from pytrace.report.rows import SERVING_NOTHING, Cell, OperatorReport, OperatorRow, Stamp, StubReport
from pytrace.report.stamp import permalink

#: What a comment on GitHub may hold, with room for a signature.
COMMENT_LIMIT = 65_000
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")


def text(value: str) -> str:
    """Plain text: nothing in it is markup, a line break or a mention."""
    flat = " ".join("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in value).split())
    return _SPECIAL.sub(r"\\\1", flat).replace("@", "&#64;")


def code(value: str) -> str:
    """A code span; one that holds backticks gets a longer fence, a pipe is escaped for tables."""
    flat = " ".join("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in value).split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}".replace("|", r"\|") if flat else ""


def link(label: str, stamp: Stamp, path: str, line: int = 0) -> str:
    """A code span that leads to the line in the hosted tree, when it has one; else the place as text."""
    url = permalink(stamp, path, line) if path else ""
    return f"[{label}]({url})" if url else label


def place(stamp: Stamp, path: str, line: int) -> str:
    """``path:line`` as a link."""
    return link(code(f"{path}:{line}" if line else path), stamp, path, line) if path else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; the cells are Markdown already."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def bounded(head: list[str], rows: list[str], foot: list[str], limit: int, more: Callable[[int], str]) -> str:
    """Head, as many rows as fit into ``limit`` characters, how many were left out, and foot."""
    fixed = sum(len(line) + 1 for line in [*head, *foot]) + len(more(len(rows))) + 3
    kept = []
    used = fixed
    for row in rows:
        used += len(row) + 1
        if limit and used > limit:
            break
        kept.append(row)
    left = len(rows) - len(kept)
    return "\n".join([*head, *kept, *(["", more(left)] if left else []), *foot]) + "\n"


def report(found: OperatorReport, *, limit: int = 0, size: int = 0) -> str:
    """``pytrace report --format markdown``; at most ``limit`` operators and ``size`` characters (0: all)."""
    title = found.question[:1].upper() + found.question[1:] if found.question else "All operators"
    head = [f"### {text(title)}", "", f"{len(found.rows):,} of {found.of:,} operators · {text(str(found.stamp))}", ""]
    heads = ["operator", *found.backends, "backward", "vmap", "decomposition"]
    head += table(heads, [])
    rows = [_row(found, row) for row in (found.rows[:limit] if limit else found.rows)]
    foot = ["", *_totals(found)]
    hidden = len(found.rows) - len(rows)
    return bounded(head, rows, foot, size, lambda left: f"… and {left + hidden:,} more operators.")


def _row(found: OperatorReport, row: OperatorRow) -> str:
    cells = [link(code(row.name), found.stamp, row.file, row.line)]
    cells += [_cell(found.stamp, row, backend) for backend in found.backends]
    formulas = ", ".join(link(code(f.name), found.stamp, f.file, f.line) for f in row.formulas)
    cells += [formulas or text(backward_word(row)), text(row.batching or "-")]
    cells.append(", ".join(link(code(d.name), found.stamp, d.file, d.line) for d in row.decomposition) or "-")
    return "| " + " | ".join(cells) + " |"


def _cell(stamp: Stamp, row: OperatorRow, backend: str) -> str:
    cell = next((c for c in row.cells if c.key == backend and c.how not in SERVING_NOTHING), None)
    if cell is None:
        return text(row.served.get(backend, "") or "-")
    parts = [link(code(short(f.name)), stamp, f.file, f.line) for f in cell.functions[:1]] or [text(cell.how)]
    return "<br>".join([*parts, *_below(cell)])


def _below(cell: Cell) -> list[str]:
    if cell.below is None:
        return []
    parts = []
    for word, names in (
        ("stub", cell.below.stubs),
        ("kernel", [short(p.name) for p in cell.below.kernels]),
        ("functor", cell.below.functors),
        ("library", cell.below.libraries),
    ):
        if names:
            more = f" +{len(names) - 3}" if len(names) > 3 else ""
            parts.append(f"{word} {', '.join(code(name) for name in dict.fromkeys(names[:3]))}{more}")
    return parts


def _totals(found: OperatorReport) -> list[str]:
    hows = sorted({how for by in found.totals.by_backend.values() for how in by})
    rows = [[b, *(f"{by.get(how, 0):,}" for how in hows)] for b, by in found.totals.by_backend.items()]
    lines = table(["backend", *hows], rows)
    for title, counts in (("native_functions.yaml", found.totals.yaml), ("rows by key", found.totals.yaml_keys)):
        if counts:
            lines += ["", f"{text(title)}: {', '.join(f'{text(name)} {count:,}' for name, count in counts.items())}"]
    return lines


def stubs(found: StubReport, *, limit: int = 0) -> str:
    """``pytrace report --stubs --format markdown``."""
    title = found.question[:1].upper() + found.question[1:] if found.question else "All dispatch stubs"
    head = [f"### {text(title)}", "", f"{len(found.rows):,} of {found.of:,} stubs · {text(str(found.stamp))}", ""]
    rows = []
    for row in found.rows[:limit] if limit else found.rows:
        cells = [link(code(row.name), found.stamp, row.file, row.line)]
        for device in found.devices:
            functions = row.registered.get(device, [])
            cells.append("<br>".join(link(code(short(f.name)), found.stamp, f.file, f.line) for f in functions) or "-")
        cells.append(", ".join(code(name) for name in row.operators[:6]) + (" …" if len(row.operators) > 6 else ""))
        rows.append(cells)
    return "\n".join([*head, *table(["stub", *(d.upper() for d in found.devices), "operators"], rows)]) + "\n"
