"""A Python file cut down to what registers something: a small program of plain tuples.

Python registers operators and kernels by running: decorators, loops, factories, tables. So the link stage runs it,
symbolically (``link/python_interpreter.py``). What it runs is the *program* of a file: the statements that matter, as
nested tuples that ``marshal`` can write. Expressions:

    ("c", value)                     constant            ("n", name)                     name
    ("a", value, name)               attribute           ("x", func, args, kwargs, line) call; kwargs: ((name|"", e), …)
    ("l", items)                     list, tuple, set    ("d", ((key, value), …))        dict; key None: ``**value``
    ("s", value, index)              subscript           (":", lower, upper)             slice
    ("f", parts)                     f-string            ("+", left, right)              addition
    ("b", "and"|"or", items)         boolean             ("!", value)                    not
    ("=", left, op, right)           comparison          ("?", test, then, other)        conditional
    ("g", element, loops)            comprehension       ("\\", line)                     lambda
    ("*", value)                     starred             (":=", name, value)             assignment expression
    ("u",)                           anything else

Statements (the line comes second):

    ("let", line, targets, value)    ("do", line, value)              ("for", line, target, iterable, body)
    ("if", line, test, body, other)  ("with", line, items, body)      ("ret", line, value)
    ("def", line, name, first line, end line, decorators, parameters, body or None)
    ("class", line, name, first line, end line, bases, text of the name given to super().__init__, or "")
    ("imp", line, ((name, module, member or ""), …)): a relative module keeps its leading dots; ``module:`` is loaded,
                                                      and its first part bound (``import a.b``)
    ("next", line)   continue       ("stop", line)   break       ("yield", line, value)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Expression = tuple[Any, ...]
Statement = tuple[Any, ...]

_UNKNOWN: Expression = ("u",)
_COMPARE: dict[type, str] = {
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

_REGISTER = (
    r"_?register_(?!buffer|parameter|module|forward|full_backward|hook|state_dict|load_state|comm_hook|post_acc"
    r"|backward|package|backend|optimizer|step|dataclass|pytree|cleanup)\w+"
)
#: Names that make a function part of a program when its body uses them: the API of ``torch.library``, the decorators
#: of the tables, and what registers in one step.
REGISTERS = re.compile(
    _REGISTER + r"|impl|define|py_impl|py_functionalize_impl|custom_op|impl_abstract|Library|_scoped_library"
    r"|_make_prim|_make_elementwise_\w+|make_fallback|fallback_handler"
)
#: Names that make a statement or a decorator part of it: also factories by PyTorch's naming rule (``_make_inplace``,
#: ``_create_binary_float_meta_func``), and tables.
RELEVANT = re.compile(
    REGISTERS.pattern + r"|_?make_\w+|_create_\w+|_?onnx_symbolic|onnx_impl|activate_meta|infer_aten_op|OverridesData"
)


def expression(node: ast.expr | None) -> Expression:
    """The tuple for an expression."""
    compiler = _EXPRESSIONS.get(type(node)) if node is not None else None
    return compiler(node) if compiler else _UNKNOWN


def _constant(node: ast.Constant) -> Expression:
    return ("c", node.value if isinstance(node.value, (str, int, float, bool, type(None))) else "…")


def _call(node: ast.Call) -> Expression:
    keywords = tuple((k.arg or "", expression(k.value)) for k in node.keywords)
    return ("x", expression(node.func), tuple(map(expression, node.args)), keywords, node.lineno)


def _dictionary(node: ast.Dict) -> Expression:
    return (
        "d",
        tuple(
            (None if k is None else expression(k), expression(v)) for k, v in zip(node.keys, node.values, strict=True)
        ),
    )


def _fstring(node: ast.JoinedStr) -> Expression:
    return ("f", tuple(expression(v.value if isinstance(v, ast.FormattedValue) else v) for v in node.values))


def _compare(node: ast.Compare) -> Expression:
    operator = _COMPARE.get(type(node.ops[0]))
    if operator is None or len(node.ops) != 1:
        return _UNKNOWN
    return ("=", expression(node.left), operator, expression(node.comparators[0]))


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expression:
    loops = tuple((expression(g.target), expression(g.iter), tuple(map(expression, g.ifs))) for g in node.generators)
    return ("g", expression(node.elt), loops)


def _slice(node: ast.Slice) -> Expression:
    return (":", *(("c", None) if part is None else expression(part) for part in (node.lower, node.upper)))


_EXPRESSIONS: dict[type, Callable[[Any], Expression]] = {
    ast.Constant: _constant,
    ast.Name: lambda n: ("n", n.id),
    ast.Attribute: lambda n: ("a", expression(n.value), n.attr),
    ast.Call: _call,
    ast.List: lambda n: ("l", tuple(map(expression, n.elts))),
    ast.Tuple: lambda n: ("l", tuple(map(expression, n.elts))),
    ast.Set: lambda n: ("l", tuple(map(expression, n.elts))),
    ast.Dict: _dictionary,
    ast.Subscript: lambda n: ("s", expression(n.value), expression(n.slice)),
    ast.Slice: _slice,
    ast.JoinedStr: _fstring,
    ast.BinOp: lambda n: ("+", expression(n.left), expression(n.right)) if isinstance(n.op, ast.Add) else _UNKNOWN,
    ast.BoolOp: lambda n: ("b", "and" if isinstance(n.op, ast.And) else "or", tuple(map(expression, n.values))),
    ast.UnaryOp: lambda n: ("!", expression(n.operand)) if isinstance(n.op, ast.Not) else _UNKNOWN,
    ast.Compare: _compare,
    ast.IfExp: lambda n: ("?", expression(n.test), expression(n.body), expression(n.orelse)),
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Lambda: lambda n: ("\\", n.lineno),
    ast.Starred: lambda n: ("*", expression(n.value)),
    ast.NamedExpr: lambda n: (":=", n.target.id, expression(n.value)),
}


class Compiler:
    """Turns the statements of one file into tuples."""

    def __init__(self, relevant: Callable[[int, int], bool]) -> None:
        """``relevant(first, last)``: whether the text of these lines uses a name of ``REGISTERS``."""
        self._relevant = relevant

    def statements(self, body: Iterable[ast.stmt]) -> Iterator[Statement]:
        """The statements of a body that can matter; the rest (asserts, docstrings, deletions) is left out."""
        for node in body:
            compiler = _STATEMENTS.get(type(node))
            if compiler is not None:
                yield from compiler(self, node)

    def _expression(self, node: ast.Expr) -> Iterator[Statement]:
        if isinstance(node.value, ast.Call):
            yield ("do", node.lineno, expression(node.value))
        elif isinstance(node.value, ast.Yield):
            yield ("yield", node.lineno, expression(node.value.value))

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> Iterator[Statement]:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            yield ("let", node.lineno, tuple(map(expression, targets)), expression(node.value))

    def _for(self, node: ast.For) -> Iterator[Statement]:
        body = tuple(self.statements(node.body))
        yield ("for", node.lineno, expression(node.target), expression(node.iter), body)

    def _if(self, node: ast.If) -> Iterator[Statement]:
        then, other = tuple(self.statements(node.body)), tuple(self.statements(node.orelse))
        if then or other:
            yield ("if", node.lineno, expression(node.test), then, other)

    def _with(self, node: ast.With) -> Iterator[Statement]:
        items = tuple((expression(i.context_expr), expression(i.optional_vars)) for i in node.items)
        yield ("with", node.lineno, items, tuple(self.statements(node.body)))

    def _try(self, node: ast.Try) -> Iterator[Statement]:
        yield from self.statements(node.body)

    def _import(self, node: ast.Import) -> Iterator[Statement]:
        # `import a.b` binds a, and loads a.b; `import a.b as c` binds a.b
        rows = [
            (alias.asname, alias.name, "") if alias.asname else (alias.name.partition(".")[0], f"{alias.name}:", "")
            for alias in node.names
        ]
        yield ("imp", node.lineno, tuple(rows))

    def _import_from(self, node: ast.ImportFrom) -> Iterator[Statement]:
        base = "." * node.level + (node.module or "")
        yield ("imp", node.lineno, tuple((alias.asname or alias.name, base, alias.name) for alias in node.names))

    def _return(self, node: ast.Return) -> Iterator[Statement]:
        yield ("ret", node.lineno, expression(node.value) if node.value is not None else ("c", None))

    def _skip(self, node: ast.Continue | ast.Break) -> Iterator[Statement]:
        yield ("next" if isinstance(node, ast.Continue) else "stop", node.lineno)

    def _function(self, node: ast.FunctionDef) -> Iterator[Statement]:
        """A function; its body is kept when it registers something, or hands out a function that it makes."""
        body: tuple[Statement, ...] | None = None
        last = node.end_lineno or node.lineno
        if makes_function(node) or self._relevant(node.body[0].lineno, last):
            body = tuple(self.statements(node.body))
        decorators = tuple((d.lineno, expression(d)) for d in reversed(node.decorator_list))
        parameters = _parameters(node.args) if body is not None else None
        yield ("def", node.lineno, node.name, first_line(node), last, decorators, parameters, body)

    def _class(self, node: ast.ClassDef) -> Iterator[Statement]:
        """A class; of its body only the name that a ``HigherOrderOperator`` gives itself is kept."""
        name = next(filter(None, map(_own_name, node.body)), "")
        bases = tuple(map(expression, node.bases))
        yield ("class", node.lineno, node.name, first_line(node), node.end_lineno or 0, bases, name)


_STATEMENTS: dict[type, Callable[[Compiler, Any], Iterator[Statement]]] = {
    ast.Expr: Compiler._expression,
    ast.Assign: Compiler._assign,
    ast.AnnAssign: Compiler._assign,
    ast.For: Compiler._for,
    ast.If: Compiler._if,
    ast.With: Compiler._with,
    ast.Try: Compiler._try,
    ast.Import: Compiler._import,
    ast.ImportFrom: Compiler._import_from,
    ast.Return: Compiler._return,
    ast.Continue: Compiler._skip,
    ast.Break: Compiler._skip,
    ast.FunctionDef: Compiler._function,
    ast.ClassDef: Compiler._class,
}


def first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Where a definition begins: at its first decorator, as ``co_firstlineno`` says."""
    return min((d.lineno for d in node.decorator_list), default=node.lineno)


def makes_function(node: ast.FunctionDef) -> bool:
    """Whether the function returns a function that it defines: a decorator or a factory."""
    last = node.body[-1]
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
        return False
    return any(isinstance(part, ast.FunctionDef) and part.name == last.value.id for part in node.body)


def _parameters(args: ast.arguments) -> tuple[tuple[str, Expression | None], ...]:
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    rows = [(a.arg, None if d is None else expression(d)) for a, d in zip(positional, defaults, strict=True)]
    if args.vararg:
        rows.append(("*" + args.vararg.arg, None))
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return (*rows, *((a.arg, None if d is None else expression(d)) for a, d in pairs))


def _own_name(node: ast.stmt) -> str:
    """``super().__init__("cond")`` in ``__init__`` -> ``cond``."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return ""
    for part in node.body:
        call = part.value if isinstance(part, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            first = call.args[0] if call.args else None
            return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return ""


def names(code: object) -> Iterator[str]:
    """The names that statements or expressions use."""
    if isinstance(code, tuple):
        if len(code) == 2 and code[0] == "n" and isinstance(code[1], str):
            yield code[1]
        else:
            for part in code:
                if isinstance(part, tuple):
                    yield from names(part)
