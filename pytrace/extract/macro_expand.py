"""The C preprocessor's expansion of a macro invocation, text to text.

The rules are those of the C++ standard, [cpp.replace]: arguments are expanded before they are substituted unless ``#``
or ``##`` takes them, ``__VA_ARGS__`` and ``__VA_OPT__``, rescanning together with the text that follows, and no macro
inside its own expansion (hide sets, as in Prosser's algorithm). Of the GNU extensions: ``, ##__VA_ARGS__`` and
``args...``. Input is other people's text, so expansion is bounded: see ``MacroError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

#: A definition: name, parameters (None: object-like), body (None: undefined), line; ``macros.Define`` is one.
Definition = tuple[str, "tuple[str, ...] | None", "str | None", int]

#: Finds a macro's definition by its name; None when it is not known (then the name stays as it is).
Lookup = Callable[[str], "Definition | None"]

MAX_TOKENS = 400_000  #: tokens that one expansion may handle; PyTorch's largest needs some 50,000
MAX_DEPTH = 200  #: macros inside each other's expansion, and arguments inside arguments


class MacroError(ValueError):
    """An invocation that cannot be expanded: its arguments do not fit, or its expansion has no reasonable end.

    The message says which macro and why. Way out: keep the invocation as an unresolved name.
    """


#: A preprocessing token, whether a blank stands before it, and the macros it may not expand to any more.
_Token = tuple[str, bool, frozenset[str]]

_TOKEN = re.compile(
    r"(\s+|/\*.*?\*/|//[^\n]*)|((?:u8|[uUL])?R\"([^()\s\\\"]{0,16})\(.*?\)\3\"|(?:u8|[uUL])?\"(?:[^\"\\]|\\.)*\""
    r"|'(?:[^'\\]|\\.)*'|[^\W\d]\w*|\.?\d(?:[eEpP][+-]|'?[\w.])*"
    r"|##|::|->\*?|\+\+|--|&&|\|\||<<=?|>=|<=|==|!=|[-+*/%&|^]=|\.\.\.|.)",
    re.DOTALL,
)
_NOTHING: frozenset[str] = frozenset()
_PLACEMARKER: _Token = ("", False, _NOTHING)


def parse_invocation(text: str) -> tuple[str, list[str]] | None:
    """``NAME(a, b)`` → (``NAME``, [``a``, ``b``]) by the preprocessor's rule: only parentheses protect a comma.

    ``NAME`` alone has no arguments. None when ``text`` does not begin with an invocation.
    """
    tokens = _tokens(text)
    if not tokens or not tokens[0][0].isidentifier():
        return None
    if len(tokens) < 2 or tokens[1][0] != "(":
        return tokens[0][0], []
    found = _collect(list(reversed(tokens)), len(tokens) - 3)
    if found is None:
        return None
    arguments = [_render(argument) for argument in found[0]]
    return tokens[0][0], [] if arguments == [""] else arguments


def expand(name: str, args: Sequence[str], lookup: Lookup) -> str:
    """The full expansion of the invocation ``name(*args)``.

    ``args`` are source texts, as ``parse_invocation`` gives them. ``lookup`` knows the macros; names it does not know
    stay. An unknown ``name`` and an expansion without a reasonable end raise ``MacroError``.
    """
    found = lookup(name)
    if found is None or found[2] is None:
        raise MacroError(f"macro {name} is not defined")
    budget = _Budget(name)
    if found[1] is None:
        tokens = _object_like(found, _NOTHING, False)
    else:
        tokens = _function_like(found, [list(_tokens(arg)) for arg in args], _NOTHING, False, lookup, None, budget, 0)
    return _render(_rescan(tokens, lookup, None, budget, 0))


def expand_text(text: str, lookup: Lookup, only: Container[str] | None = None) -> str:
    """``text`` with every macro expanded that ``lookup`` knows (and ``only`` contains, when given), at any depth.

    An invocation whose arguments are incomplete or do not fit stays as it is; an expansion without a reasonable end
    raises ``MacroError``.
    """
    return _render(_rescan(list(_tokens(text)), lookup, only, _Budget("text"), 0))


class _Budget:
    """Counts the work of one expansion, and keeps what its names mean."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.left = MAX_TOKENS
        self.known: dict[str, Definition | None] = {}  #: tokens that were looked up; None: nothing to expand

    def spend(self, tokens: int) -> None:
        self.left -= tokens
        if self.left < 0:
            raise MacroError(f"the expansion of {self.name} passes {MAX_TOKENS} tokens")


def _rescan(
    tokens: list[_Token], lookup: Lookup, only: Container[str] | None, budget: _Budget, depth: int
) -> list[_Token]:
    """Expand a token list."""
    if depth > MAX_DEPTH:
        raise MacroError(f"the expansion of {budget.name} is nested deeper than {MAX_DEPTH}")
    todo = tokens[::-1]
    done: list[_Token] = []
    known = budget.known
    budget.spend(len(todo))
    while todo:
        token = todo.pop()
        text = token[0]
        try:
            found = known[text]
        except KeyError:
            found = known[text] = _found(text, lookup, only)
        if found is None or text in token[2]:
            done.append(token)
            continue
        _, space, hide = token
        if len(hide) > MAX_DEPTH:
            raise MacroError(f"the expansion of {budget.name} is nested deeper than {MAX_DEPTH}")
        if found[1] is None:
            new = _object_like(found, hide, space)
        else:
            call = _collect(todo, len(todo) - 2) if todo and todo[-1][0] == "(" else None
            if call is None:
                done.append(token)
                continue
            arguments, rest, closing = call
            try:
                new = _function_like(found, arguments, hide & closing[2], space, lookup, only, budget, depth)
            except _ArgumentCount:
                done.append(token)
                continue
            del todo[rest:]
        budget.spend(len(new))
        new.reverse()
        todo += new
    return done


def _found(text: str, lookup: Lookup, only: Container[str] | None) -> Definition | None:
    """The definition to which a token expands; None when it is no name, or no macro."""
    if not text.isidentifier() or (only is not None and text not in only):
        return None
    found = lookup(text)
    return found if found is not None and found[2] is not None else None


def _collect(todo: list[_Token], start: int) -> tuple[list[list[_Token]], int, _Token] | None:
    """The arguments of a call: ``todo`` read backwards from ``start``, the token behind its ``(``.

    Returns them, how many tokens of ``todo`` are left behind the ``)``, and the ``)``; None when it never comes.
    """
    arguments: list[list[_Token]] = [[]]
    depth = 0
    for at in range(start, -1, -1):
        token = todo[at]
        text = token[0]
        if text == "(":
            depth += 1
        elif text == ")":
            if depth == 0:
                return arguments, at, token
            depth -= 1
        elif text == "," and depth == 0:
            arguments.append([])
            continue
        arguments[-1].append(token)
    return None


def _object_like(found: Definition, hide: frozenset[str], space: bool) -> list[_Token]:
    """The replacement of an object-like macro."""
    return _hidden(_paste(list(_tokens(found[2] or ""))), hide | {found[0]}, space)


class _ArgumentCount(MacroError):
    """The number of arguments does not fit."""


def _function_like(
    found: Definition,
    arguments: list[list[_Token]],
    hide: frozenset[str],
    space: bool,
    lookup: Lookup,
    only: Container[str] | None,
    budget: _Budget,
    depth: int,
) -> list[_Token]:
    """The replacement of a function-like macro, its arguments substituted, not yet rescanned."""
    name, params, body, _ = found
    bound, variadic = _bind(name, params or (), arguments)
    expanded: dict[str, list[_Token]] = {}

    def full(parameter: str) -> list[_Token]:
        if parameter not in expanded:
            expanded[parameter] = _rescan(bound[parameter], lookup, only, budget, depth + 1)
        return expanded[parameter]

    out = _substitute(_plan(body or "", tuple(bound), variadic), bound, full, budget)
    return _hidden(_paste(out), hide | {name}, space)


def _bind(
    name: str, params: tuple[str, ...], arguments: list[list[_Token]]
) -> tuple[dict[str, list[_Token]], str | None]:
    """Parameter → argument, and the name of the variadic parameter."""
    if not params:
        if len(arguments) > 1 or (arguments and arguments[0]):
            raise _ArgumentCount(f"macro {name} takes no argument, but {len(arguments)} given")
        return {}, None
    if not arguments:
        arguments = [[]]
    last = params[-1]
    if not last.endswith("..."):
        if len(arguments) != len(params):
            raise _ArgumentCount(f"macro {name} takes {len(params)} arguments, but {len(arguments)} given")
        return dict(zip(params, arguments, strict=True)), None
    fixed = params[:-1]
    if len(arguments) < len(fixed):
        raise _ArgumentCount(f"macro {name} takes at least {len(fixed)} arguments, but {len(arguments)} given")
    variadic = last[:-3] or "__VA_ARGS__"
    rest: list[_Token] = []
    for index, argument in enumerate(arguments[len(fixed) :]):
        if index:
            rest.append((",", False, _NOTHING))
        rest.extend(argument)
    bound = dict(zip(fixed, arguments, strict=False))
    bound[variadic] = rest
    return bound, variadic


class _Step(NamedTuple):
    """One piece of a macro's body: what is put in its place."""

    how: str  #: tokens | string (``#x``) | argument | pasted (beside ``##``) | comma (``, ##__VA_ARGS__``) | optional
    parameter: str = ""
    space: bool = False
    tokens: tuple[_Token, ...] = ()
    steps: tuple[Any, ...] = ()  #: of ``__VA_OPT__(…)``


@lru_cache(maxsize=4096)
def _plan(body: str, names: tuple[str, ...], variadic: str | None) -> tuple[_Step, ...]:
    """The pieces of a body whose parameters are ``names``: the same few macros are used again and again."""
    return tuple(_steps(_tokens(body), frozenset(names), variadic))


def _steps(tokens: Sequence[_Token], names: frozenset[str], variadic: str | None) -> list[_Step]:
    steps: list[_Step] = []
    plain: list[_Token] = []

    def add(step: _Step) -> None:
        if plain:
            steps.append(_Step("tokens", tokens=tuple(plain)))
            plain.clear()
        steps.append(step)

    at, count = 0, len(tokens)
    while at < count:
        text, space, _ = token = tokens[at]
        following = tokens[at + 1][0] if at + 1 < count else ""
        end = _matching(tokens, at + 1) if text == "__VA_OPT__" and following == "(" and variadic is not None else -1
        if text == "#" and following in names:
            add(_Step("string", following, space))
            at += 2
        elif end > 0:
            inner = tuple(_steps(tokens[at + 2 : end], names, variadic))
            add(_Step("optional", variadic or "", space, steps=inner))
            at = end + 1
        elif text == "," and following == "##" and at + 2 < count and tokens[at + 2][0] == variadic:
            add(_Step("comma", variadic, tokens=(token,)))  # GNU: it goes when nothing follows, and nothing is pasted
            at += 3
        elif text in names:
            pasted = following == "##" or (at > 0 and tokens[at - 1][0] == "##")
            add(_Step("pasted" if pasted else "argument", text, space))
            at += 1
        else:
            plain.append(token)
            at += 1
    if plain:
        steps.append(_Step("tokens", tokens=tuple(plain)))
    return steps


def _substitute(
    steps: Sequence[_Step],
    bound: dict[str, list[_Token]],
    full: Callable[[str], list[_Token]],
    budget: _Budget,
) -> list[_Token]:
    """Put the arguments into a body; ``##`` stays in place (its operands unexpanded) for ``_paste``."""
    out: list[_Token] = []
    for how, parameter, space, tokens, inner in steps:
        if how == "tokens":
            out += tokens
        elif how == "argument":
            argument = full(parameter)
            budget.spend(len(argument))
            out += _spaced(argument, space)
        elif how == "pasted":
            argument = bound[parameter]
            budget.spend(len(argument))
            out += _spaced(argument, space) or [_PLACEMARKER]
        elif how == "string":
            out.append((_stringify(bound[parameter]), space, _NOTHING))
        elif how == "comma":
            if bound[parameter]:
                out += [*tokens, *_spaced(full(parameter), True)]
        elif full(parameter):
            out += _spaced(_substitute(inner, bound, full, budget), space)
        else:
            out.append(_PLACEMARKER)
    return out


def _matching(tokens: Sequence[_Token], at: int) -> int:
    """Index of the ``)`` that closes the ``(`` at ``at``; -1 when there is none."""
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index][0] == "(":
            depth += 1
        elif tokens[index][0] == ")":
            depth -= 1
            if depth == 0:
                return index
    return -1


def _paste(tokens: list[_Token]) -> list[_Token]:
    """Apply ``##`` from left to right and drop placemarkers."""
    texts = [token[0] for token in tokens]
    if "##" not in texts:
        return [token for token in tokens if token[0]] if "" in texts else tokens
    out: list[_Token] = []
    at, count = 0, len(tokens)
    while at < count:
        token = tokens[at]
        if token[0] == "##" and out and at + 1 < count:
            left, right = out.pop(), tokens[at + 1]
            pasted = _tokens(left[0] + right[0])
            if not pasted:
                out.append(_PLACEMARKER)
            else:
                out += [(pasted[0][0], left[1], left[2] & right[2] if right[0] else left[2]), *pasted[1:]]
            at += 2
            continue
        out.append(token)
        at += 1
    return [token for token in out if token[0]]


def _spaced(tokens: list[_Token], space: bool) -> list[_Token]:
    """``tokens``, the first with this blank before it."""
    if tokens and tokens[0][1] != space:
        text, _, hide = tokens[0]
        return [(text, space, hide), *tokens[1:]]
    return tokens


def _hidden(tokens: list[_Token], hide: frozenset[str], space: bool) -> list[_Token]:
    """``tokens`` with ``hide`` added to what each may not expand to; a list of its own."""
    if not tokens:
        return []
    hides = {old: old | hide for old in {token[2] for token in tokens}}
    out = [(text, blank, hides[old]) for text, blank, old in tokens]
    text, _, new = out[0]
    out[0] = text, space, new
    return out


def _stringify(tokens: Sequence[_Token]) -> str:
    """The ``#`` operator."""
    parts: list[str] = []
    for index, (text, space, _) in enumerate(tokens):
        if index and space:
            parts.append(" ")
        if text[0] in "\"'" or text.endswith('"'):
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(text)
    return '"' + "".join(parts) + '"'


def _render(tokens: Sequence[_Token]) -> str:
    """Tokens as text; a blank is put where two of them would become another one."""
    parts: list[str] = []
    last = ""
    for text, space, _ in tokens:
        if not text:
            continue
        if last and (space or _would_merge(last[-1] + text[0])):
            parts.append(" ")
        parts.append(text)
        last = text
    return "".join(parts)


@lru_cache(maxsize=8192)
def _would_merge(pair: str) -> bool:
    left, right = pair[0], pair[1]
    if left.isalnum() or left == "_":
        return right.isalnum() or right == "_" or right == '"'
    return pair in _MERGING


_MERGING = frozenset(("++", "--", "&&", "||", "<<", "->", "::", "==", "##", "//", "/*", "+=", "-=", "|=", "&="))


@lru_cache(maxsize=8192)
def _tokens(text: str) -> tuple[_Token, ...]:
    """The preprocessing tokens of ``text``."""
    found: list[_Token] = []
    space = False
    for match in _TOKEN.finditer(text):
        if match[1] is not None:
            space = True
        else:
            found.append((match[2], space, _NOTHING))
            space = False
    return tuple(found)
