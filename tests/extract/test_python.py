"""Facts of Python files: short sources, and the rows that they state."""

from __future__ import annotations

import marshal
import textwrap
from typing import Any

import pytest

from pytrace.extract import python, python_outline
from pytrace.extract.python_symbols import annotation, bounded, element, split_types
from pytrace.extract.queries import load


def facts(source: str) -> dict[str, Any]:
    found = python.extract(textwrap.dedent(source).encode())
    marshal.dumps(found)  # facts are cached
    return found


def uses(source: str, function: str = "f") -> list[str]:
    """The symbols that a function uses, each once, in order of appearance."""
    return list(dict.fromkeys(symbol for _, symbol, _ in facts(source)["uses"].get(function, ())))


HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor\nfrom . import init\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # calls through imports
        ("def f(x): return torch.add(x, 1)", ["@torch.add()"]),
        ("def f(x): return F.relu(x)", ["@torch.nn.functional.relu()"]),
        ("def f(x): init.zeros_(x)", ["@.init.zeros_()"]),
        ("def f(x):\n    from torch.fft import fft as g\n    g(x)", ["@torch.fft.fft()"]),
        ("def f(x): return torch.ops.aten.mm.default(x)", ["@torch.ops.aten.mm.default()"]),
        # other packages and builtins lead nowhere
        ("import os\ndef f(x): return os.path.join(len(x), max(x))", []),
        # functions of this module, also those that follow, and what hides a builtin
        ("def f(x): return g(x)\ndef g(x): pass", [".g()"]),
        ("def f(x): return sum(x)\ndef sum(x): pass", [".sum()"]),
        ("try:\n    def g(): pass\nexcept E: pass\ndef f(x): g(x)", [".g()"]),
        # a parameter or local hides a module's name
        ("def g(): pass\ndef f(g): return g()", []),
        ("def g(): pass\ndef f(x):\n    g = x\n    return g()", []),
        # Tensors: annotations, conventions, type comments, what functions give back
        ("def f(x: Tensor): return x.t()", ["T.t()"]),
        ("def f(x: 'Optional[torch.Tensor]'): x.t()", ["T.t()"]),
        ("def f(input): return input.t()", ["T.t()"]),
        ("def f(x): return x.t()", []),
        ("def f(x, n):\n    # type: (Tensor, int) -> Tensor\n    return x.t() + n", ["T.t().__add__()", "T.t()"]),
        ("def f(a):\n    b = torch.mm(a, a)\n    return b.t()", ["@torch.mm()", "@torch.mm().t()"]),
        ("def f(x: Tensor):\n    x = x.view(1)\n    return x.t()", ["T.view()", "T.view().t()"]),
        ("def f(xs: List[Tensor]):\n    for x in xs: x.t()", ["T.t()"]),
        ("def f(xs: List[Tensor]): return [x.t() for x in xs]", ["T.t()"]),
        ("def f(xs: List[Tensor], y: Tensor):\n    for a, b in zip(xs, xs): a.t()", ["T.t()"]),
        ("def f(d: Dict[Tensor, int], k):\n    d[k].t()", []),
        ("def f(x: Tensor): return x.size(0) == 1", []),
        (
            "def f(x: Tensor):\n    a, b = x.chunk(2)\n    a.t()",
            ["T.chunk().__iter__()", "T.chunk()", "T.chunk()[].t()"],
        ),
        # operators and statements that call methods
        ("def f(a: Tensor, b): return a @ b", ["T.__matmul__()"]),
        ("def f(a: Tensor): return 1 - a", ["T.__rsub__()"]),
        ("def f(a: Tensor): return 1 < a", ["T.__gt__()"]),
        ("def f(a: Tensor): return -a", ["T.__neg__()"]),
        ("def f(a: Tensor): a += 1", ["T.__iadd__()"]),
        ("def f(a: Tensor): return a[0]", ["T.__getitem__()"]),
        ("def f(a: Tensor): a[0] = 1", ["T.__setitem__()"]),
        ("def f(a: Tensor): a[0] += 1", ["T.__iadd__()", "T.__setitem__()", "T.__getitem__()"]),
        ("def f(a: Tensor): return 1 in a", ["T.__contains__()"]),
        ("def f(a: Tensor):\n    if a: pass", ["T.__bool__()"]),
        ("def f(a: Tensor):\n    while not a: pass", ["T.__bool__()"]),
        ("def f(a: Tensor): return int(a)", ["T.__int__()"]),
        ("def f(a: Tensor):\n    for b in a: b.t()", ["T.__iter__()", "T.t()"]),
        ("def f(a: Tensor, n): return torch.neg(n) + a", ["@torch.neg().__add__()|T.__radd__()", "@torch.neg()"]),
        ("def f(a: Tensor): a.data = a", ["T.data="]),
        ("def f(a: Tensor): a.names = a", []),
        # narrowing
        ("def f(x):\n    if isinstance(x, Tensor): x.t()\n    x.view()", ["T.t()"]),
        ("def f(x):\n    if not isinstance(x, Tensor):\n        x.a()\n    x.view()", ["T.view()"]),
        ("def f(x):\n    assert isinstance(x, torch.Tensor)\n    x.t()", ["T.t()"]),
        ("def f(x): return x.item() if isinstance(x, Tensor) else x.other()", ["T.item()"]),
        ("def f(x): return x.other() if not isinstance(x, Tensor) else x.item()", ["T.item()"]),
        ("def f(x):\n    y = x.t() if isinstance(x, Tensor) else x\n    y.mm(y)", ["T.t()", "T.t().mm()"]),
        ("def f(x): return isinstance(x, Tensor) and x.is_complex() or x.other()", ["T.is_complex()"]),
        ("def f(x): return not isinstance(x, Tensor) or x.t()", ["T.t()"]),
        ("def f(xs): return [x.t() for x in xs if isinstance(x, Tensor)]", ["T.t()"]),
        ("def f(xs): return [x.t() for x in xs if not isinstance(x, Tensor)]", []),
        ("def f(x, y): return x.a() if isinstance(y, Tensor) else y.b()", []),
        ("def f(x: torch.nn.Module): return x.a() if isinstance(x, Tensor) else 1", ["@torch.nn.Module().a()"]),
        # parameter groups of optimizers
        ("def f(group):\n    for p in group['params']: p.t()", ["T.t()"]),
        ("def f(self):\n    ps = self.param_groups[0]['params']\n    return [p.t() for p in ps]", ["T.t()"]),
        ("def f(d):\n    for p in d['params']: p.t()", []),
        # functions as values
        ("def f(act=F.relu): pass", ["@torch.nn.functional.relu"]),
        ("def f(x): return F.relu", ["@torch.nn.functional.relu"]),
        ("def f(x):\n    g = F.relu\n    return g(x)", ["@torch.nn.functional.relu", "@torch.nn.functional.relu()"]),
        ("def f(x): return map(F.relu, x)", ["@torch.nn.functional.relu"]),
        ("def f(x): return map(torch.ops.aten.mm, x)", ["@torch.ops.aten.mm"]),
        # an operator for which something is registered is not called
        ("def f(x): _register_thing(torch.ops.aten.mm.default)", []),
        ("def f(x): x.register_thing(op=torch.ops.aten.mm)", []),
        # what is in a container in a container
        ("def f(d: Dict[str, List[Tensor]], k): d[k][0].t()", ["T.t()"]),
        ("def f(ms: List[torch.nn.Module]):\n    for m in ms: m.eval()", ["@torch.nn.Module().eval()"]),
        ("def f(d: Dict[str, List[Tensor]], k): d[k].append(1)", ["T{}.append()"]),
        # a nested function belongs to the outer one; what an error's message computes does not count
        ("def f(x: Tensor):\n    def g(y): return x.t()\n    return g", ["T.t()"]),
        ("def f(x: Tensor): raise E(x.sum())", []),
        # the way to __torch_function__ is no path
        ("def f(x: Tensor):\n    if has_torch_function(x):\n        return g(x.t())\n    x.mm(x)", ["T.mm()"]),
        # identity functions, conditional expressions
        ("import copy\ndef f(x: Tensor): return copy.deepcopy(x).t()", ["T.t()"]),
        ("def f(x: Tensor, y): return (x if y else None).t()", ["T.t()"]),
    ],
)
def test_uses(body: str, expected: list[str]) -> None:
    assert uses(HEAD + body) == expected


CLASS = """
from torch.nn import Module, Parameter
class A(Module):
    weight: Tensor
    def __init__(self, inner):
        super().__init__()
        self.lin = Module(3)
        self.plain = 3
        self.register_buffer("buf", None)
        self.made = helper(inner)
    @property
    def prop(self): return self.weight
    def step(self, x):
        self.other(x)
        self.lin(x)
        self.plain.foo()
        return self.prop
    @staticmethod
    def st(input): return input.t()
    @classmethod
    def make(cls): return cls()
    @overload
    def over(self): ...
    alias = st
def helper(module): return [module]
"""


def test_class() -> None:
    found = facts(HEAD + CLASS)
    assert [(q, k) for q, k, *_ in found["definitions"]] == [
        ("A", "c"),
        ("A.__init__", "m"),
        ("A.prop", "p"),
        ("A.step", "m"),
        ("A.st", "s"),
        ("A.make", "k"),
        ("helper", "f"),
    ]
    assert found["bases"] == [("A", ["@torch.nn.Module"])]
    assert found["attributes"] == [
        ("A", "weight", "T", []),
        ("A", "lin", "@torch.nn.Module()", [""]),
        ("A", "buf", "T", []),
        ("A", "made", ".helper()", ["%0"]),
    ]
    assert found["aliases"] == [("A.alias", 28, ".st", [])]
    returns = {q: r for q, _, _, _, r, _ in found["definitions"]}
    assert returns["helper"] == "%0{}"
    assert returns["A.prop"] == "self.weight"
    assert uses(HEAD + CLASS, "A.step") == ["self.other()", "self.lin()", "self.prop"]
    assert uses(HEAD + CLASS, "A.st") == ["T.t()"]
    assert uses(HEAD + CLASS, "A.make") == ["cls()"]


def test_module_level() -> None:
    found = facts(
        """
        from torch._C import _add_docstr, _nn
        from .a.b import c as d
        from .x import *
        import torch.nn as nn
        __all__ = ["conv", "pool"]
        conv = _add_docstr(_nn.conv, r'''doc''')
        pool = dispatch(if_true=conv, if_false=d)
        sys.modules[__name__] = Forwarder()
        for __n in dir(_nn):
            if __n in HIDDEN: continue
            globals()[__n] = getattr(_nn, __n)
        register(conv, "text")
        def dispatch(if_true, if_false): pass
        class Forwarder: pass
        """
    )
    assert found["imports"] == [
        ("_add_docstr", "torch._C._add_docstr", 2),
        ("_nn", "torch._C._nn", 2),
        ("d", ".a.b.c", 3),
        ("nn", "torch.nn", 5),
    ]
    assert found["stars"] == [(".x", 4)]
    assert found["strings"] == [("__all__", 6, ["conv", "pool"])]
    assert found["aliases"] == [
        ("conv", 7, "@torch._C._add_docstr()", ["@torch._C._nn.conv"]),
        ("pool", 8, ".dispatch()", [".conv", "@.a.b.c"]),
        ("", 9, ".Forwarder()", []),
    ]
    assert found["spreads"] == [("@torch._C._nn", 10, ["HIDDEN"])]


@pytest.mark.parametrize(
    ("statement", "attributes"),
    [
        ("self.a = torch.abs(1)", [("A", "a", "@torch.abs()", [""])]),
        ("self.a, self.b = torch.abs(1), 1", [("A", "a", "@torch.abs()", [""])]),
        ("self.a, self.b = torch.max(x)", [("A", "a", "@torch.max()[]", []), ("A", "b", "@torch.max()[]", [])]),
        ("self.a, b = unknown(x)", []),
    ],
)
def test_attributes_of_a_class(statement: str, attributes: list[Any]) -> None:
    found = facts(f"import torch\nclass A:\n    def f(self, x):\n        {statement}\n")
    assert [tuple(row) for row in found["attributes"]] == attributes


@pytest.mark.parametrize(
    ("body", "guard"),
    [
        ("if a:\n        torch.abs(x)", "a"),
        ("if a and\\\n            b:\n        torch.abs(x)", "a and\\ b"),
        ("if a: pass\n    else: torch.abs(x)", "not (a)"),
        ("if a: pass\n    elif b: torch.abs(x)", "b"),
        ("if a: pass\n    elif b: pass\n    else: torch.abs(x)", "not (a or b)"),
        ("if a:\n        if b: torch.abs(x)", "a and b"),
        ("if a or b:\n        if b: torch.abs(x)", "(a or b) and b"),
        ("if a or b: pass\n    else:\n        if b: torch.abs(x)", "not (a or b) and b"),
        ("if a:\n        if a: torch.abs(x)", "a"),
        ("if torch.abs(x): pass", None),
        ("if a: pass\n    torch.abs(x)", None),
        ("for i in a: pass\n    else: torch.abs(x)", None),
    ],
)
def test_guards(body: str, guard: str | None) -> None:
    found = facts(f"import torch\ndef f(x, a, b):\n    {body}\n")
    numbers = [g for _, symbol, g in found["uses"]["f"] if symbol == "@torch.abs()"]
    assert [found["guards"][g] if g >= 0 else None for g in numbers] == [guard]


def test_lines() -> None:
    found = facts("import torch\n\ndef f(x):\n    y = 1\n    return torch.abs(x)\n")
    assert found["definitions"] == [("f", "f", 3, 5, "@torch.abs()", [])]
    assert found["uses"] == {"f": [(5, "@torch.abs()", -1)]}


def test_outline_reads_no_bodies() -> None:
    source = textwrap.dedent(HEAD + CLASS).encode()
    outline, whole = python_outline.extract(source), python.extract(source)
    assert outline["uses"] == {}
    assert [row[:4] for row in outline["definitions"]] == [row[:4] for row in whole["definitions"]]
    assert outline["aliases"] == whole["aliases"]
    assert outline["imports"] == whole["imports"]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\x00\xff\xfe",
        b"def f(:\n  return (",
        b"class",
        b"x = = 3\n@\n",
        b"def f(x):\n\treturn torch.\xc3\x28(x)\n",
        b"(" * 3000,
    ],
)
def test_any_bytes(source: bytes) -> None:
    for found in (python.extract(source), python_outline.extract(source)):
        assert isinstance(found["diagnostics"], list)


@pytest.mark.parametrize(
    "body",
    [
        "x" + ".a()" * 3000,
        "f(" * 3000 + ")" * 3000,
        " + ".join(["x"] * 3000),
        " and ".join(["x"] * 3000),
        "[" * 900 + "]" * 900,
        "-" * 3000 + "x",
    ],
)
def test_nested_without_end(body: str) -> None:
    for statement in (body, f"y = {body}", f"if {body}: pass", f"return {body}"):
        found = python.extract(f"import torch\ndef f(x: Tensor):\n    {statement}\n    torch.abs(x)\n".encode())
        assert "@torch.abs()" in [symbol for _, symbol, _ in found["uses"]["f"]]


def test_diagnostics() -> None:
    rows = python.extract(b"x = 1\ny = '\xff'\ndef f(:\n")["diagnostics"]
    assert {kind for _, kind, _ in rows} == {"syntax", "encoding"}
    assert (2, "encoding", "not UTF-8") in rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor", ("T", "")),
        ("torch.Tensor", ("T", "")),
        ("Optional[Tensor]", ("T", "")),
        ("'Tensor'", ("T", "")),
        ("TensorLikeType", ("T", "")),
        ("Union[Tensor, List[Tensor]]", ("T", "")),
        ("List[Tensor]", ("T{}", "")),
        ("Optional[Tuple[Tensor, ...]]", ("T{}", "")),
        ("Dict[str, Tensor]", ("T{}", "")),
        ("Dict[Tensor, str]", ("", "")),
        ("List[List[Tensor]]", ("T{}{}", "")),
        ("Dict[str,\n    Dict[int, List[torch.Tensor]]]", ("T{}{}{}", "")),
        ("Iterator[Tuple[str, Tensor]]", ("T{}{}", "")),
        ("Tuple[List[Tensor], Tensor]", ("T{}", "")),  # the plainest
        ("Optional[Callable[[Tensor], Tensor]]", ("", "")),
        ("Callable[[Tensor], Tensor]", ("", "")),
        ("TensorBox", ("", "TensorBox")),
        ("nn.Linear", ("", "nn.Linear")),
        ("Optional[Module]", ("", "Module")),
        ("Iterator[nn.Module]", ("", "nn.Module{}")),
        ("Dict[str, List[Module]]", ("", "Module{}{}")),
        ("Optional[Tuple[Module, ...]]", ("", "Module{}")),
        ("Iterator[Tuple[str, Module]]", ("", "")),  # each of another type
        ("List[int]", ("", "")),
        ("int", ("", "")),
        ("Any", ("", "")),
    ],
)
def test_annotation(text: str, expected: tuple[str, str]) -> None:
    assert annotation(text) == expected


def test_symbols() -> None:
    assert element("T") == "T"
    assert element("T{}") == "T"
    assert element(".f()") == ".f()[]"
    assert element("") == ""
    assert bounded("T" + ".view()" * 30) == "T"
    assert bounded("@a" + ".view()" * 30) == ""
    assert split_types("Tensor, Optional[Tuple[Tensor, int]]") == ["Tensor", "Optional[Tuple[Tensor, int]]"]


def test_queries_are_found_and_missed() -> None:
    assert "(function_definition)" in load("python/events")
    with pytest.raises(FileNotFoundError, match="reinstall"):
        load("python/nothing")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('def f(g, v):\n    if isinstance(g["lr"], Tensor):\n        g["lr"].fill_(v)', ["T.fill_()"]),
        ('def f(g, v):\n    if isinstance(g["lr"], Tensor): pass\n    g["lr"].fill_(v)', []),
        ("def f(g): return g.x.item() if isinstance(g.x, Tensor) else g.x", ["T.item()"]),
        ("def f(g): return g.x.shape if isinstance(g.x, torch.Tensor) else None", []),
        ("def f(g=None):\n    g = g or make()\n    g.run()\ndef make(): pass", [".make()", ".make().run()"]),
        (
            "def f(g=None):\n    g = g if g is not None else make()\n    g.run()\ndef make(): pass",
            [".make()", ".make().run()"],
        ),
    ],
)
def test_what_a_condition_or_a_default_says(body: str, expected: list[str]) -> None:
    assert uses(HEAD + body) == expected


def test_a_condition_without_its_comments() -> None:
    found = facts(HEAD + "def f(x):\n    if (  # TODO: remove\n        x == '#1'\n    ):\n        torch.add(x)\n")
    assert found["guards"] == ["( x == '#1' )"]


def test_lists_of_names_that_grow() -> None:
    assert facts('__all__ = ["a"]\ntry:\n    __all__ += ["b"]\nexcept E:\n    pass\n')["strings"] == [
        ("__all__", 1, ["a"]),
        ("__all__", 3, ["b"]),
    ]


def test_stores() -> None:
    source = "_T = {}\n_N = {}\ndef f(key):\n    def g(h):\n        _T[key] = h\n        _N[key] = 1\n    return g\n"
    assert facts(source)["stores"] == [("f", "._T")]


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("def f(g, x): return g(x)", [("f", "g")]),
        ("def f(g: Callable, x):\n    def inner(y): return g(y)\n    return inner", [("f", "g")]),
        ("def f(x):\n    def inner(h): return h(x)\n    return inner", []),
        ("def f(int, x): return x", []),
        ("class A:\n    def m(self, g): return g(1)", [("A.m", "g")]),
    ],
)
def test_given(source: str, given: list[tuple[str, str]]) -> None:
    assert facts(source)["given"] == given
