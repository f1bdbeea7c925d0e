"""C++'s name lookup over the whole tree: scopes, usings, bases, linkage, headers."""

from __future__ import annotations

import pytest

from pytrace.extract import cpp
from pytrace.link import functions, macros
from pytrace.link.context import Context
from pytrace.link.functions import FunctionTable, scopes


def table(**sources: str) -> FunctionTable:
    """The functions of some files, ``A_cpp`` for ``A.cpp``."""
    files = {name.replace("_", "."): ("cpp", cpp.extract(text.encode())) for name, text in sources.items()}
    ctx = Context(files)
    macros.link(ctx)
    functions.link(ctx)
    return ctx.functions


def found(known: FunctionTable, name: str, scope: str = "", file: str = "A.cpp") -> list[str]:
    """``qualified@file`` of what a name means."""
    return [f"{symbol.name}@{symbol.file}" for symbol in known.lookup(name, scope, file)]


def test_scopes() -> None:
    assert list(scopes("a::b::c")) == ["a::b::c", "a::b", "a", ""]
    assert list(scopes("")) == [""]


@pytest.mark.parametrize(
    ("source", "name", "scope", "names"),
    [
        # from the inside out; the first scope that has the name hides the others
        ("void f() {} namespace a { void f() {} }", "f", "a", ["a::f"]),
        ("void f() {} namespace a { void f() {} }", "f", "a::b", ["a::f"]),
        ("void f() {} namespace a { void f() {} }", "f", "c", ["f"]),
        ("namespace a { void f() {} void f(int) {} }", "f", "a", ["a::f", "a::f"]),
        ("namespace a { void f() {} }", "f", "", []),
        # qualified names start from each enclosing scope
        ("namespace a { namespace b { void f() {} } }", "b::f", "a", ["a::b::f"]),
        ("namespace a { namespace b { void f() {} } }", "a::b::f", "a::c", ["a::b::f"]),
        ("namespace a { namespace b { void f() {} } }", "b::f", "", []),
        ("namespace a { namespace { void f() {} } }", "a::f", "b", ["a::f"]),
        # using
        ("namespace a { void f() {} } using namespace a;", "f", "", ["a::f"]),
        ("namespace a { void f() {} } namespace b { using namespace a; }", "f", "b::c", ["a::f"]),
        ("namespace a { void f() {} } namespace b { using namespace a; }", "f", "c", []),
        ("namespace a { void f() {} } using a::f;", "f", "b", ["a::f"]),
        ("namespace a { namespace d { void f() {} } using namespace d; }", "f", "a", ["a::d::f"]),
        ("namespace a { namespace b { void f() {} } } namespace x = a::b;", "x::f", "", ["a::b::f"]),
        ("namespace a { namespace b { void f() {} } namespace x = b; }", "x::f", "a", ["a::b::f"]),
        # classes
        ("struct S { void m() {} };", "m", "S", ["S::m"]),
        ("struct S { void m() {} };", "S::m", "", ["S::m"]),
        ("struct B { void m() {} }; struct S : B {};", "m", "S", ["B::m"]),
        ("struct B { void m() {} }; struct S : B {};", "S::m", "", ["B::m"]),
        ("struct A { void m() {} }; struct B : A {}; struct S : B {};", "m", "S", ["A::m"]),
        ("template <typename T> struct B { void m() {} }; struct S : B<int> {};", "m", "S", ["B::m"]),
        ("struct S { void m() {} }; using R = S;", "R::m", "", ["S::m"]),
        ("struct S { void m() {} }; struct T { using R = S; void n() {} };", "R::m", "T", ["S::m"]),
        ("struct S : S { void m() {} };", "n", "S", []),  # a class that derives from itself ends the search
    ],
)
def test_lookup(source: str, name: str, scope: str, names: list[str]) -> None:
    assert found(table(A_cpp=source), name, scope) == [f"{n}@A.cpp" for n in names]


def test_what_is_static_is_seen_in_its_own_file() -> None:
    known = table(A_cpp="static void f() {}", B_cpp="static void f() {}", C_cpp="")
    assert found(known, "f", file="A.cpp") == ["f@A.cpp"]
    assert found(known, "f", file="B.cpp") == ["f@B.cpp"]
    assert found(known, "f", file="C.cpp") == []


def test_an_anonymous_namespace_is_static() -> None:
    known = table(A_cpp="namespace a { namespace { void f() {} } }", B_cpp="namespace a { void f() {} }")
    assert found(known, "f", "a", "A.cpp") == ["a::f@A.cpp"]
    assert found(known, "f", "a", "B.cpp") == ["a::f@B.cpp"]


def test_what_is_static_in_a_header_is_seen_where_it_is_included() -> None:
    known = table(
        A_h="static void f() {}", B_h='#include "A.h"', A_cpp='#include "B.h"', C_cpp="", D_cpp="#include <B.h>"
    )
    assert found(known, "f", file="A.cpp") == ["f@A.h"]
    assert found(known, "f", file="D.cpp") == ["f@A.h"]
    assert found(known, "f", file="C.cpp") == []


def test_what_has_external_linkage_needs_no_include() -> None:
    # a declaration is enough in C++, and declarations are not read
    assert found(table(A_cpp="", B_cpp="void f() {}"), "f") == ["f@B.cpp"]


def test_two_definitions_of_one_name_in_two_files() -> None:
    # two builds of one function: #if in one file, #else in another
    known = table(A_cpp="", B_cpp="void f() {}", C_cpp="void f() {}")
    assert found(known, "f") == ["f@B.cpp", "f@C.cpp"]
    # in the file of one of them either can still be meant
    assert found(known, "f", file="B.cpp") == ["f@B.cpp", "f@C.cpp"]


def test_usings_of_a_header_hold_for_those_who_name_it() -> None:
    known = table(A_h="namespace a { void f() {} } namespace b { using a::f; }", A_cpp='#include "A.h"')
    assert found(known, "f", "b") == ["a::f@A.h"]
    # a using directive holds in its own file only: headers are asked not to have any
    known = table(A_h="namespace a { void f() {} } using namespace a;", A_cpp='#include "A.h"')
    assert found(known, "f") == []


@pytest.mark.parametrize(
    ("expression", "line", "lines"),
    [
        ("&a::f", 0, [1]),
        ("a::f<int>", 0, [1]),
        ("f", 0, []),
        ("a::g", 0, [3, 2]),  # the last one first, when no line is given
        ("a::g", 2, [2, 3]),
        ("a::g", 9, [3, 2]),
        ("a::k", 0, [4]),
    ],
)
def test_resolve(expression: str, line: int, lines: list[int]) -> None:
    known = table(A_cpp="namespace a { void f() {}\nvoid g() {}\nvoid g(int x) {}\n__global__ void k() {} }")
    by_id = {symbol.id: symbol.line for symbols in known.by_file.values() for symbol in symbols}
    assert [by_id[i] for i in known.resolve(expression, "A.cpp", "", line)] == lines


def test_fields_and_globals() -> None:
    known = table(A_cpp="struct B { int b; }; struct S : B { Tensor t; }; constexpr int kN = 1;")
    assert known.field("S", "t", "A.cpp") == "Tensor"
    assert known.field("S", "b", "A.cpp") == "int"
    assert known.field("S", "c", "A.cpp") == ""
    assert known.global_kind("kN") == "int"
    # two constants of one name and two types say nothing
    known = table(A_cpp="static Tensor cache;", B_cpp="static int cache;")
    assert known.global_kind("cache") == ""


def test_overriders() -> None:
    known = table(
        A_cpp="struct B { virtual void m() = 0; }; struct C : B { void m() {} }; struct D : C { void m() {} };"
        "struct E { void m() {} };"
    )
    assert [s.name for s in known.overriders("B", "m", "A.cpp")] == ["C::m", "D::m"]
    # a virtual call knows no linkage
    known = table(
        A_h="struct B { virtual void m() = 0; };",
        B_cpp='#include "A.h"\nnamespace { struct C : B { void m() {} }; }',
        C_cpp='#include "A.h"\n',
    )
    assert [s.name for s in known.overriders("B", "m", "C.cpp")] == ["C::m"]


def test_defaults_stand_in_the_declaration() -> None:
    known = table(A_h="void f(int a, int b = 1);", A_cpp="void f(int a, int b) {}")
    ((symbol,),) = [known.by_name["f"]]
    assert (symbol.required, symbol.total) == (1, 2)


def test_a_variadic_function_takes_any_number() -> None:
    (symbol,) = table(A_cpp="void f(int a, ...) {}").by_name["f"]
    assert symbol.required == 1 and symbol.total > 50
