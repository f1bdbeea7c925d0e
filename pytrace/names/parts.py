"""The one form of a kernel's name: a path of parts, each with its template arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: What nvcc calls the anonymous namespace of a file. Up to CUDA 10 a temporary file's name stands in it, whose last
#: piece begins with the source's name (``…_9_SoftMax_compute_70_cpp1_ii_…``); later the length and the source's name,
#: the dot as ``_`` (``…_10_SoftMax_cu_…``).
_OLD_UNIT = re.compile(r"tmpxft_[0-9a-f]+_[0-9a-f]+_\d+_(\w+?)_compute_\d+")
_NEW_UNIT = re.compile(r"_(?:GLOBAL__N__|INTERNAL_)[0-9a-f]+_(\d+)_(\w+)")


@dataclass
class Part:
    """One component of a path. ``called`` is set when a parameter list follows: then it is a function."""

    name: str
    args: list[Path] = field(default_factory=list)
    called: bool = False


@dataclass
class Path:
    """A qualified name: ``at::native::ReduceOp<…>``. Anonymous namespaces are no parts; a lambda is ``{lambda}``."""

    parts: list[Part] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The qualified name up to the first lambda, without template arguments."""
        return "::".join(part.name for part in self.before_lambda())

    @property
    def bare(self) -> str:
        """The last part of ``name``."""
        return self.name.rpartition("::")[2]

    @property
    def is_lambda(self) -> bool:
        """Whether the path leads into a lambda: then ``name`` is the function that it stands in."""
        return any(part.name == "{lambda}" for part in self.parts)

    def before_lambda(self) -> list[Part]:
        """The parts in front of the first lambda, up to the first one with parameters."""
        kept: list[Part] = []
        for part in self.parts:
            if part.name == "{lambda}":
                break
            kept.append(part)
            if part.called and self.is_lambda:
                break
        return kept

    def arguments(self) -> list[Path]:
        """The template arguments of all parts, in order."""
        return [argument for part in self.parts for argument in part.args]

    def walk(self) -> Iterator[Path]:
        """This path and all paths inside it, outermost first."""
        yield self
        for argument in self.arguments():
            yield from argument.walk()


@dataclass
class KernelName:
    """A kernel's name, read.

    ``path`` is the kernel itself. ``units`` are the beginnings of source file names that stand in names of anonymous
    namespaces (``SoftMax``). ``cut`` says that the text ends in the middle: its last name may be half of one.
    """

    text: str
    path: Path
    dialect: str
    units: list[str] = field(default_factory=list)
    cut: bool = False

    @property
    def name(self) -> str:
        """The qualified name of the kernel, "" when there is none."""
        return self.path.name

    @property
    def arguments(self) -> list[Path]:
        """Its template arguments, numbers and types without a name included as empty paths."""
        return self.path.arguments()

    @property
    def last(self) -> str:
        """The last name that a cut text holds: only the beginning of a name."""
        if not self.cut:
            return ""
        found = re.findall(r"[A-Za-z_]\w*", self.text.rstrip(". …"))
        return found[-1] if found else ""


def unit_of(name: str) -> str | None:
    """The source file that nvcc wrote into the name of an anonymous namespace, without its ending.

    ``""`` for one that tells no file; None when ``name`` is no anonymous namespace.

    >>> unit_of("_GLOBAL__N__53_tmpxft_00009fac_00000000_9_SoftMax_compute_70_cpp1_ii_a3310042")
    'SoftMax'
    >>> unit_of("_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f63")
    'SoftMax'
    """
    if not name.startswith(("_GLOBAL__N_", "_INTERNAL_")):
        return None
    old = _OLD_UNIT.search(name)
    if old:
        return old.group(1)
    new = _NEW_UNIT.match(name)
    if not new:
        return ""
    size = int(new.group(1))
    stem, dot, _ = new.group(2)[:size].rpartition("_")
    whole = len(new.group(2)) >= size
    return stem if dot and whole else new.group(2)[:size]
