"""Which operator a C++ call means: names, namespaces and overloads of the generated API of ``at``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytrace.link.operators import OperatorTable
from pytrace.link.overloads import IMPOSSIBLE, rank

#: ``a OP b`` on Tensors: the operator when the left side is the Tensor, when only the right one is
#: (aten/src/ATen/TensorOperators.h), and for the assigning form (templates/TensorBody.h).
BINARY = {
    "+": ("add", ("add",)),
    "*": ("mul", ("mul",)),
    "-": ("sub", ("empty_like", "fill_", "sub_")),
    "/": ("div", ("empty_like", "fill_", "div_")),
    "%": ("remainder", ("empty_like", "fill_", "remainder_")),
    "&": ("bitwise_and", ("bitwise_and",)),
    "|": ("bitwise_or", ("bitwise_or",)),
    "^": ("bitwise_xor", ("bitwise_xor",)),
    "<": ("lt", ("gt",)),
    "<=": ("le", ("ge",)),
    ">": ("gt", ("lt",)),
    ">=": ("ge", ("le",)),
    "==": ("eq", ("eq",)),
    "!=": ("ne", ("ne",)),
    "+=": ("add_", ()),
    "-=": ("sub_", ()),
    "*=": ("mul_", ()),
    "/=": ("div_", ()),
    "&=": ("bitwise_and_", ()),
    "|=": ("bitwise_or_", ()),
    "^=": ("bitwise_xor_", ()),
}
#: Namespaces whose functions call the operator: the public API, ``at::symint::foo<T>`` (torchgen/gen.py: Functions.h),
#: redispatching (RedispatchFunctions.h), the C++ frontend's copies (tools/autograd/gen_variable_factories.py).
OPERATOR_NAMESPACES = frozenset(
    ("", "at", "torch", "symint", "at::symint", "redispatch", "at::redispatch", "torch::autograd")
)
#: Namespaces of generated functions that call one key's kernel directly (torchgen/gen.py: DispatchKeyFunctions.h).
DIRECT = {
    "at::cpu": "CPU",
    "at::cuda": "CUDA",
    "at::meta": "Meta",
    "at::compositeimplicitautograd": "CompositeImplicitAutograd",
    "at::compositeexplicitautograd": "CompositeExplicitAutograd",
    "at::compositeexplicitautogradnonfunctional": "CompositeExplicitAutogradNonFunctional",
}


#: Kinds that ``tensor OP x`` takes on its right side, complex numbers aside.
_RIGHT = frozenset(("Tensor", "int", "float", "Scalar", "bool", "", "SymInt", "OptTensor"))
_LEFT_NUMBERS = frozenset(("int", "float", "Scalar", "bool"))
#: ``"aten::add", "Tensor"``, also with a cast before a string.
_LOOKED_UP = re.compile(r'[^"]*"(\w+::\w+)"\s*,\s*"(\w*)"')


def looked_up(arguments: str) -> list[str]:
    """The operator whose names are given to ``findSchemaOrThrow``; none when they are computed.

    >>> looked_up('"aten::add", "Tensor"'), looked_up('"c10d::send", ""'), looked_up("op.name, op.overload")
    (['aten::add.Tensor'], ['c10d::send'], [])
    """
    found = _LOOKED_UP.fullmatch(arguments.strip())
    return [found[1] + (f".{found[2]}" if found[2] else "")] if found else []


class OperatorCalls:
    """Chooses overloads; what was chosen for a name and kinds of arguments is remembered."""

    def __init__(self, operators: OperatorTable) -> None:
        self.operators = operators
        self._chosen: dict[tuple[str, bool, tuple[str, ...], bool], list[str]] = {}

    def overloads(self, name: str, as_method: bool, kinds: tuple[str, ...], surely: bool = True) -> list[str]:
        """Full names of the operators that ``at::name(…)`` or ``x.name(…)`` means with arguments of these kinds.

        ``surely``: it is known to be one of them, so that something is returned even if nothing fits.
        """
        key = (name, as_method, kinds, surely)
        found = self._chosen.get(key)
        if found is not None:
            return found
        best, chosen = IMPOSSIBLE, []
        rows = self.operators.methods(name) if as_method else self.operators.functions(name)
        for operator, signature, _manual in rows:
            value = rank(kinds, [(a.kind, a.optional) for a in signature.args], signature.required)
            if value < best:
                best, chosen = value, [operator.name]
            elif value == best < IMPOSSIBLE and operator.name not in chosen:
                chosen.append(operator.name)
        if not chosen and rows and surely:
            # the count or a kind does not fit: our view of the arguments is wrong, not the program
            fitting = [o.name for o, s, _ in rows if s.accepts_count(len(kinds))]
            chosen = list(dict.fromkeys(fitting or [o.name for o, _, _ in rows]))
        self._chosen[key] = chosen
        return chosen

    def binary(self, mark: str, left: str, right: str) -> Iterator[list[str]]:
        """The operators of ``left mark right`` for operands of these kinds: overloads for each that is called."""
        names = BINARY.get(mark)
        if names is None:
            return
        method, swapped = names
        if left == "Tensor":
            if right in _RIGHT or right.startswith("complex"):
                yield self.overloads(method, True, (right,))
        elif right == "Tensor" and left in _LEFT_NUMBERS:
            if len(swapped) == 1:
                yield self.overloads(swapped[0], True, ("Scalar",))
                return
            steps = (("Tensor", "MemoryFormat"), False), (("Scalar",), True), (("Tensor",), True)
            for name, (kinds, as_method) in zip(swapped, steps):
                yield self.overloads(name, as_method, kinds)
