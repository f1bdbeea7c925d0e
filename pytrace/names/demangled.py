"""Demangled names, whoever demangled them.

The dialects differ in a few spellings, which are all understood at once:

============================  ==========================================================================
anonymous namespace           ``(anonymous namespace)``, ``<unnamed>``, ``{anonymous}``, ``_GLOBAL__N__…``
lambda                        ``{lambda(float)#1}``, ``[lambda(float) (instance 1)]``, ``<lambda(float)>``,
                              ``'lambda'(float)``, nvcc's ``__nv_dl_tag<type, &function, 3u>``
call operator                 ``operator()``, ``operator ()``
number as template argument   ``4``, ``(int)4``, ``4ul``, ``int=4``
============================  ==========================================================================
"""

from __future__ import annotations

import re

from pytrace.names.parts import KernelName, Part, Path, unit_of

_TOKEN = re.compile(
    r"\(anonymous namespace\)|<unnamed>|\{anonymous\}|\(anonymous\)"
    r"|'lambda\d*'|<lambda"
    r"|operator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=?|>=?|->\*?|[-+*/%^&|~!=]=?|&&|\|\||\+\+|--)"
    r"|[A-Za-z_~$]\w*|::|\d[\w.]*|\S"
)
_ANONYMOUS = frozenset(("(anonymous namespace)", "<unnamed>", "{anonymous}", "(anonymous)"))
_QUALIFIERS = frozenset(("const", "volatile", "noexcept", "struct", "class", "enum", "unsigned", "signed"))
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_MOST_DEPTH = 200


def parse_demangled(text: str) -> KernelName:
    """Read a demangled name; what follows its parameter list is ignored."""
    reader = _Reader(_TOKEN.findall(text))
    path = reader.path(top=True)
    cut = reader.cut or text.endswith(("...", "…"))
    return KernelName(text, path, _dialect(text), reader.units, cut)


def _dialect(text: str) -> str:
    if "(instance " in text or "<unnamed>" in text or re.search(r"[<,] ?\((?:unsigned )?\w+\)\d", text):
        return "nsys"
    if re.search(r"[<,] ?(?:int|bool|unsigned int)=\d", text):
        return "nvprof"
    return "demangled" if re.search(r"[<(:]", text) else "plain"


class _Reader:
    """Reads tokens from left to right; never looks back, and reads each token once."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.units: list[str] = []
        self.cut = False

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def path(self, *, top: bool = False, depth: int = 0) -> Path:
        """The last qualified name before ``,`` or ``>`` (or the end): a return type before it is dropped."""
        path = Path()
        joined = False  # whether `::` stands in front
        while token := self._peek():
            if token in (",", ">") and not top:
                break
            self.at += 1
            if token == "::":
                joined = True
                continue
            if token in _ANONYMOUS:
                if not joined:
                    path.parts.clear()  # what stood in front was a return type
                continue
            if token == "(":
                self._skip("(")
                if path.parts and not joined:
                    path.parts[-1].called = True
                    if top and self._peek() not in ("::", "const", "["):
                        break
                continue
            if token in ("{", "[", "<lambda", "'lambda'") or token.startswith("'lambda"):
                inside = self._peek()
                if token in "{[":
                    self._skip(token)
                elif token == "<lambda":
                    self._skip("<")
                if inside == "lambda" or "lambda" in token:
                    path.parts.append(Part("{lambda}"))
                joined = False
                continue
            if token == "<":
                self._arguments(path, depth)
                continue
            if token in _QUALIFIERS or not (token[0].isalpha() or token[0] in "_~$"):
                continue
            if token == "auto" and self._peek() == "(":
                continue
            self._name(path, token, joined)
            joined = False
        return path

    def _name(self, path: Path, token: str, joined: bool) -> None:
        unit = unit_of(token)
        if unit is not None:
            if unit and unit not in self.units:
                self.units.append(unit)
            if not joined:
                path.parts.clear()
            return
        if not joined and path.parts:
            path.parts.clear()
        if not token.startswith("operator") or token.isidentifier():
            path.parts.append(Part(token))
        else:
            path.parts.append(Part(re.sub(r"\s", "", token)))

    def _arguments(self, path: Path, depth: int) -> None:
        """``<…>`` after a name."""
        arguments: list[Path] = []
        if path.parts:
            path.parts[-1].args = arguments
        if depth > _MOST_DEPTH:
            self._skip("<")
            return
        while True:
            arguments.append(self.path(depth=depth + 1))
            token = self._peek()
            self.at += 1
            if token == ">":
                return
            if not token:
                self.cut = True
                return

    def _skip(self, opening: str) -> None:
        """Past the bracket that closes ``opening``, which was read."""
        closing, level = _CLOSING[opening], 1
        while token := self._peek():
            self.at += 1
            if token == opening or (opening == "<" and token == "<lambda"):
                level += 1
            elif token == closing:
                level -= 1
                if not level:
                    return
        self.cut = True
