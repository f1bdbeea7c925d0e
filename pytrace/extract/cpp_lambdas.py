"""What a lambda says of what it returns, and what is made of several values: for ``extract/cpp_types.py``."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytrace.extract.cpp_text import close_of

#: The end of a lambda that is one return statement, as the last argument of a macro that calls it.
RETURNED = re.compile(r"\]\s*(?:\(\s*\))?\s*\{\s*return\s+([^;{}]+);\s*\}\s*\)$")
_TUPLE = re.compile(r"(?:std::)?(?:make_pair|make_tuple)\s*\(")


def made_tuple(text: str) -> str:
    """The arguments of ``std::make_pair(a, b)``, written or returned by the lambda of a dispatch macro; or ""."""
    text = text.strip()
    returned = RETURNED.search(text) if text.startswith("AT_DISPATCH_") else None
    text = returned[1].strip() if returned else text
    found = _TUPLE.match(text)
    if found is None or close_of(text, found.end() - 1, len(text)) != len(text):
        return ""
    return text[found.end() : -1]


class Lambda(NamedTuple):
    """What the text of a lambda says of what it returns."""

    parameters: str
    type: str  #: the type behind ``->``, "" when there is none
    returned: str  #: what its last ``return`` gives, "" when there is none
    end: int  #: where the lambda ends in the text


#: Behind the parameters of a lambda, before its body.
_TRAILING = re.compile(r"\s*(?:mutable|noexcept|constexpr|__device__|__host__|\s)*(?:->\s*([^{};]+?))?\s*(?=\{)")
_RETURN = re.compile(r"\breturn\b([^;{}]*)")


def lambda_of(text: str) -> Lambda | None:
    """Take the lambda apart that ``text`` begins with; None when it is none.

    >>> lambda_of("[&](int n) -> Tensor { return x; }()")
    Lambda(parameters='int n', type='Tensor', returned='x', end=34)
    """
    opening = close_of(text, 0, len(text))
    while opening < len(text) and text[opening].isspace():
        opening += 1
    parameters, behind = "", opening
    if text[opening : opening + 1] == "(":
        behind = close_of(text, opening, len(text))
        parameters = text[opening + 1 : behind - 1]
    head = _TRAILING.match(text, behind)
    if head is None:
        return None
    end = close_of(text, head.end(), len(text))
    returned = ""
    for found in _RETURN.finditer(text, head.end(), end):
        inside = text[head.end() + 1 : found.start()]
        if inside.count("[") == inside.count("]") and inside.count("{") == inside.count("}"):
            returned = found[1].strip()
    return Lambda(parameters, head[1] or "", returned, end)
