"""Vendor libraries: whose entry point a name is. The rules are the libraries' own naming conventions."""

from __future__ import annotations

import re

#: Thrust's algorithms, by what they do; the rest (iterators, pairs, function objects, complex numbers) starts nothing.
_ALGORITHM = (
    r"sort|scan|reduce|copy|unique|find|fill|transform|sequence|scatter|gather|partition|merge|search|bound|difference"
    r"|product|element|count_|for_each|tabulate|generate|remove|replace|set_|equal$|reverse$"
)
#: (pattern of the bare or qualified name, vendor). First match wins.
VENDORS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), vendor)
    for pattern, vendor in (
        (r"cublasLt[A-Z]\w*$", "cuBLASLt"),  # cublasLt.h
        (r"cublas[A-Z]\w*$", "cuBLAS"),  # cublas_v2.h
        (r"cudnn[A-Z]\w*$", "cuDNN"),  # cudnn.h; cudnn_frontend:: is its C++ face
        (r"cudnn_frontend::", "cuDNN"),
        (r"cusparseLt[A-Z]\w*$", "cuSPARSELt"),  # cusparseLt.h
        (r"cusparse[A-Z]\w*$", "cuSPARSE"),  # cusparse.h
        (r"cusolver[A-Z]\w*$", "cuSOLVER"),  # cusolverDn.h
        (r"cufft[A-Z]\w*$", "cuFFT"),  # cufft.h
        (r"curand[A-Z_]\w*$", "cuRAND"),
        (r"(?:hip)(?:blas|blaslt|sparse|solver|fft|rand)[A-Z]\w*$", "hip libraries"),
        (r"(?:rocblas|rocsolver|rocfft|rocsparse)_\w+$", "ROCm libraries"),
        (r"miopen[A-Z]\w*$", "MIOpen"),
        (r"magma_\w+$", "MAGMA"),  # magma_v2.h
        (r"nccl[A-Z]\w*$", "NCCL"),
        (r"(?:ideep|dnnl)::", "oneDNN"),
        (r"dnnl_\w+$", "oneDNN"),
        (r"mkl_\w+$", "MKL"),  # mkl.h, mkl_spblas.h, mkl_vsl.h
        (r"(?:Dfti)[A-Z]\w*$", "MKL"),
        (r"v(?:s|d|c|z|ms|md|mc|mz)[A-Z][A-Za-z0-9]*$", "MKL VML"),  # mkl_vml_functions.h
        (r"cblas_\w+$", "BLAS"),
        (r"(?:[sdcz])(?:gemm|gemv|axpy|dot|dotu|dotc|scal|copy|ger|geru|swap|trsm|symv|syrk|nrm2)_?$", "BLAS"),
        (
            r"(?:[sdcz])[a-z]{2}[a-z0-9]{2,4}_$",
            "LAPACK",
        ),  # Fortran naming: precision, matrix kind, operation, underscore
        (r"fbgemm::", "FBGEMM"),
        (r"fbgemm_gpu::", "FBGEMM"),
        (r"xnn_\w+$", "XNNPACK"),
        (r"pytorch_qnnp_\w+$|qnnpack::", "QNNPACK"),
        (r"nnp_\w+$", "NNPACK"),
        # Of header-only libraries what starts kernels, not the number types, iterators and function objects that it is
        # given. PyTorch's own copy of CUB is wrapped: aten/src/ATen/cuda/cub_definitions.cuh
        (r"cutlass::(?:gemm::|conv::|make_cute_packed_stride$)", "CUTLASS"),
        (r"(?:at_cuda_detail::)?cub::Device\w+::", "CUB"),
        (rf"thrust::\w*(?:{_ALGORITHM})", "Thrust"),
        (r"pocketfft::", "PocketFFT"),
        (r"sleef_\w+|Sleef_\w+$", "SLEEF"),
        (r"nvrtc[A-Z]\w*$", "NVRTC"),
        (r"arm_compute::|acl::", "Arm Compute Library"),
    )
)
#: By the libraries' own convention types end in ``_t`` (``ideep::attr_t::fuse_relu()``, ``ideep::scale_t``): what
#: describes a call is none.
_TYPE = re.compile(r"(?:\w+::)+\w*_t(?:::|$)")
#: Methods of the libraries' objects that start their work: of ``cudnn_frontend::graph::Graph`` and oneDNN's primitives;
#: of CUTLASS's device-wide operators. What other methods do (build, set, ask) prepares it.
RUNS = frozenset(("execute", "run", "operator()"))
_MEMORY: dict[str, str] = {}


def vendor_of(name: str) -> str:
    """The vendor library that ``name`` is an entry point of, "" when it is none.

    >>> vendor_of("cublasSgemm")
    'cuBLAS'
    """
    found = _MEMORY.get(name)
    if found is None:
        bare = name.removeprefix("::")
        found = next((vendor for pattern, vendor in VENDORS if pattern.match(bare)), "")
        found = _MEMORY[name] = "" if found and _TYPE.match(bare) else found
    return found


#: cublas_v2.h maps the names of the classic BLAS and of handle management to symbols with ``_v2``; what came later
#: (``…Ex``, ``…Batched``, math modes, cuBLASLt) has no second version.
_CUBLAS_V2 = re.compile(
    r"cublas(?:Create|Destroy|GetVersion|SetWorkspace|(?:Set|Get)Stream|(?:Set|Get)PointerMode"
    r"|(?:[SDCZ]|Is?|Cs|Zd|Sc|Dz|I[sdcz])"
    r"(?:amax|amin|asum|axpy|copy|dot[cu]?|nrm2|rotm?g?|scal|swap"  # level 1
    r"|[gst][bp]?mv|[st][bp]sv|trmv|trsv|tpmv|tpsv|symv|sbmv|spmv|hemv|hbmv|hpmv"  # level 2
    r"|gemv|gbmv|ger[cu]?|syr2?|spr2?|her2?|hpr2?"  # level 2
    r"|gemm|symm|syrk|syr2k|trmm|trsm|hemm|herk|her2k))$"  # level 3
)


#: magma_auxiliary.h: these are macros that hand the place of the call on, to functions of another name.
_MAGMA_INTERNAL = re.compile(r"magma_queue_(?:create|create_from_cuda|create_from_hip|destroy|sync)$")


def entry_point(name: str) -> str:
    """The symbol that is linked for a vendor function as it is written: ``cublasSgemm`` -> ``cublasSgemm_v2``.

    A template of CUB is told without the namespace that PyTorch wraps around it.
    """
    if _CUBLAS_V2.match(name):
        return f"{name}_v2"
    return f"{name}_internal" if _MAGMA_INTERNAL.match(name) else name.removeprefix("at_cuda_detail::")
