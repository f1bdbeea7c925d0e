"""Type expressions: what one file says about the type of an expression (``extract/cpp_types.py``)."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp_types import member_split, type_of

LOCALS = {
    "x": "TTensor",
    "y": "TTensor",
    "n": "Tint64_t",
    "d": "Tdouble",
    "s": "Tconst Scalar&",
    "list": "TTensorList",
    "opt": "Tstd::optional<Tensor>",
    "foo": "TFoo",
    "fn": "Tlambda",
    "like": "Tlambda",
    "like(": "Cat::_to_copy",  # what a call of it returns
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # names
        ("x", "TTensor"),
        ("other", "Vother"),
        ("a::b", "Va::b"),
        ("true", "Tbool"),
        ("nullptr", "Tnullptr"),
        ("std::nullopt", "Tnullopt"),
        ("this", "Tthis"),
        # literals
        ("1", "Tint"),
        ("0x1fUL", "Tint"),
        ("1'000", "Tint"),
        ("-1", "Tint"),
        ("1.5", "Tdouble"),
        (".5f", "Tdouble"),
        ("1e-5", "Tdouble"),
        ('"text"', "Tstr"),
        ("'c'", "Tchar"),
        ("{}", "T{}"),
        ("{x, y}", "LTTensor"),
        ("{1, 2}", "LTint"),
        ("[&](int a) { return a; }", "Tlambda"),
        # a lambda that is called at once, or by its name, is what it returns
        ("[&]() -> std::tuple<Tensor, int> { return f(); }()", "Tstd::tuple<Tensor, int>"),
        ("[&]() { if (n) { return x; } auto g = [] { return 1; }; return at::add(x, y); }()", "Cat::add"),
        ("[&] { g(); }()", "?"),
        ("like(x)", "Cat::_to_copy"),
        ("like(x).mul(n)", "MCat::_to_copy|mul("),
        ("MaybeOwned<Tensor>::borrowed(x)", "TTensor"),
        # constants that are told by their spelling
        ("kCUDA", "TDeviceType"),
        ("at::kCPU", "TDeviceType"),
        ("kFloat", "TScalarType"),
        ("at::ScalarType::Half", "TScalarType"),
        ("kSparse", "TLayout"),
        ("MemoryFormat::Contiguous", "TMemoryFormat"),
        ("at::Reduction::Mean", "Tint64_t"),
        # calls
        ("f()", "Cf"),
        ("at::add(x, y)", "Cat::add"),
        ("f<int>(n)", "Cf<int>"),
        ("x.add(y)", "MTTensor|add("),
        ("x.t()", "MTTensor|t"),
        ("x.add(y).t()", "MMTTensor|add(|t"),
        ("at::f(x).sum(n)", "MCat::f|sum("),
        ("foo->get()", "MTFoo|get"),
        ("x.to<float>()", "Tfloat"),
        ("x.template to<float>()", "Tfloat"),
        ("foo.bar", "FTFoo|bar"),
        ("foo.a.b", "FFTFoo|a|b"),
        ("fn(1)", "Cfn"),
        ("Foo{1, 2}", "TFoo"),
        ("std::vector<int>{1}", "Tstd::vector<int>"),
        # elements
        ("list[0]", "ITTensorList"),
        ("*opt", "ITstd::optional<Tensor>"),
        ("(*opt).t()", "MITstd::optional<Tensor>|t"),
        ("x.sizes()[0]", "IMTTensor|sizes"),
        ("std::get<1>(at::max(x))", "G1|Cat::max"),
        # casts, and what hands its argument on
        ("static_cast<int64_t>(d)", "Tint64_t"),
        ("(int)d", "Tint"),
        ("std::move(x)", "TTensor"),
        ("std::forward<T>(x)", "TTensor"),
        ("std::max(n, m)", "Tint64_t"),
        ("&x", "TTensor"),
        ("(x)", "TTensor"),
        ("~x", "TTensor"),
        # operators
        ("x + n", "TTensor"),
        ("n + x", "TTensor"),
        ("n * d", "Tdouble"),
        ("d * n", "Tdouble"),
        ("n - 1", "Tint64_t"),
        ("-x * n", "TTensor"),
        ("x == y", "BTTensor"),
        ("n < 1", "BTint64_t"),
        ("!n", "Tbool"),
        ("n && d", "Tbool"),
        ("n > 0 ? x : y", "TTensor"),
        ("n ? f() : g()", "Cf"),
        ("a ? b::c : d", "Vb::c"),
        ("n + f(1) * d", "Cf"),
        ("x.add(n + 1)", "MTTensor|add("),
        ("x.item<double>()", "Tdouble"),
        ("x.item()", "MTTensor|item"),
        ("scalar.template to<opmath_t>()", "Topmath_t"),
        ("x.other<float>()", "MTTensor|other"),
        ("f(a < b, c > d)", "Cf"),
        ("n / sizeof(T)", "Csizeof"),
        # nothing is known
        ("", "?"),
        ("new Foo()", "?"),
        ("(", "?"),
    ],
)
def test_type_of(text: str, kind: str) -> None:
    assert type_of(text, LOCALS) == kind


def test_nesting_is_bounded() -> None:
    assert type_of("(" * 400 + "x" + ")" * 400, LOCALS) == "?"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x.y", ("x", "y")),
        ("x->y", ("x", "y")),
        ("f(a.b).c", ("f(a.b)", "c")),
        ("a.b.c", ("a.b", "c")),
        ("x[a.b]", None),
        ("1.5", None),
        ("f(x.y)", None),
        ("f(a).b(c)", ("f(a)", "b(c)")),
        ("x", None),
    ],
)
def test_member_split(text: str, parts: tuple[str, str] | None) -> None:
    assert member_split(text) == parts
