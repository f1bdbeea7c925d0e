"""Type expressions: what one file can say about the type of a C++ expression.

The link stage knows the operators and functions of the whole tree, one file does not. So an expression's
type is written down as a short string that link/types.py evaluates:

    Ttext        declared type, as written (``Tconst Tensor&``); literals: Tint Tdouble Tbool Tstr T{} Tnullopt Tnullptr
                 Tlambda
    Cname        what a call of ``name`` returns (``Cat::add``), or an object of class ``name``
    Mrecv|name   (``name(`` when arguments are given) what the method ``name`` returns on a receiver with type
                 expression ``recv``
    Frecv|name   the member ``name`` of it
    Irecv        an element: ``x[i]``, ``*x``, range-for
    Gn|recv      the n-th element of a tuple: ``std::get<n>(x)``, a structured binding
    Vname        a name that this file's function does not declare: a member, a global, a constant
    Lx           a braced list whose first element has type expression x
    Bx           a comparison whose left side has type expression x
    ?            unknown

A name with ``(`` behind it stands in an environment for what a local lambda of that name returns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Union

from pytrace.extract.cpp_lambdas import RETURNED, lambda_of
from pytrace.extract.cpp_text import angle_close, close_of, split_top, without_templates

UNKNOWN = "?"

_IDENT = re.compile(r"[A-Za-z_]\w*")
_QUALIFIED = re.compile(r"(?:::)?[A-Za-z_]\w*(?:\s*::\s*~?[A-Za-z_]\w*)*")
#: The shapes that most expressions have: ``x.f(…)``, ``x->f``; ``a::f(…)``, ``a::b``; nothing in parentheses inside.
_MEMBER_SHAPE = re.compile(r"([A-Za-z_]\w*)(?:\.|->)([A-Za-z_]\w*)(?:\(([^()]*)\))?$")
_CALL_SHAPE = re.compile(r"(?!std::|::)([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)(\([^()]*\))?$")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*)[uUlLzZ]*$")
_FLOAT = re.compile(r"[-+]?(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?$")
_CAST = re.compile(r"(?:static_cast|reinterpret_cast|const_cast|dynamic_cast|c10::checked_convert|safe_downcast)\s*<")
#: Methods that name the type of what they return: ``modules->at<LinearImpl>(0)``, ``module->as<Linear>()``
#: (torch/csrc/api/include/torch/nn/module.h), ``x.item<double>()`` (aten/src/ATen/templates/TensorBody.h),
#: ``scalar.to<float>()``, ``ivalue.to<Tensor>()`` (c10/core/Scalar.h, aten/src/ATen/core/ivalue.h).
_NAMED_TYPE = re.compile(r"\s*(?:template\s+)?(?:a[ts]|item|to)\s*<(.+)>\s*$")
_GET = re.compile(r"(?:std::)?get<\s*(\d+)\s*>\s*\(")
_PASS = re.compile(
    r"(?:std::move|std::forward\s*<[^()]*>|std::as_const|(?:c10::)?MaybeOwned<(?:at::)?Tensor>::(?:borrowed|owned)|std::ref|std::cref"
    r"|std::(?:min|max|abs|ceil|floor|round)(?:<[\w:]*>)?|c10::div_up|at::ceil_div|ceil_div|divup)\s*\("
)
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
    (
        re.compile(r"(?:at::|c10::|torch::)*k(?:CPU|CUDA|MPS|XPU|Meta|HIP|Vulkan|Metal|IPU|HPU|PrivateUse1|XLA|Lazy)$"),
        "TDeviceType",
    ),
    (re.compile(r"(?:at::|c10::|torch::)*k(?:Strided|Sparse\w*|Mkldnn|Jagged)$"), "TLayout"),
    (re.compile(r"(?:at::|c10::|torch::)*k(?:[A-Z]\w*)$"), "TScalarType"),
    (re.compile(r"(?:at::|c10::|torch::)*ScalarType::\w+$"), "TScalarType"),
    (re.compile(r"(?:at::|c10::|torch::)*DeviceType::\w+$"), "TDeviceType"),
    (re.compile(r"(?:at::|c10::|torch::)*Layout::\w+$"), "TLayout"),
    (re.compile(r"(?:at::|c10::|torch::)*MemoryFormat::\w+$"), "TMemoryFormat"),
    (re.compile(r"(?:at::)?Reduction::\w+$"), "Tint64_t"),
    (re.compile(r"LEGACY_CONTIGUOUS_MEMORY_FORMAT$"), "TMemoryFormat"),
)
#: What the first character of an expression says.
_BY_FIRST = {'"': "Tstr", "'": "Tchar", "!": "Tbool"}
_CONSTANT_FIRST = frozenset("actkSDLMR")


def member_split(text: str) -> tuple[str, str] | None:
    """``x.y`` or ``x->y`` split at the last such mark of the top level: (receiver, member); None without one."""
    depth, index, char = 0, len(text) - 1, ""
    while index > 0:
        behind, char = char, text[index]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0:
            if char == "." and text[index - 1] != "." and not (behind == "." or behind.isdigit()):
                return text[:index], text[index + 1 :]
            if char == ">" and text[index - 1] == "-":
                return text[: index - 1], text[index + 1 :]
        index -= 1
    return None


#: A type expression with holes for what the local names decide: a text without holes is a plain string, else
#: ``("V", name, otherwise)``, ``("K", name)`` for a call of ``name``, ``("P", before, form, behind)``,
#: ``("A", left, right)`` for arithmetic, and ``("(", name, cast, form)`` for ``(name)x``, a cast unless ``name`` is a
#: local.
Form = Union[str, "tuple[Any, ...]"]

#: How deep an expression is looked into: what stands deeper is unknown.
_DEEPEST = 8
_MOST, _LONGEST = 100_000, 200  #: of what is kept
_CUT = 99  #: height of a form that has a part which was not looked into
_forms: dict[str, tuple[Form, int]] = {}


def type_of(text: str, env: Mapping[str, str]) -> str:
    """The type expression of ``text``, with ``env`` giving the type expressions of the local names."""
    text = text.strip()
    known = env.get(text)
    return fill(form_of(text), env) if known is None else known


def form_of(text: str, postfix: bool = False) -> Form:
    """The form of a stripped text; ``fill`` makes it a type expression.

    ``postfix``: ``text`` is the receiver of a method, so it has no operator at its top level. Nobody has to look for
    one, which matters in chains of thousands of lines (``m.def(…).def(…)…``).
    """
    found = _forms.get(text)
    return (found or _form(text, 0, postfix))[0]


def fill(form: Form, env: Mapping[str, str]) -> str:
    """Fill the holes of a form."""
    if isinstance(form, str):
        return form
    kind = form[0]
    if kind == "V":
        return env.get(form[1], form[2])
    if kind == "K":
        return env.get(f"{form[1]}(") or f"C{form[1]}"
    if kind == "P":
        return f"{form[1]}{fill(form[2], env)}{form[3]}"
    if kind == "A":
        return _arithmetic(fill(form[1], env), fill(form[2], env))
    return fill(form[3], env) if form[1] in env else form[2]


def _form(text: str, depth: int, postfix: bool = False) -> tuple[Form, int]:
    """The form of a stripped text that stands ``depth`` levels deep in an expression, and how many levels it has.

    The same few texts are most of all arguments, so forms are kept: the form of a text that was looked into to its
    end does not depend on where it stands.
    """
    found = _forms.get(text)
    if found is not None and depth + found[1] <= _DEEPEST:
        return found
    if not text:
        return UNKNOWN, 0
    if depth > _DEEPEST:
        return UNKNOWN, _CUT
    found = _read(text, depth, postfix)
    if found[1] < _CUT and len(text) <= _LONGEST:
        if len(_forms) >= _MOST:
            _forms.clear()
        _forms[text] = found
    return found


def _inside(before: str, text: str, depth: int, behind: str = "", postfix: bool = False) -> tuple[Form, int]:
    """The form of ``text``, one level deeper, with something before and behind it."""
    form, height = _form(text.strip(), depth + 1, postfix)
    if height < _CUT:
        height += 1
    if isinstance(form, str):
        return f"{before}{form}{behind}", height
    return (form if not before and not behind else ("P", before, form, behind)), height


def _read(text: str, depth: int, postfix: bool) -> tuple[Form, int]:
    first = text[0]
    found = _IDENT.match(text)
    if found is not None:
        if found.end() == len(text):
            constant = _constant(text) if text[0] in "kL" else None
            return ("V", text, _KEYWORD_TYPES.get(text) or constant or "V" + text), 0
        quick = _quick(text, depth)
        if quick is not None:
            return quick
        if text.endswith("..."):  # a parameter pack
            return _inside("", text[:-3], depth)
        return _compound(text, depth, postfix)
    if first.isdigit() or (first in "-+." and len(text) > 1 and (text[1].isdigit() or text[1] == ".")):
        number = text.lstrip("-+")
        if _NUMBER.match(number):
            return "Tint", 0
        if _FLOAT.match(number):
            return "Tdouble", 0
    plain = _BY_FIRST.get(first)
    if plain is not None:
        return plain, 0
    if first == "[":
        if text[-1] != ")":
            return "Tlambda", 0
        made = lambda_of(text)  # called at once: what it returns
        if made is None or text[made.end : made.end + 1] != "(":
            return UNKNOWN, 0
        return (f"T{made.type}", 0) if made.type else _inside("", made.returned, depth)
    if first == "{":
        parts = split_top(text[1:-1])
        return _inside("L", parts[0], depth) if parts else ("T{}", 0)
    if first == "*":
        return _inside("I", text[1:], depth)
    if first in "&-~":
        return _inside("", text[1:], depth)
    if first == "(":
        end = close_of(text, 0, len(text))
        if end == len(text):
            return _inside("", text[1:-1], depth)
        inner = text[1 : end - 1].strip()
        if _QUALIFIED.fullmatch(inner) and text[end:].strip()[:1].isalnum():
            form, height = _compound(text, depth, postfix)
            return ("(", inner, "T" + inner, form), height
    return _compound(text, depth, postfix)


def _quick(text: str, depth: int) -> tuple[Form, int] | None:
    """The form of a text of the commonest shapes; None when it has another."""
    found = _MEMBER_SHAPE.match(text)
    if found is not None:
        name, member, given = found.groups()
        if given is None:
            return _inside("F", name, depth, f"|{member}")
        return _inside("M", name, depth, f"|{member}(" if given and not given.isspace() else f"|{member}")
    found = _CALL_SHAPE.match(text)
    if found is None:
        return None
    name, called = found.groups()
    if called is None:
        return _constant(text) or _KEYWORD_TYPES.get(text) or "V" + text, 0
    return None if _PASS.match(text) else (("C" + name if "::" in name else ("K", name)), 0)


def _constant(text: str) -> str | None:
    if text[0] not in _CONSTANT_FIRST:
        return None
    for pattern, kind in _CONSTANTS:
        if pattern.match(text):
            return kind
    return None


def _compound(text: str, depth: int, postfix: bool) -> tuple[Form, int]:
    operator = None if postfix else _top_level_operator(text)
    if operator is not None:
        return _operation(text, *operator, depth)
    last = text[-1]
    if last == ")":
        cast = _CAST.match(text)
        if cast:
            end = angle_close(text, cast.end() - 1, len(text))
            close = close_of(text, text.find("(", end), len(text))
            if close == len(text):
                return "T" + text[cast.end() : end - 1].strip(), 0
        get = _GET.match(text)
        if get and close_of(text, get.end() - 1, len(text)) == len(text):
            return _inside(f"G{get[1]}|", text[get.end() : -1], depth)
        passed = _PASS.match(text)
        if passed and close_of(text, passed.end() - 1, len(text)) == len(text):
            inner = split_top(text[passed.end() : -1])
            return _inside("", inner[0], depth) if inner else (UNKNOWN, 0)
        return _call(text, depth)
    if last == "}":
        head = text[: open_of(text)].strip()
        return ("T" + head if head and _QUALIFIED.match(head) else UNKNOWN), 0
    if last == "]":
        bracket = open_of(text)
        return _inside("I", text[:bracket], depth, "", True) if bracket > 0 else ("I" + UNKNOWN, 0)
    member = member_split(text)
    if member is not None:
        return _inside("F", member[0], depth, f"|{member[1].strip()}", postfix)
    constant = _constant(text)
    if constant:
        return constant, 0
    if text in _KEYWORD_TYPES:
        return _KEYWORD_TYPES[text], 0
    return ("V" + text if _QUALIFIED.fullmatch(text) else UNKNOWN), 0


def _operation(text: str, start: int, end: int, mark: str, depth: int) -> tuple[Form, int]:
    """The form of an expression with a binary operator (or ``?``) at its top level."""
    if mark == "?":
        colon = _top_colon(text, end)
        return _inside("", text[end:colon], depth) if colon else (UNKNOWN, 0)
    if mark in ("&&", "||"):
        return "Tbool", 0
    if mark in ("==", "!=", "<", ">", "<=", ">="):
        return _inside("B", text[:start], depth)
    left, height = _inside("", text[:start], depth)
    right, other = _inside("", text[end:], depth)
    height = max(height, other)
    if isinstance(left, str) and isinstance(right, str):
        return _arithmetic(left, right), height
    return ("A", left, right), height


def _arithmetic(left: str, right: str) -> str:
    """A Tensor wins over numbers, a float over an integer, what is known over what is not."""
    return right if _rank(right) > _rank(left) else left


def _rank(kind: str) -> int:
    """How much an operand's type decides the type of an arithmetic expression."""
    if kind.startswith("T"):
        return 4 if "Tensor" in kind else 1 if kind in ("Tdouble", "Tfloat") else 0
    return -1 if kind == UNKNOWN else 2


def _call(text: str, depth: int) -> tuple[Form, int]:
    head = text[: open_of(text)].strip()
    if not head:
        return UNKNOWN, 0
    if head.startswith("AT_DISPATCH_"):
        returned = RETURNED.search(text)
        return _inside("", returned[1], depth) if returned else (UNKNOWN, 0)
    member = member_split(head)
    if member is not None:
        named = _NAMED_TYPE.match(member[1])
        if named:
            return "T" + named[1].strip(), 0
        name = without_templates(member[1].replace("template ", "")).strip()
        # a trailing "(" says that arguments were given: TensorOptions' getters and setters share their names
        given = "" if text[len(head) :].replace(" ", "").endswith("()") else "("
        return _inside("M", member[0], depth, f"|{name}{given}", True)
    if head[-1] in ")}":
        return UNKNOWN, 0
    if _IDENT.fullmatch(head):
        return ("K", head), 0
    return ("C" + head if "<" in head or _QUALIFIED.fullmatch(head) else UNKNOWN), 0


def open_of(text: str) -> int:
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
_MARK = re.compile(r"[-?&|=!<>+*/%]")
_LEVEL = {
    "?": 0,
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<=": 4,
    ">=": 4,
    "<": 4,
    ">": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}


def _top_level_operator(text: str) -> tuple[int, int, str] | None:
    """(start, end, mark) of the loosest binary operator at the top level of ``text``, or None."""
    if _MARK.search(text, 1) is None:
        return None
    depth = skip = 0
    best: tuple[int, int, str] | None = None
    best_level = 99
    for found in _OPERATOR.finditer(text, 0 if text[0] in "([{" else 1):
        mark, start = found[0], found.start()
        if start < skip:
            continue
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif depth or mark[0] in "\"'" or start == 0:
            continue
        elif mark == "<":
            end = angle_close(text, start, len(text))
            if end > start and (end == len(text) or text[end] in "(){}:,; >&*"):
                skip = end
            elif best_level >= 4:
                best, best_level = (start, found.end(), mark), 4
        elif mark == "-" and text[start + 1 : start + 2] == ">":
            skip = start + 2
        elif mark in "-*+&" and _before(text, start) in "(,=<>+-*/?:&|":
            continue
        else:
            level = _LEVEL[mark]
            if level <= best_level and not (level == 0 and best_level == 0):
                best, best_level = (start, found.end(), mark), level
    return best


def _before(text: str, index: int) -> str:
    """The last character before ``index`` that is no white space; "" when there is none."""
    while index and text[index - 1].isspace():
        index -= 1
    return text[index - 1 : index]


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
