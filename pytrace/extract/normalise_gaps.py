"""C++ that the grammar does not know (tree-sitter-cuda 0.21, the same in tree-sitter-cpp 0.23), rewritten, same length.

What is rare is only tried (``repair``) when the first parse has an error: the search alone costs more than it gains.
Each rule: what it is about, the key bytes without which the pattern is not tried (a search for a few bytes costs a
hundredth of a regular expression), the pattern, what takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pytrace.extract.normalise_conditionals import blank, line_before

_CAPTURE = re.compile(rb"(\w+)(?:\{[^{}]*\}|\((?:[^()]|\([^()]*\))*\))")
_NOT_NEWLINE = re.compile(rb"[^\n]")
Replacement = Callable[[re.Match[bytes]], bytes]
Rules = tuple[tuple[bytes, re.Pattern[bytes], Replacement], ...]


def rewrite(source: bytes) -> bytes:
    """``source`` with what the grammar lacks rewritten, as far as it is common."""
    return _apply(_COMMON, source)


def repair(source: bytes) -> bytes:
    """``source`` with everything else rewritten that the grammar lacks; ``source`` itself when there is nothing."""
    changed = _apply(_RARE, source)
    if b" friend " in changed:
        changed = _friends(changed)
    return source if changed == source else changed


def _apply(rules: Rules, source: bytes) -> bytes:
    for key, pattern, replacement in rules:
        if key in source:
            source = pattern.sub(replacement, source)
    return source


def _friends(source: bytes) -> bytes:
    """``inline friend``, ``__device__ friend`` → ``friend``: the grammar wants it first."""
    out = bytearray(source)
    at = source.find(b" friend ")
    while at >= 0:
        start = source.rfind(b"\n", 0, at) + 1
        if _SPECIFIERS.fullmatch(source, start, at):
            out[start:at] = b" " * (at - start)
        at = source.find(b" friend ", at + 8)
    return bytes(out)


_SPECIFIERS = re.compile(rb"\s*(?:(?:inline|static|constexpr|__\w+__)\s*)+")


def _blank_group(match: re.Match[bytes]) -> bytes:
    """The match with its group blanked."""
    text = bytearray(match[0])
    base = match.start()
    start, end = match.span(1)
    blank(text, start - base, end - base)
    return bytes(text)


def _braces_to_parens(match: re.Match[bytes]) -> bytes:
    """``= {x}`` → ``= (x)``, ``= {}`` → ``= 0 ``."""
    inner = match[1]
    return b"= (" + inner + b")" if inner.strip() else b"= 0 " + inner


def _decltype_value(match: re.Match[bytes]) -> bytes:
    """``decltype(x){0}`` → ``(x)(0)``, behind blanks."""
    return b" " * 8 + match[1] + b"(" + match[2] + b")"


def _spaces(match: re.Match[bytes]) -> bytes:
    """As many blanks, newlines kept."""
    return _NOT_NEWLINE.sub(b" ", match[0])


def _comparison(match: re.Match[bytes]) -> bytes:
    """``>=`` → ``==``, ``>`` → ``+``: what does not close the template's arguments."""
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + (b"==" if match[1] == b">=" else b"+") + match[0][end:]


def _any_type(match: re.Match[bytes]) -> bytes:
    """``static_cast<R (T::*)(A)>`` → ``static_cast<T>``, ``using X = R (T::*)(A);`` → ``using X = T;``, with blanks."""
    return match[1] + b"T" + _NOT_NEWLINE.sub(b" ", match[2])[1:] + match[0][-1:]


def _captures(match: re.Match[bytes]) -> bytes:
    """``[x{a}, y(b)]`` → ``[x=a , y=b ]``; a subscript stays."""
    before = match.string[match.start() - 1 : match.start()]
    if before.isalnum() or before in (b"_", b")", b"]"):
        return match[0]
    return b"[" + _CAPTURE.sub(lambda m: m[1] + b"=" + m[0][len(m[1]) + 1 : -1] + b" ", match[1]) + b"]"


def _x_macro(match: re.Match[bytes]) -> bytes:
    """Blank the three lines inside braces that hold no statements."""
    line, start = line_before(match.string, match.start())
    if line[-1:] == b"," or (
        line[-1:] == b"{" and (b"=" in line or b"enum" in match.string[max(0, start - 80) : match.start()])
    ):
        return _spaces(match)
    return match[0]


def _equal(match: re.Match[bytes]) -> bytes:
    """``A::k >= 80`` → ``A::k == 80``."""
    return match[0].replace(b">=", b"==").replace(b">", b"<")


_MEMBER_POINTER = rb"[\w:<>,*& \n]*\(\w[\w:]*::\*\)\([^()]*\)\s*(?:const)?\s*"

_COMMON: Rules = (
    # default argument `= {}`, `= {1, 2}`: the grammar wants a type before the braces
    (b"= {", re.compile(rb"= \{([^{}()\n;=]*)\}(?=\s*[,)])"), _braces_to_parens),
    # no_sanitize attributes of c10/macros/Macros.h
    (b"__ubsan_", re.compile(rb"(?<!define )(__ubsan_ignore_\w+__)"), _blank_group),
    # macros without `;` that open a Python object (CPython's object.h)
    (b"Object_HEAD", re.compile(rb"(\bPy(?:Var)?Object_HEAD(?:_INIT\((?:[^()\n]|\([^()\n]*\))*\))?)"), _blank_group),
    # a deleted function that is no member: the declaration is left
    (b"delete;", re.compile(rb"(=\s*delete);"), _blank_group),
    # `decltype(x){0}` as a value: the grammar has decltype as a type only
    (b"decltype", re.compile(rb"decltype(\([\w.:>-]+(?:\(\))?\))\{([^{}\n]*)\}"), _decltype_value),
    # unnamed pointer template parameter with a default: `enable_if_t<…>* = nullptr>`
    (b"nullptr>", re.compile(rb">\s*(\*)\s*=\s*nullptr>"), _blank_group),
    # where a lambda runs: `[=] __device__ (…)`
    (b"__device__", re.compile(rb"\]([ \t]*__(?:device|host)__(?:[ \t]*__(?:device|host)__)?)"), _blank_group),
    # `typename T::X{}` as an expression, `using typename T::x`
    (b"typename ", re.compile(rb"(typename )[\w:]+(?:<[\w, ]*>)?(?:::\w+)+[({]"), _blank_group),
    # placeholders of torchgen's code templates
    (b"$", re.compile(rb"(?<=\n)[ \t]*\$\{\w*\}(?=[ \t]*\n)"), _spaces),
    (b"$", re.compile(rb"\$\{\w*\}"), lambda m: b"_" * len(m[0])),
)

_RARE: Rules = (
    # default argument `={}`
    (b"={}", re.compile(rb"=\{\}(?=\s*[,)])"), lambda m: b"=0 "),
    # explicit instantiation of a class: the grammar wants a declarator
    (b"template class ", re.compile(rb"\n[ \t]*((?:extern )?template)(?= class )"), _blank_group),
    (b"template struct ", re.compile(rb"\n[ \t]*((?:extern )?template)(?= struct )"), _blank_group),
    # `offsetof(a, b[0])`: a plain call reads any arguments
    (b"offsetof", re.compile(rb"offsetof(?=\()"), lambda m: b"offset_f"),
    (b"using typename", re.compile(rb"using (typename) "), _blank_group),
    # `static MACRO(…)`
    (b"\nstatic ", re.compile(rb"\n(static )(?=[A-Z][A-Z0-9_]{3,}\()"), _blank_group),
    # a specialised call operator, and a call of it with its template arguments
    (b"operator()<", re.compile(rb"operator\(\)(<[^<>()]*>)(?=\s*\()"), _blank_group),
    (b".template operator", re.compile(rb"\.(template )operator\b"), _blank_group),
    # `A::kMinComputeCapability >= 80` between template arguments: `>` closes them (CUTLASS)
    (b"Capability >", re.compile(rb"::\w+Capability >=? \d"), _equal),
    # `enable_if<A::x >= 75>`, `enable_if_t<N >= 0, int>`
    (b"enable_if", re.compile(rb"enable_if(?:_t)?<[^<>;{}()]*? (>=?) ?\w+(?=\s*[,>&])"), _comparison),
    # pointers to members
    (b"->*", re.compile(rb"->\*"), lambda m: b"-> "),
    (b"::*)(", re.compile(rb"\(" + _MEMBER_POINTER + rb"\)(?=\s*&)"), _spaces),
    (b"::*)(", re.compile(rb"(static_cast<)(" + _MEMBER_POINTER + rb")>"), _any_type),
    (b"::*)(", re.compile(rb"(using \w+ = )(" + _MEMBER_POINTER + rb");"), _any_type),
    # a function type with templates: too many readings for the parser, in some places
    (b".typed<", re.compile(rb"(\.typed<)([^;{}]*?)>(?=\(\))"), _any_type),
    # captures with initialisers in braces or parentheses
    (
        b"](",
        re.compile(rb"\[((?:[&=\w, \n]*\w(?:\{[^{}]*\}|\((?:[^()]|\([^()]*\))*\)))+[&\w, \n]*)\](?=\()"),
        _captures,
    ),
    # `va_arg(list, type)`
    (b"va_arg(", re.compile(rb"va_arg\(\w+(,[^()\n]*)\)"), _blank_group),
    # `(throw x, y)`, `? throw x`
    (b"(throw ", re.compile(rb"\((throw )"), _blank_group),
    # format macros of <inttypes.h> between strings
    (b"PRI", re.compile(rb"(?<=[\s\"])(PRI[a-zA-Z]\w*)(?=[\s\",)])"), _blank_group),
    # a list of enumerators or initialisers by macro: `#define X(n) n,`, `FORALL(X)`, `#undef X`
    (
        b"#undef ",
        re.compile(rb"\n[ \t]*#define (\w+)\(.*(?:\\\n.*)*(?:\s*\w+\(\1\b[^()\n]*\),?)+\s*#undef \1\b"),
        _x_macro,
    ),
)
