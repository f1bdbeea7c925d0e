"""Devices of keys, guards, and what counts as plumbing."""

from __future__ import annotations

import pytest

from pytrace.model import Node
from pytrace.trace import guards
from pytrace.trace.devices import device_of, is_layer, is_plain, key_order
from pytrace.trace.noise import is_infrastructure, is_library_plumbing, is_mover, is_plumbing, is_question


@pytest.mark.parametrize(
    ("key", "device"),
    [
        ("CPU", "cpu"),
        ("CUDA", "cuda"),
        ("SparseCsrCUDA", "cuda"),
        ("QuantizedCPU", "cpu"),
        ("MkldnnCPU", "cpu"),
        ("AVX512", "cpu"),
        ("DEFAULT", "cpu"),
        ("MPS", "mps"),
        ("HIP", "hip"),
        ("PrivateUse1", "privateuse1"),
        ("Meta", "meta"),
        ("CompositeImplicitAutograd", ""),
        ("AutogradCUDA", ""),
        ("AutocastCPU", ""),
        ("", ""),
    ],
)
def test_device_of(key: str, device: str) -> None:
    assert device_of(key) == device


def test_order_of_keys() -> None:
    keys = ["AutogradCPU", "Meta", "MPS", "SparseCPU", "CUDA", "CompositeExplicitAutograd", "CPU"]
    wanted = ["CompositeExplicitAutograd", "CPU", "CUDA", "MPS", "SparseCPU", "Meta", "AutogradCPU"]
    assert sorted(keys, key=key_order) == wanted


def test_plain_and_layers() -> None:
    assert [is_plain(k) for k in ("CPU", "CUDA", "CompositeImplicitAutograd", "SparseCPU", "MPS")] == [True] * 3 + [
        False
    ] * 2
    assert [is_layer(k) for k in ("AutogradCPU", "FuncTorchBatched", "CPU")] == [True, True, False]


@pytest.mark.parametrize(
    ("guard", "parts"),
    [
        ("", []),
        ("if (a && b)", ["if (a && b)"]),
        ("if (a) && if (b)", ["if (a)", "if (b)"]),
        ("unless (a) && else of if (b && c) && case X", ["unless (a)", "else of if (b && c)", "case X"]),
        ("#ifdef USE_MPS && if (x.is_mps())", ["#ifdef USE_MPS", "if (x.is_mps())"]),
        ("#else of #if A() && default", ["#else of #if A()", "default"]),
    ],
)
def test_conditions(guard: str, parts: list[str]) -> None:
    assert guards.conditions(guard) == parts


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("if (a)", "if (a)", "if (a)"),
        ("if (a)", "", ""),
        ("if (a)", "else of if (a)", ""),
        ("if (x) && if (a)", "if (x) && else of if (a)", "if (x)"),
        ("if (a)", "if (b)", "if (a) or if (b)"),
        ("#if A", "#else of #if A", ""),
    ],
)
def test_either(one: str, other: str, both: str) -> None:
    assert guards.either(one, other) == both
    assert guards.either(other, one) in {both, "if (b) or if (a)"}


@pytest.mark.parametrize(
    ("guard", "short"),
    [
        ("", ""),
        ("unless (a) && unless (b)", "otherwise"),
        ("unless (a) && if (b)", "if (b)"),
        (f"if ({'x' * 80}) && if (y_is_contiguous)", "… && if (y_is_contiguous)"),
        (f"#ifdef A && if ({'x' * 80}) && if (b)", "#ifdef A && … && if (b)"),
        (f"#ifdef {'A' * 80} && if ({'x' * 80}) && if (b)", "… && if (b)"),
        (f"#if {'A' * 90} && #if B", "… && #if B"),
        ("case ConvBackend::Cudnn", "case ConvBackend::Cudnn"),
        # the other side of one plain condition
        ("#else of #if !HAVE_IT()", "#if HAVE_IT()"),
        ("#else of #if HAVE_IT()", "#if !HAVE_IT()"),
        ("#else of #if defined(A)", "#if !defined(A)"),
        ("#else of #ifdef A && if (b)", "#ifndef A && if (b)"),
        ("#else of #ifndef A", "#ifdef A"),
        ("#else of #if A && B", "#else of #if A && B"),
        ("#else of #if A > 3", "#else of #if A > 3"),
    ],
)
def test_compact(guard: str, short: str) -> None:
    assert guards.compact(guard) == short


def test_compact_keeps_both_ends_of_a_long_condition() -> None:
    text = guards.compact(f"if (begin {'x' * 200} end)")
    assert len(text) < 100 and text.startswith("if (begin") and text.endswith("end)")


def _op(schema: str) -> Node:
    return Node(1, "op", "aten::x", "", 0, 0, {"schema": schema})


@pytest.mark.parametrize(
    ("schema", "plumbing"),
    [
        ("empty(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None) -> Tensor", True),
        ("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", True),
        ("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", True),
        ("size.int(Tensor self, int dim) -> int", True),
        ("is_same_size(Tensor self, Tensor other) -> bool", True),
        ("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", True),
        ("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", False),
        ("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", False),
        ("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", False),
        ("_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", False),
        ("", False),
        ("higher_order::cond", False),  # no schema is known
    ],
)
def test_plumbing(schema: str, plumbing: bool) -> None:
    assert is_plumbing(_op(schema)) is plumbing


@pytest.mark.parametrize(
    ("schema", "mover"),
    [
        # what copies or resizes what it is given is work when it is asked about
        ("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", True),
        ("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", True),
        ("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", True),
        ("_to(Tensor self, *, Layout? layout=None, Device? device=None, bool non_blocking=False) -> Tensor", True),
        ("resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", True),
        ("empty(SymInt[] size, *, Layout? layout=None, Device? device=None, MemoryFormat? m=None) -> Tensor", False),
        ("select(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", False),
        ("size(Tensor self, int dim) -> int", False),
        ("add(Tensor self, Tensor other) -> Tensor", False),
    ],
)
def test_movers(schema: str, mover: bool) -> None:
    assert is_mover(_op(schema)) is mover


def test_infrastructure_and_questions() -> None:
    moves = Node(1, "function", "at::native::copy_", "", 0, 0, {})
    assert is_question(moves) and not is_question(moves, movers=True)
    assert is_infrastructure("c10::detail::torchCheckFail") and is_infrastructure("at::TensorIteratorBase::build")
    assert not is_infrastructure("at::native::lstm")
    names = [
        "at::native::use_cudnn",
        "at::native::check_args",
        "at::native::checksum",
        "at::native::is_fused",
        "X_CHECK",
    ]
    assert [is_question(Node(1, "function", n, "", 0, 0, {})) for n in names] == [True, True, False, True, True]


@pytest.mark.parametrize(
    ("names", "plumbing"),
    [
        ("cudnnSetTensorNdDescriptor cublasCreate cublasCreate_v2 cusparseCreateCsr cufftSetStream", True),
        ("cublasLtMatmulDescSetAttribute cublasLtMatmulPreferenceCreate cublasLtMatmulAlgoGetHeuristic", True),
        ("cusolverDnSgetrf_bufferSize cusparseDcsrgeam2_bufferSizeExt cudnnGetRNNWorkspaceSize", True),
        ("cusparseSpGEMM_createDescr cusparseLtMatmulPlanInit miopenConvolutionForwardGetSolution", True),
        ("magma_init magma_get_sgeqrf_nb magma_queue_destroy dnnl_memory_desc_query DftiErrorMessage", True),
        ("ncclCommInitRank ncclGroupStart xnn_delete_operator ideep::tensor::desc", True),
        ("cublasLtMatmul cudnnRNNForward cusolverDnSgetrf cublasDgetrsBatched cusparseSpGEMM_compute", False),
        ("cudnnFindConvolutionForwardAlgorithmEx ncclAllReduce magma_sgetrf_gpu cgetrf_ rocblas_gemm_ex", False),
        ("xnn_create_convolution2d_nhwc_f32 xnn_run_operator mkl_sparse_d_mm cufftXtExec", False),
        ("thrust::sort_by_key thrust::unique thrust::inclusive_scan cub::DeviceSelect::Flagged", False),
    ],
)
def test_library_plumbing(names: str, plumbing: bool) -> None:
    told = {name: is_library_plumbing(Node(1, "library", name, "", 0, 0, {})) for name in names.split()}
    assert told == dict.fromkeys(names.split(), plumbing)
