"""Kinds of expressions, once the whole tree is known."""

from __future__ import annotations

from functools import cache

import pytest

from pytrace.extract import cpp, native_functions
from pytrace.link import functions, macros, operators
from pytrace.link.context import Context
from pytrace.link.cpp_scope import Types
from tests.link.small import OPERATORS, YAML

SOURCE = """
namespace at::native {
using Alias = Tensor;
using Pair = std::tuple<Tensor, int64_t>;
struct Inner { Tensor t; };
struct Outer : Inner { int n_; Inner inner; std::vector<Inner> all; Tensor make() {} Pair both() {} Outer* next() {} };
Tensor one() {}
std::tuple<Tensor, Tensor> two() {}
Alias aliased() {}
Outer outer() {}
auto unknown() {}
constexpr int kSize = 3;
}
"""


@cache
def types() -> Types:
    """The types of the source above."""
    ctx = Context({"A.cpp": ("cpp", cpp.extract(SOURCE.encode())),
                   YAML: ("native_functions", native_functions.extract(OPERATORS.encode()))})  # fmt: skip
    macros.link(ctx)
    operators.link(ctx)
    functions.link(ctx)
    return Types(ctx.functions, ctx.operators)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("?", ""),
        ("Tconst Tensor&", "Tensor"),
        ("TAlias", "Tensor"),
        ("TOuter", "Outer"),
        ("T{}", "{}"),
        # calls
        ("Cone", "Tensor"),
        ("Cat::native::one", "Tensor"),
        ("Caliased", "Tensor"),
        ("Couter", "Outer"),
        ("Cunknown", ""),
        ("Cnowhere", ""),
        ("Cat::add", "Tensor"),
        ("Cat::cat", "Tensor"),
        ("Cat::max", "tuple Tensor;Tensor"),
        ("Cat::_ops::add_Tensor::call", "Tensor"),
        ("COuter", "at::native::Outer"),
        ("CTensor", "Tensor"),
        ("Cstd::numeric_limits<scalar_t>::max", "float"),
        ("Cc10::irange", "IntArrayRef"),
        ("C::one", ""),  # of the global namespace, where there is none
        ("C::at::native::one", "Tensor"),
        # elements
        ("G0|Ctwo", "Tensor"),
        ("G1|Cat::max", "Tensor"),
        ("G5|Ctwo", ""),
        ("ITTensorList", "Tensor"),
        ("ITstd::vector<Outer>", "Outer"),
        ("ICc10::irange", "int"),
        # methods
        ("MTTensor|add(", "Tensor"),
        ("MTTensor|unbind(", "TensorList"),
        ("IMTTensor|unbind(", "Tensor"),
        ("G1|MTTensor|max(", "Tensor"),
        ("MTTensor|sizes", "IntArrayRef"),
        ("IMTTensor|sizes", "int"),
        ("MTTensor|nothing_known(", ""),
        ("MTOuter|make", "Tensor"),
        ("MMTOuter|next|make", "Tensor"),
        ("G1|MTOuter|both", "int"),
        ("MTstd::optional<Tensor>|value", "Tensor"),
        ("MTstd::unique_ptr<Outer>|make", "Tensor"),
        # fields, own and of bases
        ("FTOuter|inner", "Inner"),
        ("FFTOuter|inner|t", "Tensor"),
        ("FTOuter|t", "Tensor"),
        ("FIFTOuter|all|t", "Tensor"),
        ("FTOuter|nothing", ""),
        # names
        ("VkSize", "int"),
        ("Vnobody", ""),
        # lists and comparisons
        ("LTTensor", "list Tensor"),
        ("LCone", "list Tensor"),
        ("BTTensor", "Tensor"),
        ("BTint", "bool"),
    ],
)
def test_kind(expression: str, kind: str) -> None:
    assert types().kind(expression, "at::native", "A.cpp") == kind


def test_members_of_the_class_around() -> None:
    inside = "at::native::Outer"
    assert types().kind("Vt", inside, "A.cpp") == "Tensor"
    assert types().kind("Vn_", inside, "A.cpp") == "int"
    assert types().kind("Tthis", inside, "A.cpp") == inside
    assert types().kind("ITthis", inside, "A.cpp") == inside
    assert types().kind("Cmake", inside, "A.cpp") == "Tensor"


def test_an_expression_without_end() -> None:
    assert types().kind("I" * 500 + "TTensor", "at::native", "A.cpp") == ""
