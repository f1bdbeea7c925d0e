"""Which program made this? Signatures of pytrace's own code, so that no cache outlives the code that filled it.

An extractor's ``VERSION`` tells people about a change of its facts; the caches do not rely on anybody having raised
it: facts are keyed by the text of the extractor and of all that it imports from pytrace, an index by that of the
whole extract and link stages.
"""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Iterator

PACKAGE = os.path.dirname(os.path.abspath(__file__))

#: Folders and modules whose code decides what is in an index.
_STAGES = ("extract", "link")
_MODULES = ("model.py", "schema.py", "schema", "graph.py", "files.py", "store.py", "writer.py", "index.py")


def queries_dir() -> str:
    """The folder ``queries``: inside the package in a wheel, beside it in a checkout."""
    inside = os.path.join(PACKAGE, "queries")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(PACKAGE), "queries")


def _sources() -> Iterator[os.DirEntry[str]]:
    """Every source file that decides what is in an index."""
    todo = [os.path.join(PACKAGE, stage) for stage in _STAGES]
    todo.append(queries_dir())
    with os.scandir(PACKAGE) as entries:
        for entry in entries:
            if entry.name in _MODULES:
                if entry.is_dir():
                    todo.append(entry.path)
                else:
                    yield entry
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith((".py", ".scm")):
                        yield entry
                    elif entry.name[0] not in "._" and entry.is_dir():
                        todo.append(entry.path)
        except OSError:
            continue


def quick_signature() -> str:
    """A signature by names, sizes and times: a fraction of a millisecond, taken at every question."""
    rows = sorted(f"{e.path}\t{s.st_size}\t{s.st_mtime_ns}" for e in _sources() for s in (e.stat(),))
    return f"{crc32(os.fsencode(chr(10).join(rows))):08x}"


def full_signature() -> str:
    """A signature by content: equal for two installations of the same pytrace."""
    from hashlib import sha1

    whole = sha1(usedforsecurity=False)
    base = len(PACKAGE) + 1
    for path in sorted(e.path for e in _sources()):
        # Queries lie elsewhere in a wheel than in a checkout: only their names from ``queries`` on count.
        name = path[base:] if path.startswith(PACKAGE + os.sep) else path[len(os.path.dirname(queries_dir())) + 1 :]
        whole.update(os.fsencode(name) + b"\0" + _read(path) + b"\0")
    return whole.hexdigest()[:16]


def extractor_signature(module: str) -> str:
    """A signature of the code that makes the facts of ``module`` (``pytrace.extract.cpp``).

    It covers the module's text, that of every pytrace module that it imports, directly or not, and the queries.
    """
    import re
    from hashlib import sha1

    # ``from pytrace.extract import cpp, macros`` names two modules, or a module and a function: both are tried.
    imports = re.compile(
        rb"^[ \t]*(?:from|import)[ \t]+(pytrace(?:\.\w+)*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n]*))?", re.M
    )
    seen: set[str] = set()
    todo = [module]
    whole = sha1(usedforsecurity=False)
    while todo:
        name = todo.pop()
        path = _path_of(name)
        if name in seen or not path:
            continue
        seen.add(name)
        for imported, names in imports.findall(_read(path)):
            package = imported.decode()
            todo.append(package)
            todo += [f"{package}.{part}" for part in re.findall(r"\w+", names.decode("utf-8", "replace"))]
    seen.discard("pytrace")
    for name in sorted(seen):
        whole.update(name.encode() + b"\0" + _read(_path_of(name)) + b"\0")
    for folder, folders, files in os.walk(queries_dir()):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".scm"):
                whole.update(file.encode() + b"\0" + _read(os.path.join(folder, file)) + b"\0")
    for parser in ("tree_sitter", "tree_sitter_cpp", "tree_sitter_cuda", "tree_sitter_python"):
        whole.update(_binaries(parser).encode())
    return whole.hexdigest()[:16]


def _binaries(package: str) -> str:
    """Names and sizes of a package's compiled parts: another grammar makes other facts. (Not imported for this.)"""
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return package
    with os.scandir(os.path.dirname(spec.origin)) as entries:
        parts = sorted(f"{e.name}:{e.stat().st_size}" for e in entries if e.name.endswith((".so", ".pyd")))
    return f"{package}:{parts}"


def _path_of(module: str) -> str:
    """The file of a pytrace module, "" when there is none (a name that is not a module)."""
    stem = os.path.join(PACKAGE, *module.split(".")[1:])
    for path in (stem + ".py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(path):
            return path
    return ""


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
