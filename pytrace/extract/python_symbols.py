"""Symbolic expressions of Python source: what a receiver or a value is, said without knowing other files.

A symbol is a short text that the link stage can evaluate (``link/python_types.py``):

====================  =============================================================================
``@torch.nn.foo``     an absolute dotted name, through the imports of the file; ``@.foo`` is relative
``.foo``              a name of this module
``self``, ``cls``     the instance, the class of the enclosing class definition
``super()``           the next class of the enclosing class's order of resolution
``T``                 a Tensor
``%0``                the first parameter of the enclosing function, of unknown type
suffix ``.name``      an attribute of it
suffix ``()``         the result of calling it
suffix ``[]``         an element of it, by subscript or iteration (``T[]`` is ``T``)
suffix ``{}``         a list or tuple of such things (``X{}[]`` is ``X``)
====================  =============================================================================

"" means unknown. Arguments are left out on purpose: a symbol says what kind of thing flows, not which value.
"""

from __future__ import annotations

import re
from functools import lru_cache

UNKNOWN = ""
TENSOR = "T"
TENSORS = "T{}"

#: A chain of methods longer than this on a Tensor is a Tensor: code that goes on calling got one each time.
MAX_LENGTH = 100

#: The roots of imports worth following; every other module cannot reach an operator by itself.
FOLLOWED = re.compile(r"(?:torch|functorch|torchgen|\.)")

#: What a parameter of this name is, all over torch/, when it carries no annotation.
PARAMETERS = {
    "input": TENSOR,  # the docs say "input (Tensor)"
    "tensor": TENSOR,
    "tensors": TENSORS,
}
#: The same for what is used as such, while its own type is what the caller gives: hooks get the module they are about.
USED_AS = {"module": "@torch.nn.Module()"}

_TENSOR_NAME = re.compile(r"\b\w*Tensor(?:Like(?:Type)?|SequenceType)?\b(?!\.)")
_SEQUENCE = r"(?:List|Sequence|Tuple|Iterable|Iterator|Collection|Set|list|tuple|set)"
_SEQUENCE_OF = re.compile(rf"\b{_SEQUENCE}\[[^|]*Tensor")
#: A container: its name, what stands in its brackets.
_CONTAINER = re.compile(rf"(?:\w+\.)?(?:{_SEQUENCE}|(?P<mapping>\w*(?:Dict|dict|Mapping)))\[(?P<of>.*)\]", re.DOTALL)
_OPTIONAL = re.compile(r"(?:\w+\.)?Optional\[(.*)\]", re.DOTALL)
_CLASS_NAME = re.compile(r"(?:Optional\[)?((?:\w+\.)*_?[A-Z]\w*)\]?(?: *\| *None)?")
_NOT_CLASSES = frozenset({"Any", "Callable", "Optional", "Union", "Dict", "List", "Tuple", "Type", "TypeVar", "None"})


def element(symbol: str) -> str:
    """An element of ``symbol``: ``X{}`` -> ``X``, a Tensor's elements are Tensors."""
    if not symbol:
        return UNKNOWN
    if symbol.endswith("{}"):
        return symbol[:-2]
    return symbol if symbol == TENSOR else bounded(symbol + "[]")


def bounded(symbol: str) -> str:
    """``symbol``, or what a symbol of such a length stands for."""
    if len(symbol) <= MAX_LENGTH:
        return symbol
    return TENSOR if symbol.startswith("T.") else UNKNOWN


@lru_cache(maxsize=20_000)
def annotation(text: str) -> tuple[str, str]:
    """(symbol, class name) that an annotation stands for; one of them is "" (or both, when it says nothing).

    The name of a class ends in ``{}`` when it is what a container holds.

    Of several types that a container holds the plainest counts.

    >>> annotation("Optional[Tensor]"), annotation("List[torch.Tensor]"), annotation("nn.Linear")
    (('T', ''), ('T{}', ''), ('', 'nn.Linear'))
    >>> annotation("Dict[str, List[Tensor]]"), annotation("Dict[Tensor, int]"), annotation("Iterator[nn.Module]")
    (('T{}{}', ''), ('', ''), ('', 'nn.Module{}'))
    """
    text = text.strip().strip("\"'").strip()
    if "Tensor" in text and _TENSOR_NAME.search(text):
        if text.startswith(("Callable", "Type[", "type[")):
            return UNKNOWN, ""
        optional = _OPTIONAL.fullmatch(text)
        if optional:
            return annotation(optional[1])[0], ""
        container = _CONTAINER.fullmatch(text)
        if container:
            return _elements(split_types(container["of"]), bool(container["mapping"])), ""
        # "Union[Tensor, Sequence[Tensor]]" is a Tensor first; "Optional[List[Tensor]]" is a list.
        return (TENSORS if _SEQUENCE_OF.search(text) and not text.startswith("Union[") else TENSOR), ""
    found = _CLASS_NAME.fullmatch(text)
    if found and found[1] not in _NOT_CLASSES:
        return UNKNOWN, found[1]
    optional = _OPTIONAL.fullmatch(text)
    container = _CONTAINER.fullmatch(optional[1] if optional else text)
    if container:
        types = [each for each in split_types(container["of"]) if each != "..."]
        if container["mapping"] or len(types) == 1:
            name = annotation(types[-1])[1]
            return UNKNOWN, name + "{}" if name else ""
    return UNKNOWN, ""


def _elements(types: list[str], mapping: bool) -> str:
    """The symbol of a container of these types: a dictionary's elements are its values."""
    symbols = [symbol for each in (types[-1:] if mapping else types) if (symbol := annotation(each)[0])]
    return bounded(min(symbols, key=len) + "{}") if symbols else UNKNOWN


def split_types(text: str) -> list[str]:
    """The types of a type comment.

    >>> split_types("Tensor, Optional[Tuple[Tensor, int]]")
    ['Tensor', 'Optional[Tuple[Tensor, int]]']
    """
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in "[(":
            depth += 1
        elif c in "])":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]
