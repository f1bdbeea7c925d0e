"""``TORCH_LIBRARY`` blocks, and what function an expression registers."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp import parser
from pytrace.extract.registration_functions import Kernel, kernel
from pytrace.extract.registration_library import LibraryBlock, LibraryCall
from pytrace.extract.registrations import extract


def calls(text: str) -> list[LibraryCall]:
    source = text.encode()
    found = extract(parser().parse(source), source)
    return [LibraryCall._make(row) for row in found.get("library_calls", ())]


def in_block(statement: str, head: str = "TORCH_LIBRARY_IMPL(aten, CPU, m)") -> LibraryCall:
    (call,) = calls(f"{head} {{\n  {statement}\n}}\n")
    return call


@pytest.mark.parametrize(
    ("expression", "target", "how", "key"),
    [
        ("foo", "foo", "", ""),
        ("&at::native::foo", "at::native::foo", "", ""),
        ("TORCH_FN(foo)", "foo", "", ""),
        ("TORCH_FN((&a::b))", "a::b", "", ""),
        ("TORCH_FN(QMul</*ReLU=*/false>::run)", "QMul::run", "", ""),
        ("QConv<2, true>::run", "QConv::run", "", ""),
        ("static_cast<Tensor (*)(const Tensor&, int64_t)>(native::foo)", "native::foo", "", ""),
        ("static_cast<decltype(&ATEN_FN2(a, b))>(native::a)", "native::a", "", ""),
        ("CppFunction::makeFallthrough()", "", "fallthrough", ""),
        ("torch::CppFunction::makeNamedNotSupported()", "", "not-supported", ""),
        ("torch::CppFunction::makeFromBoxedFunction<&foo>()", "foo", "boxed", ""),
        ("torch::dispatch(c10::DispatchKey::Meta, ::foo)", "::foo", "", "Meta"),
        ("torch::dispatch(at::kCPU, TORCH_FN(foo))", "foo", "", "CPU"),
        ("add_generated_plumbing<decltype(&rule), &rule>", "rule", "plumbing", ""),
        ("x_generated_plumbing<decltype(&H<a, b>::apply), &H<a, b>::apply>", "H::apply", "plumbing", ""),
        ("autograd::notImplementedFallback()", "autograd::notImplementedFallback", "made", ""),
        ("[](const Tensor& x) { return x; }", "", "lambda", ""),
        ("BATCH_RULE(foo)", "", "unknown", ""),
        ("", "", "", ""),
    ],
)
def test_kernel(expression: str, target: str, how: str, key: str) -> None:
    assert kernel(expression)[:3] == (target, how, key)


def test_kernel_keeps_template_arguments() -> None:
    assert kernel("TORCH_FN(f<1>)") == Kernel("f", "", "", "f<1>")


@pytest.mark.parametrize(
    ("statement", "what", "name", "target", "how"),
    [
        ('m.impl("add.Tensor", foo);', "impl", "add.Tensor", "foo", ""),
        ('m.impl(TORCH_SELECTIVE_NAME("aten::add"), TORCH_FN(foo));', "impl", "aten::add", "foo", ""),
        ('m.impl("add", /* why */ "no function");', "impl", "add", "", "unknown"),
        ('m.impl("a" "b", foo);', "impl", "ab", "foo", ""),
        ("m.impl(name, foo);", "impl", "", "foo", ""),
        ('m.def("foo(Tensor x) -> Tensor", bar);', "def", "foo(Tensor x) -> Tensor", "bar", ""),
        ('m.def(TORCH_SELECTIVE_SCHEMA("q::f(int x) -> ()"));', "def", "q::f(int x) -> ()", "", ""),
        ('m.def(torch::schema("f(int x) -> ()", kind), &g);', "def", "f(int x) -> ()", "g", ""),
        ('m.def(R"(f(int x) -> ())", g);', "def", "f(int x) -> ()", "g", ""),
        ("m.fallback(torch::CppFunction::makeFallthrough());", "fallback", "", "", "fallthrough"),
        ("VMAP_SUPPORT(add, rule<a, b>);", "macro", "VMAP_SUPPORT", "m", "impl"),
        ("BINARY_3_Tensor(add, Scalar);", "macro", "BINARY_3_Tensor", "m", "impl"),
    ],
)
def test_calls(statement: str, what: str, name: str, target: str, how: str) -> None:
    call = in_block(statement)
    assert (call.what, call.name, call.target, call.how) == (what, name, target, how)
    assert (call.line, call.below, call.namespace, call.key) == (2, 1, "aten", "CPU")


def test_key_of_the_call_wins() -> None:
    call = in_block('m.def("f() -> ()", torch::dispatch(c10::DispatchKey::Meta, g));', "TORCH_LIBRARY(x, m)")
    assert (call.namespace, call.key) == ("x", "Meta")


def test_tags() -> None:
    call = in_block('m.def("f() -> ()", {at::Tag::core, at::Tag::pt2_compliant_tag}, g);', "TORCH_LIBRARY(x, m)")
    assert (call.tags, call.target) == ("core pt2_compliant_tag", "g")


def test_lambda_has_lines() -> None:
    call = in_block('m.impl("f", [](int a) {\n    m.impl("inner", x);\n    return a < 1, a;\n  });')
    assert (call.how, call.lines) == ("lambda", 3)


def test_register_operators() -> None:
    text = 'static auto r = torch::RegisterOperators()\n  .op("t::f(Tensor x) -> Tensor", &f)\n  .op("t::g", &a::g);\n'
    assert [(c.line, c.what, c.name, c.target) for c in calls(text)] == [
        (2, "op", "t::f(Tensor x) -> Tensor", "f"),
        (3, "op", "t::g", "a::g"),
    ]


def test_blocks() -> None:
    text = (
        "namespace a {\nTORCH_LIBRARY(q, lib) {\n}\n"
        "#ifdef X\nTORCH_LIBRARY_FRAGMENT(q, m) { m.def(\"f() -> ()\"); }\n#endif\n}\n"
        "TORCH_LIBRARY_IMPL(_, Autocast, m) {\n}\n"
    )  # fmt: skip
    source = text.encode()
    rows = extract(parser().parse(source), source)["libraries"]
    assert [LibraryBlock._make(row) for row in rows] == [
        LibraryBlock(2, "def", "q", "", "a", "", 3),
        LibraryBlock(5, "fragment", "q", "", "a", "#ifdef X", 5),
        LibraryBlock(8, "impl", "_", "Autocast", "", "", 9),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '// TORCH_LIBRARY(a, m) { m.def("f() -> ()"); }',
        '#define X TORCH_LIBRARY(a, m) { m.def("f() -> ()"); }',
        "TORCH_LIBRARY(a, m);",
        "TORCH_LIBRARY(a",
        "static void TORCH_LIBRARY_init_a(torch::Library&);",
        '#define _TORCH_LIBRARY_IMPL(ns, k, m, uid) { m.impl("x", y); }',
    ],
)
def test_no_blocks(text: str) -> None:
    assert calls(text) == []


def test_an_open_block_is_read_to_the_end() -> None:
    assert [c.name for c in calls('TORCH_LIBRARY(a, m) {\n m.def("f() -> ()");\n')] == ["f() -> ()"]


def test_comments_and_directives_in_a_block() -> None:
    text = (
        'TORCH_LIBRARY_IMPL(a, CPU, m) {\n// m.impl("x", y);\n#define M(op) m.impl(#op, f<op>);\n'
        "M(add)\n#undef M\n/* m.impl(\"z\", y); */ m.impl(\"w\", y);\n}\n"
    )  # fmt: skip
    assert [(c.what, c.name, c.line) for c in calls(text)] == [("macro", "M", 4), ("impl", "w", 6)]
