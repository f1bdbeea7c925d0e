"""Evaluates the type expressions that extract/cpp_types.py wrote, now that the whole tree is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytrace.extract.cpp_text import without_templates
from pytrace.link.cpp_types import element, kind_of, method, pointed
from pytrace.link.functions import FunctionTable, scopes
from pytrace.link.overloads import KNOWN
from pytrace.link.templates import parameter_names

if TYPE_CHECKING:
    from pytrace.link.operators import OperatorTable

_RETURNS_OF_TYPE = {
    "int": "int",
    "SymInt": "SymInt",
    "float": "float",
    "bool": "bool",
    "Scalar": "Scalar",
    "ScalarType": "ScalarType",
    "QScheme": "QScheme",
    "Layout": "Layout",
    "Device": "Device",
    "Tensor[]": "TensorList",
    "int[]": "IntArrayRef",
}
_STD_NUMBER = re.compile(
    r"std::(?:numeric_limits<.*>::\w+|(?:f|l)?(?:sqrt|pow|exp2?|log2?|log10|log1p|expm1|a?(?:sin|cos|tan)h?|abs|ceil|floor|round|trunc|fmod|real|imag|norm|accumulate))$"
)


class Types:
    """Kinds of expressions; one per link run, with a memory per (expression, scope, file)."""

    def __init__(self, functions: FunctionTable, operators: OperatorTable) -> None:
        self.functions = functions
        self.operators = operators
        self._memory: dict[tuple[str, str, str], str] = {}
        self._returns: dict[str, str] = {}

    def kind(self, expression: str, scope: str, file: str, depth: int = 0) -> str:
        """The kind of a type expression written in a function of ``scope`` in ``file``; "" when unknown."""
        if expression == "?":
            return ""
        first = expression[0]
        if first == "T":
            text = expression[1:]
            if text == "this":
                return self.owner_of(scope)
            return self._resolve_alias(kind_of(text), scope, file)
        key = (expression, scope, file)
        found = self._memory.get(key)
        if found is None:
            found = self._memory[key] = self._evaluate(first, expression[1:], scope, file, depth) if depth < 30 else ""
        return found

    def _resolve_alias(self, kind: str, scope: str, file: str) -> str:
        if not kind or kind in KNOWN or " " in kind:
            return kind
        bare = kind.rpartition("::")[2]
        better = {kind_of(t) for _, t in self.functions.names_of(bare, file) if t != kind} - {"", bare, kind}
        if len(better) != 1 or (bare == kind and not kind[0].isupper() and " " not in next(iter(better))):
            return kind  # of names like ``value_t``, which many scopes give a meaning, only tuples and pointers
        return better.pop()

    def owner_of(self, scope: str) -> str:
        """The class whose member stands in ``scope``, or ""."""
        for enclosing in scopes(scope):
            if enclosing in ("at::Tensor", "at::TensorBase"):
                return "Tensor"
            if enclosing in self.functions.classes:
                return enclosing
        return scope

    def _evaluate(self, first: str, rest: str, scope: str, file: str, depth: int) -> str:
        step = depth + 1
        if first == "M":
            receiver, _, name = rest.rpartition("|")
            return self.method_kind(self.kind(receiver, scope, file, step), name, scope, file)
        if first == "C":
            return self._call_kind(rest, scope, file)
        if first == "F":
            receiver, _, name = rest.rpartition("|")
            return self._field_kind(self.kind(receiver, scope, file, step), name, scope, file)
        if first == "I":
            if rest == "Tthis":
                return self.owner_of(scope)
            return element(self.kind(rest, scope, file, step))
        if first == "G":
            number, _, inner = rest.partition("|")
            kind = self.kind(inner, scope, file, step)
            if kind.isidentifier() and kind not in KNOWN:  # ``using graph_and_tensors = std::tuple<…>``
                named = {kind_of(t) for _, t in self.functions.names_of(kind, file) if "tuple" in t or "pair" in t}
                kind = named.pop() if len(named) == 1 else kind
            if kind.startswith("tuple "):
                parts = kind[6:].split(";")
                return parts[int(number)] if int(number) < len(parts) else ""
            return element(kind)
        if first == "L":
            return f"list {self.kind(rest, scope, file, step)}"
        if first == "B":
            return "Tensor" if self.kind(rest, scope, file, step) == "Tensor" else "bool"
        if first == "V":
            return self._name_kind(rest, scope, file)
        return ""

    def _name_kind(self, name: str, scope: str, file: str) -> str:
        owner = self.owner_of(scope)
        if owner in self.functions.classes:
            declared = self.functions.field(owner, name, file)
            if declared:
                return self._resolve_alias(kind_of(declared), scope, file)
        return self.functions.global_kind(name)

    def _field_kind(self, kind: str, name: str, scope: str, file: str) -> str:
        if kind.startswith("ptr "):
            kind = kind[4:]
        if kind in ("Tensor", ""):
            return ""
        if kind.startswith("tuple ") and name in ("first", "second"):
            parts = kind[6:].split(";")
            return parts[name == "second"] if len(parts) == 2 else ""
        for owner in self.functions.class_names(kind, scope, file):
            declared = self.functions.field(owner, name, file)
            if declared:
                return self._resolve_alias(kind_of(declared), owner, file)
        return ""

    def method_kind(self, kind: str, name: str, scope: str, file: str) -> str:
        """Kind of ``x.name(…)`` for an x of ``kind``; a ``(`` at the end of ``name`` says that arguments are given."""
        arguments = name.endswith("(")
        name = name.rstrip("(")
        kind = pointed(kind, name)
        if kind == "Tensor":
            native = method(kind, name, 0)
            if native:
                return native
            return self.operator_returns(name, True)
        found = method(kind, name, int(arguments))
        if found:
            return found
        if kind and (kind[0].isupper() or "::" in kind or kind[0].islower()):
            for owner in self.functions.class_names(kind, scope, file):
                for symbol in self.functions.methods(owner, name, file):
                    return self._resolve_alias(kind_of(symbol.returns), symbol.scope, file)
                inner = self.behind(owner, file)
                if inner:
                    return self.method_kind(inner, name + "(" * arguments, scope, file)
            if self._is_parameter(kind, scope):
                return self._agreed(name)
        return ""

    def behind(self, owner: str, file: str) -> str:
        """The kind that ``operator->`` of a class leads to (``TensorArg`` of ATen/TensorUtils.h: Tensor), or ""."""
        for symbol in self.functions.methods(owner, "operator->", file):
            kind = kind_of(symbol.returns).removeprefix("ptr ")
            return kind if kind in KNOWN else ""
        return ""

    def _is_parameter(self, kind: str, scope: str) -> bool:
        """Whether ``kind`` is a template parameter of the class around ``scope``."""
        found = self.functions.classes.get(scope, ())
        return any(kind in parameter_names(info.templates) for info in found if info.templates)

    def _agreed(self, name: str) -> str:
        """What every method of this name in the tree returns, when they agree: so does that of a template parameter."""
        key = f"->{name}"
        found = self._returns.get(key)
        if found is None:
            kinds = {kind_of(s.returns) for s in self.functions.by_bare.get(name, ()) if s.owner}
            found = self._returns[key] = kinds.pop() if len(kinds) == 1 and KNOWN.issuperset(kinds) else ""
        return found

    def operator_returns(self, name: str, as_method: bool) -> str:
        """What the operators of a C++ name return, when they agree; "" otherwise."""
        key = f"{'.' if as_method else '::'}{name}"
        found = self._returns.get(key)
        if found is None:
            kinds = set()
            for operator, _, _ in self.operators.methods(name) if as_method else self.operators.functions(name):
                kinds.add(self._schema_returns(operator.schema))
            found = self._returns[key] = kinds.pop() if len(kinds) == 1 else ("Tensor" if "Tensor" in kinds else "")
        return found

    @staticmethod
    def _schema_returns(schema: object) -> str:
        returns = getattr(schema, "returns", ())
        kinds = []
        for item in returns:
            text = str(item.type)
            kinds.append(
                "Tensor"
                if text.startswith("Tensor") and "[" not in text
                else _RETURNS_OF_TYPE.get(text, "TensorList" if text.startswith("Tensor") else text)
            )
        if not kinds:
            return "void"
        return kinds[0] if len(kinds) == 1 else "tuple " + ";".join(kinds)

    def _call_kind(self, name: str, scope: str, file: str) -> str:
        written = kind_of(name)
        if (
            written
            in (
                "Tensor",
                "OptTensor",
                "TensorList",
                "IntArrayRef",
                "SymIntArrayRef",
                "Scalar",
                "int",
                "SymInt",
                "float",
                "bool",
                "str",
                "Device",
                "TensorOptions",
                "ScalarType",
                "DimnameList",
                "Dimname",
            )
            or " " in written
        ):
            return written
        if name.startswith("std::"):
            # std::numeric_limits<scalar_t>::max(), std::sqrt(x), …: numbers; containers were kinds of their own above
            return "float" if _STD_NUMBER.match(name) else ""
        plain = without_templates(name).strip().removeprefix("::")
        if plain in ("c10::irange", "irange"):
            return "IntArrayRef"  # c10/util/irange.h: its elements are integers
        if name.startswith("::") and "::" not in plain:
            scope = ""
        symbols = self.functions.lookup(plain, scope, file)
        if name.startswith("::") and "::" not in plain and not symbols:
            return ""
        if symbols:
            generic = any(s.templates and kind_of(s.returns) in parameter_names(s.templates) for s in symbols)
            if generic and plain.startswith("at::") and plain[4:] in self.operators.by_cpp_name:
                # a template on numbers beside an operator, at::exp(T) of aten/src/ATen/NumericUtils.h: host code that
                # writes at:: means the operator
                return self.operator_returns(plain[4:], False)
            kinds = {self._resolve_alias(kind_of(s.returns), s.scope, s.file): None for s in symbols}
            kinds.pop("", None)
            # Overloads that return different values (padding_unwrap: a str or a list) say nothing; of different
            # classes the first is as good as another.
            return "" if len(kinds) > 1 and KNOWN.issuperset(kinds) else next(iter(kinds), "")
        head, _, bare = plain.rpartition("::")
        if (
            head in ("", "at", "at::native", "torch", "at::redispatch", "at::cpu", "at::cuda", "at::meta")
            and bare in self.operators.by_cpp_name
        ):
            return self.operator_returns(bare, False)
        if head.startswith("at::_ops::") and bare in ("call", "redispatch"):
            return "Tensor"
        owners = self.functions.class_names(plain, scope, file)
        if owners:
            return owners[0]
        return ""
