"""Kernels' names in every dialect, taken apart."""

from __future__ import annotations

import re

import pytest

from pytrace.names import Path, read, unit_of, vendor_of

COPY = "at::native::direct_copy_kernel_cuda"
#: (text, the kernel, what its template arguments name: `name` or `host{}` for a lambda in a function)
NAMES = [
    ("unrolled_elementwise_kernel", "unrolled_elementwise_kernel", []),
    ("void at::native::(anonymous namespace)::gather<float, 4>(float*, int)", "at::native::gather", ["float"]),
    ("void (anonymous namespace)::softmax_warp<float>(float*)", "softmax_warp", ["float"]),
    (
        "void at::native::vectorized<4, at::native::AUnary<long, bool, at::native::(anonymous namespace)::Eq<long> >, "
        "at::detail::Array<char*, 2> >(int, at::native::AUnary<long, bool>)",
        "at::native::vectorized",
        ["at::native::AUnary", "long", "bool", "at::native::Eq", "long", "at::detail::Array", "char"],
    ),
    (
        f"void at::native::unrolled<{COPY}(at::TensorIteratorBase&)::{{lambda()#3}}::operator()() const::"
        "{lambda(float)#1}, std::array<char*, 2ul> >(int)",
        "at::native::unrolled",
        [f"{COPY}{{}}", "std::array", "char"],
    ),
    (  # nsys
        "void at::native::elementwise<(int)128, (int)2, void at::native::gpu_impl<at::native::<unnamed>::"
        "direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const::"
        "[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
        "at::native::elementwise",
        ["at::native::gpu_impl{}", f"{COPY}{{}}"],
    ),
    (  # nvprof
        "void at::native::vectorized<int=4, at::native::FillFunctor<float>, at::detail::Array<char*, int=1>>(int)",
        "at::native::vectorized",
        ["int", "at::native::FillFunctor", "float", "at::detail::Array", "char", "int"],
    ),
    (  # gcc's sanitizers
        "at::parallel_for<at::native::(anonymous namespace)::frame<double>(at::Tensor&)::<lambda(int64_t, int)> >",
        "at::parallel_for",
        ["at::native::frame{}", "double"],
    ),
    ("void {anonymous}::f<at::g(int)::'lambda'(float)>(int)", "f", ["at::g{}"]),
    (  # a return type with templates; the address of a function, as nvcc names its lambdas
        "std::enable_if<!(false), void>::type at::k<__nv_dl_tag<void (*)(at::Tensor&), "
        "&at::native::(anonymous namespace)::leaky, 3u>, float (float)>(int)",
        "at::k",
        ["__nv_dl_tag", "void", "at::native::leaky", "float"],
    ),
    (  # a method's lambda
        "void at::native::reduce<512, at::native::sum_functor<float>::operator()(at::Iter&)::{lambda(float)#1}>",
        "at::native::reduce",
        ["at::native::sum_functor::operator(){}", "float"],
    ),
    ("bool at::operator<<<4>(int)", "at::operator<<", [""]),
    ("", "", []),
    ("<<<>>>((", "", []),
    (")]}>", "", []),
]
MANGLED = [
    ("_Z3addi", "add", []),
    ("_ZN2at6native3fooILi4EfEEvT0_", "at::native::foo", ["float"]),
    ("__ZN2at6native3fooILi4EfEEvT0_", "at::native::foo", ["float"]),
    ("_ZN2at6native12_GLOBAL__N_13fooIdNS1_8EpilogueEEEvPT_", "at::native::foo", ["double", "at::native::Epilogue"]),
    (
        "_ZN2at6native10vectorizedILi4ENS0_6AUnaryIllbNS0_32_GLOBAL__N__28ce31_9_EqKer_cu_d82EqIlEEEENS_5ArrayIPcLi2EEEEEviT0_",
        "at::native::vectorized",
        ["at::native::AUnary", "long", "long", "bool", "at::native::Eq", "long", "at::Array", "char"],
    ),
    (
        "_ZN2at6native6reduceILi512ENS0_4wrapIfZNS0_8sum_implIfEEvRNS_4IterEEUlffE_EEEEvT0_",
        "at::native::reduce",
        ["at::native::wrap", "float", "at::native::sum_impl{}", "float"],
    ),
    ("_ZN2at6native1kIZZNS0_1fERNS_4IterEENKUlvE_clEvEUlfE0_EEvT_", "at::native::k", ["at::native::f{}"]),
    ("_ZN2at6native1kIXadL_ZNS0_1fEvEEEEvv", "at::native::k", []),
    ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back", ["int", "std::allocator", "int"]),
    ("_Z", "", []),
    ("_ZN", "", []),
    ("_ZN2at", "at", []),
    ("_ZN99999999999999999999at", "at", []),
    ("_ZNS9_1xE", "", []),
    ("_ZZZZZZ", "", []),
]


def inside(path: Path) -> list[str]:
    return [f"{p.name}{'{}' * p.is_lambda}" for argument in path.arguments() for p in argument.walk() if p.parts]


@pytest.mark.parametrize(("text", "kernel", "names"), [*NAMES, *MANGLED])
def test_read(text: str, kernel: str, names: list[str]) -> None:
    found = read(text)
    assert found.name == kernel
    assert inside(found.path) == [name for name in names if name]


@pytest.mark.parametrize(
    ("text", "cut", "last"),
    [
        ("void f<4, at::native::BUnary<at::native::CompareGTFu…", True, "CompareGTFu"),
        ("void f<4, at::native::BUnary<at::native::CompareGTFu...", True, "CompareGTFu"),
        ("void f<4, at::native::Unary<float>, at:…", True, "at"),
        ("void f<4, float>(int, T2, T", True, "T"),
        ("void f<4, float>(int, T2)", False, ""),
        ("_ZN2at6native52_GLOBAL__N__83ba8c45_19_DilatedMaxPoo...", True, None),
        ("_ZN2at6native3fooEi", False, ""),
    ],
)
def test_cut(text: str, cut: bool, last: str | None) -> None:
    found = read(text)
    assert found.cut is cut
    assert last is None or found.last == last


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("_GLOBAL__N__53_tmpxft_00009fac_00000000_9_SoftMax_compute_70_cpp1_ii_a3310042", "SoftMax"),
        ("_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f63", "SoftMax"),
        ("_GLOBAL__N__5a52_17_scaled_modified_cu_abcd", "scaled_modified"),
        ("_GLOBAL__N__83ba8c45_19_DilatedMaxPoo", "DilatedMaxPoo"),
        ("_GLOBAL__N_1", ""),
        ("SoftMax_cu", None),
    ],
)
def test_source_file_in_an_anonymous_namespace(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit


def test_the_source_file_is_kept() -> None:
    assert read("void at::_GLOBAL__N__b6de_10_SoftMax_cu_9f::f<4, at::_GLOBAL__N__b6de_10_SoftMax_cu_9f::E>").units == [
        "SoftMax"
    ]
    assert read("_ZN31_GLOBAL__N__b6de_10_SoftMax_cu_9f4warpIfEEvi").units == ["SoftMax"]


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("ampere_sgemm_64x64_tn", "cuBLAS"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4>(int)", "cuBLAS"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32", "cuDNN"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>(float)", "cuDNN"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "NCCL"),
        ("triton_poi_fused_add_0", "Triton"),
        ("Cijk_Ailk_Bjlk_SB_MT64x16x16", "rocBLAS"),
        ("void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::P>(int)", "CUB"),
        ("void at::native::gemm_like_kernel<float>(int)", None),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(P)", None),
        ("mul_kernel_cuda", None),
        ("cudnn_generated_fort_native_sdpa_sm80_flash_fprop_f16_knob_3_64x64x64", "cuDNN"),
        ("void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)2>(int)", "cuDNN"),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(int)", "CUTLASS"),
        ("void getrf_pivot<float, float, 0, 1>(int)", "cuSOLVER"),
        ("magma_sgetrf_kernel", "MAGMA"),
    ],
)
def test_vendor(text: str, library: str | None) -> None:
    found = vendor_of(text)
    assert (found is None) if library is None else (found is not None and found.library.startswith(library))


CUB = "cub::CUB_200200_800_NS"


@pytest.mark.parametrize(
    ("text", "started", "not_started"),
    [
        (
            "void getrf_pivot<float>(int)",
            ["cusolverDnSgetrf", "cublasDgetrfBatched"],
            ["cusolverDnSpotrf", "cublasSgemm"],
        ),
        ("void cusolver::syevj_batched<float>(int)", ["cusolverDnDsyevjBatched"], ["cusolverDnSgetrf"]),
        ("magma_sgetrf_kernel", ["magma_dgetrf_gpu"], ["magma_sgeev"]),
        (
            f"void {CUB}::DeviceRadixSortOnesweepKernel<int>(int)",
            ["cub::DeviceRadixSort::SortPairs", "thrust::sort"],
            [],
        ),
        (
            "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<int>(int)",
            ["cub::DeviceRadixSort::SortKeys"],
            ["thrust::sort"],
        ),
        (f"void {CUB}::DeviceMergeSortBlockSortKernel<int>(int)", ["thrust::stable_sort_by_key"], ["thrust::unique"]),
        (
            "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__unique::UniqueAgent<int>, int>(int)",
            ["thrust::unique"],
            ["thrust::sort"],
        ),
        (
            "void thrust::T_NS::cuda_cub::core::f<thrust::T_NS::cuda_cub::__parallel_for::A<int> >(int)",
            ["thrust::for_each"],
            ["thrust::sort"],
        ),
        (
            "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(int)",
            ["cudnnBatchNormalizationForwardTrainingEx"],
            ["cudnnBackendExecute"],
        ),
    ],
)
def test_entry_points(text: str, started: list[str], not_started: list[str]) -> None:
    vendor = vendor_of(text)
    assert vendor is not None
    assert [name for name in started if not re.fullmatch(vendor.entry, name)] == []
    assert [name for name in not_started if re.fullmatch(vendor.entry, name)] == []


@pytest.mark.parametrize("opening", ["f<", "a::", "(", "{", "_ZN1aI", "_ZN1a1b", "1a", "_ZP", "_ZN1aIP", "_ZNK1aIZ"])
def test_long_nonsense_is_read_in_no_time(opening: str) -> None:
    read(opening * 20_000)
    read(opening * 20_000 + ">" * 20_000)
