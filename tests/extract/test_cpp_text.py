"""Scanners over C++ text, row by row."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp_text import angle_close, close_of, split_top, squeeze, template_arguments, without_templates


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("(a)b", "(a)"),
        ("(a(b)c)d", "(a(b)c)"),
        ("{a, [b]}", "{a, [b]}"),
        ('(")")x', '(")")'),
        (r'("\")")x', r'("\")")'),
        ("(')')x", "(')')"),
        ("(a", "(a"),
    ],
)
def test_close_of(text: str, inside: str) -> None:
    assert text[: close_of(text, 0, len(text))] == inside


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("<int>x", "<int>"),
        ("<a<b>, c>x", "<a<b>, c>"),
        ("<(a > b)>x", "<(a > b)>"),
        ("<decltype(a->b)>x", "<decltype(a->b)>"),
        ("<3, x>(y)", "<3, x>"),
        ("< b)", ""),
        ("<a", ""),
        ("<a; b>", "<a; b>"),  # nothing is known of statements here
    ],
)
def test_angle_close(text: str, inside: str) -> None:
    assert text[: angle_close(text, 0, len(text))] == inside


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("  ", []),
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("f(a, b), c", ["f(a, b)", "c"]),
        ("std::map<a, b> m, c", ["std::map<a, b> m", "c"]),
        ("a < b, c > d", ["a < b, c > d"]),  # a comparison of two looks like a list of templates: so does C++ itself
        ("{1, 2}, [a, b]() { return 1, 2; }", ["{1, 2}", "[a, b]() { return 1, 2; }"]),
        ('"a, b", c', ['"a, b"', "c"]),
        ("',', c", ["','", "c"]),
        ("1'000, 2", ["1'000", "2"]),  # a digit separator opens no character
        ("a,", ["a", ""]),
        ("a -> b, c", ["a -> b", "c"]),
        ("a)", ["a)"]),
    ],
)
def test_split_top(text: str, parts: list[str]) -> None:
    assert split_top(text) == parts


@pytest.mark.parametrize(
    ("name", "plain", "arguments"),
    [
        ("foo", "foo", ""),
        ("foo<int>", "foo", "int"),
        ("Foo<T>::bar<int, 2>", "Foo::bar", "int, 2"),
        ("a::Foo<b::C<d>>::e", "a::Foo::e", ""),
        ("std::vector<std::pair<int, T>>", "std::vector", "std::pair<int, T>"),
        ("operator<", "operator<", ""),
        ("operator<<", "operator<<", ""),
        ("Foo<T>::operator()", "Foo::operator()", ""),
        ("Foo<T>::operator<", "Foo::operator<", ""),
    ],
)
def test_templates_of_a_name(name: str, plain: str, arguments: str) -> None:
    assert without_templates(name) == plain
    if not name.endswith("<"):
        assert template_arguments(name) == arguments


def test_squeeze() -> None:
    assert squeeze("  a \n\t b  ") == "a b"
