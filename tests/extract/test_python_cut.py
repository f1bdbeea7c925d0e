"""Bodies of Python functions are cut out of what an outline is read from; lines and offsets lead back."""

from __future__ import annotations

import gc

import pytest

from pytrace.extract import python
from pytrace.extract.python_cut import cut_bodies, cut_numbers, whole

CLASS = "\nclass C:\n    x = 1\n    def m(self):\n        return 1\n    def n(self):\n        pass\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\ndef f(x):\n    y = x\n    return y\n\nz = 1\n", "\ndef f():\n 0\n\nz = 1\n"),
        (CLASS, "\nclass C:\n    x = 1\n    def m():\n     0\n    def n():\n     0\n"),
        ('\ndef f():\n    """Text\n    more."""\n    return {\n        1: [2],\n    }\n', "\ndef f():\n 0\n"),
        ("\ndef f():\n    return 1  # because\n", "\ndef f():\n 0\n"),
        # the head: strings, comments and brackets among the parameters
        (
            '\nasync def f(\n    a: Dict[str, int] = {1: 2},  # this)\n    b=g(1),\n    c="(",\n) -> int:\n    pass\n',
            "\nasync def f() -> int:\n 0\n",
        ),
        # defaults that are read are kept
        ("\ndef f(x, act=F.relu):\n    pass\n", "\ndef f(x, act=F.relu):\n 0\n"),
        # what a type comment says is kept
        ("\ndef f(x):  # type: (int) -> C\n    pass\n", "\ndef f():  # type: (int) -> C\n 0\n"),
        ("\ndef f(x):\n    # type: (int) -> C\n    pass\n", "same"),
        # a body that does not end where its lines seem to end
        ('\ndef f():\n    x = """\ntext at the margin\n    """\n    return x\n', "same"),
        ("\ndef f():\n    return g(\n1)\n", "same"),
        ("\ndef f():\n    return 'a\\\nb'\n", "same"),
        # an end that is not plain
        ("\ndef f():\n    pass\n    # the grammar may count this\n", "same"),
        ("\ndef f(): return 1\n", "same"),
        ("\ndef f(a=g(h(1))):\n    pass\n", "same"),
        ("\ndef f(:\n", "same"),
        ("\ndef f(x\n" * 3, "same"),
        ("x = 1\n", "same"),
    ],
)
def test_cut_bodies(source: str, expected: str) -> None:
    assert cut_bodies(source.encode()).text.decode() == (source if expected == "same" else expected)


SOURCE = """
import torch

@register
def f(
    x,
    y=1,
):
    # nothing

    def inner():
        pass
    return torch.add(x, y)


class C(torch.nn.Module):
    def forward(self, x):
        return f(x)

    size = property(lambda self: 1)
"""


def test_lines_and_offsets_of_the_source() -> None:
    excerpt = cut_bodies(SOURCE.encode())
    source, text = SOURCE.encode(), excerpt.text
    for word in (b"import", b"@register", b"def f", b"class C", b"def forward", b"size", b"property"):
        at = text.index(word)
        assert excerpt.offset(at) == source.index(word)
        assert excerpt.line(text.count(b"\n", 0, at) + 1) == source.count(b"\n", 0, source.index(word)) + 1
    body = text.index(b" 0") + 1
    assert excerpt.offset(body) == source.index(b"def inner")
    assert excerpt.offset(body + 1) == source.index(b"torch.add(x, y)") + len(b"torch.add(x, y)")
    assert excerpt.line(text.count(b"\n", 0, body) + 1) == 13
    assert excerpt.offset(len(text)) == len(source)


def test_nothing_is_cut_of_a_whole_source() -> None:
    excerpt = whole(b"a\nb\n")
    assert (excerpt.text, excerpt.offset(3), excerpt.line(2)) == (b"a\nb\n", 3, 2)


def test_an_outline_has_the_same_definitions() -> None:
    source = SOURCE.encode()
    found, all_of_it = python.read(source, outline=True), python.read(source, outline=False)
    assert [row[:4] for row in found["definitions"]] == [
        ("f", "f", 5, 13),
        ("C", "c", 16, 20),
        ("C.forward", "m", 17, 18),
    ]
    assert found["uses"] == {} and all_of_it["uses"]
    for name in ("aliases", "imports", "bases"):
        assert found[name] == all_of_it[name]


def test_programs_that_register_stand_at_their_lines_in_an_outline() -> None:
    source = (
        b"from torch.library import impl\n\n\ndef helper(x):\n    return x\n\n\n"
        b"@impl(lib, 'f', 'CPU')\ndef f(\n    x,\n):\n    y = 1\n    return y\n\n\n"
        b"def make(name):\n    lib.impl(name, helper)\n\n\nmake('g')\n"
    )
    source += b"lib.impl('h', helper)\n"
    outline, all_of_it = python.read(source, outline=True), python.read(source, outline=False)
    assert outline["py_program"] == all_of_it["py_program"]
    assert [row[:2] for row in outline["py_program"]] == [
        *(("imp", 1), ("def", 4), ("def", 9), ("def", 16), ("do", 20), ("do", 21)),
    ]


ROWS = "".join(f"    ({n}, {n + 1000}, True): [{n}12e-1, -2345],\n" for n in range(20))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"import torch\nT = {{\n{ROWS}}}\nf = torch.add\n", "import torch\nT = {\n}\nf = torch.add\n"),
        ("T = {\n" + "    (1, 2): 3,\n" * 7 + "}\n", "same"),  # few rows
        ("T = [\n" + "    (1, 2,\n" * 20 + "    3)" * 20 + "]\n", "same"),  # brackets that end elsewhere
        (f"T = {{\n{ROWS}}}\n" + "text = 'not many digits here'\n" * 99, "same"),
    ],
)
def test_cut_numbers(source: str, expected: str) -> None:
    assert cut_numbers(source.encode()).text.decode() == (source if expected == "same" else expected)


def test_lines_behind_a_table_of_numbers() -> None:
    facts = python.read(
        f"import torch\nT = {{\n{ROWS}}}\nf = torch.add\n\n\ndef g(x):\n    f(x)\n".encode(), outline=False
    )
    assert facts["aliases"] == [("f", 24, "@torch.add", [])]
    assert facts["definitions"][0][2:4] == (27, 28)
    assert facts["uses"]["g"][0][0] == 28


def test_a_reader_is_freed_without_a_collection() -> None:
    source = b"import torch\n\n\ndef f(x):\n    if x:\n        return torch.add(x, 1)\n\n\nlib.impl('f', f)\n"
    gc.collect()
    gc.disable()
    try:
        python.read(source, outline=False)
        python.read(source, outline=True)
        assert gc.collect() == 0
    finally:
        gc.enable()
