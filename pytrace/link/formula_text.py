"""The text of derivative formulas: C++ expressions in which arguments become saved values.

The rules are ``tools/autograd/load_derivatives.py`` (``saved_variables``, ``_create_op_prefix``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple


class Saved(NamedTuple):
    """A value that the forward call saves for the backward formula."""

    name: str  #: what the formula calls it: ``self_sym_sizes``
    type: str  #: its C++ type, without const and reference
    expr: str  #: what is evaluated to save it: ``self.sym_sizes()``


class Call(NamedTuple):
    """A function that a formula calls."""

    name: str  #: as written, template arguments left out: ``at::native::foo``
    is_method: bool
    receiver: str  #: the text before ``.`` or ``->``; "" when it is no method
    nargs: int


class _Rewrite(NamedTuple):
    """One property that is saved in place of the tensor itself."""

    mark: str  #: what must occur in the formula, to skip the regular expression
    pattern: str  #: ``{}`` stands for the argument's name
    suffix: str  #: of the saved value; ``{}`` is the argument of the method
    type: str
    expr: str = ""  #: what to save, ``{}`` being the name; "" for what was matched
    result: str = ""  #: what stands in the formula afterwards; "" for name and suffix


_SYMINTS, _LONGS = "c10::SymIntArrayRef", "::std::vector<::std::vector<int64_t>>"

#: ``REPLACEMENTS`` of load_derivatives.py in its order: sizes and the like are saved so that the tensor need not be.
_REWRITES = (
    _Rewrite(".sym_sizes()", r"{}.sym_sizes\(\)", "_sym_sizes", _SYMINTS),
    _Rewrite(
        "->sym_sizes()",
        r"{}->sym_sizes\(\)",
        "_sym_sizes_opt",
        f"::std::optional<{_SYMINTS}>",
        "{0}.has_value() ? std::optional<c10::SymIntArrayRef>({0}->sym_sizes()) : std::nullopt",
    ),
    _Rewrite(
        "sym_blocksize()",
        r"{}.sym_blocksize\(\)",
        "_self_sym_blocksize_opt",
        f"::std::optional<{_SYMINTS}>",
        "at::sparse_csr::getSymIntBlockSize({0})",
    ),
    _Rewrite("options()", r"{}.options\(\)", "_options", "at::TensorOptions"),
    _Rewrite(
        "zeros_like(",
        r"zeros_like\({}\)",
        "_info",
        "torch::autograd::generated::TypeAndSize",
        "{0}",
        "{0}_info.zeros()",
    ),
    _Rewrite("sym_size(", r"{}.sym_size\((-?\w+)\)", "_sym_argsize_{}", "c10::SymInt"),
    _Rewrite("numel()", r"{}.numel\(\)", "_numel", "int64_t"),
    _Rewrite("sym_numel()", r"{}.sym_numel\(\)", "_sym_numel", "c10::SymInt"),
    _Rewrite("to_args_sizes(", r"to_args_sizes\({}\)", "_args_sizes", _LONGS),
    _Rewrite(
        "to_args_sizes_symint(",
        r"to_args_sizes_symint\({}\)",
        "_args_sizes_symint",
        "::std::vector<::std::vector<c10::SymInt>>",
    ),
    _Rewrite(
        "to_args_scalartypes(", r"to_args_scalartypes\({}\)", "_args_scalartypes", "::std::vector<at::ScalarType>"
    ),
    _Rewrite("TensorGeometry(", r"TensorGeometry\({}\)", "_geometry", "at::TensorGeometry"),
    _Rewrite("scalar_type()", r"{}.scalar_type\(\)", "_scalar_type", "at::ScalarType"),
    _Rewrite("dim()", r"{}.dim\(\)", "_dim", "int64_t"),
    _Rewrite("sym_strides()", r"{}.sym_strides\(\)", "_sym_strides", _SYMINTS, 'strides_or_error({0}, "{0}")'),
    _Rewrite("layout()", r"{}.layout\(\)", "_layout", "at::Layout"),
    _Rewrite("is_conj()", r"{}.is_conj\(\)", "_conjugate", "bool"),
)

_OPTIONAL_STRING = "::std::optional<c10::string_view>"


@cache
def _pattern(pattern: str, name: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{}", name, 1))


@cache
def _ident(name: str) -> re.Pattern[str]:
    # IDENT_REGEX of torchgen/utils.py
    return re.compile(rf"(^|\W){name}($|\W)")


def has_ident(name: str, formula: str) -> bool:
    """Whether the formula names ``name`` as a word."""
    return name in formula and _ident(name).search(formula) is not None


def replace_ident(name: str, by: str, formula: str) -> str:
    """Replace a word. Two that share one separator are not both replaced, as in torchgen."""
    return _ident(name).sub(lambda m: f"{m[1]}{by}{m[2]}", formula) if name in formula else formula


def saved_variables(formula: str, variables: Sequence[tuple[str, str]]) -> tuple[str, tuple[Saved, ...]]:
    """(formula on saved values, what is saved), for these (name, C++ type) of arguments or of results."""
    saved: list[Saved] = []
    for name, type_ in variables:
        if name not in formula:
            continue
        for rewrite in _REWRITES:
            if rewrite.mark in formula:
                formula = _apply(rewrite, name, formula, saved)
        if type_ == _OPTIONAL_STRING:
            # A node stores a string, the formula takes a view of it.
            view = f"{name}.has_value() ? std::optional<std::string_view>({name}.value()) : std::nullopt"
            formula = re.sub(rf"\b{name}\b", view, formula)
        if has_ident(name, formula):
            saved.append(Saved(name, type_, name))
    return formula, tuple(saved)


def _apply(rewrite: _Rewrite, name: str, formula: str, saved: list[Saved]) -> str:
    def replacement(match: re.Match[str]) -> str:
        suffix = rewrite.suffix
        if match.re.groups:
            suffix = suffix.format(match[1].replace("-", "minus_"))
        expr = rewrite.expr.format(name) if rewrite.expr else match[0]
        saved.append(Saved(name + suffix, rewrite.type, expr))
        return rewrite.result.format(name) if rewrite.result else name + suffix

    return _pattern(rewrite.pattern, name).sub(replacement, formula)


_GRADS_INDEX = re.compile(r"(?:^|\W)grads\[(\d+)\]")


def gradient_indices(formula: str) -> list[int]:
    """The i of every ``grads[i]``."""
    return [int(i) for i in _GRADS_INDEX.findall(formula)]


def node_prefix(name: str) -> str:
    """Operator without overload -> class of its autograd node, without number: ``add`` -> ``AddBackward``."""
    camel = "".join([part.title() for part in name.split("_")])
    return f"{camel}Backward".replace("ForwardBackward", "Backward")


# -- what a formula calls --------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*|->|\d[\w.]*|\S', re.DOTALL)
_TEMPLATE = re.compile(r"<[\w:\s,*<>]*>(?=\s*\()")
_OPEN, _CLOSE = "([{", ")]}"
#: Words before a parenthesis that call nothing.
_KEYWORDS = frozenset(("return", "sizeof", "if", "while", "for", "switch", "static_cast", "and", "or", "not"))


def called_names(formula: str) -> list[Call]:
    """The functions and methods that a formula calls, in the order in which they are written."""
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(_without_templates(formula)) if not m[0].startswith("/*")]
    calls = []
    for i, (word, _) in enumerate(tokens[:-1]):
        if tokens[i + 1][0] != "(" or not _is_name(word):
            continue
        method = i > 0 and tokens[i - 1][0] in (".", "->")
        receiver = _receiver(tokens, i - 2, formula) if method else ""
        calls.append(Call(word.removeprefix("::"), method, receiver, _arguments(tokens, i + 1)))
    return calls


def _is_name(word: str) -> bool:
    return (word[0].isalpha() or word[0] == "_" or word.startswith("::")) and word not in _KEYWORDS


def _without_templates(formula: str) -> str:
    """Blank ``<…>`` before a parenthesis, keeping all offsets."""
    return _TEMPLATE.sub(lambda m: " " * len(m[0]), formula)


def _arguments(tokens: Sequence[tuple[str, int]], start: int) -> int:
    """The number of arguments between the parenthesis at ``start`` and its partner."""
    depth, commas, empty = 0, 0, True
    for word, _ in tokens[start:]:
        if depth and word not in _CLOSE:
            empty = False
        if word in _OPEN:
            depth += 1
        elif word in _CLOSE:
            depth -= 1
            if not depth:
                break
        elif word == "," and depth == 1:
            commas += 1
    return 0 if empty else commas + 1


def _receiver(tokens: Sequence[tuple[str, int]], end: int, formula: str) -> str:
    """The text of the postfix expression that ends with token ``end``: ``(a + b)``, ``x.y(1)``, ``grads[0]``."""
    i = end
    while i >= 0:
        if tokens[i][0] in _CLOSE:
            depth = 0
            while i >= 0:
                depth += (tokens[i][0] in _CLOSE) - (tokens[i][0] in _OPEN)
                if not depth:
                    break
                i -= 1
            if i > 0 and (_is_name(tokens[i - 1][0]) or tokens[i - 1][0] in ")]"):
                i -= 1
                continue
        if i > 1 and tokens[i - 1][0] in (".", "->"):
            i -= 2
            continue
        break
    if i < 0 or end < 0:
        return ""
    return formula[tokens[i][1] : tokens[end][1] + len(tokens[end][0])]
