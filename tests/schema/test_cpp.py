"""C++ names, signatures, declarations, ufunc loops."""

from __future__ import annotations

import pytest

from pytrace.schema import native_signature, parse_schema, parse_type, signature, signature_flags
from pytrace.schema.cpp import KINDS, kind_of, native_default_name
from pytrace.schema.native import declaration, impl_arguments
from pytrace.schema.ufunc import kernels, parse_loop

KIND = [
    # type, plain kind, symint kind, optional
    ("Tensor", "Tensor", "Tensor", False),
    ("Tensor?", "OptTensor", "OptTensor", True),
    ("Tensor[]", "TensorList", "TensorList", False),
    ("Tensor?[]", "OptTensorList", "OptTensorList", False),
    ("SymInt", "int", "SymInt", False),
    ("SymInt[2]?", "IntArrayRef", "SymIntArrayRef", True),
    ("Scalar[]", "ScalarList", "ScalarList", False),
    ("bool[3]", "BoolArray", "BoolArray", False),
    ("Dimname[]?", "DimnameList", "DimnameList", True),
    ("ScalarType?", "ScalarType", "ScalarType", True),
]


@pytest.mark.parametrize(("text", "plain", "symint", "optional"), KIND)
def test_kinds(text: str, plain: str, symint: str, optional: bool) -> None:
    t = parse_type(text)
    assert kind_of(t, False) == (plain, optional)
    assert kind_of(t, True) == (symint, optional)
    assert {plain, symint} <= KINDS


OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
SIGNATURES = [
    # schema, method, faithful, symint -> name, arguments (= marks a default), required
    (
        "add.out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
        (False, False, False),
        ("add_out", "out self n=", 2),
    ),
    (
        "add.out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
        (False, True, False),
        ("add_outf", "self n out", 3),
    ),
    ("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", (True, False, True), ("view_symint", "size", 1)),
    (f"ones(int[] size, *, {OPTIONS}) -> Tensor", (False, False, False), ("ones", "size options=", 1)),
    (
        f"ones(int[] size, *, {OPTIONS}) -> Tensor",
        (False, True, False),
        ("ones", "size dtype layout device pin_memory", 5),
    ),
    (
        f"full_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        (False, False, False),
        ("full_like", "self options= memory_format=", 1),
    ),
]


@pytest.mark.parametrize(("text", "flags", "expected"), SIGNATURES)
def test_signatures(text: str, flags: tuple[bool, bool, bool], expected: tuple[str, str, int]) -> None:
    method, faithful, symint = flags
    made = signature(parse_schema(text), method=method, faithful=faithful, symint=symint)
    args = " ".join(a.name + ("=" if a.default else "") for a in made.args)
    assert (made.name, args, made.required) == expected
    assert made.accepts_count(made.required)
    assert not made.accepts_count(made.required - 1)
    assert not made.accepts_count(len(made.args) + 1)


def test_no_default_arguments() -> None:
    made = signature(
        parse_schema("all(Tensor self, int dim=0, bool keepdim=False) -> Tensor"),
        method=False,
        faithful=False,
        symint=False,
        no_default=frozenset({"dim"}),
    )
    assert [a.default for a in made.args] == [False, False, True]


def test_every_overload_is_listed() -> None:
    assert signature_flags(parse_schema("f(SymInt n, *, Tensor(a!) out) -> Tensor(a!)")) == [
        (False, False), (True, False), (False, True), (True, True)
    ]  # fmt: skip


def test_kernels_have_native_signatures() -> None:
    schema = parse_schema("f.x(Tensor self, SymInt n=2, *, int k=1) -> Tensor")
    made = native_signature(schema, "f_cpu", symint=False)
    assert [(a.kind, a.default) for a in made.args] == [("Tensor", False), ("int", True), ("int", True)]
    assert native_default_name(schema) == "f_x"
    assert native_default_name(parse_schema("f.out(*, Tensor(a!) out) -> Tensor(a!)")) == "f_out_out"


DECLARATIONS = [
    (
        "f(Tensor self, Tensor? w, SymInt[2] n=0, str s='a\"b') -> (Tensor, Tensor)",
        "::std::tuple<at::Tensor,at::Tensor> K(const at::Tensor & self, const ::std::optional<at::Tensor> & w, "
        'at::IntArrayRef n=0, c10::string_view s="a\\"b")',
    ),
    (
        "f_(Tensor(a!) self, Scalar? x=None, bool[2] m=[True,False]) -> Tensor(a!)",
        "at::Tensor & K(at::Tensor & self, const ::std::optional<at::Scalar> & x=::std::nullopt, "
        "::std::array<bool,2> m={True,False})",
    ),
    (
        "f(Tensor[] t, Tensor?[] u, float[]? s=None) -> Tensor[]",
        "::std::vector<at::Tensor> K(at::TensorList t, const c10::List<::std::optional<at::Tensor>> & u, "
        "::std::optional<at::ArrayRef<double>> s=::std::nullopt)",
    ),
    (
        f"f(int n, *, {OPTIONS}) -> Tensor",
        "at::Tensor K(int64_t n, ::std::optional<at::ScalarType> dtype={}, ::std::optional<at::Layout> layout={}, "
        "::std::optional<at::Device> device={}, ::std::optional<bool> pin_memory={})",
    ),
    (
        "f.out(Tensor self, int n=1, *, Tensor(a!)[] out) -> ()",
        "void K(const at::Tensor & self, int64_t n, at::TensorList out)",
    ),
]


@pytest.mark.parametrize(("text", "expected"), DECLARATIONS)
def test_declarations(text: str, expected: str) -> None:
    assert declaration(parse_schema(text), "K", symint=False) == expected


def test_symint_declaration() -> None:
    schema = parse_schema("f(SymInt[2] n=0, SymInt[]? m=None, SymInt k=1) -> Tensor")
    assert declaration(schema, "K", symint=True) == (
        "at::Tensor K(c10::SymIntArrayRef n=c10::SymInt(0), at::OptionalSymIntArrayRef m=::std::nullopt, "
        "c10::SymInt k=1)"
    )


def test_precomputed_arguments_replace_and_add() -> None:
    schema = parse_schema("pool.out(Tensor self, int[2] size, Tensor? w, *, Tensor(a!) out) -> Tensor(a!)")
    assert impl_arguments(schema, ["size -> int kH, int kW", "int planes"]) == [
        "const at::Tensor & self", "int64_t kH", "int64_t kW", "at::OptionalTensorRef w", "int64_t planes",
        "const at::Tensor & out",
    ]  # fmt: skip


def test_ufunc_loops() -> None:
    assert parse_loop("Generic", "add (Floating, Half)").dtypes == ("Float", "Double", "Half")
    with pytest.raises(ValueError, match="not a ufunc loop"):
        parse_loop("Generic", "add")
    schema = parse_schema("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
    cpu, cuda = kernels(schema, {"Generic": "add (Floating)", "ScalarOnly": "add (Bool)"})
    assert (cpu.impl, cpu.stub, cpu.function) == ("ufunc_add_CPU", "add_stub", "at::native::add_kernel")
    assert cpu.launchers == ("at::native::cpu_kernel_vec", "at::native::cpu_kernel")
    assert cuda.functors == ("CUDAFunctorOnSelf_add", "CUDAFunctorOnOther_add", "CUDAFunctor_add")
    assert cuda.loops == ("at::native::ufunc::add",)
    (_, unary) = kernels(
        parse_schema("neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"), {"Generic": "neg (All)"}
    )
    assert unary.functors == ("CUDAFunctor_neg",)
