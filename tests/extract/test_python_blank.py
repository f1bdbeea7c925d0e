"""Bodies of Python functions are blanked; offsets, newlines and the functions' ends stay."""

from __future__ import annotations

import pytest

from pytrace.extract import python
from pytrace.extract.python_blank import blank_bodies


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\ndef f(x):\n    y = x\n    return y\n\nz = 1\n", "def f(x): 0 z = 1"),
        ("\nclass C:\n    x = 1\n    def m(self):\n        return 1\n    def n(self):\n        pass\n", None),
        ('\ndef f():\n    """Text\n    more."""\n    return {\n        1: [2],\n    }\n', "def f(): 0"),
        ("\nasync def f(\n    a: Dict[str, int] = {1: 2},  # note: this\n) -> int:\n    return 1\n", None),
        # a body that does not end where its lines seem to end
        ('\ndef f():\n    x = """\ntext at the margin\n    """\n    return x\n', "same"),
        ("\ndef f():\n    return g(\n1)\n", "same"),
        ("\ndef f():\n    return 'a\\\nb'\n", "same"),
        # an end that is not plain
        ("\ndef f():\n    return 1  # because\n", "same"),
        ("\ndef f(): return 1\n", "same"),
        ("\ndef f(:\n", "same"),
        ("x = 1\n", "same"),
    ],
)
def test_blank_bodies(source: str, expected: str | None) -> None:
    out = blank_bodies(source.encode())
    assert len(out) == len(source.encode())
    assert out.count(b"\n") == source.count("\n")
    if expected == "same":
        assert out == source.encode()
    elif expected is None:
        assert b"return" not in out
    else:
        assert " ".join(out.decode().split()) == expected


def test_an_outline_has_the_same_definitions() -> None:
    source = (
        b"import torch\n\n@register\ndef f(x, y=1):\n    def inner():\n        pass\n    return torch.add(x, y)\n\n\n"
        b"class C(torch.nn.Module):\n    def forward(self, x):\n        return f(x)\n\n"
        b"    size = property(lambda self: 1)\n"
    )
    found, whole = python.read(source, outline=True), python.read(source, outline=False)
    assert [row[:4] for row in found["definitions"]] == [
        ("f", "f", 4, 7),
        ("C", "c", 10, 14),
        ("C.forward", "m", 11, 12),
    ]
    assert found["uses"] == {} and whole["uses"]
    assert found["aliases"] == whole["aliases"]
