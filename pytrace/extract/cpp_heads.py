"""Heads of functions: names, parameters, what is returned, where they run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytrace.extract.cpp_text import Kept, split_top, squeeze, without_comments, without_templates

if TYPE_CHECKING:
    from tree_sitter import Node

_HEAD_MACRO = re.compile(r"TORCH_(IMPL|META|PRECOMPUTE_META)_FUNC(2?)\s*\(\s*([\w]+)\s*(?:,\s*([\w]+)\s*)?\)$")
_PARAMETER_NAME = re.compile(r"(?:^|[\s&*>])([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?$")
_PACK = re.compile(r"\.\.\.\s*(?=\w+$)")
_POINTER_NAME = re.compile(r"\([*&]\s*(\w+)")
_OPERATOR_SPACE = re.compile(r"operator\s+(?=[^\w])|operator\s*(?=\()")
_SPECIFIERS = re.compile(
    r"\b(static|inline|virtual|constexpr|explicit|friend|extern|__global__|__device__|__host__)\b ?"
)

Parameter = tuple[str, str, str]


class Head(NamedTuple):
    """The nodes of a function's head that its text is cut at (offsets)."""

    declarator: int  #: start of the declarator, pointer marks included
    name: tuple[int, int]
    parameters: tuple[int, int]
    body: int
    nested: bool  #: the name is a declarator with parameters of its own


def head_of(node: Node) -> Head | None:
    """The parts of a ``function_definition``; None when it is none that can be read.

    Behind TORCH_IMPL_FUNC(x) there is a declarator within a declarator: the name is then the whole macro call.
    """
    declarator = node.child_by_field_name("declarator")
    body = node.child_by_field_name("body")
    if declarator is None or body is None:
        return None
    start = declarator.start_byte
    if declarator.type in ("operator_cast", "qualified_identifier"):
        return _conversion(declarator, body)
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in declarator.named_children if c.type.endswith("declarator")), None)
        declarator = inner
    if declarator is None:
        return None
    parameters = declarator.child_by_field_name("parameters")
    name = declarator.child_by_field_name("declarator")
    if parameters is None or name is None:
        return None
    spans = (name.start_byte, name.end_byte), (parameters.start_byte + 1, parameters.end_byte - 1)
    return Head(start, *spans, body.start_byte, name.type == "function_declarator")


def _conversion(declarator: Node, body: Node) -> Head | None:
    """The parts of a conversion operator, ``operator bool() const``: its name is all before the parameters."""
    inner: Node | None = declarator
    while inner is not None and inner.type != "abstract_function_declarator":
        inner = inner.child_by_field_name("declarator") or inner.child_by_field_name("name")
    parameters = inner.child_by_field_name("parameters") if inner is not None else None
    if parameters is None:
        return None
    name = declarator.start_byte, parameters.start_byte
    return Head(
        declarator.start_byte, name, (parameters.start_byte + 1, parameters.end_byte - 1), body.start_byte, False
    )


def structured_name(raw: str, scope: str) -> tuple[str, str] | None:
    """Qualified name and class behind TORCH_IMPL_FUNC and TORCH_META_FUNC (aten/src/ATen/TensorMeta.h), else None.

    ``TORCH_IMPL_FUNC(x)`` defines ``structured_x::impl`` in the namespace around it; ``TORCH_META_FUNC(x)`` and
    ``TORCH_META_FUNC2(x, overload)`` define ``structured_x[_overload]::meta``.
    """
    head = _HEAD_MACRO.match(squeeze(raw)) if raw.startswith("TORCH_") else None
    if head is None:
        return None
    which, _, name, overload = head.groups()
    owner = f"structured_{name}" + (f"_{overload}" if overload else "")
    owner = f"{scope}::{owner}" if scope else owner
    return f"{owner}::{'impl' if which == 'IMPL' else 'meta'}", owner


def plain_name(raw: str) -> str:
    """A function's name as written, without template arguments and blanks.

    >>> plain_name("Foo<T> ::operator ()")
    'Foo::operator()'
    """
    name = raw
    if "<" in raw or " " in raw or "\n" in raw:
        name = without_templates(squeeze(raw)).replace(" ::", "::").replace(":: ", "::")
    name = name.removeprefix("::")
    if name.startswith("operator") or "::operator" in name:
        name = _OPERATOR_SPACE.sub("operator", name)
    return name


def returns_of(before: str, trailing: str) -> str:
    """The return type, from the text before a function's name and the one behind its parameters."""
    if "->" in trailing:
        return squeeze(trailing.partition("->")[2])
    words = squeeze(before)
    return _SPECIFIERS.sub("", words).strip()


def parameter_rows(text: str) -> list[Parameter]:
    """(type, name, default) of each parameter in a parameter list's text; names may be missing.

    >>> parameter_rows("const Tensor& self, int64_t dim = -1, IntArrayRef")
    [('const Tensor&', 'self', ''), ('int64_t', 'dim', '-1'), ('IntArrayRef', '', '')]
    """
    if not text or text.isspace():
        return []
    rows = []
    for part in split_top(without_comments(text)):
        if not part or part == "void":
            continue
        rows.append(_parameters[part])
    return rows


def _parameter(part: str) -> Parameter:
    default = ""
    if "=" in part:
        cut = part.find("=")
        part, default = part[:cut].rstrip(), squeeze(part[cut + 1 :])
    part = squeeze(part)
    if "..." in part:
        part = _PACK.sub("... ", part)
    found = _PARAMETER_NAME.search(part)
    if found is not None and found.start(1) > 0:
        type_text, name = part[: found.start(1)].rstrip(), found[1]
        if type_text in ("const", "unsigned", "struct", "typename", "volatile") or name in (
            "int",
            "long",
            "char",
            "const",
        ):
            return part, "", default
        return type_text, name, default
    if "(*" in part or "(&" in part:
        inner = _POINTER_NAME.search(part)
        return part, inner[1] if inner else "", default
    return part, "", default


_parameters = Kept(_parameter)
