"""Facts of a Python file whose functions no operator's path goes through: as ``python``, without function bodies.

For the parts of ``torch/`` that rewrite, export, test or document programs: they define names, register things and are
imported, but what they call says nothing about how a call of the user reaches an operator.
"""

from __future__ import annotations

from pytrace.extract import python
from pytrace.model import Facts

VERSION = python.VERSION


def extract(source: bytes) -> Facts:
    """The facts of ``extract/python.py`` with empty ``uses`` and ``guards``; any bytes are fine."""
    return python.read(source, outline=True)
