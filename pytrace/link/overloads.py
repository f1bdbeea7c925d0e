"""Which overload a C++ call means: by the number of its arguments and their kinds.

Kinds are the words of ``pytrace.schema.cpp`` and ``pytrace.link.cpp_types``; "" is unknown and fits everything
a little.
The costs follow C++'s ranks: the same type, then a standard or user-defined conversion that the public API relies on
(an int is taken for a ``Scalar``, a ``Tensor`` for an optional one, one element for an ``ArrayRef``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pytrace.extract.cpp_text import split_top

IMPOSSIBLE = 1000
#: The cost of an argument whose kind is not known.
UNKNOWN_COST = 6

#: (kind of the argument, kind of the parameter) -> cost. Absent: impossible, unless a rule below says otherwise.
_COST = {
    ("int", "SymInt"): 1,
    ("int", "Scalar"): 4,
    ("int", "float"): 5,
    ("int", "bool"): 6,
    ("int", "IntArrayRef"): 5,
    ("int", "SymIntArrayRef"): 6,
    ("int", "ScalarType"): 9,
    ("SymInt", "int"): 2,
    ("SymInt", "Scalar"): 4,
    ("SymInt", "SymIntArrayRef"): 5,
    ("SymInt", "IntArrayRef"): 6,
    ("float", "Scalar"): 4,
    ("float", "int"): 7,
    ("float", "bool"): 8,
    ("float", "FloatArrayRef"): 6,
    ("bool", "int"): 4,
    ("bool", "SymInt"): 5,
    ("bool", "Scalar"): 4,
    ("bool", "float"): 5,
    ("bool", "BoolArray"): 8,
    ("Scalar", "ScalarList"): 6,
    ("Tensor", "OptTensor"): 1,
    ("Tensor", "TensorList"): 5,
    ("Tensor", "OptTensorList"): 6,
    ("OptTensor", "Tensor"): 8,
    ("TensorList", "OptTensorList"): 4,
    ("IntArrayRef", "SymIntArrayRef"): 1,
    ("SymIntArrayRef", "IntArrayRef"): 2,
    ("ScalarType", "TensorOptions"): 2,
    ("Device", "TensorOptions"): 2,
    ("Layout", "TensorOptions"): 2,
    ("MemoryFormat", "TensorOptions"): 3,
    ("Dimname", "DimnameList"): 3,
    ("str", "StrArrayRef"): 6,
    ("str", "Device"): 6,
    ("str", "TensorOptions"): 8,
    ("Storage", "Tensor"): IMPOSSIBLE,
}
_NUMBERS = frozenset(("int", "SymInt", "float", "bool", "Scalar"))
_LISTS = frozenset(
    (
        *("TensorList", "OptTensorList", "IntArrayRef", "SymIntArrayRef", "ScalarList"),
        *("DimnameList", "FloatArrayRef", "BoolArray", "StrArrayRef"),
    )
)
KNOWN = (
    _NUMBERS
    | _LISTS
    | frozenset(
        (
            *("Tensor", "OptTensor", "ScalarType", "Device", "Layout", "MemoryFormat", "TensorOptions"),
            *("Generator", "Dimname", "Storage", "Stream", "str", "QScheme"),
        )
    )
)
#: an element of a braced list -> list kinds it may make
_BRACED = {
    "Tensor": ("TensorList", "OptTensorList"),
    "int": ("IntArrayRef", "SymIntArrayRef", "ScalarList", "FloatArrayRef"),
    "SymInt": ("SymIntArrayRef", "IntArrayRef"),
    "bool": ("BoolArray", "IntArrayRef"),
    "Scalar": ("ScalarList",),
    "float": ("FloatArrayRef", "ScalarList"),
    "Dimname": ("DimnameList",),
    "OptTensor": ("OptTensorList",),
}


@lru_cache(maxsize=20_000)
def cost(argument: str, parameter: str, optional: bool) -> int:
    """How far an argument of one kind is from a parameter of another; ``IMPOSSIBLE`` when it cannot be given.

    ``optional``: the parameter is a ``std::optional``.
    """
    if argument == "":
        # named tensors are rare: an argument of unknown kind is more likely anything else
        return UNKNOWN_COST + (2 if parameter in ("Dimname", "DimnameList") else 0)
    if argument == parameter:
        return 1 if optional else 0
    if argument == "{}":
        return (
            1
            if optional or parameter.startswith("Opt")
            else 2
            if parameter in _LISTS or parameter == "TensorOptions"
            else 5
        )
    if argument == "nullopt":
        return 0 if optional or parameter.startswith("Opt") else IMPOSSIBLE
    if argument.startswith("list "):
        inner = argument[5:]
        if inner == "":
            return UNKNOWN_COST if parameter in _LISTS else IMPOSSIBLE
        options = _BRACED.get(inner, ())
        if parameter in options:
            return options.index(parameter)
        if inner == parameter:
            return 8
        return IMPOSSIBLE if inner in KNOWN or parameter not in _LISTS else UNKNOWN_COST
    if argument.endswith("?"):
        inner = argument[:-1]
        if inner == parameter:
            return 0 if optional else 9
        found = _COST.get((inner, parameter))
        return found if found is not None and optional else IMPOSSIBLE
    found = _COST.get((argument, parameter))
    if found is not None:
        return found + (1 if optional else 0)
    if argument in KNOWN and parameter in KNOWN:
        return IMPOSSIBLE
    if argument.startswith(("ptr ", "tuple ", "lambda")) and parameter in KNOWN:
        return IMPOSSIBLE if parameter != "Tensor" or not argument.startswith("ptr ") else 20
    if parameter in KNOWN:
        # a class of the tree for a known kind (a dtype wrapper, an enum, a template parameter): possible, unlikely
        return 12 + (2 if parameter in ("Dimname", "DimnameList") else 0)
    return UNKNOWN_COST


def rank(argument_kinds: Sequence[str], parameters: Sequence[tuple[str, bool]], required: int) -> int:
    """The cost of a call with these parameters (kind, optional), ``IMPOSSIBLE`` when it cannot be made so."""
    count = len(argument_kinds)
    if count > len(parameters) or count < required:
        return IMPOSSIBLE
    total = 0
    for argument, (kind, optional) in zip(argument_kinds, parameters):
        step = cost(argument, kind, optional)
        if step >= IMPOSSIBLE:
            return IMPOSSIBLE
        total += step
    return total


#: Template arguments that are what they say: numbers, element types (c10/core/ScalarType.h: AT_FORALL_SCALAR_TYPES).
#: Other names are parameters or aliases (``scalar_t``, ``opmath_t``): they may stand for any of them.
_CONCRETE = re.compile(
    r"(?:\d+|true|false|(?:unsigned |signed )?(?:float|double|bool|char|short|int|long|long long|u?int\d+_t)"
    r"|(?:Half|BFloat16|Float8_\w+|qu?int\d+|complex<\w+>))"
)


def specialised(specials: Sequence[str], templates: str) -> tuple[list[int], bool]:
    """Which of some explicit specialisations a call with template arguments may mean.

    ``specials`` are the template arguments of each definition ("" when it specialises nothing), ``templates`` those of
    the call. Returns their places and whether the arguments leave no doubt: then the place of one, or nothing but one
    that is meant. Without arguments in the call nothing is told: ([], False).
    """
    if not templates or not any(specials):
        return [], False
    given = [_plain(part) for part in split_top(templates)]
    sure, possible = [], []
    for place, special in enumerate(specials):
        if not special:
            continue
        wanted = [_plain(part) for part in split_top(special)]
        pairs = list(zip(given, wanted))
        if all(g == w for g, w in pairs):
            sure.append(place)
        elif all(g == w or not (_CONCRETE.fullmatch(g) and _CONCRETE.fullmatch(w)) for g, w in pairs):
            possible.append(place)
    return (sure, True) if sure else (possible, False)


def _plain(argument: str) -> str:
    return "".join(re.sub(r"\b(?:at|c10|std)::", "", argument).split()) if "<" in argument else _bare(argument)


def _bare(argument: str) -> str:
    return " ".join(re.sub(r"\b(?:at|c10|std)::|^::", "", argument).split())
