"""Kernels whose source is not in the tree: the libraries' own naming conventions, and what entry points start them.

A vendor does not document its kernels' names, but they follow patterns. A row says which library a name belongs to,
what it does, and which of that library's entry points (as the index names them) can have started it; the index then
has the call sites. The rows tell families, never single kernels. What a group ``routine`` of a pattern finds in the
name (``getrf``) stands for ``{routine}`` in the entry points.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Vendor(NamedTuple):
    """Whose kernel it is: ``entry`` is a pattern of entry points, "" when nothing in the tree's C++ calls them."""

    library: str
    what: str
    entry: str
    loose: str = ""  #: entry points of the whole library, for a routine that none is called like


_GEMM = r"cublas(?:Lt)?(?:[SDCZH])?(?:gemm|Gemm|Matmul$)\w*"
_GEMM_SMALL = r"cublas(?:Lt)?(?:[SDCZH])?(?:gem[mv]|Gemm|Matmul$)\w*"
#: A product with one row or column is computed by the kernels of the dot product.
_DOT = rf"cublas(?:[SDCZ])?(?:dot|Dot)\w*|{_GEMM_SMALL}"
#: cuDNN 8 and later execute a plan of the graph API, whatever the operation is.
_PLAN = r"cudnnBackendExecute"
_FORWARD = rf"cudnnConvolution(?:BiasActivation)?Forward|{_PLAN}"
_DATA = rf"cudnnConvolutionBackwardData|{_PLAN}"
_FILTER = rf"cudnnConvolutionBackwardFilter|{_PLAN}"
_CONVOLUTION = rf"cudnnConvolution(?:(?:BiasActivation)?Forward|Backward(?:Data|Filter))|{_PLAN}"
#: cuDNN computes convolutions with cuBLAS's kernels of matrix products as well: their names do not tell which.
_PRODUCT = rf"{_GEMM}|{_CONVOLUTION}"
#: A routine as LAPACK names it: the kind of matrix, and what is done with it. cuSOLVER and MAGMA keep the names.
_LAPACK = r"(?P<routine>(?:ge|po|sy|he|or|un|tr)(?:trf|trs|tri|qrf|mqr|gqr|evd|evj|ev|svdj|svda|svd|ls))"
#: Namespaces in front of CUB's own: PyTorch's (``at_cuda_detail``), the toolkit's (``CUB_200200_700_NS``).
_CUB = r"(?:void )?(?:\w+::)*(?:cub|CUB_\w+)::(?:\w+::)*"
_THRUST = r"(?:void )?(?:\w+::)*thrust::"
#: Thrust's kernels stand in namespaces that are called like the algorithm: ``cuda_cub::__unique_by_key``.
_THRUST_PART = rf"{_THRUST}.*?cuda_cub::(?:\w+::)*__"
_ARCHITECTURE = r"(?:maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell|sm\d+)"

#: (pattern of the whole text, library, what it does, entry points). First match wins: the special before the general.
_ROWS: tuple[tuple[str, str, str, str], ...] = (
    # NCCL: ncclKernel_AllReduce_RING_LL_Sum_float, ncclDevKernel_AllGather_RING_LL (its src/device/generate.py)
    (r"nccl(?:Dev)?Kernel_SendRecv", "NCCL", "send and receive", r"nccl(?:Send|Recv)"),
    (r"nccl(?:Dev)?Kernel_Broadcast", "NCCL", "broadcast", r"ncclBcast|ncclBroadcast"),
    (r"nccl(?:Dev)?Kernel_AllReduce", "NCCL", "all-reduce", r"ncclAllReduce"),
    (r"nccl(?:Dev)?Kernel_AllGather", "NCCL", "all-gather", r"ncclAllGather"),
    (r"nccl(?:Dev)?Kernel_ReduceScatter", "NCCL", "reduce-scatter", r"ncclReduceScatter"),
    (r"nccl(?:Dev)?Kernel_Reduce", "NCCL", "reduce", r"ncclReduce"),
    (r"nccl(?:Dev)?Kernel", "NCCL", "a collective", r"nccl(?:All|Reduce|B(?:road)?cast|Send|Recv)\w*"),
    # Triton as Inductor names it (torch/_inductor/codegen/triton.py): triton_<kind>_fused_<operators>_<number>
    (r"triton_", "Triton, by Inductor", "code that torch.compile wrote at run time", ""),
    (r"fused_\w+_\d{6,}$", "NNC or NVFuser", "code that TorchScript's fuser wrote at run time", ""),
    # Attention by cuDNN's graph API, before the convolutions whose directions (fprop, …) its names have as well
    (r".*cudnn\w*_(?:sdpa|flash|mha|fmha)", "cuDNN", "attention", r"cudnn_frontend::graph::Graph::execute"),
    # cuDNN's convolutions: direction in the name (fprop, dgrad, wgrad), xmma and CUTLASS builds included
    (
        r".*(?:cudnn|xmma|implicit_gemm|cutlass_tensorop\w*).*wgrad|.*(?:cudnn|xmma).*Wgrad",
        "cuDNN",
        "gradient of a convolution by its weight",
        _FILTER,
    ),
    (
        r".*(?:cudnn|xmma|implicit_gemm|cutlass_tensorop\w*).*dgrad|.*(?:cudnn|xmma).*Dgrad",
        "cuDNN",
        "gradient of a convolution by its input",
        _DATA,
    ),
    (r".*(?:cudnn|xmma|implicit_gemm|cutlass_tensorop\w*).*fprop", "cuDNN", "convolution", _FORWARD),
    (r"(?:void )?wgrad_alg\d|(?:void )?dgrad_\w*engine", "cuDNN", "gradient of a convolution", _CONVOLUTION),
    (r".*implicit_convolve_sgemm|.*precomputed_convolve|.*explicit_convolve", "cuDNN", "convolution", _CONVOLUTION),
    (
        r".*cudnn::.*(?:bn_fw|BatchNorm\w*Forward)|.*cudnn_bn_fw",
        "cuDNN",
        "batch normalisation",
        r"cudnnBatchNormalizationForward\w*",
    ),
    (
        r".*cudnn::.*bn_bw|.*cudnn_bn_bw",
        "cuDNN",
        "backward of batch normalisation",
        r"cudnnBatchNormalizationBackward\w*",
    ),
    (r".*cudnn::.*pooling_fw|.*cudnn::.*[Pp]ool", "cuDNN", "pooling", r"cudnnPooling\w*"),
    (
        r".*(?:RNN_block|LSTM_elementWise|GRU_elementWise|elemWiseRNN|cudnn::rnn|persistRNN)",
        "cuDNN",
        "a recurrent network",
        r"cudnnRNN(?:Forward|Backward)\w*",
    ),
    (r".*cudnn::.*(?:ctc|CTC)", "cuDNN", "CTC loss", r"cudnnCTCLoss\w*"),
    (r"(?:void )?fft2d_[rc]2[rc]_\d+x\d+|.*flip_filter", "cuDNN", "convolution by FFT", _CONVOLUTION),
    (r".*cudnn", "cuDNN", "convolution or its preparation", _CONVOLUTION),
    # cuFFT
    (
        r"(?:void )?(?:regular_fft|vector_fft|composite_\w*fft|multi_bluestein|.*cufft)",
        "cuFFT",
        "Fourier transform",
        r"cufftXtExec\w*|cufftExec\w*",
    ),
    # cuSPARSE, cuSOLVER, MAGMA, before the products that they also name
    (r".*cusparseLt", "cuSPARSELt", "structured sparse product", r"cusparseLtMatmul\w*"),
    (r".*cusparse(?!\w*Gemm)", "cuSPARSE", "sparse linear algebra", r"cusparse(?:Sp|SDDMM|X|[SDCZ])\w*"),
    (
        rf"(?:.*cusolver.*?|(?:void )?){_LAPACK}",
        "cuSOLVER",
        "linear algebra",
        r"cusolverDn[SDCZX]{routine}\w*|cublas[SDCZ]{routine}Batched",
    ),
    (r".*cusolver|(?:void )?batch_symmetric_eig\w*", "cuSOLVER", "linear algebra", r"cusolverDn\w+"),
    # CUTLASS's templates written out are compiled into the program itself; the libraries' own kernels have short names
    (
        r"(?:void )?cutlass::(?:device_kernel|Kernel2?)<.*\bcutlass::(?:gemm|conv|epilogue)::",
        "CUTLASS, compiled into PyTorch or another library",
        "matrix product",
        r"cutlass::(?:gemm::device::\w+.*|make_cute_packed_stride)",
    ),
    (r"(?:void )?magma_\w*gemm\w*_kernel", "cuBLAS", "matrix product", _GEMM),
    (rf"(?:void )?magma_?[sdcz]?{_LAPACK}", "MAGMA", "linear algebra", r"magma_[sdcz]{routine}\w*"),
    (r"(?:void )?(?:magma_|\w+_kernel_batched_magma)", "MAGMA", "linear algebra", r"magma_\w+"),
    # cuBLAS and cuBLASLt: <architecture>_<type>gemm_<tile>_<transposition>; gemv and split-k helpers
    (
        rf".*(?:{_ARCHITECTURE}|cutlass)\w*_?(?:xmma_)?\w*gemm\w*",
        "cuBLAS or cuBLASLt, perhaps by cuDNN",
        "matrix product",
        _PRODUCT,
    ),
    (r"nvjet_", "cuBLASLt", "matrix product", _GEMM),
    (
        r".*(?:splitKreduce_kernel|epilogue::impl::globalKernel|cublasLt::)",
        "cuBLAS or cuBLASLt",
        "the end of a split matrix product",
        _GEMM,
    ),
    (r".*(?:gemv\w*|gemvx::kernel)", "cuBLAS", "matrix-vector product", _GEMM_SMALL),
    (r".*(?:\bgemm\w+_kernel|[sdhcz]gemm_\w+|gemm_kernel\w*)", "cuBLAS, perhaps by cuDNN", "matrix product", _PRODUCT),
    (r".*(?:\bdot_kernel|reduce_1Block_kernel)", "cuBLAS", "dot product", _DOT),
    (r".*(?:\btrsm|trsm_kernel)", "cuBLAS", "triangular solve", r"cublas(?:[SDCZ])?trsm\w*"),
    (r".*\bscal_kernel.*cublas|.*cublas", "cuBLAS", "dense linear algebra", _GEMM_SMALL),
    # rocBLAS and hipBLASLt: Tensile's names begin with the contraction's indices; a ROCm build calls where CUDA does
    (r"Cijk_", "rocBLAS or hipBLASLt (Tensile)", "matrix product", _GEMM),
    (r"(?:miopen|MIOpen|gridwise_convolution|naive_conv_)", "MIOpen", "convolution", r"miopenConvolution\w+"),
    # CUB; Thrust runs its kernels too, and those of a sort or a scan carry CUB's names
    (
        rf"{_CUB}DeviceRadixSort",
        "CUB",
        "radix sort",
        r"(?:\w+::)*cub::DeviceRadixSort::\w+|thrust::(?:stable_)?sort\w*",
    ),
    (rf"{_CUB}DeviceSegmentedRadixSort", "CUB", "segmented sort", r"(?:\w+::)*cub::DeviceSegmentedRadixSort::\w+"),
    (
        rf"{_CUB}DeviceMergeSort",
        "CUB",
        "merge sort",
        r"(?:\w+::)*cub::DeviceMergeSort::\w+|thrust::(?:stable_)?sort\w*",
    ),
    (rf"{_CUB}DeviceScan", "CUB", "scan", r"(?:\w+::)*cub::DeviceScan::\w+|thrust::\w*scan\w*"),
    (
        rf"{_CUB}DeviceReduceByKey",
        "CUB",
        "reduction by key",
        r"(?:\w+::)*cub::DeviceReduce::ReduceByKey|thrust::reduce_by_key",
    ),
    (rf"{_CUB}Device(?:Segmented)?Reduce", "CUB", "reduction", r"(?:\w+::)*cub::Device(?:Segmented)?Reduce::\w+"),
    (rf"{_CUB}Device(?:Select|UniqueByKey)", "CUB", "selection", r"(?:\w+::)*cub::DeviceSelect::\w+"),
    (rf"{_CUB}DeviceRunLengthEncode", "CUB", "run-length encoding", r"(?:\w+::)*cub::DeviceRunLengthEncode::\w+"),
    (_CUB, "CUB", "a primitive", r"(?:\w+::)*cub::Device\w+::\w+"),
    # Thrust: the algorithm by its namespace, or all of them
    (rf"{_THRUST}.*(?:merge_sort|[Ss]ort)", "Thrust", "sort", r"thrust::(?:stable_)?sort\w*"),
    (rf"{_THRUST_PART}extrema", "Thrust", "smallest or largest element", r"thrust::(?:min|max|minmax)_element"),
    (
        rf"{_THRUST_PART}parallel_for",
        "Thrust",
        "a loop over elements",
        r"thrust::(?:transform|for_each|fill|copy|sequence|tabulate|generate|scatter|gather|replace)\w*",
    ),
    (
        rf"{_THRUST_PART}reduce::",
        "Thrust",
        "reduction",
        r"thrust::(?:(?:transform_)?reduce|count|inner_product|find|all_of|any_of)\w*",
    ),
    (rf"{_THRUST_PART}(?P<routine>[a-z]+(?:_[a-z]+)*)", "Thrust", "{routine}", r"thrust::{routine}\w*"),
    (_THRUST, "Thrust", "an algorithm", r"thrust::\w+"),
    (r"(?:void )?fbgemm_gpu::", "FBGEMM_GPU", "a kernel of a library of its own", ""),
    (r"Mem(?:cpy|set)\b|\[CUDA mem", "the CUDA runtime", "a copy or a fill", ""),
)
_VENDORS = tuple((re.compile(pattern), Vendor(library, what, entry)) for pattern, library, what, entry in _ROWS)
#: A name of the tree itself, which may hold a vendor's name among its template arguments.
_OWN = re.compile(
    r"(?:void |std::enable_if\S* |\S+>::type )?"
    r"(?:at|c10|torch|caffe2|pytorch_flash|PyTorchMemEffAttention)::|fmha_cutlass"
)


def vendor_of(text: str) -> Vendor | None:
    """The library whose kernel this is, None for a kernel of the tree or of nobody known.

    >>> vendor_of("ampere_sgemm_64x64_tn").library
    'cuBLAS or cuBLASLt, perhaps by cuDNN'
    """
    text = text.strip().strip("`'\"").strip()
    if _OWN.match(text) or text.startswith(("_ZN2at", "_ZN3c10", "_ZN5torch")):
        return None
    for pattern, vendor in _VENDORS:
        found = pattern.match(text)
        if found:
            if (
                "at_cuda_detail::" in text
            ):  # PyTorch's own CUB: Thrust brings the toolkit's (ATen/cuda/cub_definitions.cuh)
                return vendor._replace(entry=vendor.entry.partition("|thrust::")[0])
            routine = found.groupdict().get("routine") or ""
            return vendor if not routine else _named(vendor, routine)
    return None


def _named(vendor: Vendor, routine: str) -> Vendor:
    """The row for a kernel whose name tells the routine; without entry points of that name, those of any."""
    entry, what = vendor.entry.replace("{routine}", routine), vendor.what.replace("{routine}", routine)
    return Vendor(vendor.library, what, entry, vendor.entry.replace("{routine}", r"\w*"))
