"""The values of the symbolic interpreter: what a registration of PyTorch's Python code is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Value = Any


class _Unknown:
    """A value that nothing is known about; there is one."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


class Path(NamedTuple):
    """A module, or something in one that is not looked into: ``torch.library.Library``."""

    name: str

    @property
    def bare(self) -> str:
        """The last part."""
        return self.name.rpartition(".")[2]


class OpNamespace(NamedTuple):
    """``torch.ops.aten``."""

    name: str


class Op(NamedTuple):
    """``torch.ops.aten.add`` (overload None: the packet) or ``torch.ops.aten.add.Tensor`` ("": ``default``)."""

    namespace: str
    base: str
    overload: str | None = None

    @property
    def name(self) -> str:
        """``aten::add.Tensor``, as ``OpOverload.name()`` gives it."""
        return f"{self.namespace}::{self.base}" + (f".{self.overload}" if self.overload else "")


class Hop(NamedTuple):
    """A higher-order operator, by the name that it gives itself."""

    name: str


class HopClass(NamedTuple):
    """A class that makes a higher-order operator; its own name when it is made."""

    name: str


class Library(NamedTuple):
    """A ``torch.library.Library``."""

    namespace: str
    kind: str
    key: str


class CustomOp(NamedTuple):
    """What ``torch.library.custom_op`` returns."""

    op: Op
    library: Library


class Argument(NamedTuple):
    """One argument of a schema."""

    name: str
    type: str


class SchemaValue(NamedTuple):
    """``OpOverload._schema``."""

    arguments: list[Argument]


class Partial(NamedTuple):
    """``functools.partial``."""

    function: Value
    args: Sequence[Value]
    kwargs: Mapping[str, Value]


class Record(NamedTuple):
    """An object of a class that is not looked into, made with keywords: its attributes, for all we can say."""

    name: str
    fields: Mapping[str, Value]


class Bound(NamedTuple):
    """An attribute that was looked up on a value, to be called."""

    owner: Value
    name: str


class Native(NamedTuple):
    """A function of the interpreter itself: ``call(args, kwargs, site)``."""

    call: Callable[[Sequence[Value], Mapping[str, Value], Site], Value]


class Site(NamedTuple):
    """Where a call stands, and the top-level statement that led to it."""

    file: str
    line: int
    top_file: str
    top_line: int


class Function:
    """A Python function: its place, and its code when the program has it."""

    __slots__ = ("code", "end_line", "file", "line", "module", "name", "qualified", "scope")

    def __init__(self, module: str, qualified: str, file: str, line: int, end_line: int, code: Any, scope: Any) -> None:
        self.module = module
        self.qualified = qualified  #: ``torch._refs.add``, ``torch._prims._make_prim.<locals>._prim_impl``
        self.name = qualified.rpartition(".")[2]  #: ``__name__``: factories set it
        self.file = file
        self.line = line
        self.end_line = end_line
        self.code = code
        self.scope = scope

    def renamed(self, name: str) -> Function:
        """The same function under another ``__name__``."""
        copy = Function(self.module, self.qualified, self.file, self.line, self.end_line, self.code, self.scope)
        copy.name = name
        return copy


def module_name(path: str) -> str:
    """``torch/_refs/__init__.py`` -> ``torch._refs``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def ops_in(value: Value) -> list[Op | Hop]:
    """The operators in a value, through lists and tuples (``pytree.tree_map_``)."""
    if isinstance(value, (Op, Hop)):
        return [value]
    if type(value) in (list, tuple, set):
        return [op for item in value for op in ops_in(item)]
    return []


def key_name(value: Value) -> str:
    """The dispatch key that a value means: ``DispatchKey.Meta``, ``"Meta"``; for a mode or transform its name."""
    if isinstance(value, str):
        return value
    if isinstance(value, Path):
        return value.bare
    return value.name if isinstance(value, Function) else ""
