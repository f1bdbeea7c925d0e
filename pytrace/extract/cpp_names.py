"""Types, names and argument lists in a C++ file, as far as their text alone tells.

The same few texts come again and again, so that what was found out is kept per process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pytrace.extract import cpp_simd
from pytrace.extract.cpp_callee import QUIET_METHODS
from pytrace.extract.cpp_heads import parameter_rows
from pytrace.extract.cpp_lambdas import lambda_of
from pytrace.extract.cpp_text import (
    Kept,
    split_top,
    squeeze,
    template_arguments,
    without_comments,
    without_templates,
    words,
)
from pytrace.extract.cpp_types import UNKNOWN, Form, form_of, type_of

REFERENCE = re.compile(r"&?\s*((?:::)?[A-Za-z_]\w*(?:<[^;{}()]*>)?(?:::[A-Za-z_]\w*(?:<[^;{}()]*>)?)*)$")
#: The way to choose an overload that is handed on: ``static_cast<OutFunc>(at::logical_and_out)``.
_CAST = re.compile(r"static_cast<[^()]*>\(\s*&?\s*([A-Za-z_]\w*(?:::[A-Za-z_]\w*)+)\s*\)$")
_IDENT = re.compile(r"[A-Za-z_]\w*")
CONSTANT_NAME = re.compile(r"(?:k[A-Z]\w*|[A-Z][A-Z0-9_]*)$")

#: Type names that are never a class of the tree: constructing them reaches nothing.
PLAIN_TYPES = words("""
    auto void bool char short int long float double unsigned signed size_t ptrdiff_t int8_t int16_t int32_t
    int64_t uint8_t uint16_t uint32_t uint64_t scalar_t opmath_t acc_t accscalar_t index_t Tensor TensorBase
    TensorList Scalar IntArrayRef SymIntArrayRef SymInt string dim3 Half BFloat16 half bfloat16 T
""")


class Written(NamedTuple):
    """A type as written."""

    text: str
    plain: str  #: without template arguments
    templates: str
    is_auto: bool
    is_class: bool  #: whether it may be a class of the tree
    elaborated: bool  #: ``struct x``, ``enum x``


def _written(text: str) -> Written:
    text = squeeze(text)
    plain = without_templates(text)
    bare = plain.rpartition("::")[2]
    is_class = bare not in PLAIN_TYPES and not plain.startswith("std::") and not cpp_simd.TYPE.fullmatch(bare)
    elaborated = text.startswith(("struct ", "class ", "enum ", "union "))
    is_auto = text == "auto" or "auto" in text.split()
    return Written(text, plain, template_arguments(text), is_auto, is_class, elaborated)


#: What a type, as written, says.
written_type: Callable[[str], Written] = Kept(_written).__getitem__


class Reference(NamedTuple):
    """A name that is handed on as a value."""

    written: str
    plain: str  #: without template arguments; "" when it can be no function
    templates: str


NO_REFERENCE = Reference("", "", "")


def _reference(part: str) -> Reference:
    found = REFERENCE.match(part) or _CAST.match(part)
    return named(found[1]) if found else NO_REFERENCE


#: The name that an argument consists of; ``plain`` is "" when that can be no function.
reference_of: Callable[[str], Reference] = Kept(_reference).__getitem__


def named(name: str) -> Reference:
    """A name as written, taken apart."""
    plain = without_templates(name)
    bare = plain.rpartition("::")[2]
    if bare in PLAIN_TYPES or CONSTANT_NAME.match(bare) or plain.startswith("std::"):
        return Reference(name, "", "")
    return Reference(name, plain.removeprefix("::"), template_arguments(name))


class Arguments(NamedTuple):
    """What an argument list holds."""

    forms: tuple[Form, ...]
    references: tuple[Reference, ...]  #: the names that may be functions handed on
    closed: tuple[str, ...] | None  #: the forms, when none of them has a hole


def parts_of(text: str) -> list[str]:
    """The arguments in an argument list."""
    return [] if text.isspace() else split_top(without_comments(text))


def arguments_in(parts: Sequence[str]) -> Arguments:
    """The same as ``arguments_of`` for a list that was taken apart already."""
    found = [_arguments[part] for part in parts]
    forms = tuple([form for form, _ in found])
    closed = [form for form in forms if form.__class__ is str]
    references = tuple([reference for _, reference in found if reference is not None])
    return Arguments(forms, references, tuple(closed) if len(closed) == len(forms) else None)


def _argument(part: str) -> tuple[Form, Reference | None]:
    """The form of one argument, and the name that it consists of when that may be a function."""
    form = form_of(part) if len(part) < 400 or part[0] in "[{" else UNKNOWN
    last = part[-1:]
    if last.isalnum() or last in ("_", ">"):
        reference = reference_of(part)
        if reference.plain:
            kind = form if isinstance(form, str) else form[2] if form[0] == "V" else ""
            if kind[:1] in (UNKNOWN, "V") or part[:1] == "&":
                return form, reference
    elif last == ")" and part.startswith("static_cast<"):
        reference = reference_of(part)
        if reference.plain:
            return form, reference
    return form, None


_arguments = Kept(_argument)
#: What an argument list holds.
arguments_of: Callable[[str], Arguments] = Kept(lambda text: arguments_in(parts_of(text))).__getitem__


def references_of(text: str) -> tuple[Reference, ...]:
    """The names in an argument list that may be functions handed on."""
    return arguments_of(text).references


#: What may stand between a type and the name that is declared.
POINTERS = re.compile(r"(?:[&*\s]|const\b|__restrict__|__restrict\b|RESTRICT\b)*")


class Declared(NamedTuple):
    """What stands behind the type of a declaration."""

    marks: str  #: pointers and references
    #: name, what stands behind it, its value behind ``=``, whether it is an array
    names: tuple[tuple[str, str, str, bool], ...]
    elements: str = ""  #: the names of a structured binding
    value: str = ""  #: and what is taken apart


def _declares(text: str) -> Declared:
    rest = without_comments(text).rstrip("; \n")
    match = POINTERS.match(rest)
    at = match.end() if match else 0
    if rest[at : at + 1] == "[":
        close = rest.find("]", at)
        equals = rest.find("=", close)
        return Declared("", (), rest[at + 1 : close], rest[equals + 1 :] if equals > 0 else "")
    names = []
    for part in split_top(rest[at:]):
        found = _IDENT.search(part)
        if not found:
            continue
        tail = part[found.end() :].lstrip()
        array = tail.startswith("[")
        while tail.startswith("[") and "]" in tail:
            tail = tail[tail.find("]") + 1 :].lstrip()
        names.append((found[0], tail, tail[1:].strip() if tail.startswith("=") else "", array))
    return Declared(rest[:at], tuple(names))


#: What a declaration says behind its type.
declared_in: Callable[[str], Declared] = Kept(_declares).__getitem__


def may_be_tensor(kind: str) -> bool:
    """Whether something of this type expression may be a Tensor."""
    inner = kind.lstrip("BLI")
    first = inner[:1]
    if first == "T":
        return "Tensor" in inner or "ariable" in inner  # Variable, variable_list
    if first == "M":
        return inner.rpartition("|")[2] not in QUIET_METHODS
    if first == "G":
        return may_be_tensor(inner.partition("|")[2])
    if first == "C":
        return not inner.startswith("Cstd::")
    return first == "F" or (first == "V" and "I" in kind[: len(kind) - len(inner)])


def returned_by(value: str, env: Mapping[str, str]) -> str:
    """The type expression of what a call of the lambda ``value`` returns, "" when its text does not tell."""
    made = lambda_of(value)
    if made is None or not (made.type or made.returned):
        return ""
    own = {name: f"T{text}" for text, name, _ in parameter_rows(made.parameters) if name}
    found = f"T{made.type}" if made.type else type_of(made.returned, {**env, **own})
    return "" if found == UNKNOWN else found
