"""Which files a C++ file can see: the closure of its ``#include``s, as far as they lead to files of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from posixpath import dirname, normpath

#: Where an included path is looked up (the include directories of PyTorch's own build, CMakeLists.txt and setup.py).
ROOTS = (
    "aten/src/",
    "",
    "torch/csrc/api/include/",
    "torch/csrc/",
    "caffe2/",
    "torch/csrc/distributed/",
    "aten/src/ATen/native/quantized/cpu/qnnpack/include/",
)


class Includes:
    """Include closures, computed when asked for and kept as bit sets over the files' numbers."""

    def __init__(self, includes: Mapping[str, Sequence[str]]) -> None:
        self._includes = includes
        self._numbers = {path: number for number, path in enumerate(includes)}
        self._direct: dict[str, list[str]] = {}
        self._closures: dict[str, int] = {}

    def written(self, path: str) -> Sequence[str]:
        """What ``path`` includes, as written: generated headers, which are not in the tree, too."""
        return self._includes.get(path, ())

    def direct(self, path: str) -> list[str]:
        """The files of the tree that ``path`` includes itself."""
        found = self._direct.get(path)
        if found is None:
            here = dirname(path)
            found = []
            for name in self._includes.get(path, ()):
                for candidate in (normpath(f"{here}/{name}"), *(f"{root}{name}" for root in ROOTS)):
                    if candidate in self._numbers:
                        found.append(candidate)
                        break
            self._direct[path] = found
        return found

    def sees(self, path: str, other: str) -> bool:
        """Whether ``path`` is ``other`` or includes it, directly or not."""
        if path == other:
            return True
        number = self._numbers.get(other)
        return number is not None and bool(self._closure(path) >> number & 1)

    def _closure(self, path: str) -> int:
        known = self._closures.get(path)
        if known is not None:
            return known
        # depth first without recursion; a cycle contributes what is known so far
        bits, todo, seen = 0, [path], {path}
        while todo:
            for included in self.direct(todo.pop()):
                if included in seen:
                    continue
                seen.add(included)
                bits |= 1 << self._numbers[included]
                known = self._closures.get(included)
                if known is not None:
                    bits |= known
                else:
                    todo.append(included)
        self._closures[path] = bits
        return bits

    def files(self) -> Iterable[str]:
        """Every file that was given."""
        return self._includes
