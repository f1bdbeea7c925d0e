"""What the reports return. Plain values; a renderer never has to ask the store."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, repr=False)
class Stamp:
    """Which tree a report speaks of, and what made it. No times and no machine: equal trees give equal bytes."""

    version: str
    tag: str
    commit: str
    dirty: str  #: "yes", "no", or "" when it is not known
    url: str
    pytrace: str

    def __str__(self) -> str:
        """``v2.6.0 (8b60a0919, clean) · pytrace 0.1.0``."""
        name = self.tag or self.version or "unknown version"
        state = {"yes": ", with local changes", "no": ", clean"}.get(self.dirty, "")
        commit = f" ({self.commit[:9]}{state})" if self.commit else ""
        return f"{name}{commit} · pytrace {self.pytrace}"


@dataclass(eq=False, repr=False)
class Place:
    """A named thing and where it is defined ("" and 0 when generated or external)."""

    name: str
    file: str = ""
    line: int = 0

    @property
    def at(self) -> str:
        """``path:line`` or ""."""
        return f"{self.file}:{self.line}" if self.file else ""


#: How a key of an operator is served; the words of ``Cell.how``, each with what it means.
HOW = {
    "kernel": "a kernel function of its own, named in native_functions.yaml",
    "delegate": "the kernel of the structured out= operator that it delegates to",
    "composite": "a composite kernel, which calls other operators",
    "wrapper": "a generated wrapper around another overload",
    "generated": "a kernel that torchgen writes (ufunc loops, structured Meta)",
    "library": "a kernel that C++ registers (TORCH_LIBRARY_IMPL)",
    "python": "a kernel that Python registers",
    "py_impl": "a kernel for the Python dispatcher only (py_impl), which no call from C++ meets",
    "fallthrough": "registered to be skipped",
}
#: Ways that serve no call of the dispatcher.
SERVING_NOTHING = ("fallthrough", "py_impl")


@dataclass(eq=False, repr=False)
class Below:
    """What a kernel function reaches before the next operator."""

    stubs: list[str] = field(default_factory=list)
    registered: list[Place] = field(default_factory=list)  #: functions that the stubs hold for the device
    kernels: list[Place] = field(default_factory=list)  #: ``__global__`` functions
    functors: list[str] = field(default_factory=list)  #: ``launcher<functor>`` of generic launchers
    libraries: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)  #: union over the ``AT_DISPATCH_*`` on the way


@dataclass(eq=False, repr=False)
class Cell:
    """One dispatch key of one operator."""

    key: str
    how: str  #: a word of ``HOW``
    functions: list[Place]  #: more than one: candidates
    file: str = ""  #: where the tree says so
    line: int = 0
    through: str = ""  #: the out= operator of ``delegate``
    below: Below | None = None


@dataclass(eq=False, repr=False)
class OperatorRow:
    """One operator overload of the report."""

    name: str
    schema: str
    file: str
    line: int
    kind: str  #: functional, inplace, out, …
    structured: bool
    tags: list[str]
    autograd: str  #: formula, composite, not_implemented, not_differentiable, manual, "" (unknown)
    formulas: list[Place]
    meta: str  #: how Meta is served: a word of ``HOW`` or ""
    decomposition: list[Place]
    batching: str  #: ``rule``, ``decomposes``, ``composite``, ``fallthrough`` or ""
    cells: list[Cell]  #: in order of keys
    served: dict[str, str]  #: backend -> a word of ``HOW`` or "", for ``operators.PLAIN``
    delegates: str = ""  #: the out= operator
    generated_from: str = ""
    written: bool = False  #: an entry of native_functions.yaml

    @property
    def namespace(self) -> str:
        """``aten``."""
        return self.name.partition("::")[0]

    @property
    def local(self) -> str:
        """The name without namespace."""
        return self.name.partition("::")[2]

    @property
    def public(self) -> bool:
        """Whether the name starts without an underscore."""
        return not self.local.startswith("_")

    def family(self, prefix: str) -> str:
        """The backends for which a family of keys (``Sparse``, ``Quantized``, …) has kernels, in order."""
        keys = [cell.key for cell in self.cells if cell.key.startswith(prefix) and cell.how not in SERVING_NOTHING]
        return " ".join(dict.fromkeys(key.removeprefix(prefix).removeprefix("Csr") for key in keys))

    def key_names(self) -> set[str]:
        """Keys with a row of their own, inherited ones included."""
        return {cell.key for cell in self.cells}


@dataclass(eq=False, repr=False)
class Totals:
    """Counts of a report."""

    operators: int
    by_namespace: dict[str, int]
    by_key: dict[str, dict[str, int]]  #: key -> word of ``HOW`` -> operators
    by_backend: dict[str, dict[str, int]]  #: backend -> word of ``HOW`` or "none" -> operators
    yaml: dict[str, int]  #: what native_functions.yaml holds: entries, base names, structured, …
    yaml_keys: dict[str, int]  #: rows per key as they are written there
    autograd: dict[str, int]


@dataclass(eq=False, repr=False)
class OperatorReport:
    """Answer of ``pytrace report``."""

    stamp: Stamp
    question: str  #: the filters as a sentence, "" for all
    backends: list[str]  #: the columns
    rows: list[OperatorRow]
    totals: Totals
    of: int  #: operators in the index
    unmatched: list[str] = field(default_factory=list)  #: patterns that name no operator


@dataclass(eq=False, repr=False)
class StubRow:
    """One dispatch stub."""

    name: str
    file: str
    line: int
    registered: dict[str, list[Place]]  #: device -> functions; the place is the function's
    sites: dict[str, list[str]]  #: device -> path:line of the registrations
    operators: list[str]  #: operators whose kernels reach the stub


@dataclass(eq=False, repr=False)
class StubReport:
    """Answer of ``pytrace report --stubs``."""

    stamp: Stamp
    question: str
    devices: list[str]
    rows: list[StubRow]
    totals: dict[str, int]  #: device -> stubs
    of: int
