"""Function schemas: ``add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)``.

The grammar and the derived properties are ``FunctionSchema``, ``Arguments``, ``Argument`` and ``Return`` of
``torchgen/model.py``. ``str(parse_schema(text)) == text`` for every schema in canonical spacing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from pytrace.schema.names import OperatorName, parse_name
from pytrace.schema.types import Annotation, Type, parse_type, split_annotation

FUNCTIONAL, INPLACE, OUT, MUTABLE, SCRATCH = "functional", "inplace", "out", "mutable", "scratch"

#: What torchgen gathers into one ``TensorOptions``: these four keyword arguments, in this order
#: (``Arguments.parse`` in torchgen/model.py).
TENSOR_OPTIONS = (("dtype", "ScalarType"), ("layout", "Layout"), ("device", "Device"), ("pin_memory", "bool"))

#: Where a comma may stand that separates nothing.
_NESTED_COMMA = re.compile(r"[\"'{]|[\[(][^\])]*,")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What may follow the last argument of a schema: ``...`` says that more are taken (JIT operators).
_VARARG = "..."


class Argument(NamedTuple):
    """One argument, or one return (then ``default`` is None and ``name`` may be "")."""

    name: str
    type: Type
    default: str | None = None
    annotation: Annotation | None = None
    annotation_at: int = 0  #: offset of the annotation in the type's text; 0 means right after the base type

    def __str__(self) -> str:
        text = str(self.type)
        if self.annotation is not None:
            at = self.annotation_at or len(self.type.base)
            text = f"{text[:at]}({self.annotation}){text[at:]}"
        if self.name:
            text = f"{text} {self.name}"
        return text if self.default is None else f"{text}={self.default}"

    @property
    def is_write(self) -> bool:
        """Whether the function writes into it."""
        return self.annotation is not None and self.annotation.is_write


class Schema:
    """A parsed schema. Immutable by convention; derived properties are computed once.

    ``positional`` and ``kwarg_only`` hold no out arguments; ``out`` are the keyword-only arguments that are written.
    """

    def __init__(
        self,
        name: OperatorName,
        positional: tuple[Argument, ...],
        kwarg_only: tuple[Argument, ...],
        out: tuple[Argument, ...],
        returns: tuple[Argument, ...],
        *,
        vararg: bool = False,
        parenthesized: bool = False,
    ) -> None:
        self.name = name
        self.positional = positional
        self.kwarg_only = kwarg_only
        self.out = out
        self.returns = returns
        self.vararg = vararg
        self.parenthesized = parenthesized

    def __str__(self) -> str:
        parts = [str(a) for a in self.positional]
        if self.kwarg_only or self.out:
            parts += ["*", *map(str, self.kwarg_only), *map(str, self.out)]
        if self.vararg:
            parts.append(_VARARG)
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.parenthesized:
            returns = f"({returns})"
        return f"{self.name}({', '.join(parts)}) -> {returns}"

    def __repr__(self) -> str:
        return f"Schema({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def arguments(self) -> Iterator[Argument]:
        """All arguments in the order of the schema."""
        yield from self.positional
        yield from self.kwarg_only
        yield from self.out

    @property
    def non_out(self) -> tuple[Argument, ...]:
        """All arguments but the out ones."""
        return self.positional + self.kwarg_only

    @cached_property
    def self_index(self) -> int:
        """Where the positional argument ``self`` stands, -1 when there is none."""
        return next((i for i, a in enumerate(self.positional) if a.name == "self"), -1)

    @cached_property
    def options_index(self) -> int:
        """Where in ``kwarg_only`` the four arguments of a ``TensorOptions`` begin, -1 when there are none."""
        args, width = self.kwarg_only, len(TENSOR_OPTIONS)
        for start in range(len(args) - width + 1):
            if args[start].name == "dtype" and all(
                a.name == name and a.type.base == base and a.type.wraps in ((), ("?",))
                for a, (name, base) in zip(args[start:], TENSOR_OPTIONS, strict=False)
            ):
                return start
        return -1

    @cached_property
    def kind(self) -> str:
        """Which variant this is: FUNCTIONAL, INPLACE, OUT, MUTABLE or SCRATCH (torchgen: ``FunctionSchema.kind``)."""
        if self.name.name.inplace:
            return INPLACE
        if self.out:
            return SCRATCH if any(a.name.startswith("_scratch_") for a in self.out) else OUT
        return MUTABLE if any(a.is_write for a in self.positional[self.self_index + 1 :]) else FUNCTIONAL

    @property
    def is_mutable(self) -> bool:
        """Whether any argument is written."""
        return any(a.is_write for a in self.arguments)

    @cached_property
    def has_symint(self) -> bool:
        """Whether a ``_symint`` overload exists (torchgen: ``Arguments.has_symint_arg``)."""
        return any(a.type.base == "SymInt" for a in self.non_out)

    @cached_property
    def cpp_name(self) -> str:
        """The name of the C++ function: ``add`` or ``add_out`` (torchgen: ``api/cpp.py: name``)."""
        return f"{self.name.name}_out" if self.out else str(self.name.name)

    def mutable_input_returns(self) -> list[Argument]:
        """The inputs that are written and not returned: the functional variant returns them.

        The order is torchgen's: self, then out, then the other positional ones.
        """
        at = self.self_index
        own = [self.positional[at]] if at >= 0 else []
        written = [a for a in (*own, *self.out, *self.positional[at + 1 :]) if a.is_write]
        returned = [r.annotation for r in self.returns]
        return [a for a in written if a.annotation not in returned]

    def group_key(self, base: str = "", *, strip_defaults: bool = False) -> tuple[object, ...]:
        """Equal for the functional, in-place, out= and mutable variants of one operator, and only for them.

        It is ``FunctionSchema.signature()`` of torchgen: without overload, annotations, out arguments, TensorOptions
        and names of returns, but with the defaults. ``base`` stands in for the base name (``strip_view_copy_name``).
        """
        kwarg_only = self.kwarg_only
        if (at := self.options_index) >= 0:
            kwarg_only = kwarg_only[:at] + kwarg_only[at + len(TENSOR_OPTIONS) :]
        width = 2 if strip_defaults else 3
        positional: tuple[tuple[object, ...], ...] = tuple([a[:width] for a in self.positional])
        if default := UNGROUPED_DEFAULTS.get(str(self.name)):
            positional = tuple([(*a[:2], default[str(a[0])]) if a[0] in default else a for a in positional])
        returns = tuple([r.type for r in self.returns])
        if any(a.is_write for a in self.positional) or self.out:
            returns += tuple([a.type for a in self.mutable_input_returns()])
        name = self.name.name
        return (base or name.base, name.dunder, positional, tuple([a[:width] for a in kwarg_only]), returns)


#: Defaults that torchgen pretends for the grouping of variants, with its reason
#: (``FunctionSchema.signature`` in torchgen/model.py, "Note [bernoulli.p schema]").
UNGROUPED_DEFAULTS: dict[str, dict[str, str]] = {
    # bernoulli.p must not have a default for p, else bernoulli(tensor) were ambiguous; its in-place variant
    # bernoulli_.float has one.
    "bernoulli.p": {"p": "0.5"},
}


def split_top(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes, each part stripped.

    >>> split_top("int[2] a=[1, 2], str b=','")
    ['int[2] a=[1, 2]', "str b=','"]
    """
    if not _NESTED_COMMA.search(text):
        return [p.strip() for p in text.split(",")] if text.strip() else []
    parts, depth, quote, start, skip = [], 0, "", 0, False
    for i, c in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = c == "\\"
            if c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth <= 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


@cache
def parse_argument(text: str) -> Argument:
    """``Tensor(a!)? self=None`` -> an argument. ``ValueError`` when it has no name."""
    left, equals, default = text.partition("=")
    written, space, name = left.rstrip().rpartition(" ")
    if not space or not _NAME.fullmatch(name):
        raise ValueError(f"not an argument: {text!r}")
    plain, annotation, at = split_annotation(written.strip())
    parsed = parse_type(plain)
    return Argument(name, parsed, default.strip() if equals else None, annotation, _annotation_at(parsed, at))


@cache
def parse_return(text: str) -> Argument:
    """``Tensor(a!) out`` or ``Tensor`` -> a return; its name is "" when it has none."""
    plain, annotation, at = split_annotation(text)
    written, space, name = plain.rpartition(" ")
    if not space or not _NAME.fullmatch(name) or written.count("(") != written.count(")"):
        written, name = plain, ""
    parsed = parse_type(written.strip())
    return Argument(name, parsed, None, annotation, _annotation_at(parsed, at))


def _annotation_at(parsed: Type, at: int) -> int:
    return 0 if at in (-1, len(parsed.base)) else at


def _closing(text: str, start: int) -> int:
    """Offset of the parenthesis that closes the one at ``start``; quotes are skipped. -1 when there is none."""
    depth, quote, skip = 0, "", False
    for i in range(start, len(text)):
        c = text[i]
        if skip:
            skip = False
        elif quote:
            skip = c == "\\"
            if c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if not depth:
                return i
    return -1


def parse_schema(text: str) -> Schema:
    """Parse a schema without namespace. Raises ``ValueError`` with the part that is not understood."""
    start = text.find("(")
    arrow = text.rfind(") -> ")
    if '"' in text or "'" in text or arrow < 0 or text[arrow + 5 :].count("(") != text[arrow + 5 :].count(")"):
        end = _closing(text, start) if start >= 0 else -1
    else:
        end = arrow
    if start <= 0 or end < 0:
        raise ValueError(f"not a schema: {text!r}")
    tail = text[end + 1 :].strip()
    if tail and not tail.startswith("->"):
        raise ValueError(f"not a schema: {text!r}")
    positional, kwarg_only, out, vararg = _parse_arguments(split_top(text[start + 1 : end]))
    returns, parenthesized = _parse_returns(tail[2:].strip())
    name = parse_name(text[:start].strip())
    return Schema(name, positional, kwarg_only, out, returns, vararg=vararg, parenthesized=parenthesized)


def _parse_arguments(
    parts: Sequence[str],
) -> tuple[tuple[Argument, ...], tuple[Argument, ...], tuple[Argument, ...], bool]:
    vararg = bool(parts) and parts[-1] == _VARARG
    if vararg:
        parts = parts[:-1]
    star = parts.index("*") if "*" in parts else len(parts)
    positional = tuple([parse_argument(p) for p in parts[:star]])
    kwarg_only: list[Argument] = []
    out: list[Argument] = []
    for part in parts[star + 1 :]:
        argument = parse_argument(part)
        if argument.is_write:
            out.append(argument)
        elif out:
            raise ValueError(f"argument {part!r} stands after an out argument")
        else:
            kwarg_only.append(argument)
    return positional, tuple(kwarg_only), tuple(out), vararg


def _parse_returns(text: str) -> tuple[tuple[Argument, ...], bool]:
    if text in ("", "()"):
        return (), False
    if text[0] == "(" and _closing(text, 0) == len(text) - 1:
        items = tuple([parse_return(p) for p in split_top(text[1:-1])])
        return items, len(items) == 1
    return (parse_return(text),), False
