"""Type expressions: what one file can say about the type of a C++ expression.

The link stage knows the operators and functions of the whole tree, one file does not. So an expression's
type is written down as a short string that link/types.py evaluates:

    Ttext        declared type, as written (``Tconst Tensor&``); literals: Tint Tdouble Tbool Tstr T{} Tnullopt Tnullptr Tlambda
    Cname        what a call of ``name`` returns (``Cat::add``), or an object of class ``name``
    Mrecv|name   (``name(`` when arguments are given) what the method ``name`` returns on a receiver with type expression ``recv``
    Frecv|name   the member ``name`` of it
    Irecv        an element: ``x[i]``, ``*x``, range-for
    Gn|recv      the n-th element of a tuple: ``std::get<n>(x)``, a structured binding
    Vname        a name that this file's function does not declare: a member, a global, a constant
    Lx           a braced list whose first element has type expression x
    Bx           a comparison whose left side has type expression x
    ?            unknown
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytrace.extract.cpp_text import angle_close, close_of, split_top, without_templates

UNKNOWN = "?"

_IDENT = re.compile(r"[A-Za-z_]\w*")
_QUALIFIED = re.compile(r"(?:::)?[A-Za-z_]\w*(?:\s*::\s*~?[A-Za-z_]\w*)*")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*)[uUlLzZ]*$")
_FLOAT = re.compile(r"[-+]?(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?$")
_CAST = re.compile(r"(?:static_cast|reinterpret_cast|const_cast|dynamic_cast|c10::checked_convert|safe_downcast)\s*<")
#: ``modules->at<LinearImpl>(0)``, ``module->as<Linear>()`` (torch/csrc/api/include/torch/nn/module.h) name their type.
_NAMED_TYPE = re.compile(r"\s*(?:template\s+)?a[ts]\s*<(.+)>\s*$")
_GET = re.compile(r"(?:std::)?get<\s*(\d+)\s*>\s*\(")
_PASS = re.compile(
    r"(?:std::move|std::forward\s*<[^()]*>|std::as_const|c10::MaybeOwned<Tensor>::(?:borrowed|owned)|std::ref|std::cref"
    r"|std::(?:min|max|abs|ceil|floor|round)(?:<[\w:]*>)?|c10::div_up|at::ceil_div|ceil_div|divup)\s*\("
)
_COMPARE = re.compile(r"[^<>=!]([=!]=|<=|>=|&&|\|\||<(?![<\w:])|(?<![->])>(?![>:]))")
_KEYWORD_TYPES = {
    "true": "Tbool",
    "false": "Tbool",
    "nullptr": "Tnullptr",
    "NULL": "Tnullptr",
    "std::nullopt": "Tnullopt",
    "c10::nullopt": "Tnullopt",
    "nullopt": "Tnullopt",
    "this": "Tthis",
    "INFINITY": "Tdouble",
    "NAN": "Tdouble",
    "M_PI": "Tdouble",
}
#: c10's constants of enum type, by their spelling rule (c10/core/ScalarType.h, DeviceType.h, Layout.h).
_CONSTANTS = (
    (re.compile(r"(?:at::|c10::|torch::)*k(?:CPU|CUDA|MPS|XPU|Meta|HIP|Vulkan|Metal|IPU|HPU|PrivateUse1|XLA|Lazy)$"), "TDeviceType"),
    (re.compile(r"(?:at::|c10::|torch::)*k(?:Strided|Sparse\w*|Mkldnn|Jagged)$"), "TLayout"),
    (re.compile(r"(?:at::|c10::|torch::)*k(?:[A-Z]\w*)$"), "TScalarType"),
    (re.compile(r"(?:at::|c10::|torch::)*ScalarType::\w+$"), "TScalarType"),
    (re.compile(r"(?:at::|c10::|torch::)*DeviceType::\w+$"), "TDeviceType"),
    (re.compile(r"(?:at::|c10::|torch::)*Layout::\w+$"), "TLayout"),
    (re.compile(r"(?:at::|c10::|torch::)*MemoryFormat::\w+$"), "TMemoryFormat"),
    (re.compile(r"(?:at::)?Reduction::\w+$"), "Tint64_t"),
    (re.compile(r"LEGACY_CONTIGUOUS_MEMORY_FORMAT$"), "TMemoryFormat"),
)
_BINARY = re.compile(r"\s[-+*/%]\s")


def member_split(text: str) -> tuple[str, str] | None:
    """``x.y`` or ``x->y`` at the top level, split at the last such mark: (receiver, member); None when there is none."""
    depth, index = 0, len(text) - 1
    while index > 0:
        char = text[index]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0:
            if char == "." and not text[index + 1 : index + 2].isdigit():
                return text[:index], text[index + 1 :]
            if char == ">" and text[index - 1] == "-":
                return text[: index - 1], text[index + 1 :]
        index -= 1
    return None


def type_of(text: str, env: Mapping[str, str], depth: int = 0) -> str:
    """The type expression of ``text``, with ``env`` giving the type expressions of the local names."""
    text = text.strip()
    if not text or depth > 8:
        return UNKNOWN
    known = env.get(text)
    if known is not None:
        return known
    first = text[0]
    found = _IDENT.match(text)
    if found is not None and found.end() == len(text):
        return _KEYWORD_TYPES.get(text) or _constant(text) or "V" + text
    if first.isdigit() or (first in "-+." and len(text) > 1 and (text[1].isdigit() or text[1] == ".")):
        number = text.lstrip("-+")
        if _NUMBER.match(number):
            return "Tint"
        if _FLOAT.match(number):
            return "Tdouble"
    if first == '"':
        return "Tstr"
    if first == "'":
        return "Tchar"
    if first == "{":
        parts = split_top(text[1:-1])
        return "T{}" if not parts else "L" + type_of(parts[0], env, depth + 1)
    if first == "[":
        return "Tlambda"
    if first == "!":
        return "Tbool"
    if first in "*":
        return "I" + type_of(text[1:], env, depth + 1)
    if first == "&":
        return type_of(text[1:], env, depth + 1)
    if first in "-~":
        return type_of(text[1:], env, depth + 1)
    if first == "(":
        end = close_of(text, 0, len(text))
        if end == len(text):
            return type_of(text[1:-1], env, depth + 1)
        inner = text[1 : end - 1].strip()
        if _QUALIFIED.fullmatch(inner) and inner not in env and (text[end:].strip()[:1].isalnum()):
            return "T" + inner
    return _compound(text, env, depth)


def _constant(text: str) -> str | None:
    for pattern, kind in _CONSTANTS:
        if pattern.match(text):
            return kind
    return None


def _compound(text: str, env: Mapping[str, str], depth: int) -> str:
    operator = _top_level_operator(text)
    if operator is not None:
        start, end, mark = operator
        if mark == "?":
            colon = _top_colon(text, end)
            return type_of(text[end:colon], env, depth + 1) if colon else UNKNOWN
        left = type_of(text[:start], env, depth + 1)
        if mark in ("&&", "||"):
            return "Tbool"
        if mark in ("==", "!=", "<", ">", "<=", ">="):
            return "B" + left
        right = type_of(text[end:], env, depth + 1)
        # arithmetic: a Tensor wins over numbers, a float over an integer, what is known over what is not
        if _rank(right) > _rank(left):
            return right
        return left
    last = text[-1]
    if last == ")":
        cast = _CAST.match(text)
        if cast:
            end = angle_close(text, cast.end() - 1, len(text))
            close = close_of(text, text.find("(", end), len(text))
            if close == len(text):
                return "T" + text[cast.end() : end - 1].strip()
        get = _GET.match(text)
        if get and close_of(text, get.end() - 1, len(text)) == len(text):
            return f"G{get[1]}|" + type_of(text[get.end() : -1], env, depth + 1)
        passed = _PASS.match(text)
        if passed and close_of(text, passed.end() - 1, len(text)) == len(text):
            inner = split_top(text[passed.end() : -1])
            return type_of(inner[0], env, depth + 1) if inner else UNKNOWN
        return _call(text, env, depth)
    if last == "}":
        brace = _open_of(text)
        head = text[:brace].strip()
        return "T" + head if head and _QUALIFIED.match(head) else UNKNOWN
    if last == "]":
        bracket = _open_of(text)
        return "I" + type_of(text[:bracket], env, depth + 1) if bracket > 0 else UNKNOWN
    member = member_split(text)
    if member is not None:
        return "F" + type_of(member[0], env, depth + 1) + "|" + member[1].strip()
    constant = _constant(text)
    if constant:
        return constant
    if text in _KEYWORD_TYPES:
        return _KEYWORD_TYPES[text]
    if _QUALIFIED.fullmatch(text):
        return "V" + text
    return UNKNOWN


def _rank(kind: str) -> int:
    """How much an operand's type decides the type of an arithmetic expression."""
    if kind.startswith("T"):
        return 4 if "Tensor" in kind else 1 if kind in ("Tdouble", "Tfloat") else 0
    return -1 if kind == UNKNOWN else 2


def _call(text: str, env: Mapping[str, str], depth: int) -> str:
    head = text[: _open_of(text)].strip()
    if not head:
        return UNKNOWN
    member = member_split(head)
    if member is not None:
        named = _NAMED_TYPE.match(member[1])
        if named:
            return "T" + named[1].strip()
        name = without_templates(member[1].replace("template ", "")).strip()
        # a trailing "(" says that arguments were given: TensorOptions' getters and setters share their names
        given = "" if text[len(head) :].replace(" ", "").endswith("()") else "("
        return "M" + type_of(member[0], env, depth + 1) + "|" + name + given
    if head[-1] in ")}":
        return UNKNOWN
    return "C" + head if "<" in head else ("C" + head if _QUALIFIED.fullmatch(head) else UNKNOWN)


def _open_of(text: str) -> int:
    """Offset of the bracket that the last character of ``text`` closes (0 when unbalanced)."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        char = text[index]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            depth -= 1
            if depth == 0:
                return index
    return 0


_OPERATOR = re.compile(r"\?|&&|\|\||[=!<>]=|[-+*/%]|<|>|[()\[\]{}]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)+'")
_LEVEL = {"?": 0, "||": 1, "&&": 2, "==": 3, "!=": 3, "<=": 4, ">=": 4, "<": 4, ">": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}


def _top_level_operator(text: str) -> tuple[int, int, str] | None:
    """(start, end, mark) of the loosest binary operator at the top level of ``text``, or None."""
    depth, index, size = 0, 1, len(text)
    best: tuple[int, int, str] | None = None
    best_level = 99
    if text[0] in "([{":
        index = 0
    while index < size:
        found = _OPERATOR.search(text, index)
        if found is None:
            break
        mark, start, index = found[0], found.start(), found.end()
        if mark in ("(", "[", "{"):
            depth += 1
        elif mark in (")", "]", "}"):
            depth -= 1
        elif depth or mark[0] in "\"'" or start == 0:
            continue
        elif mark == "<":
            end = angle_close(text, start, size)
            if end > start and (end == size or text[end] in "(){}:,; >&*"):
                index = end
            elif best_level >= 4:
                best, best_level = (start, index, mark), 4
        elif mark == "-" and text[start : start + 2] == "->":
            index = start + 2
        elif mark in "-*+&" and text[:start].rstrip()[-1:] in ("", "(", ",", "=", "<", ">", "+", "-", "*", "/", "?", ":", "&", "|"):
            continue
        else:
            level = _LEVEL.get(mark)
            if level is not None and (level <= best_level and not (level == 0 and best_level == 0)):
                best, best_level = (start, index, mark), level
    return best


def _top_colon(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        char = text[index]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == ":" and depth == 0:
            if text[index + 1 : index + 2] == ":" or text[index - 1] == ":":
                continue
            return index
    return 0
