"""Whose entry point a name is."""

from __future__ import annotations

import pytest

from pytrace.link.libraries import entry_point, vendor_of


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("cublasSgemm", "cuBLAS"),
        ("cublasGemmEx", "cuBLAS"),
        ("cublasLtMatmul", "cuBLASLt"),
        ("cudnnRNNForward", "cuDNN"),
        ("cudnn_frontend::OperationBuilder", "cuDNN"),
        ("cusparseSpMM", "cuSPARSE"),
        ("cusparseLtMatmul", "cuSPARSELt"),
        ("cusolverDnDpotrf", "cuSOLVER"),
        ("cufftExecC2C", "cuFFT"),
        ("curand_uniform", "cuRAND"),
        ("hipblasSgemm", "hip libraries"),
        ("rocblas_sgemm", "ROCm libraries"),
        ("miopenRNNForwardTraining", "MIOpen"),
        ("magma_dgetrf_batched", "MAGMA"),
        ("ncclAllReduce", "NCCL"),
        ("ideep::matmul_forward::compute", "oneDNN"),
        ("dnnl::stream", "oneDNN"),
        # types, by the libraries' convention, and what they describe
        ("ideep::scale_t", ""),
        ("ideep::attr_t::fuse_relu", ""),
        ("fbgemm::conv_param_t", ""),
        ("dnnl_sgemm", "oneDNN"),
        ("mkl_sparse_d_mv", "MKL"),
        ("DftiComputeForward", "MKL"),
        ("vsSin", "MKL VML"),
        ("vmdExp", "MKL VML"),
        ("cblas_sgemm", "BLAS"),
        ("sgemm_", "BLAS"),
        ("ddot_", "BLAS"),
        ("dgetrf_", "LAPACK"),
        ("zgeev_", "LAPACK"),
        ("fbgemm::fbgemmPacked", "FBGEMM"),
        ("xnn_create_convolution2d_nhwc_f32", "XNNPACK"),
        ("pytorch_qnnp_create_add_nc_q8", "QNNPACK"),
        ("cub::DeviceReduce::Sum", "CUB"),
        ("at_cuda_detail::cub::DeviceScan::InclusiveScan", "CUB"),
        ("cub::TransformInputIterator", ""),
        ("thrust::stable_sort_by_key", "Thrust"),
        ("thrust::make_counting_iterator", ""),
        ("thrust::plus", ""),
        ("thrust::sort", "Thrust"),
        ("pocketfft::c2c", "PocketFFT"),
        ("Sleef_sinf8_u10", "SLEEF"),
        ("nvrtcCompileProgram", "NVRTC"),
        ("::cublasSgemm", "cuBLAS"),
        # names that only look like it
        ("cublas", ""),
        ("cudnn_is_acceptable", ""),
        ("vsize", ""),
        ("my_sgemm_", ""),
        ("at::cub", ""),
        ("add_", ""),
        ("copy_", ""),
        ("sum", ""),
        ("", ""),
    ],
)
def test_vendor_of(name: str, vendor: str) -> None:
    assert vendor_of(name) == vendor


@pytest.mark.parametrize(
    ("written", "linked"),
    [
        ("cublasSgemm", "cublasSgemm_v2"),
        ("cublasSgemm_v2", "cublasSgemm_v2"),
        ("cublasSgemmBatched", "cublasSgemmBatched"),
        # macros of magma_auxiliary.h
        ("magma_queue_create", "magma_queue_create_internal"),
        ("magma_queue_sync", "magma_queue_sync_internal"),
        ("magma_queue_get_device", "magma_queue_get_device"),
        ("at_cuda_detail::cub::DeviceScan::InclusiveScan", "cub::DeviceScan::InclusiveScan"),
    ],
)
def test_entry_point(written: str, linked: str) -> None:
    assert entry_point(written) == linked
