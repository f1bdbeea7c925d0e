"""C++ headers of vendors that no checkout holds: what their methods call of the C API behind them.

PyTorch calls oneDNN through the C++ of ideep and ``dnnl.hpp``, cuDNN's graphs through ``cudnn_frontend``. These are
headers only: their functions leave no symbol of their own, what is linked is the C API (``dnnl_primitive_execute``).
The tables beside this module say which of its functions each method calls. They were read from the public headers
(``tests/real/vendor_headers.py``), of the version that their first lines name.

    @N NAME …                       a set of C functions, without the table's prefix
    in HEADER                       the rows below are of this header
    class NAME BASE …
    alias NAME CLASS                "?" for what is no class of these headers: numbers, lists, enumerations
    FUNCTION COUNT RETURNS CALLS    number of arguments ("*" any), class of the result or "?", a set or "-"

Each becomes a definition that C++'s lookup finds like those of the tree (``facts_of``), in a file that is none
(``is_outside``): its node has no place, but the ``vendor`` and the ``header``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytrace.model import Facts


class Table(NamedTuple):
    """One vendor's headers: the table's file, the prefix of its C API, the headers that a file of the tree includes."""

    vendor: str
    file: str
    prefix: str
    headers: tuple[str, ...]


TABLES = (
    Table("oneDNN", "onednn.txt", "dnnl_", ("ideep.hpp", "dnnl.hpp", "oneapi/dnnl/dnnl.hpp")),
    Table("cuDNN", "cudnn_frontend.txt", "cudnn", ("cudnn_frontend.h",)),
)


def is_outside(path: str) -> bool:
    """Whether a path of ``Context.files`` is no file of the tree, but the headers of a vendor."""
    return path.startswith("<")


def vendor_attrs(path: str, row: Any) -> dict[str, Any]:
    """Attributes of the node of a function (a row of ``facts_of``) of the headers at ``path``."""
    return {"vendor": path.strip("<>"), "header": row[9]}


def wanted(files: Mapping[str, tuple[str, Facts]]) -> dict[str, tuple[str, Facts]]:
    """Entries for ``Context.files``: the headers that the tree includes, of their functions what it calls by name."""
    sources = {path: facts for path, (kind, facts) in files.items() if kind == "cpp"}
    including: dict[str, list[str]] = {}
    for path, facts in sources.items():
        for name in facts.get("includes", ()):
            including.setdefault(name.rpartition("/")[2], []).append(path)
    found = {}
    for table in TABLES:
        seeing = _seeing(table.headers, including)
        called = {call[2].rpartition("::")[2] for path in seeing for call in sources[path].get("calls", ())}
        if seeing:
            found[f"<{table.vendor}>"] = "cpp", facts_of(table, called)
    return found


def _seeing(headers: Iterable[str], including: Mapping[str, list[str]]) -> set[str]:
    """Files that include one of the headers, directly or not; by the names of files, without their folders."""
    todo = [header.rpartition("/")[2] for header in headers]
    names, seen = set(todo), set()
    while todo:
        for path in including.get(todo.pop(), ()):
            seen.add(path)
            name = path.rpartition("/")[2]
            if name not in names:
                names.add(name)
                todo.append(name)
    return seen


def facts_of(table: Table, called: Container[str]) -> Facts:
    """The table in the form of ``extract.cpp.extract``: functions with a bare name of ``called``, all classes."""
    lines = (Path(__file__).parent / table.file).read_text(encoding="utf-8").splitlines()
    return read(lines, table.prefix, called)


def read(lines: Iterable[str], prefix: str, called: Container[str]) -> Facts:
    """See ``facts_of``; ``lines`` are those of a table."""
    sets: dict[str, list[str]] = {"-": []}
    functions: list[tuple[Any, ...]] = []
    classes: list[tuple[Any, ...]] = []
    usings: list[tuple[Any, ...]] = []
    calls: list[tuple[Any, ...]] = []
    header = ""
    for line in lines:
        words = line.split(" ")
        if not line or line.startswith("#"):
            continue
        if line.startswith("@"):
            sets[words[0]] = [prefix + name for name in words[1:]]
        elif words[0] == "in":
            header = words[1]
        elif words[0] == "class" or (words[0] == "alias" and words[2] == "?"):
            bases = tuple(words[2:]) if words[0] == "class" else ()
            classes.append((words[1], bases, 0, 0, (), "", False))
        elif words[0] == "alias":
            scope, _, bare = words[1].rpartition("::")
            usings.append(("alias", bare, words[2], scope, 0))
        else:
            name, count, returns, reached = line.rsplit(" ", 3)
            owner, _, bare = name.rpartition("::")
            if bare not in called:
                continue
            calls += [(len(functions), "f", c, 0, "", (), "", "", "") for c in sets[reached]]
            result = "" if returns == "?" else returns
            functions.append((name, "function", 0, 0, _parameters(count), result, False, owner, "", header, ""))
    return {"functions": functions, "classes": classes, "usings": usings, "calls": calls, "includes": ()}


def _parameters(count: str) -> tuple[tuple[str, str, str], ...]:
    if count == "*":
        return (("...", "", ""),)
    least, most = map(int, count.split("-"))
    return tuple(("", "", "" if number < least else "0") for number in range(most))
