"""Operator names: ``add_.Tensor``, ``__ior__.Scalar``, ``native_batch_norm_functional``.

The rules are ``BaseOperatorName`` and ``OperatorName`` of ``torchgen/model.py``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

#: Operations that Python has an augmented assignment for (PEP 203), as torchgen lists them:
#: ``__ior__`` is the in-place form of ``__or__``, while ``__index__`` would not be one of ``__ndex__``.
AUGMENTED = frozenset(("add", "sub", "mul", "div", "mod", "pow", "lshift", "rshift", "and", "xor", "or"))

_DUNDER = re.compile(r"__([^_]+)__")
_FUNCTIONAL = "_functional"


class BaseName(NamedTuple):
    """A name without its overload; ``base`` says what the operator does, the flags which variant it is."""

    base: str
    inplace: bool = False
    dunder: bool = False
    functional: bool = False  #: ``X_functional``, the functional variant of a mutable operator X

    def __str__(self) -> str:
        if self.dunder:
            return f"__{'i' if self.inplace else ''}{self.base}__"
        return self.base + ("_" if self.inplace else _FUNCTIONAL if self.functional else "")


class OperatorName(NamedTuple):
    """A name and its overload, ``add`` ``Tensor``; the overload is "" for the default one."""

    name: BaseName
    overload: str = ""

    def __str__(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else str(self.name)

    @property
    def unambiguous(self) -> str:
        """``add_Tensor``: the struct in ``at::_ops`` and the name of generated out= kernels."""
        return f"{self.name}_{self.overload}" if self.overload else str(self.name)

    def with_overload(self, overload: str) -> OperatorName:
        """The same base, neither in-place nor ``_functional``, with another overload."""
        return OperatorName(BaseName(self.name.base, False, self.name.dunder), overload)


@cache
def parse_base_name(text: str) -> BaseName:
    """``add_`` -> base ``add``, in-place."""
    found = _DUNDER.fullmatch(text)
    if found:
        base = found.group(1)
        inplace = base[0] == "i" and base[1:] in AUGMENTED
        return BaseName(base[1:] if inplace else base, inplace, True)
    if len(text) > 1 and text.endswith("_"):
        return BaseName(text[:-1], True)
    if text.endswith(_FUNCTIONAL) and text != _FUNCTIONAL:
        return BaseName(text[: -len(_FUNCTIONAL)], functional=True)
    return BaseName(text)


def parse_name(text: str) -> OperatorName:
    """``add_.Tensor`` -> its parts; the namespace must be taken off before. ``ValueError`` when empty."""
    name, _, overload = text.partition(".")
    if not name:
        raise ValueError(f"not an operator name: {text!r}")
    return OperatorName(parse_base_name(name), overload)


def split_namespace(text: str, default: str = "aten") -> tuple[str, str]:
    """``quantized::add.out`` -> (``quantized``, ``add.out``)."""
    namespace, colons, name = text.rpartition("::")
    return (namespace, name) if colons else (default, text)
