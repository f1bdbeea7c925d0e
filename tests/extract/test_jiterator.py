"""Codes that are compiled while PyTorch runs, and the names that they are compiled under."""

from __future__ import annotations

import pytest

from pytrace.extract.jiterator import extract


@pytest.mark.parametrize(
    ("source", "names", "codes"),
    [
        ('// jit\nconstexpr char twist_name[] = "twist";\n', [("twist_name", "twist", 2)], []),
        ('CONSTEXPR_EXCEPT_WIN_CUDA char n [ ] = "a";  jit(n);', [("n", "a", 1)], []),
        ('constexpr char greeting[] = "hello";\n', [], []),  # a file without the jiterator
        ("const auto twist_string = jiterator_stringify(\n  template <typename T> T twist(T a) { return a; });", [],
         [("twist_string", 1)]),
        # behind another code
        ("const auto twist_string = base_string + jiterator_stringify(\n  code);\n", [], [("twist_string", 1)]),
        # on a line of its own, and with no variable
        ("\nstatic const auto s =\n    jiterator_stringify(code);\n", [], [("s", 2)]),
        ("run(jiterator_stringify(code));\n", [], [("", 1)]),
        # code for the host as well
        ("jiterator_also_stringify_as(jiterator_code(\ntemplate <typename T>\nT one(T x) { return x; }),\n"
         "one_string); // one\n", [], [("one_string", 1)]),
        # the macro itself
        ("#define jiterator_stringify(...) std::string(#__VA_ARGS__);\n", [], []),
        ("x = jiterator_stringify(", [], [("x", 1)]),  # half a call
    ],
)  # fmt: skip
def test_names_and_codes(source: str, names: list[object], codes: list[object]) -> None:
    facts = extract(source.encode())
    assert (facts.get("jit_names", []), facts.get("jit_codes", [])) == (names, codes)


def test_any_bytes() -> None:
    assert extract(b'\xff\x00 jiterator_stringify( char x[] = "\xe9" jit') == {
        "jit_names": [("x", "é", 1)],
        "jit_codes": [("", 1)],
    }
