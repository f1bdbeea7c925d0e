"""Symbols as the Itanium C++ ABI mangles them, as far as the names in them go.

https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling. Parameters of the outermost function are not read: only
names and template arguments tell which kernel it is. A symbol that was cut, or that holds an expression, gives what
was read up to there.
"""

from __future__ import annotations

import re

from pytrace.names.parts import KernelName, Part, Path, unit_of


def _table(text: str) -> dict[str, str]:
    """``"v:void w:wchar_t"`` as a dictionary."""
    return dict(entry.split(":", 1) for entry in text.split())


#: <builtin-type>: only the kind matters here, so that signs and widths are left out.
_BUILTIN = _table(
    "v:void w:wchar_t b:bool c:char a:char h:char s:short t:short i:int j:int l:long m:long x:long y:long n:__int128"
    " o:__int128 f:float d:double e:double g:__float128 z:..."
)
#: S followed by a letter: parts below std.
_STANDARD = {
    "t": "",
    "a": "allocator",
    "b": "basic_string",
    "s": "string",
    "i": "istream",
    "o": "ostream",
    "d": "iostream",
}
#: <operator-name>, those that a kernel or functor may have.
_OPERATORS = _table(
    "cl:() ix:[] pl:+ mi:- ml:* dv:/ rm:% eq:== ne:!= lt:< gt:> le:<= ge:>= aS:= pL:+= mI:-= mL:*= dV:/= ls:<< rs:>>"
    " an:& or:| eo:^ nt:! aa:&& oo:|| pp:++ mm:-- pt:-> de:* ad:& nw:new dl:delete na:new[] da:delete[] co:~"
)
_QUALIFIERS = "rVK"
_MOST_DEPTH = 150
#: Each name in a path is a candidate for substitution, with all before it: symbols of the tree have a few hundred.
_MOST_KNOWN = 3000


class _Cut(Exception):
    """The symbol ends, or holds what is not read."""


def parse_mangled(text: str) -> KernelName:
    """Read a symbol that begins with ``_Z``."""
    symbol = re.match(r"_Z[\w$.]*", text)
    rest = symbol.group()[2:].rstrip(".") if symbol else ""
    reader = _Reader(rest)
    path = Path()
    cut = text.endswith(("...", "…"))
    try:
        reader.name(path)
    except _Cut:
        cut = True
    return KernelName(text, path, "mangled", reader.units, cut)


class _Reader:
    """Recursive descent over one symbol. Paths are filled while they are read, so that a cut leaves what was there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.units: list[str] = []
        self.known: list[Path] = []  #: the substitution table

    def _peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise _Cut
        self.at += 1
        return self.text[self.at - 1]

    def _take(self, what: str) -> bool:
        if self.text.startswith(what, self.at):
            self.at += len(what)
            return True
        return False

    def _know(self, path: Path) -> None:
        """A candidate for substitution: the path as it is now."""
        if len(self.known) >= _MOST_KNOWN:
            raise _Cut
        self.known.append(Path(list(path.parts)))

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise _Cut

    # -- names ----------------------------------------------------------------------------------------------------

    def name(self, path: Path) -> None:
        """<name>: nested, local, or unscoped."""
        self._deeper()
        if self._take("N"):
            self._nested(path)
        elif self._take("Z"):
            self._local(path)
        else:
            if self._peek() == "S" and self._peek(2) != "St":
                path.parts += self._substitution().parts
            else:
                if self._take("St"):
                    path.parts.append(Part("std"))
                self._unqualified(path)
                if self._peek() == "I":
                    self._know(path)
            if self._peek() == "I":
                self._arguments(path)
        self.depth -= 1

    def _nested(self, path: Path) -> None:
        while self._peek() and self._peek() in _QUALIFIERS:
            self.at += 1
        if self._peek() in ("R", "O"):
            self.at += 1
        pushed = False
        while not self._take("E"):
            pushed = True
            if self._peek() == "S":
                path.parts += self._substitution().parts
                pushed = False
            elif self._peek() == "I":
                self._arguments(path)
            elif self._peek() == "T":
                path.parts += self._parameter().parts
            else:
                self._unqualified(path)
            if pushed:
                self._know(path)
        if pushed:
            self.known.pop()  # the whole is not a candidate here; a type makes it one

    def _local(self, path: Path) -> None:
        """Z <function encoding> E <entity> [discriminator]"""
        self.name(path)
        if path.parts:
            path.parts[-1].called = True
        while self._peek() != "E":
            self.type(Path())
        self.at += 1
        if self._take("s"):
            self._discriminator()
            return
        if self._take("d"):
            self._sequence()
        inner = Path()
        try:
            self.name(inner)
        finally:
            path.parts += inner.parts
        self._discriminator()

    def _discriminator(self) -> None:
        if self._take("_"):
            while self._peek() and self._peek() in "0123456789_":
                self.at += 1

    def _unqualified(self, path: Path) -> None:
        self._take("L")  # internal linkage
        text = self._peek(2)
        if text[:1].isdigit():
            self._source(path)
        elif text == "Ul":
            self.at += 2
            path.parts.append(Part("{lambda}"))
            while not self._take("E"):
                self.type(Path())
            self._sequence()
        elif text == "Ut":
            self.at += 2
            self._sequence()
            path.parts.append(Part("{unnamed}"))
        elif text in ("C1", "C2", "C3", "CI", "D0", "D1", "D2"):
            self.at += 2
            last = path.parts[-1].name if path.parts else ""
            path.parts.append(Part(last if text[0] == "C" else f"~{last}"))
        elif text == "cv":
            self.at += 2
            self.type(Path())
            path.parts.append(Part("operator cast"))
        elif text in _OPERATORS:
            self.at += 2
            path.parts.append(Part(f"operator{_OPERATORS[text]}"))
        else:
            raise _Cut
        while self._take("B"):  # ABI tags
            self._source(Path())

    def _source(self, path: Path) -> None:
        digits = re.compile(r"\d+").match(self.text, self.at)
        if not digits:
            raise _Cut
        size = int(digits.group()[:9])
        self.at = digits.end()
        name = self.text[self.at : self.at + size]
        self.at += size
        unit = unit_of(name)
        if unit is None:
            path.parts.append(Part(name))
        elif unit and unit not in self.units:
            self.units.append(unit)
        if len(name) < size:
            raise _Cut

    def _sequence(self) -> int:
        """A number up to ``_``: none is 0, ``0`` is 1; base 36."""
        start = self.at
        while self._peek() != "_":
            self._next()
        self.at += 1
        digits = self.text[start : self.at - 1]
        try:
            return int(digits, 36) + 1 if digits else 0
        except ValueError:
            raise _Cut from None

    def _substitution(self) -> Path:
        self.at += 1
        letter = self._peek()
        if letter and letter in _STANDARD:
            self.at += 1
            path = Path([Part("std"), *([Part(_STANDARD[letter])] if _STANDARD[letter] else [])])
            if letter == "t":
                self._unqualified(path)
                self._know(path)
            return path
        index = self._sequence()
        if index >= len(self.known):
            raise _Cut
        return Path([Part(p.name, list(p.args), p.called) for p in self.known[index].parts])

    def _parameter(self) -> Path:
        self.at += 1
        self._sequence()
        return Path()

    def _arguments(self, path: Path) -> None:
        """I <template-arg>+ E"""
        self.at += 1
        arguments: list[Path] = []
        if path.parts:
            last = path.parts[-1]
            path.parts[-1] = Part(last.name, arguments, last.called)
        while not self._take("E"):
            argument = Path()
            arguments.append(argument)
            self._argument(argument)

    def _argument(self, path: Path) -> None:
        self._deeper()
        if self._take("L"):
            self._literal(path)
        elif self._take("J"):
            while not self._take("E"):
                self._argument(Path())
        elif self._take("X"):
            raise _Cut  # an expression
        else:
            self.type(path)
        self.depth -= 1

    def _literal(self, path: Path) -> None:
        """L <type> <value> E, or the address of a function: L _Z <encoding> E"""
        if self._take("_Z"):
            self.name(path)
            while not self._take("E"):
                self.type(Path())
            return
        self.type(Path())
        while not self._take("E"):
            self._next()

    # -- types ----------------------------------------------------------------------------------------------------

    def type(self, path: Path) -> None:
        """<type>: ``path`` becomes its name, if it has one."""
        self._deeper()
        letter = self._peek()
        if not letter:
            raise _Cut
        if letter in _BUILTIN:
            self.at += 1
            path.parts.append(Part(_BUILTIN[letter]))
        elif letter in "PROKVr":
            self.at += 1
            while self._peek() and self._peek() in "KVr" and letter in "KVr":
                self.at += 1
            self.type(path)
            self._know(path)
        elif letter == "F":
            self.at += 1
            while not self._take("E"):
                self.type(Path())
            self._know(Path())
        elif letter == "A":
            self.at += 1
            while self._next() != "_":
                pass
            self.type(path)
            self._know(path)
        elif letter == "T":
            self._parameter()
            self._know(Path())
            if self._peek() == "I":
                self._arguments(path)
                self._know(Path())
        elif letter == "M":
            self.at += 1
            self.type(Path())
            self.type(Path())
            self._know(Path())
        elif letter == "D":
            self._special(path)
        elif letter == "u":
            self.at += 1
            self._source(path)
            self._know(path)
        elif letter == "S" and self._peek(2) != "St":
            path.parts += self._substitution().parts
            if self._peek() == "I":
                self._arguments(path)
                self._know(path)
        else:
            self.name(path)
            self._know(path)
        self.depth -= 1

    def _special(self, path: Path) -> None:
        """Types that begin with D."""
        self.at += 1
        letter = self._next()
        if letter == "p":
            self.type(path)
            self._know(Path())
        elif letter in "tT":
            raise _Cut  # decltype
        elif letter == "F":
            while self._next() != "_":
                pass
        path.parts.append(Part({"n": "nullptr_t", "h": "half", "i": "char32_t", "s": "char16_t"}.get(letter, "")))
