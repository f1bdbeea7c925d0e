"""``pytrace report`` as text: a table that fits the page, or a block for each operator, and the totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytrace.render import columns
from pytrace.render.columns import Column, TableCell
from pytrace.render.page import Page
from pytrace.report.rows import HOW, Cell, OperatorReport, OperatorRow, Place, StubReport, StubRow, Totals

#: Roles (colours) of the ways of being served.
_ROLES = {
    "kernel": "cuda_kernel", "delegate": "functor", "generated": "functor", "library": "stub", "python": "python",
    "composite": "key", "wrapper": "dim", "py_impl": "dim", "fallthrough": "dim",
}  # fmt: skip
#: One letter each, for narrow pages.
LETTERS = {how: how[0].upper() for how in HOW}
#: Columns for families of keys, where there is room: head -> first letters of the keys.
FAMILIES = {"sparse": "Sparse", "quantized": "Quantized", "nested": "NestedTensor"}
_WIDE = 140
_BACKWARD = {"not_implemented": "none", "not_differentiable": "not needed", "": "?"}


def render(page: Page, report: OperatorReport, *, long: bool = False, limit: int = 0) -> None:
    """The whole report; ``long`` tells functions, stubs, kernels, libraries and dtypes of every key."""
    head(page, str(report.stamp), report.question, len(report.rows), report.of, "operators")
    rows = report.rows[:limit] if limit else report.rows
    if rows:
        page.blank()
        if long:
            for row in rows:
                _block(page, row)
        else:
            _table(page, report.backends, rows)
    if len(rows) < len(report.rows):
        page.add((f"… and {len(report.rows) - len(rows):,} more (--limit 0 shows all)", "dim"))
    if report.rows:
        totals(page, report.totals)


def head(page: Page, stamp: str, question: str, count: int, of: int, what: str) -> None:
    """Which tree, which question, how many."""
    page.add((stamp, "dim"))
    page.add((f"{count:,} of {of:,} {what}", "title"), (f": {question}" if question else "", ""))


def backward_word(row: OperatorRow) -> str:
    """How the operator is differentiated, in one word."""
    return _BACKWARD.get(row.autograd, row.autograd)


def _table(page: Page, backends: Sequence[str], rows: Sequence[OperatorRow]) -> None:
    families = FAMILIES if page.width >= _WIDE else {}
    words = [[_served(row, backend) for backend in backends] for row in rows]
    widest = [max(len(b), *(len(w[i]) for w in words)) for i, b in enumerate(backends)]
    narrow = 30 + sum(widest) + 2 * len(backends) + 40 + 14 * len(families) > page.width
    heads = [Column("operator", elastic=True, whole=True), *(Column(b) for b in backends)]
    heads += [Column(head, elastic=True) for head in families]
    heads += [Column("backward"), Column("vmap"), Column("decomp" if narrow else "decomposition", elastic=True)]
    table: list[list[TableCell]] = []
    for row, served in zip(rows, words):
        cells: list[TableCell] = [(row.name, "op", _at(row.file, row.line))]
        cells += [(_word(how, narrow), _ROLES.get(how, "dim")) for how in served]
        cells += [(row.family(prefix) or "-", "key") for prefix in families.values()]
        cells += [(backward_word(row), "formula" if row.autograd == "formula" else "dim"), (row.batching or "-", "dim")]
        made = row.decomposition[0].name.rpartition(".")[2] if row.decomposition else ""
        cells.append((("yes" if narrow else made) if made else "-", "python"))
        table.append(cells)
    columns.draw(page, heads, table)
    if narrow:
        used = {how for served in words for how in served if how in LETTERS}
        page.blank()
        page.paragraph(" · ".join(f"{LETTERS[how]} {how}" for how in HOW if how in used), "", "dim")


def _served(row: OperatorRow, backend: str) -> str:
    if backend in row.served:
        return row.served[backend]
    return next((cell.how for cell in row.cells if cell.key == backend), "")


def _word(how: str, narrow: bool) -> str:
    return (LETTERS[how] if narrow else how) if how else "-"


def _at(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file


def _block(page: Page, row: OperatorRow) -> None:
    page.blank()
    page.row([(row.name, "op")], _at(row.file, row.line))
    for cell in row.cells:
        _cell(page, cell)
    for formula in row.formulas:
        page.row([("backward  ", "dim"), (formula.name, "formula")], formula.at, indent="  ", rest="  ")
    if not row.formulas:
        page.row([("backward  ", "dim"), (backward_word(row), "")], indent="  ", rest="  ")
    for place in row.decomposition:
        page.row([("decomposition  ", "dim"), (place.name, "python")], place.at, indent="  ", rest="  ")


def _cell(page: Page, cell: Cell) -> None:
    names = " | ".join(_names(cell.functions)) if cell.how != "fallthrough" else ""
    note = f"  ({cell.how}{f' to {cell.through}' if cell.through else ''})"
    place = cell.functions[0].at if cell.functions else _at(cell.file, cell.line)
    page.row([(f"{cell.key}  ", "key"), (names, "function"), (note, "dim")], place, indent="  ", rest="  ")
    below = cell.below
    if below is None:
        return
    for word, role, names_of in (
        ("stub", "stub", below.stubs),
        ("registered", "function", _names(below.registered)),
        ("kernels", "cuda_kernel", _names(below.kernels)),
        ("functors", "functor", below.functors),
        ("libraries", "library", below.libraries),
        ("dtypes", "dim", below.dtypes),
    ):
        if names_of:
            _listed(page, word, role, names_of)


def _listed(page: Page, word: str, role: str, names: Sequence[str]) -> None:
    page.paragraph(f"{word} {', '.join(names)}", "      ", role)


def _names(places: Iterable[Place]) -> list[str]:
    return list(dict.fromkeys(short(place.name) for place in places))


def short(name: str) -> str:
    """A function's name as it is shown."""
    return name.removeprefix("at::native::")


def totals(page: Page, found: Totals) -> None:
    """Counts: backends by how they are served, rows as native_functions.yaml writes them."""
    page.heading("Totals")
    hows = [how for how in (*HOW, "none") if any(how in by for by in found.by_backend.values())]
    heads = [Column("backend"), *(Column(how, number=True) for how in hows)]
    columns.draw(
        page,
        heads,
        [[(backend, "key"), *((_count(by, how), "") for how in hows)] for backend, by in found.by_backend.items()],
    )
    page.blank()
    _pairs(page, "backward", {_BACKWARD.get(word, word): count for word, count in found.autograd.items()})
    _pairs(page, "namespaces", found.by_namespace)
    _pairs(page, "native_functions.yaml", found.yaml)
    _pairs(page, "rows by key", found.yaml_keys)


def _count(by: Mapping[str, int], how: str) -> str:
    return f"{by[how]:,}" if how in by else "-"


def _pairs(page: Page, title: str, counts: Mapping[str, int]) -> None:
    if counts:
        page.paragraph(f"{title}: {', '.join(f'{name} {count:,}' for name, count in counts.items())}", "")


def render_stubs(page: Page, report: StubReport, *, limit: int = 0) -> None:
    """``pytrace report --stubs``."""
    head(page, str(report.stamp), report.question, len(report.rows), report.of, "stubs")
    rows = report.rows[:limit] if limit else report.rows
    if rows:
        page.blank()
        devices = [device for device in report.devices if any(device in row.registered for row in rows)]
        heads = [Column("stub", elastic=True, whole=True)]
        heads += [Column(head, elastic=True) for head in (*map(str.upper, devices), "operators")]
        columns.draw(page, heads, [_stub_cells(row, devices) for row in rows])
    if len(rows) < len(report.rows):
        page.add((f"… and {len(report.rows) - len(rows):,} more (--limit 0 shows all)", "dim"))
    page.blank()
    _pairs(page, "registered", {device.upper(): count for device, count in report.totals.items()})


def _stub_cells(row: StubRow, devices: Sequence[str]) -> list[TableCell]:
    cells: list[TableCell] = [(row.name, "stub", _at(row.file, row.line))]
    for device in devices:
        found = row.registered.get(device, [])
        if found:
            more = f" +{len(found) - 1}" if len(found) > 1 else ""
            cells.append((short(found[0].name) + more, "function", found[0].at))
        else:
            cells.append(("-", "dim"))
    more = f" +{len(row.operators) - 1}" if len(row.operators) > 1 else ""
    cells.append((row.operators[0].removeprefix("aten::") + more if row.operators else "-", "op"))
    return cells
