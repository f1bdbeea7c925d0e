"""Kernels that are compiled while PyTorch runs: which code, under which name, from which launcher.

A launcher is a function template whose parameter is the name of the function in the code: ``template <char const* name,
…> void jitted_gpu_kernel(TensorIteratorBase&, const std::string& f, …)`` (aten/src/ATen/native/cuda/JitLoops.cuh,
Reduce.cuh). The kernel that profilers show has this name inside another (``kernel_name``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytrace.extract.cpp_text import split_top
from pytrace.link.resolved import CallRow
from pytrace.model import Facts

if TYPE_CHECKING:
    from pytrace.link.functions import Symbol

#: A template parameter that is a name: ``char const* name``, ``const char *name``.
_IS_NAME = re.compile(r"(?:const\s+char|char\s+const)\s*\*\s*\w+$")


def kernel_name(launcher: str, name: str) -> str:
    """What profilers show of the code ``name`` that a launcher compiles.

    ``aten/src/ATen/native/cuda/jit_utils.cpp`` makes ``NAME_kernel`` and ``NAME_vectorizedN_kernel`` of the templates
    for loops, ``reduction_template.cuh`` ``reduction_NAME_kernel`` of the one for reductions.
    """
    return f"reduction_{name}_kernel" if "reduce" in launcher else f"{name}_kernel"


class Jiterator:
    """The names and codes of all files."""

    def __init__(self, files: Mapping[str, tuple[str, Facts]]) -> None:
        """``files``: path -> kind and facts."""
        self._names = {path: rows for path, (_, facts) in files.items() if (rows := facts.get("jit_names"))}
        self._codes = {path: rows for path, (_, facts) in files.items() if (rows := facts.get("jit_codes"))}
        self._shared = {name: (path, line) for path, rows in self._codes.items() for name, line in rows if name}

    def kernel(self, launcher: Symbol, call: CallRow, path: str) -> tuple[str, str, int] | None:
        """(name, file and line of the code) of the kernel that a call of ``launcher`` compiles, if it does."""
        if path not in self._names or not call[7]:
            return None
        declared = [bool(_IS_NAME.match(part.partition("=")[0].strip())) for part in split_top(launcher.templates)]
        given = split_top(call[7])
        if True not in declared or len(given) <= declared.index(True):
            return None
        variable = given[declared.index(True)].strip()
        # the nearest one above: each branch of an #if, each function may have one of this name
        texts = [text for name, text, line in self._names[path] if name == variable and line <= call[3]]
        if not texts:
            return None
        file, line = self._code(call, path) or (path, call[3])
        return kernel_name(launcher.bare, texts[-1]), file, line

    def _code(self, call: CallRow, path: str) -> tuple[str, int] | None:
        """Where the code stands that a call hands over: a variable of this or of another file, or made nearby."""
        own = [(name, line) for name, line in self._codes.get(path, ()) if line <= call[3]]
        for expression in call[5]:
            if expression[:1] != "V":
                continue
            lines = [line for name, line in own if name == expression[1:]]
            if lines:
                return path, lines[-1]
            if expression[1:] in self._shared:
                return self._shared[expression[1:]]
        return (path, own[-1][1]) if own else None
