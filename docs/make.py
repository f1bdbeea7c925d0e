#!/usr/bin/env python3
"""Writes ``docs/json.md`` and ``docs/schema.md`` from the code: the formats that programs read.

usage: python docs/make.py [--check]

``--check`` writes nothing, and fails when a file is not what it would write.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pytrace import model, store
from pytrace.render import jsonl
from pytrace.report import check, diff, impact, rows
from pytrace.trace import answers, around, binding, init

DOCS = Path(__file__).resolve().parent
#: schema -> (the commands that write it, the class of the answer)
SCHEMAS: dict[str, tuple[str, type]] = {
    "pytrace/op/1": ("pytrace op NAME --format json", answers.OpAnswer),
    "pytrace/kernel/1": (
        "pytrace kernel NAME [--up] --format json`, `pytrace stub NAME --format json",
        answers.KernelAnswer,
    ),
    "pytrace/api/1": ("pytrace api NAME --format json", answers.ApiAnswer),
    "pytrace/backward/1": ("pytrace backward NAME --format json", answers.BackwardAnswer),
    "pytrace/at/1": ("pytrace at FILE:LINE --format json", answers.AtAnswer),
    "pytrace/search/1": ("pytrace search TEXT --format json", answers.SearchAnswer),
    "pytrace/binding/1": ("pytrace binding NAME --format json", binding.BindingAnswer),
    "pytrace/init/1": ("pytrace init --format json", init.InitAnswer),
    "pytrace/report/1": ("pytrace report --format json", rows.OperatorReport),
    "pytrace/report-stubs/1": ("pytrace report --stubs --format json", rows.StubReport),
    "pytrace/impact/1": ("pytrace impact --format json", impact.ImpactReport),
    "pytrace/diff/1": ("pytrace diff OLD NEW --format json", diff.DiffReport),
    "pytrace/check/1": ("pytrace check --format json", check.CheckReport),
}
MODULES = (answers, around, binding, init, rows, impact, diff, check)
INTRO = """\
# JSON

Made by `docs/make.py` from the code; do not edit.

Every answer is one object. `schema` names its format and version; `tree` says what it speaks of (`version`,
`commit`, `dirty`). A field that is empty (no text, no entries, zero lines, false) is left out. Lists are in a
stable order: the same tree gives the same bytes. Within a version fields may be added; one that is renamed or
changes its meaning raises the version. An error writes no JSON: exit code 1 (no such name, or the question fails), 2
(the command line cannot be understood), text on stderr.

`pytrace stats --format json` writes `pytrace/stats/1`: counts per kind of files, nodes, edges, unresolved names and
diagnostics, and the times of the index. `pytrace sql --format json` writes a list of rows.
"""


def comments(module: ModuleType) -> dict[str, str]:
    """``Class.field`` -> the ``#:`` comment at its line, of all classes of a module."""
    source = inspect.getsource(module)
    lines = source.split("\n")
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            for entry in node.body:
                if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                    told = lines[entry.lineno - 1].partition("#:")[2].strip()
                    found[f"{node.name}.{entry.target.id}"] = told
    return found


def classes(cls: type, known: dict[str, type], seen: set[str]) -> Iterator[type]:
    """The class and all that its fields hold, each once, in order of mention."""
    if cls.__name__ in seen:
        return
    seen.add(cls.__name__)
    yield cls
    for entry in fields(cls):
        names = re.findall(r"[A-Z]\w+", str(entry.type))
        if entry.name == "around":  # held as Any, so that trace.answers need not import it
            names.append(around.Section.__name__)
        for name in names:
            if name in known:
                yield from classes(known[name], known, seen)


def table(cls: type, told: dict[str, str]) -> str:
    """The class as a heading, its docstring, and a table of its fields."""
    doc = textwrap.dedent(inspect.getdoc(cls) or "").replace("``", "`")
    out = [f"### {cls.__name__}", "", doc, "", "| field | type | |", "|---|---|---|"]
    for entry in fields(cls):
        kind = str(entry.type).replace("|", "\\|")
        note = told.get(f"{cls.__name__}.{entry.name}", "").replace("``", "`").replace("|", "\\|")
        out.append(f"| `{entry.name}` | `{kind}` | {note} |")
    return "\n".join(out) + "\n"


def json_page() -> str:
    """``docs/json.md``."""
    told = {key: text for module in MODULES for key, text in comments(module).items()}
    known = {
        name: cls
        for module in MODULES
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and is_dataclass(cls) and cls.__module__.startswith("pytrace.")
    }
    parts = [INTRO, "## Answers\n"]
    parts += [
        f"* `{schema}`: [{c.__name__}](#{c.__name__.lower()}), of `{cmd}`" for schema, (cmd, c) in SCHEMAS.items()
    ]
    parts.append("\n## Objects\n")
    seen: set[str] = set()
    for _, cls in SCHEMAS.values():
        parts += [table(c, told) for c in classes(cls, known, seen)]
    parts += ["## Export\n", "`pytrace export --format jsonl`.\n", (jsonl.__doc__ or "").replace("``", "`")]
    return "\n".join(parts)


def constants(cls: type) -> str:
    """The kinds of nodes or edges, with their comments."""
    source = inspect.getsource(cls)
    out, before = ["| kind | |", "|---|---|"], ""
    for line in source.split("\n"):
        match = re.match(r'\s+[A-Z_]+ = "(\w+)"(?:\s*#: (.*))?', line)
        if match:
            told = (match[2] or before).replace("``", "`").replace("|", "\\|")
            out.append(f"| `{match[1]}` | {told} |")
            before = ""
        elif line.strip().startswith("#:"):
            before = f"{before} {line.strip()[2:].strip()}".strip()
    return "\n".join(out) + "\n"


def schema_page() -> str:
    """``docs/schema.md``."""
    return f"""\
# The index as a database

Made by `docs/make.py` from the code; do not edit.

An index is one SQLite file; `pytrace stats` says where. `pytrace sql "SELECT …"` asks it, read-only; any
SQLite client can. The version of the schema is {store.SCHEMA_VERSION} (`SELECT value FROM meta WHERE key =
'schema'`); it goes up with every change, and `CHANGELOG.md` tells what changed.

```sql
{store.SCHEMA.strip()}
{store.INDEXES.strip()}
```

## Kinds of nodes

{constants(model.NodeKind)}
What `attrs` may hold for each kind is in `ARCHITECTURE.md`.

## Kinds of edges

{constants(model.EdgeKind)}
The rules (`rule.name`) and what each means are in `ARCHITECTURE.md`.

## Examples

```sql
-- the kernels of an operator, by dispatch key
SELECT e.key, d.name, f.path, d.line FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst
  LEFT JOIN file f ON f.id = d.file WHERE s.name = 'aten::mul.out' AND e.kind = 'dispatches';
-- what calls a library function, and under which condition
SELECT s.name, f.path, e.line, g.text FROM edge e JOIN node s ON s.id = e.src JOIN node d ON d.id = e.dst
  LEFT JOIN file f ON f.id = e.file LEFT JOIN guard g ON g.id = e.guard WHERE d.name = 'cublasSgemm_v2';
-- stubs that have a CUDA function but none for MPS
SELECT name FROM node n WHERE kind = 'stub'
  AND EXISTS (SELECT 1 FROM edge WHERE src = n.id AND kind = 'registers' AND key = 'CUDA')
  AND NOT EXISTS (SELECT 1 FROM edge WHERE src = n.id AND kind = 'registers' AND key = 'MPS');
```
"""


PAGES = {"json.md": json_page, "schema.md": schema_page}


def main() -> int:
    """Write or check the pages."""
    stale = []
    for name, page in PAGES.items():
        path, text = DOCS / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"docs: {', '.join(stale)} not up to date; python docs/make.py writes them anew", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
