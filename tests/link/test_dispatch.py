"""Operators to their kernel functions, written and generated: ``link/dispatch.py``, ``link/generated.py``."""

from __future__ import annotations

import json

import pytest

from tests.link.small import YAML, edges, linked

STRUCTURED = """\
- func: foo.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: foo_out_cpu
    CUDA: foo_out_cuda
    SparseCPU: foo_sparse_out
- func: foo(Tensor self) -> Tensor
  structured_delegate: foo.out
  dispatch:
    SparseCPU: foo_sparse
- func: foo_(Tensor(a!) self) -> Tensor(a!)
  structured_delegate: foo.out
  variants: method
"""


def dispatches(operators: str, **sources: str) -> list[str]:
    """``operator dispatches=key function`` of every edge, sorted."""
    files = {name.replace("_", "."): f"namespace at::native {{\n{text}\n}}\n" for name, text in sources.items()}
    return sorted(edges(linked(files, operators), "dispatches"))


def test_structured_kernels_are_inherited() -> None:
    source = (
        "TORCH_IMPL_FUNC(foo_out_cpu)(const Tensor& self, const Tensor& out) {}\n"
        "TORCH_IMPL_FUNC(foo_out_cuda)(const Tensor& self, const Tensor& out) {}\n"
        "Tensor foo_sparse(const Tensor& self) {}\nTensor& foo_sparse_out(const Tensor& self, Tensor& out) {}\n"
    )
    found = dispatches(STRUCTURED, F_cpp=source)
    assert found == sorted(
        [f"aten::{op} dispatches={key} impl" for op in ("foo", "foo_", "foo.out") for key in ("CPU", "CUDA")]
        # only some keys have structured kernels (STRUCTURED_DISPATCH_KEYS in torchgen/model.py); others stay where
        # they are written
        + ["aten::foo dispatches=SparseCPU foo_sparse", "aten::foo.out dispatches=SparseCPU foo_sparse_out"]
    )


def test_all_operators_of_a_structured_group_have_its_meta_function() -> None:
    source = (
        "namespace at::meta {\nTORCH_META_FUNC(foo)(const Tensor& self) {}\n"
        "TORCH_META_FUNC2(foo, other)(const Tensor& self) {}\n}\n"  # no operator foo.other
    )
    plain = "- func: bar(Tensor self) -> Tensor\n- func: bar.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
    found = list(edges(linked({"F.cpp": source}, STRUCTURED + plain), "structured_meta"))
    assert found == [f"aten::{op} structured_meta=Meta meta" for op in ("foo.out", "foo", "foo_")]


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("dispatch:\n    CPU: bar_cpu", ["CPU bar_cpu"]),
        ("dispatch:\n    CPU, CUDA: bar_cpu", ["CPU bar_cpu", "CUDA bar_cpu"]),
        ("dispatch:\n    MPS: bar_nowhere", ["MPS bar_nowhere"]),
        ("dispatch:\n    CPU: other::bar_other", ["CPU bar_other"]),
        ("", ["CompositeImplicitAutograd bar"]),
        ("dispatch:\n    CompositeExplicitAutograd: bar_symint", ["CompositeExplicitAutograd bar_symint"]),
    ],
)
def test_a_key_names_a_function(entry: str, found: list[str]) -> None:
    operators = f"- func: bar(Tensor self) -> Tensor\n  {entry}\n"
    source = "Tensor bar(Tensor self) {} Tensor bar_cpu(Tensor self) {} Tensor bar_symint(Tensor self) {}\n"
    source += "} namespace other::native { Tensor bar_other(Tensor self) {}"
    assert dispatches(operators, F_cpp=source) == [f"aten::bar dispatches={row}" for row in found]


def test_which_overload_of_the_function() -> None:
    operators = (
        "- func: bar.a(Tensor self, int n) -> Tensor\n  dispatch:\n    CPU: bar\n"
        "- func: bar.b(Tensor self, Tensor other) -> Tensor\n  dispatch:\n    CPU: bar\n"
        "- func: bar.c(Tensor self, Scalar? s=None) -> Tensor\n  dispatch:\n    CPU: bar\n"
    )
    graph = linked(
        {
            "F.cpp": "namespace at::native {\nTensor bar(const Tensor& self, const Tensor& o) {}\n"
            "Tensor bar(const Tensor& self, int64_t n) {}\n"
            "Tensor bar(const Tensor& self, const std::optional<Scalar>& s) {}\n}"
        },
        operators,
    )
    lines = {row[0]: (row[2] if row[1] == "op" else row[5]) for row in graph.nodes}
    found = sorted((lines[e[0]], lines[e[1]], e[8]) for e in graph.edges if e[2] == "dispatches")
    assert found == [("aten::bar.a", 3, 1), ("aten::bar.b", 2, 1), ("aten::bar.c", 4, 1)]


def test_two_builds_of_one_kernel_are_candidates() -> None:
    operators = "- func: bar(Tensor self) -> Tensor\n  dispatch:\n    CUDA: bar_cuda\n"
    source = "#if A\nTensor bar_cuda(Tensor self) {}\n#else\nTensor bar_cuda(Tensor self) {}\n#endif"
    assert dispatches(operators, F_cpp=source) == ["aten::bar dispatches=CUDA bar_cuda x2"] * 2


def test_a_kernel_that_no_file_defines_is_a_node_without_a_place_and_listed() -> None:
    graph = linked({}, "- func: bar(Tensor self) -> Tensor\n  dispatch:\n    CPU: bar_cpu\n")
    (node,) = [row for row in graph.nodes if row[1] == "function"]
    assert (node[2], node[4], node[8]) == ("at::native::bar_cpu", "", None)
    assert [row[:4] for row in graph.unresolved] == [(YAML, "kernel", "at::native::bar_cpu", 3)]


def test_evidence_is_the_line_of_the_key() -> None:
    graph = linked({"F.cpp": "namespace at::native { Tensor bar_cuda(Tensor self) {} }"},
                   "- func: bar(Tensor self) -> Tensor\n  dispatch:\n    CPU: x\n    CUDA: bar_cuda\n")  # fmt: skip
    (edge,) = [e for e in graph.edges if e[2] == "dispatches" and e[3] == "CUDA"]
    assert edge[4:7] == ("yaml-dispatch", YAML, 4)


# -- generated kernels ------------------------------------------------------------------------------------------------

GENERATED = """\
- func: copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)
  variants: method
- func: clone(Tensor self) -> Tensor
  variants: method
- func: bar(Tensor self) -> Tensor
  dispatch:
    CPU: bar_cpu
  autogen: bar.out
- func: bump_(Tensor(a!) self) -> Tensor(a!)
  variants: method
  dispatch:
    CPU: bump_cpu_
  autogen: bump, bump.out
- func: slide(Tensor(a) self) -> Tensor(a)
  dispatch:
    CompositeExplicitAutograd: slide
- func: slide_copy(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: slide_copy
  tags: view_copy
"""
HELPERS = """namespace at::native {
void resize_out_helper(const Tensor& dst, const Tensor& src) {}
void copy_arg(const Tensor& dst, const Tensor& src) { dst.copy_(src); }
void copy_arg(const TensorList& dst, const TensorList& src) {}
Tensor clone_arg(const Tensor& t) { return t.clone(); }
}
"""


@pytest.mark.parametrize(
    ("kernel", "of", "helpers", "operator"),
    [
        ("bar_out", "bar.out", ["copy_arg", "resize_out_helper"], "bar"),
        ("bump_out", "bump.out", ["copy_arg", "resize_out_helper"], "bump"),
        ("bump", "bump", ["clone_arg"], "bump_"),
        ("slide_copy", "slide_copy", ["clone_arg"], "slide"),
    ],
)
def test_what_generated_kernels_call(kernel: str, of: str, helpers: list[str], operator: str) -> None:
    graph = linked({"aten/src/ATen/templates/CompositeViewCopyKernels.cpp": HELPERS}, GENERATED)
    assert sorted(edges(graph, "calls", "calls_op", "generated_from", source=kernel)) == [
        *(f"calls {helper}" for helper in helpers),
        f"calls_op aten::{operator}",
        f"generated_from aten::{of}",
    ]
    (node,) = [row for row in graph.nodes if row[3] == kernel and row[1] == "function"]
    generated = json.loads(node[8] or "{}")["generated"]
    assert node[4] == "" and generated["by"].startswith("torchgen/")


def test_generated_kernels_know_their_overload_of_a_helper() -> None:
    # copy_arg stands for lists and for Tensors: out= kernels of one Tensor call one of them
    graph = linked({"aten/src/ATen/templates/CompositeViewCopyKernels.cpp": HELPERS}, GENERATED)
    lines = {row[0]: row[5] for row in graph.nodes}
    names = {row[0]: row[3] for row in graph.nodes}
    found = [lines[e[1]] for e in graph.edges if e[2] == "calls" and names[e[0]] == "bar_out"]
    assert sorted(found) == [2, 3]
