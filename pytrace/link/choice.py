"""Which of several definitions of one name a C++ call means: those that its arguments fit best."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from pytrace.extract.cpp_text import split_top
from pytrace.link.cpp_types import kind_of
from pytrace.link.overloads import IMPOSSIBLE, KNOWN, UNKNOWN_COST, cost, specialised

if TYPE_CHECKING:
    from pytrace.link.functions import Symbol

#: A template parameter that stands for a number, and arguments that are plainly a type, plainly a value.
_IS_VALUE = re.compile(r"(?:const |unsigned )?(?:int|bool|long|size_t|u?int\d+_t|char|short|unsigned)\b")
_TYPE = re.compile(r"decltype\(|(?:unsigned |signed )?(?:float|double|bool|char|short|int|long|u?int\d+_t)$")
_VALUE = re.compile(r"-?\d+$|(?:true|false)$")
#: Kinds of what an element of a tensor may be -> the types of c10/core/ScalarType.h (AT_FORALL_SCALAR_TYPES).
_ELEMENTS = {
    "float": ("Float", "Double"),
    "int": ("Byte", "Char", "Short", "Int", "Long", "UInt16", "UInt32", "UInt64"),
    "bool": ("Bool",),
    "complex": ("ComplexFloat", "ComplexDouble", "ComplexHalf"),
    "Half": ("Half",),
    "BFloat16": ("BFloat16",),
}
#: What an argument of another class than the parameter's costs beyond one whose type a template deduces.
_OTHER_CLASS = 6


def choose(
    symbols: Sequence[Symbol],
    kinds: Sequence[str],
    templates: str,
    path: str,
    classes: Collection[str],
    generic: Collection[str] = (),
) -> list[Symbol]:
    """The definition that C++ would take; all that fit equally when the kinds of the arguments do not tell.

    ``templates`` are the template arguments of the call, ``path`` is its file, ``classes`` the bare names of the
    tree's classes. ``generic`` are kinds that mean another type in each instantiation of the caller: its template
    parameters, and where it has a ``scalar_t`` the ``elements`` that this may be; they prefer no definition. Empty when
    none of ``symbols`` can be meant: a lambda is no Tensor and no number.
    """
    count = len(kinds)
    fitting = [s for s in symbols if s.required <= count <= s.total] or list(symbols)
    if templates:
        fitting = [s for s in fitting if _takes_templates(s, templates)] or fitting
    if "lambda" in kinds:
        fitting = [s for s in fitting if _takes_functions(s, kinds)]
    special, exact = specialised([s.special for s in fitting], templates)
    specials = [fitting[i] for i in special]
    if exact:
        return specials
    if specials:  # no overloads: which one runs, the template arguments decide
        fitting = [s for s in fitting if not s.special]
    if len(fitting) > 1:
        ranked = []
        for symbol in fitting:
            parameters = [parameter(p[0]) for p in symbol.parameters]
            total = IMPOSSIBLE
            if count <= len(parameters):
                costs = [_cost(kind, *wanted, generic) for kind, wanted in zip(kinds, parameters)]
                total = min(sum(costs), IMPOSSIBLE)
            ranked.append((total + _OTHER_CLASS * _other_classes(kinds, parameters, classes), symbol))
        best = min(r for r, _ in ranked)
        fitting = [s for r, s in ranked if r == best]
    if len(fitting) > 1:
        own = [s for s in fitting if s.file == path]
        fitting = own or fitting
    return fitting + specials


def elements(types: AbstractSet[str]) -> frozenset[str]:
    """The kinds that ``scalar_t`` may be of under an AT_DISPATCH of these types; all when none is known.

    ``float`` is among them always: it is what the name is read as.
    """
    found = {kind for kind, names in _ELEMENTS.items() if not types or not types.isdisjoint(names)}
    return frozenset((*found, "float"))


def _cost(argument: str, wanted: str, optional: bool, generic: Collection[str]) -> int:
    """``overloads.cost`` of an argument whose kind may be ``generic``."""
    plain = argument.removeprefix("ptr ")
    if plain in generic:
        pointee = wanted.removeprefix("ptr ")
        if plain not in _ELEMENTS:
            return UNKNOWN_COST
        if pointee in generic and pointee in _ELEMENTS and (pointee == wanted) == (plain == argument):
            return 0
    return cost(argument, wanted, optional)


def _takes_templates(symbol: Symbol, templates: str) -> bool:
    """Whether a call with these template arguments can mean ``symbol``: they say that a template is meant, and each is
    a type or a value (C++: [temp.arg.explicit]). Of methods nothing is said: the arguments may be those of the class.
    """
    if symbol.owner or symbol.specialises:
        return True
    declared = split_top(symbol.templates) if symbol.templates else []
    given = split_top(templates)
    if len(given) > len(declared) and not any("..." in row for row in declared):
        return False
    for argument, row in zip(given, declared):
        if "..." in row:
            return True
        if (_TYPE if _IS_VALUE.match(row) else _VALUE).match(argument):
            return False
    return True


def _takes_functions(symbol: Symbol, kinds: Sequence[str]) -> bool:
    """Whether no parameter that a lambda is given is of a type that no function object converts to."""
    return not any(kind == "lambda" and parameter(row[0])[0] in KNOWN for kind, row in zip(kinds, symbol.parameters))


def _other_classes(kinds: Sequence[str], parameters: Sequence[tuple[str, bool]], classes: Collection[str]) -> int:
    """How many arguments are of one class of the tree where a parameter is of another: a template fits better."""
    return sum(
        1 for kind, (wanted, _) in zip(kinds, parameters) if kind != wanted and kind in classes and wanted in classes
    )


def parameter(text: str) -> tuple[str, bool]:
    """The kind of a parameter's type as written, and whether it is an optional one."""
    kind = kind_of(text)
    if kind.endswith("?"):
        return kind[:-1], True
    return kind, False
