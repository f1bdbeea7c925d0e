"""Per-file extraction: bytes in, facts out, one module per kind of source.

An extractor is a module with

* ``VERSION: int``, raised when the meaning of its facts changes, and
* ``extract(source: bytes) -> Facts``: pure, no I/O, no path, plain values that ``marshal`` can write. What is odd
  about the source goes to ``facts["diagnostics"]`` as (line, kind, message) rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from pytrace.model import Facts

#: kind of file (``files.kind_of``) -> module of its extractor.
EXTRACTORS: dict[str, str] = {
    "native_functions": "pytrace.extract.native_functions",
    "tags": "pytrace.extract.native_functions",
    "deprecated": "pytrace.extract.native_functions",
    "derivatives": "pytrace.extract.derivatives",
    "cpp": "pytrace.extract.cpp",
    "template": "pytrace.extract.cpp",
    "python": "pytrace.extract.python",
    "python_outline": "pytrace.extract.python_outline",
}


class Extractor(Protocol):
    """What a module of ``EXTRACTORS`` provides."""

    VERSION: int

    def extract(self, source: bytes) -> Facts:
        """The facts that ``source`` states."""


def load(kind: str) -> Extractor:
    """The extractor of a kind of file; ``KeyError`` for a kind that has none."""
    return cast(Extractor, import_module(EXTRACTORS[kind]))
