"""Reading ``#define`` lines, splitting arguments, expansion."""

from __future__ import annotations

import pytest

from pytrace.extract.macros import (
    Define,
    Lookup,
    MacroError,
    defines,
    expand,
    expand_text,
    parse_invocation,
    split_arguments,
)


def lookup_in(source: str) -> Lookup:
    """The last definition of each name, as a caller would keep it."""
    table = {row[0]: row for row in defines(source.encode())}
    return table.get


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define A 1\n", [("A", None, "1", 1)]),
        ("int x;\n  #  define A\n", [("A", None, "", 2)]),
        ("#define F(a,  b) a + b // sum\n", [("F", ("a", "b"), "a + b", 1)]),
        ("#define F() f()\n", [("F", (), "f()", 1)]),
        ("#define A (x)\n", [("A", None, "(x)", 1)]),
        ("#define F(a, ...) g(a, __VA_ARGS__)\n", [("F", ("a", "..."), "g(a, __VA_ARGS__)", 1)]),
        ("#define F(args...) g(args)\n", [("F", ("args...",), "g(args)", 1)]),
        (
            "#define F(a) \\\n  void a() { \\\n  }\nint x;\n#define B 2",
            [("F", ("a",), "void a() { }", 1), ("B", None, "2", 5)],
        ),
        ("#define F(a, \\\n   b) a\r\n", [("F", ("a", "b"), "a", 1)]),
        ("#define A 1 /* one\n two */ + 2\n", [("A", None, "1", 1)]),
        ("#define A 1 /* one */ + 2\n", [("A", None, "1 + 2", 1)]),
        ('#define A "a // b"  c\n', [("A", None, '"a // b" c', 1)]),
        ("#define A 1\n#undef A\n", [("A", None, "1", 1), ("A", None, None, 2)]),
        ("/*\n#define A 1\n*/\n#define B 2\n", [("B", None, "2", 4)]),
        ("// #define A 1\n#define B 2\n", [("B", None, "2", 2)]),
        ('auto s = R"(\n#define A 1\n)";\n#define B 2\n', [("B", None, "2", 4)]),
        ('x = "/*";\n#define A 1\n', [("A", None, "1", 2)]),
        ("#define A \\\n", [("A", None, "", 1)]),
        ("#define A 1\\", [("A", None, "1", 1)]),
        ("#define", []),
        ("#defined A\n", []),
        ("\xff#define A\n#define \xff\n", []),
        ("", []),
    ],
)
def test_defines(source: str, expected: list[Define]) -> None:
    assert defines(source.encode("latin-1")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("a", ["a"]),
        (
            "a, b(c, d), {e, f}, [&, g](int h, int i) { j(k, l); }",
            ["a", "b(c, d)", "{e, f}", "[&, g](int h, int i) { j(k, l); }"],
        ),
        ('"a, b", \'c\', "d\\", e"', ['"a, b"', "'c'", '"d\\", e"']),
        ('R"(a, b")", c', ['R"(a, b")"', "c"]),
        ("std::plus<A, B>, x", ["std::plus<A, B>", "x"]),
        ("f<A, g<B, C>>(d, e), h", ["f<A, g<B, C>>(d, e)", "h"]),
        ("a < b, c > d", ["a < b", "c > d"]),
        ("a<b && c, d>e", ["a<b && c", "d>e"]),
        ("i < n, j", ["i < n", "j"]),
        ("x->y, z", ["x->y", "z"]),
        ("a /* b, c */, d", ["a /* b, c */", "d"]),
        ("a,, b", ["a", "", "b"]),
        (") , (", [") , ("]),
    ],
)
def test_split_arguments(text: str, expected: list[str]) -> None:
    assert split_arguments(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("F(a, b)", ("F", ["a", "b"])),
        ("F (a<b, c>, (d, e)) rest", ("F", ["a<b", "c>", "(d, e)"])),
        ("F()", ("F", [])),
        ("F", ("F", [])),
        ("F(", None),
        ("(F)", None),
        ("", None),
    ],
)
def test_parse_invocation(text: str, expected: object) -> None:
    assert parse_invocation(text) == expected


# The standard's own examples are among these ([cpp.replace]); all were compared with GNU cpp.
@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("#define N 3", "x = N;", "x = 3;"),
        ("#define F(a) a + a", "F(1) F (2) F", "1 + 1 2 + 2 F"),
        ("#define F(a) g(a, F(1))", "F(x)", "g(x, F(1))"),
        ("#define A B\n#define B A", "A B", "A B"),
        ("#define NAME(x) x##_stub", "NAME(mul)", "mul_stub"),
        ("#define NAME(x, y) x ## _ ## y", "NAME(a, b)", "a_b"),
        ("#define N 3\n#define CAT(a, b) a##b", "CAT(N, N)", "NN"),
        ("#define N 3\n#define CAT(a, b) a##b\n#define XCAT(a, b) CAT(a, b)", "XCAT(x, N)", "x3"),
        ("#define STR(x) #x", 'STR(a  b "c\\n")', '"a b \\"c\\\\n\\""'),
        ("#define N 3\n#define STR(x) #x\n#define XSTR(x) STR(x)", "STR(N) XSTR(N)", '"N" "3"'),
        ("#define F(...) g(__VA_ARGS__)", "F() F(a) F(a, b)", "g() g(a) g(a, b)"),
        ("#define F(a, ...) g(a, ##__VA_ARGS__)", "F(a) F(a, b)", "g(a) g(a, b)"),
        ("#define F(a, ...) g(a __VA_OPT__(,) __VA_ARGS__)", "F(a) F(a, b, c)", "g(a) g(a , b, c)"),
        ("#define F(args...) g(args)", "F(a, b)", "g(a, b)"),
        ("#define OP(_, x) _(x, 1) _(y, 2)\n#define DO(a, b) a=b;", "OP(DO, z)", "z=1; y=2;"),
        (
            "#define LIST(_) _(mul) _(add)\n#define REG(op) m.impl(#op, op##_k);",
            "LIST(REG)",
            'm.impl("mul", mul_k); m.impl("add", add_k);',
        ),
        ("#define G(x) [x]\n#define F G", "F(1)", "[1]"),
        ("#define F(x) x\n#define G F(1", "G)", "1"),
        ("#define EMPTY\n#define F(a, b) a b", "F(EMPTY, 1)", "1"),
        (
            "#define t(x,y,z) x ## y ## z",
            "t(1,2,3) t(,4,5) t(6,,7) t(8,9,) t(10,,) t(,11,) t(,,12) [t(,,)]",
            "123 45 67 89 10 11 12 []",
        ),
        ("#define F(a) a", "F((x, y)) F(f(1, 2))", "(x, y) f(1, 2)"),
        ("#define F(a, b) a b", "F(1) F(1, 2, 3)", "F(1) F(1, 2, 3)"),
        ("#define F(a) a", "F(1", "F(1"),
        ("#define F(a) <a>", "F(\"x, )\") F(')')", "<\"x, )\"> <')'>"),
        ("#define NEG -1", "-NEG", "- -1"),
        ("#define A(x) x B\n#define B(y) y A", "A(1)(2)(3)", "1 2 3 B"),
        ('#define F(x) R"(x)" x', "F(1)", 'R"(x)" 1'),
        ("#define A 1\n#undef A", "A", "A"),
    ],
)
def test_expand_text(source: str, text: str, expected: str) -> None:
    assert expand_text(text, lookup_in(source)) == expected


def test_expand_text_only() -> None:
    lookup = lookup_in("#define A B(1)\n#define B(x) [x]\n")
    assert expand_text("A B(2)", lookup, only={"A"}) == "B(1) B(2)"


@pytest.mark.parametrize(
    ("source", "name", "args", "expected"),
    [
        (
            "#define REG_STUB(NAME) REGISTER(NAME##_stub, &NAME##_impl)\n"
            "#define RNN(NAME, KIND) \\\n  Tensor NAME##_impl(int x) { return run<KIND>(x); } \\\n  REG_STUB(NAME)\n",
            "RNN",
            ["gru", "Gru<int, 2>"],
            "Tensor gru_impl(int x) { return run<Gru<int, 2>>(x); } REGISTER(gru_stub, &gru_impl)",
        ),
        ("#define A 1", "A", [], "1"),
        ("#define F() f()", "F", [], "f()"),
        ("#define F(a) [a]", "F", [], "[]"),
    ],
)
def test_expand(source: str, name: str, args: list[str], expected: str) -> None:
    assert expand(name, args, lookup_in(source)) == expected


@pytest.mark.parametrize(
    ("source", "name", "args", "message"),
    [
        ("", "F", [], "not defined"),
        ("#define F(a) a\n#undef F", "F", ["x"], "not defined"),
        ("#define F(a, b) a", "F", ["x"], "takes 2 arguments, but 1 given"),
        ("#define F(a, b, ...) a", "F", ["x"], "takes at least 2"),
        ("#define F() a", "F", ["x"], "takes no argument"),
        ("\n".join(f"#define B{i}(x) B{i + 1}(x x) B{i + 1}(x x)" for i in range(40)), "B0", ["y"], "tokens"),
        ("\n".join(f"#define B{i} B{i + 1}" for i in range(2000)), "B0", [], "nested deeper"),
        ("\n".join(f"#define B{i}(x) B{i + 1}(B{i + 1}(x))" for i in range(2000)), "B0", ["y"], "nested deeper|tokens"),
    ],
)
def test_expand_errors(source: str, name: str, args: list[str], message: str) -> None:
    with pytest.raises(MacroError, match=message):
        expand(name, args, lookup_in(source))


def test_deep_nesting_of_arguments_ends() -> None:
    text = "F(" * 3000 + "x" + ")" * 3000
    with pytest.raises(MacroError):
        expand_text(text, lookup_in("#define F(a) a"))
