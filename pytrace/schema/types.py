"""Types and alias annotations of the schema language: ``SymInt[2]?``, ``Tensor(a! -> *)``.

The grammar is ``Type`` and ``Annotation`` of ``torchgen/model.py``, widened to what
``torch/csrc/jit/frontend/schema_type_parser.cpp`` reads, because operators outside of
``native_functions.yaml`` use it (``Dict(str, Tensor)``, ``__torch__.torch.classes.X``, ``t``).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

_WRAPS = re.compile(r"\[[0-9]*\]|\?")
_ALIAS = re.compile(r"\(((?:\*|[a-z](?:\|[a-z])*)!?(?: -> (?:\*|[a-z](?:\|[a-z])*))?)\)")


class Annotation(NamedTuple):
    """An alias annotation: ``a``, ``a!``, ``a -> *``, ``a|b``."""

    before: tuple[str, ...]
    is_write: bool
    after: tuple[str, ...]

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.is_write else "")
        return f"{text} -> {'|'.join(self.after)}" if self.after else text


@cache
def parse_annotation(text: str) -> Annotation:
    """``a! -> *`` -> its parts. ``ValueError`` when it is not an annotation."""
    if not _ALIAS.fullmatch(f"({text})"):
        raise ValueError(f"not an alias annotation: {text!r}")
    left, _, right = text.partition(" -> ")
    return Annotation(tuple(left.rstrip("!").split("|")), left.endswith("!"), tuple(right.split("|")) if right else ())


class Type(NamedTuple):
    """A base type and what is wrapped around it, innermost first: ``SymInt[2]?`` is SymInt, ``[2]``, ``?``."""

    base: str
    wraps: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.base + "".join(self.wraps)

    @property
    def is_optional(self) -> bool:
        """Whether ``None`` may be given."""
        return bool(self.wraps) and self.wraps[-1] == "?"

    @property
    def is_list(self) -> bool:
        """Whether the outermost wrap is a list."""
        return bool(self.wraps) and self.wraps[-1] != "?"

    @property
    def elem(self) -> Type:
        """The type without its outermost wrap."""
        return Type(self.base, self.wraps[:-1])

    @property
    def list_size(self) -> int | None:
        """``2`` for ``int[2]``, None for ``int[]`` and for what is not a list."""
        return int(self.wraps[-1][1:-1]) if self.is_list and len(self.wraps[-1]) > 2 else None

    @property
    def is_tensor_like(self) -> bool:
        """A tensor, an optional tensor or a list of them (torchgen: ``Type.is_tensor_like``)."""
        return self.base == "Tensor"

    @property
    def is_symint_like(self) -> bool:
        """Whether a SymInt is anywhere inside; such an argument gives a function a ``_symint`` overload."""
        return self.base == "SymInt"


@cache
def parse_type(text: str) -> Type:
    """``Tensor?[]`` -> ``Type("Tensor", ("?", "[]"))``; the annotation must be taken out before."""
    end = len(text)
    wraps: list[str] = []
    while True:
        if text.endswith("?", 0, end):
            start = end - 1
        elif text.endswith("]", 0, end) and (start := text.rfind("[", 0, end)) >= 0:
            if not _WRAPS.fullmatch(text, start, end):
                break
        else:
            break
        wraps.append(text[start:end])
        end = start
    if not end:
        raise ValueError(f"not a type: {text!r}")
    return Type(text[:end], tuple(reversed(wraps)))


@cache
def split_annotation(text: str) -> tuple[str, Annotation | None, int]:
    """A type as written -> (the type without its annotation, the annotation, where it stood: -1 for none).

    >>> split_annotation("Tensor(a!)[]")
    ('Tensor[]', Annotation(before=('a',), is_write=True, after=()), 6)
    """
    found = _ALIAS.search(text)
    if not found:
        return text, None, -1
    return text[: found.start()] + text[found.end() :], parse_annotation(found.group(1)), found.start()
