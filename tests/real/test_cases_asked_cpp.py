"""Questions about the C++ and CUDA layers as people ask them, and the places in PyTorch 2.6.0 that answer them.

The answers were read in the sources. A case holds names and ``path:line``, never the layout: each text of ``holds``
must stand in what the command prints, none of ``lacks`` may. A kernel's line is that of its name.
"""

from __future__ import annotations

import pytest

from tests.real.test_cases_profiler import run

pytestmark = pytest.mark.real

N = "aten/src/ATen/native/"
C = N + "cuda/"
L = C + "linalg/"
A = "at::native::(anonymous namespace)::"

#: id -> (command, what the answer holds, what it must not hold)
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    # -- sort, topk, scan, index, scatter
    "topk-cuda": (
        "op topk --device cuda --limit 0",
        ["should_use_sort(self, dim)", "should_use_multiblock", "if (should_use_small_sort(values, dim))"]
        + [f"{C}TensorTopK.cu:{line}" for line in (793, 642, 181, 249, 40)]
        + [f"{C}TensorTopK.cpp:47", f"{N}Sorting.cpp:940"],
        ["MPSAllocator"],
    ),
    "sort-cuda": (
        "op sort --device cuda",
        [
            f"{C}Sort.cpp:41",
            f"{C}SortStable.cu:218",
            "nsegments == 1 || nsort >= 1000000",
            "nsegments < 128",
            "cub::DeviceRadixSort::SortPairs",
            "cub::DeviceSegmentedRadixSort::SortPairs",
            "sort_postprocess_kernel",
        ],
        [],
    ),
    "gather-takes-one-overload": (
        "stub gather_stub",
        [f"{N}cpu/ScatterGatherKernel.cpp:265", f"{C}ScatterGatherKernel.cu:219", f"{C}ScatterGatherKernel.cu:119"],
        ["one of", f"{N}cpu/ScatterGatherKernel.cpp:169", f"{N}cpu/ScatterGatherKernel.cpp:549"],
    ),
    "scatter_add-cpu": (
        "stub scatter_add_stub",
        [
            f"{N}cpu/ScatterGatherKernel.cpp:891",
            f"{N}cpu/ScatterGatherKernel.cpp:265",
            f"{C}ScatterGatherKernel.cu:491",
        ],
        [f"{N}cpu/ScatterGatherKernel.cpp:360", "one of 5"],
    ),
    "mbtopk-kernel": (
        "kernel 'void at::native::mbtopk::computeBlockwiseWithinKCounts<unsigned int>(unsigned int*, short*)' --up",
        ["aten::topk.values", f"{C}TensorTopK.cu:400", "CUB_SUPPORTS_SCAN_BY_KEY()"],
        ["aten::sort"],
    ),
    "radix-sort-of-cub": (
        "kernel 'void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long, false>' --up --limit 0",
        ["CUB", "aten::embedding_dense_backward", "aten::sort.values_stable", "cub::DeviceRadixSort::SortPairs"],
        [],
    ),
    "index_put-sorted": (
        "op _index_put_impl_ --device cuda",
        [f"{C}Indexing.cu:487", f"{C}Indexing.cu:186", f"{C}Indexing.cu:59", "sliceSize <= warp_size"],
        [],
    ),
    "embedding-backward": (
        "op embedding_dense_backward --device cuda",
        ["num_indices <= 3072 && !scale_grad_by_freq", f"{C}Embedding.cu:48", f"{C}EmbeddingBackwardKernel.cu:212"]
        + [f"{C}EmbeddingBackwardKernel.cu:{line}" for line in (47, 61, 160)],
        ["CUDAPluggableAllocator"],
    ),
    "nonzero-cuda": (
        "op nonzero --device cuda",
        [f"{C}Nonzero.cu:170", "cub::DeviceReduce::Sum", "cub::DeviceSelect::Flagged", f"{C}Nonzero.cu:36"],
        [],
    ),
    # -- linear algebra: which library, which element type
    "eigh-magma-and-cusolver": (
        "op linalg_eigh --device cuda --limit 0",
        [
            "magma_dsyevd_gpu",
            "magma_ssyevd_gpu",
            "magma_zheevd_gpu",
            "magma_cheevd_gpu",
            "case at::LinalgBackend::Magma",
            "cusolverDnSsyevjBatched",
            "cusolverDnCheevjBatched",
            "cusolverDnZheevj",
            "cusolverDnXsyevd",
            f"{L}BatchLinearAlgebra.cpp:1961",
            f"{L}BatchLinearAlgebraLib.cpp:1429",
        ],
        [],
    ),
    "svd-drivers": (
        "op linalg_svd --device cuda --limit 0",
        [
            'driver_v == "gesvdj"',
            "m <= 32 && n <= 32",
            "cusolverDnCgesvdj ",
            "cusolverDnZgesvdjBatched",
            "magma_zgesdd",
            "cusolverDnZgesvdaStridedBatched",
            f"{L}BatchLinearAlgebraLib.cpp:641",
        ],
        ["mpy::handle"],
    ),
    "cublasDgemm-is-of-double": (
        "kernel cublasDgemm --up --limit 3",
        ["aten/src/ATen/cuda/CUDABlas.cpp:807", "aten::bmm.out", "aten::mm.out", "Reached by"],
        ["gemm_internal_cublas  one of", ":820", ":833"],
    ),
    "heevd-of-lapack": (
        "kernel zheevd_ --up",
        ["LAPACK", "aten::_linalg_eigh.eigenvalues", f"{N}BatchLinearAlgebraKernel.cpp:"],
        ["aten::linalg_lu"],
    ),
    # -- attention
    "who-chooses-flash": (
        "kernel select_sdp_backend",
        [
            f"{N}transformers/cuda/sdp_utils.cpp:726",
            "_fused_sdp_choice_cuda",
            "native_multi_head_attention_cuda",
            ":883",
        ],
        ["nothing in the tree"],
    ),
    "cudnn-attention-kernel": (
        "kernel cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_128x128x64_4x1x1_kernel0_0 --up",
        [
            "cuDNN (attention)",
            "aten::_scaled_dot_product_cudnn_attention",
            f"{N}cudnn/MHA.cpp:",
            ":713",
            "cudnn_frontend::graph::Graph::execute",
        ],
        ["aten::cudnn_convolution"],
    ),
    "mem-efficient-kernel": (
        "kernel 'fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)' --up",
        ["aten::_efficient_attention_forward", "80 <= cc && cc < 100", "cutlassF_f16_aligned.cu:71"],
        ["aten::_flash_attention_forward"],
    ),
    "sdpa-cases": (
        "op scaled_dot_product_attention --device cuda",
        [
            f"{N}transformers/attention.cpp:696",
            "case SDPBackend::cudnn_attention",
            "case SDPBackend::flash_attention",
            "case SDPBackend::efficient_attention",
            "case SDPBackend::math",
            f"{N}transformers/attention.cpp:792",
        ],
        [],
    ),
    # -- distributions
    "bernoulli-by-number": (
        "op bernoulli_.float --device cuda",
        [f"{C}DistributionBernoulli.cu:31", "bernoulli_scalar_stub", f"{C}DistributionTemplates.h:66"],
        [],
    ),
    "bernoulli-by-tensor": (
        "op bernoulli_.Tensor --device cpu",
        ["bernoulli_tensor_stub", f"{N}Distributions.cpp:149"],
        [],
    ),
    "randperm-cuda": (
        "op randperm --device cuda",
        [f"{C}Randperm.cu:58", "cub::DeviceRadixSort::SortPairs", f"{C}Randperm.cuh:13"],
        [],
    ),
    # -- quantised, int8, float8, sparse
    "scaled_mm-rowwise": (
        "op _scaled_mm --device cuda",
        [
            f"{C}Blas.cpp:986",
            "scaling_choice == ScalingType::RowWise",
            f"{C}RowwiseScaledMM.cu:589",
            "cublasLtMatmul",
            "cutlass::gemm::device::GemmUniversalAdapter::",
        ],
        [],
    ),
    "semi-structured": (
        "op _sparse_semi_structured_linear --device cuda",
        [f"{N}sparse/cuda/SparseSemiStructuredLinear.cu:51", "cutlass::gemm::device::SparseGemmWithVisitor::run"],
        [],
    ),
    "cusparselt": (
        "op _cslt_sparse_mm --device cuda",
        [f"{N}sparse/cuda/cuSPARSELtOps.cpp:472", "cusparseLtMatmulSearch", "if (search_alg_id)"],
        [],
    ),
    "int4": (
        "op _weight_int4pack_mm --device cuda",
        [f"{C}int4mm.cu:1097", f"{C}int4mm.cu:938", f"{C}int4mm.cu:607"],
        [],
    ),
    "fake-quantise": (
        "op fake_quantize_per_tensor_affine --device cuda",
        [f"{N}quantized/cuda/FakeQuantizeCore.cu:21", "fake_quant_tensor_cachemask_stub", f"{C}Loops.cuh:261"],
        [],
    ),
    "dynamic-linear": (
        "op quantized::linear_dynamic --device cpu",
        [f"{N}quantized/cpu/qlinear_dynamic.cpp:714", "fbgemm::fbgemmPacked", "ideep::matmul_forward::compute"],
        ["library ideep::attr_t"],
    ),
    # -- normalisation, images, fused optimizers
    "batch-norm-native": (
        "op native_batch_norm --device cuda",
        [f"{C}Normalization.cu:461", f"{C}Normalization.cuh:269", f"{C}Normalization.cuh:944", "case Impl::Contiguous"],
        [],
    ),
    "grid-sampler": (
        "op grid_sampler_2d --device cuda",
        [f"{C}GridSampler.cpp:19", f"{C}GridSampler.cu:750", f"{C}GridSampler.cu:26"],
        [],
    ),
    "bilinear-channels-last": (
        f"kernel 'void {A}upsample_bilinear2d_nhwc_out_frame<c10::Half, float>(float, float, bool)' --up",
        ["aten::upsample_bilinear2d.out", "channels >= 16", f"{C}UpSampleBilinear2d.cu:84"],
        ["aten::_upsample_bilinear2d_aa"],
    ),
    "fused-adam-amsgrad": (
        f"kernel 'void {A}multi_tensor_apply_kernel<{A}FusedOptimizerTensorListMetadata<4>, "
        f"{A}FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>' --up",
        [
            "aten::_fused_adamw_",
            "aten::_fused_adam_.tensor_lr",
            f"{C}fused_adam_utils.cuh:105",
            f"{C}fused_adam_impl.cu:",
        ],
        ["aten::_fused_sgd_"],
    ),
    "max-with-nan": (
        "kernel 'void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
        "at::native::MaxNanFunctor<float> >, unsigned int, float, 4> >' --up",
        ["aten::amax.out", "aten::max ", f"{C}ReduceMaxValuesKernel.cu:21", "max_all_stub"],
        ["aten::amin", "aten::sum"],
    ),
    # -- copies and casts: what is plumbing elsewhere is the answer here
    "to-a-dtype": (
        "op to.dtype --device cuda",
        [f"{N}TensorConversions.cpp:417", f"{N}TensorConversions.cpp:230", "aten::_to_copy", "aten::copy_"],
        [],
    ),
    "copy-cuda": (
        "op copy_ --device cuda --limit 200",
        [f"{N}Copy.cpp:140", "copy_stub", f"{C}Copy.cu:306", f"{C}Copy.cu:154", "direct_copy_kernel_cuda"],
        [],
    ),
    "clone-cpu": ("op clone --device cpu", [f"{N}TensorFactories.cpp:1766", "aten::copy_"], []),
    "contiguous": ("op contiguous", [f"{N}TensorProperties.cpp:108", "aten::clone", ":116"], []),
    # -- not below an operator, or of another device
    "mps-where": (
        "op where --device mps",
        [f"{N}mps/operations/TensorCompare.mm:397", "where_kernel"],
        ["aten::sort"],  # std::sort, in a helper that every MPS operator runs
    ),
    "resize-bytes": (
        "kernel resize_bytes_cuda --up --limit 0",
        [f"{C}Resize.cpp:17", "aten::resize_", "aten::set_.source_Storage_storage_offset", f"{C}Resize.h:12"],
        [],
    ),
    "allocator": (
        "kernel NativeCachingAllocator::malloc",
        ["c10/cuda/CUDACachingAllocator.cpp:3369", "NativeCachingAllocator::allocate"],
        [],
    ),
    # -- functors on the device, sparse-only operators, generated kernels, conditions of templates
    "at-a-functor-of-the-device": (
        f"at {C}ForeachReduceOp.cu:300",
        ["LpNormFunctor::operator()", "aten::_foreach_norm.Scalar", ":481", f"{C}ForeachReduceOp.cu:406"],
        ["No operator"],
    ),
    "foreach-pow-by-a-scalar": (
        f"kernel 'void {A}multi_tensor_apply_kernel<{A}TensorListMetadata<1>, {A}BinaryOpScalarFunctor<float, 1, 1, 0>,"
        " at::native::power_functor<float>, float>(int)' --up",
        ["aten::_foreach_pow.Scalar", "aten::_foreach_pow_.Scalar", f"{C}ForeachBinaryOpScalar.cu:175"],
        ["aten::_foreach_pow.List", "aten::_foreach_pow.ScalarList", "aten::_foreach_add"],
    ),
    "sparse-sum-backward": (
        "op _sparse_sum_backward",
        [
            "SparseCPU (_sparse_sum_backward)",
            "SparseCUDA (_sparse_sum_backward)",
            f"{N}sparse/SparseTensorMath.cpp:1759",
            ":1838",
            "copy_stub",
            f"{N}sparse/cuda/SparseCUDATensorMath.cu:507",
        ],
        [],
    ),
    "hspmm-takes-the-template": (
        "op hspmm --device cpu --limit 0",
        [f"{N}sparse/SparseTensorMath.cpp:1235", f"{N}sparse/SparseTensorMath.cpp:1186", "cpublas::axpy"],
        [f"{N}CPUBlas.cpp:671", "daxpy"],
    ),
    "embedding-bag-weights": (
        "op _embedding_bag_per_sample_weights_backward --device cpu --limit 0",
        [f"{N}EmbeddingBag.cpp:1645", ":1681", "indices.numel() != 0 && offset2bag.numel() == 0", "dot_impl"],
        [],
    ),
    "gamma-cuda": (
        "op _standard_gamma --device cuda",
        [f"{C}Distributions.cu:97", "curand_uniform", "curand_normal", ":124", "kernelPointwiseApply2"],
        [],
    ),
    "exp-of-mkl": (
        "stub exp_stub",
        ["vmsExp", "vmdExp", "aten/src/ATen/cpu/vml.h:148", f"{C}UnaryOpsKernel.cu:38"],
        [],
    ),
    "sorts-the-hashes": (
        "kernel _sparse_binary_op_intersection_kernel_impl",
        [":310 aten::sort", f"{N}sparse/SparseBinaryOpIntersectionCommon.h:131"],
        [],
    ),
    "flip-of-simd-values": (
        "stub flip_stub",
        [f"{N}cpu/IndexKernel.cpp:718", f"{C}IndexKernel.cu:430"],
        [f"{N}TensorTransformations.cpp:36"],
    ),
    "sum-out-is-generated": (
        "op sum.out",
        ["sum_out generated by torchgen/native_function_generation.py"],
        [f"{N}ReduceOps.cpp:1231"],
    ),
    "scatter-in-a-fixed-order": (
        "kernel _scatter_via_index_put --up",
        ["aten::scatter.src_out", "aten::scatter_add.out", "aten::scatter.reduce_out", "std::is_same_v<T, Tensor>"],
        ["aten::scatter.value_out", "aten::scatter.value_reduce_out"],
    ),
    "tan-of-csr": ("kernel tan_sparse_csr", ["aten::tan", f"{N}sparse/SparseCsrTensorMath.cpp:465"], ["NumericUtils"]),
    "padding-copies-by-itself": (
        f"at {N}cpu/PaddingKernel.cpp:278",
        ["cpu_padding_channels_last", f"{N}cpu/PaddingKernel.cpp:99"],
        [f"{N}Copy.cpp:389"],
    ),
    "at-host-softmax": (
        f"at {C}SoftMax.cu:870",
        ["host_softmax", f"{C}SoftMax.cu:820", "aten::_log_softmax.out", "aten::_softmax.out"],
        [],
    ),
    "table-of-functions": (
        "kernel compute_T8 --up",
        [f"{N}LinearAlgebra.cpp:2378", "aten::linalg_matrix_exp"],
        ["No operator"],
    ),
    "specialisation-by-deduction": (
        f"at {N}cpu/layer_norm_kernel.cpp:455",
        [f"{N}cpu/layer_norm_kernel.cpp:300", "aten::native_layer_norm_backward", "one of 2"],
        ["No operator"],
    ),
    "at-structured-meta": (
        f"at {N}Sorting.cpp:60",
        ["at::meta::structured_topk::meta", f"{N}Sorting.cpp:54", "aten::topk.values", "aten::topk"],
        ["No operator"],
    ),
    "below-structured-meta": (
        f"at {N}BatchLinearAlgebra.cpp:505",
        ["at::meta::structured_linalg_ldl_solve::meta", f"{N}BatchLinearAlgebra.cpp:499", "aten::linalg_ldl_solve.out"],
        ["No operator"],
    ),
    "at-vmap-rule": (
        "at aten/src/ATen/functorch/BatchRulesLinearAlgebra.cpp:100",
        ["at::functorch::bmm_batch_rule", "aten::bmm", "FuncTorchBatched"],
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(real_tree: str, real_index: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command, holds, lacks = CASES[name]
    monkeypatch.setenv("COLUMNS", "300")
    code, output = run(real_tree, command)
    text = " ".join(output.split())
    assert code == 0, output
    assert [part for part in holds if part not in text] == [], output
    assert [part for part in lacks if part in text] == [], output
