"""Runs the programs of Python files symbolically, to see what they register.

Importing PyTorch registers some five thousand things from Python, most of them from loops, factories and decorators:
no line of the source names them. So the statements that ``extract/python_program.py`` kept are run, in the order in
which the modules import one another, on symbolic values. What is not understood is ``UNKNOWN`` and goes no further;
where a condition is not known both branches run. What the API of ``torch.library`` and the tables do is in
``link/python_primitives.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pytrace.link.python_values import (
    UNKNOWN,
    Bound,
    CustomOp,
    Function,
    Hop,
    HopClass,
    Native,
    Op,
    OpNamespace,
    Partial,
    Path,
    Record,
    Site,
    Value,
    module_name,
)

#: Calls nested deeper than this, sequences longer than this, top-level statements that call and loop more often than
#: this are no registration code (the longest of PyTorch, ``activate_meta()``, takes some 10,000 steps).
_DEEPEST, _LONGEST, _MOST_STEPS = 24, 20_000, 500_000
#: Ways to spell the root of all operators.
_OPS = frozenset(("torch.ops", "torch._ops.ops"))

Code = tuple[Any, ...]


class Primitives(Protocol):
    """What the interpreter asks of ``python_primitives``."""

    def find(self, name: str) -> Callable[[Sequence[Value], Mapping[str, Value], Site], Value] | None:
        """The primitive of this dotted name."""

    def constant(self, name: str) -> Value:
        """The value of a dotted name that is no primitive function; UNKNOWN when it has none."""

    def attribute(self, owner: Value, name: str) -> Value:
        """An attribute of an operator, a library, …"""

    def method(self, owner: Value, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], site: Site) -> Value:
        """A call of such an attribute."""

    def unknown_call(self, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], site: Site) -> Value:
        """A call of a function that nothing is known about but its dotted name."""


class ProgramTooLong(Exception):
    """A top-level statement takes too many steps."""


class _Return(Exception):
    def __init__(self, value: Value) -> None:
        self.value = value


class _Next(Exception):
    pass


class _Stop(Exception):
    pass


class Scope:
    """Names of a function or a module."""

    __slots__ = ("imports", "module", "names", "parent", "path", "qualified", "yielded")

    def __init__(self, module: str, path: str, qualified: str, parent: Scope | None) -> None:
        self.module = module
        self.path = path
        self.qualified = qualified  #: prefix of what is defined here
        self.parent = parent
        self.names: dict[str, Value] = {}
        self.yielded: list[Value] | None = None if parent is None else []  # of a generator that runs
        self.imports: dict[str, tuple[str, str]] = {}  # name -> (module, member or ""), absolute


class Interpreter:
    """All programs of a tree."""

    def __init__(self, files: Mapping[str, Mapping[str, Any]], primitives: Primitives) -> None:
        """``files``: path -> facts with ``py_program``."""
        self.primitives = primitives
        self._paths = {module_name(path): path for path in files}
        self._facts = files
        self._scopes: dict[str, Scope] = {}
        #: (path, line, message) of statements that could not be run
        self.diagnostics: list[tuple[str, int, str]] = []
        self._depth = self._steps = 0
        self._top, self._end = ("", 0), 0  # the top-level statement that runs: file and line, last line

    def run_all(self, first: Iterable[str] = ()) -> None:
        """Run every module: ``first`` as far as they have programs, then the others by name."""
        for name in (*first, *sorted(self._paths)):
            self.run(name)

    def run(self, module: str) -> Scope | None:
        """The scope of a module, run when it has not been; None when it has no program. A cycle sees what is there."""
        path = self._paths.get(module)
        if path is None:
            return None
        scope = self._scopes.get(module)
        if scope is not None:
            return scope
        scope = self._scopes[module] = Scope(module, path, module, None)
        facts = self._facts[path]
        before = self._top, self._end, self._depth
        for code in facts.get("py_program", ()):
            # A definition begins at its first decorator; what its decorators register stands where they do.
            self._top, self._depth = (path, code[3] if code[0] == "def" else code[1]), 0
            self._end = code[4] if code[0] == "def" else code[1]
            self._steps = 0
            try:
                self.execute((code,), scope)
            except (_Return, _Next, _Stop):
                pass
            except Exception as error:  # other people's code may do anything: say so, and go on behind it
                self.diagnostics.append((path, code[1], f"not run: {type(error).__name__}: {error}"))
        self._top, self._end, self._depth = before
        return scope

    def _absolute(self, scope: Scope, module: str) -> str:
        if not module.startswith("."):
            return module
        level = len(module) - len(module.lstrip("."))
        parts = scope.module.split(".")
        if not scope.path.endswith("/__init__.py"):
            level += 1
        base = parts[: len(parts) - level + 1]
        return ".".join([*base, *filter(None, [module.lstrip(".")])])

    # -- statements ----------------------------------------------------------------------------------------------

    def execute(self, body: Iterable[Code], scope: Scope) -> None:
        """Run statements; a ``return`` leaves as an exception."""
        for code in body:
            _STATEMENTS[code[0]](self, code, scope)

    def _let(self, code: Code, scope: Scope) -> None:
        value = self.evaluate(code[3], scope)
        for target in code[2]:
            self.assign(target, value, scope)

    def assign(self, target: Code, value: Value, scope: Scope) -> None:
        """Bind a name, an element, ``f.__name__``, or a tuple of these."""
        kind = target[0]
        if kind == "n":
            if value is UNKNOWN and scope.parent is None:
                value = Path(f"{scope.module}.{target[1]}")  # known by its name, and only so
            scope.names[target[1]] = value
        elif kind == "l":
            known = type(value) in (list, tuple) and len(value) == len(target[1])
            for index, part in enumerate(target[1]):
                self.assign(part, value[index] if known else UNKNOWN, scope)
        elif kind == "s":
            owner, key = self.evaluate(target[1], scope), self.evaluate(target[2], scope)
            if type(owner) is dict and _hashable(key):
                owner[key] = value
        elif kind == "a" and target[2] == "__name__" and target[1][0] == "n" and isinstance(value, str):
            owner = self.evaluate(target[1], scope)
            if isinstance(owner, Function):
                scope.names[target[1][1]] = owner.renamed(value)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise ProgramTooLong(f"more than {_MOST_STEPS} steps")

    def _do(self, code: Code, scope: Scope) -> None:
        self.evaluate(code[2], scope)

    def _for(self, code: Code, scope: Scope) -> None:
        for value in _items(self.evaluate(code[3], scope)):
            self._step()
            self.assign(code[2], value, scope)
            try:
                self.execute(code[4], scope)
            except _Next:
                continue
            except _Stop:
                break

    def _if(self, code: Code, scope: Scope) -> None:
        known = truth(self.evaluate(code[2], scope))
        if known is not False:
            self.execute(code[3], scope)
        if known is not True:
            self.execute(code[4], scope)

    def _with(self, code: Code, scope: Scope) -> None:
        for value, target in code[2]:
            made = self.evaluate(value, scope)
            if target[0] != "u":
                self.assign(target, made, scope)
        self.execute(code[3], scope)

    def _yield(self, code: Code, scope: Scope) -> None:
        at: Scope | None = scope
        while at is not None and at.yielded is None:
            at = at.parent
        if at is not None and at.yielded is not None:
            at.yielded.append(self.evaluate(code[2], scope))

    def _ret(self, code: Code, scope: Scope) -> None:
        raise _Return(self.evaluate(code[2], scope))

    def _def(self, code: Code, scope: Scope) -> None:
        _, _, name, first, end, decorators, _, body = code
        prefix = scope.qualified if scope.parent is None else f"{scope.qualified}.<locals>"
        value: Value = Function(
            scope.module, f"{prefix}.{name}", scope.path, first, end, code if body is not None else None, scope
        )
        for line, decorator in decorators:
            maker = self.evaluate(decorator, scope)
            made = self.call(maker, (value,), {}, self._site(line, scope))
            value = value if made is UNKNOWN else made
        scope.names[name] = value

    def _class(self, code: Code, scope: Scope) -> None:
        _, _, name, _, _, bases, own_name = code
        known = [self.evaluate(base, scope) for base in bases]
        if any(isinstance(b, HopClass) or (isinstance(b, Path) and b.bare == "HigherOrderOperator") for b in known):
            scope.names[name] = HopClass(own_name)

    def _imp(self, code: Code, scope: Scope) -> None:
        for name, module, member in code[2]:
            absolute = self._absolute(scope, module.removesuffix(":"))
            self.run(absolute)
            if member:
                self.run(f"{absolute}.{member}")
            bound = absolute.partition(".")[0] if module.endswith(":") else absolute
            if scope.parent is None:
                scope.imports[name] = (bound, member)
                scope.names.pop(name, None)
            else:
                scope.names[name] = self.path(f"{bound}.{member}" if member else bound)

    def _next(self, code: Code, scope: Scope) -> None:
        raise _Next

    def _stop(self, code: Code, scope: Scope) -> None:
        raise _Stop

    # -- expressions ---------------------------------------------------------------------------------------------

    def evaluate(self, code: Code, scope: Scope) -> Value:
        """The value of an expression."""
        return _EXPRESSIONS[code[0]](self, code, scope)

    def lookup(self, name: str, scope: Scope) -> Value:
        """A name: of the functions around, of the module, imported, or a primitive (builtin)."""
        at: Scope | None = scope
        while at is not None:
            if name in at.names:
                return at.names[name]
            if at.parent is None:
                if name in at.imports:
                    module, member = at.imports[name]
                    return self.path(f"{module}.{member}" if member else module)
                break
            at = at.parent
        return Path(f"builtins.{name}")

    def path(self, name: str) -> Value:
        """What a dotted name means: what its module binds to it, a constant, or the name itself."""
        known = self.primitives.constant(name)
        if known is not UNKNOWN:
            return known
        module, _, member = name.rpartition(".")
        if name not in self._paths and module in self._paths:
            scope = self.run(module)
            if scope is not None:
                if member in scope.names:
                    return scope.names[member]
                if member in scope.imports:
                    source, other = scope.imports[member]
                    target = f"{source}.{other}" if other else source
                    if target != name:
                        return self.path(target)
        return Path(name)

    def _attribute(self, code: Code, scope: Scope) -> Value:
        return self.attribute(self.evaluate(code[1], scope), code[2])

    def attribute(self, owner: Value, name: str) -> Value:
        """``owner.name``."""
        if isinstance(owner, Path):
            return OpNamespace(name) if owner.name in _OPS else self.path(f"{owner.name}.{name}")
        if isinstance(owner, OpNamespace):
            return Op(owner.name, name)
        if isinstance(owner, Function):
            return owner.name if name == "__name__" else UNKNOWN
        if owner is UNKNOWN:
            return UNKNOWN
        return self.primitives.attribute(owner, name)

    def _call(self, code: Code, scope: Scope) -> Value:
        function = self.evaluate(code[1], scope)
        args: list[Value] = []
        for part in code[2]:
            if part[0] == "*":
                args.extend(_items(self.evaluate(part[1], scope)))
            else:
                args.append(self.evaluate(part, scope))
        kwargs: dict[str, Value] = {}
        for name, part in code[3]:
            value = self.evaluate(part, scope)
            if name:
                kwargs[name] = value
            elif type(value) is dict:
                kwargs.update((k, v) for k, v in value.items() if isinstance(k, str))
        return self.call(function, args, kwargs, self._site(code[4], scope))

    def _site(self, line: int, scope: Scope) -> Site:
        path, top = self._top
        inside = scope.path == path and top <= line <= self._end
        return Site(scope.path, line, path, line if inside else top)

    def call(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value], site: Site) -> Value:
        """The value of a call; what it registers is recorded by the primitives."""
        self._step()
        if isinstance(function, Native):
            return function.call(args, kwargs, site)
        if isinstance(function, Partial):
            return self.call(function.function, [*function.args, *args], {**function.kwargs, **kwargs}, site)
        if isinstance(function, Bound):
            return self.primitives.method(function.owner, function.name, args, kwargs, site)
        if isinstance(function, HopClass):
            first = args[0] if args and isinstance(args[0], str) else ""
            return Hop(function.name or first) if function.name or first else UNKNOWN
        if isinstance(function, (Path, Function)):
            name = function.name if isinstance(function, Path) else f"{function.module}.{function.name}"
            primitive = self.primitives.find(name)
            if primitive is not None:
                return primitive(args, kwargs, site)
            if isinstance(function, Function) and function.code is not None and self._depth < _DEEPEST:
                return self._apply(function, args, kwargs)
            made = self.primitives.unknown_call(name, args, kwargs, site)
            if made is not UNKNOWN:
                return made
            if isinstance(function, Path):
                if kwargs and not args and function.bare[:1].isupper():
                    return Record(function.name, kwargs)
                if args and all(isinstance(a, (Op, Hop, str, int)) for a in args):
                    return function  # what this function makes of operators or names, whatever it is
        # A decorator or a wrapper that is not known gives back, for all we can say, the function that it got.
        wrapped: list[Value] = [a for a in args if isinstance(a, (Function, CustomOp))]
        wrapped = wrapped or [a for a in args if isinstance(a, (Op, Hop))]
        if wrapped:
            return wrapped[0]
        return function if isinstance(function, Function) else UNKNOWN

    def _apply(self, function: Function, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Run the body of a function."""
        parameters, body = function.code[6], function.code[7]
        scope = Scope(function.module, function.file, function.qualified, function.scope)
        rest = list(args)
        for name, default in parameters:
            if name.startswith("*"):
                scope.names[name[1:]] = tuple(rest)
                rest = []
            elif rest:
                scope.names[name] = rest.pop(0)
            elif name in kwargs:
                scope.names[name] = kwargs[name]
            else:
                scope.names[name] = UNKNOWN if default is None else self.evaluate(default, function.scope)
        self._depth += 1
        try:
            self.execute(body, scope)
        except _Return as result:
            return scope.yielded or result.value
        except (_Next, _Stop):
            return UNKNOWN
        finally:
            self._depth -= 1
        return scope.yielded or None

    def _subscript(self, code: Code, scope: Scope) -> Value:
        owner = self.evaluate(code[1], scope)
        if code[2][0] == ":":
            lower, upper = (self.evaluate(part, scope) for part in code[2][1:])
            known = all(part is None or type(part) is int for part in (lower, upper))
            return owner[lower:upper] if known and type(owner) in (str, list, tuple) else UNKNOWN
        key = self.evaluate(code[2], scope)
        try:
            if type(owner) is dict or (type(owner) in (list, tuple, str) and type(key) is int):
                return owner[key]
        except (LookupError, TypeError):
            pass
        return UNKNOWN

    def _fstring(self, code: Code, scope: Scope) -> Value:
        parts = [self.evaluate(part, scope) for part in code[1]]
        made = "".join(map(str, parts)) if all(type(p) in (str, int) for p in parts) else ""
        return made if 0 < len(made) < _LONGEST else UNKNOWN

    def _add(self, code: Code, scope: Scope) -> Value:
        left, right = self.evaluate(code[1], scope), self.evaluate(code[2], scope)
        if type(left) is int and type(right) is int:
            return left + right
        fits = type(left) is type(right) and type(left) in (str, list, tuple) and len(left) + len(right) < _LONGEST
        return left + right if fits else UNKNOWN

    def _boolean(self, code: Code, scope: Scope) -> Value:
        decisive = code[1] == "or"
        value: Value = UNKNOWN
        unknown = False
        for part in code[2]:
            value = self.evaluate(part, scope)
            known = truth(value)
            if known is decisive:
                return value
            unknown = unknown or known is None
        return UNKNOWN if unknown else value

    def _not(self, code: Code, scope: Scope) -> Value:
        known = truth(self.evaluate(code[1], scope))
        return UNKNOWN if known is None else not known

    def _compare(self, code: Code, scope: Scope) -> Value:
        left, right = self.evaluate(code[1], scope), self.evaluate(code[3], scope)
        operator = code[2]
        if operator.endswith("in"):
            if left is UNKNOWN or type(right) not in (str, list, tuple, set, dict):
                return UNKNOWN
            if type(right) is str and type(left) is not str:
                return UNKNOWN
            return (left in right) is (operator == "in")
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        return (left == right) is (operator in ("is", "=="))

    def _conditional(self, code: Code, scope: Scope) -> Value:
        known = truth(self.evaluate(code[1], scope))
        return UNKNOWN if known is None else self.evaluate(code[2 if known else 3], scope)

    def _comprehension(self, code: Code, scope: Scope) -> Value:
        inner = Scope(scope.module, scope.path, scope.qualified, scope)
        found: list[Value] = []

        def loop(rest: tuple[Code, ...]) -> None:
            if not rest:
                found.append(self.evaluate(code[1], inner))
                return
            target, iterable, conditions = rest[0]
            for value in _items(self.evaluate(iterable, inner)):
                self._step()
                self.assign(target, value, inner)
                if all(truth(self.evaluate(c, inner)) is not False for c in conditions):
                    loop(rest[1:])

        loop(code[2])
        return found

    def _dictionary(self, code: Code, scope: Scope) -> Value:
        made: dict[Value, Value] = {}
        for key, part in code[1]:
            value = self.evaluate(part, scope)
            name = self.evaluate(key, scope) if key is not None else None
            if key is None:
                made.update(value if type(value) is dict else {})
            elif _hashable(name):
                made[name] = value
        return made

    def _lambda(self, code: Code, scope: Scope) -> Value:
        prefix = scope.qualified if scope.parent is None else f"{scope.qualified}.<locals>"
        return Function(scope.module, f"{prefix}.<lambda>", scope.path, code[1], code[1], None, scope)

    def _walrus(self, code: Code, scope: Scope) -> Value:
        value = scope.names[code[1]] = self.evaluate(code[2], scope)
        return value


def truth(value: Value) -> bool | None:
    """Whether a value is true; None when that is not known."""
    if value is UNKNOWN or isinstance(value, Path):
        return None
    if value is None or type(value) in (bool, int, str, list, tuple, dict, set, float):
        return bool(value)
    return True


def _hashable(value: Value) -> bool:
    return value is not UNKNOWN and type(value) not in (list, dict, set)


def _items(value: Value) -> Sequence[Value]:
    if type(value) in (list, tuple):
        return list(value[:_LONGEST])
    if type(value) in (set, dict):
        return list(value)[:_LONGEST]
    return ()


_Statement = Callable[[Interpreter, Code, Scope], None]
_STATEMENTS: dict[str, _Statement] = {
    "let": Interpreter._let,
    "do": Interpreter._do,
    "for": Interpreter._for,
    "if": Interpreter._if,
    "with": Interpreter._with,
    "ret": Interpreter._ret,
    "yield": Interpreter._yield,
    "def": Interpreter._def,
    "class": Interpreter._class,
    "imp": Interpreter._imp,
    "next": Interpreter._next,
    "stop": Interpreter._stop,
}
_Expression = Callable[[Interpreter, Code, Scope], Value]
_EXPRESSIONS: dict[str, _Expression] = {
    "c": lambda self, code, scope: code[1],
    "n": lambda self, code, scope: self.lookup(code[1], scope),
    "a": Interpreter._attribute,
    "x": Interpreter._call,
    "l": lambda self, code, scope: [self.evaluate(part, scope) for part in code[1] if part[0] != "*"],
    "d": Interpreter._dictionary,
    "s": Interpreter._subscript,
    ":": lambda self, code, scope: UNKNOWN,
    "f": Interpreter._fstring,
    "+": Interpreter._add,
    "b": Interpreter._boolean,
    "!": Interpreter._not,
    "=": Interpreter._compare,
    "?": Interpreter._conditional,
    "g": Interpreter._comprehension,
    "\\": Interpreter._lambda,
    "*": lambda self, code, scope: self.evaluate(code[1], scope),
    ":=": Interpreter._walrus,
    "u": lambda self, code, scope: UNKNOWN,
}
