"""Questions that people asked in public, and the places in PyTorch 2.6.0 that answer them.

A case holds the answer (names and ``path:line``), never the layout: each text (``a|b``: either; a kernel's name may
stand on the line after its ``__global__``) must stand somewhere in what the command
prints. ``PYTORCH_SRC`` names a 2.6.0 checkout; its index is made once and kept in the cache folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main

pytestmark = pytest.mark.real

N = "aten/src/ATen/native/"
NF = N + "native_functions.yaml:"
D = "tools/autograd/derivatives.yaml:"
F = "torch/nn/functional.py:"
T = "tools/autograd/templates/"

#: id -> (question in a few words, command, what the answer holds)
CASES: dict[str, tuple[str, str, list[str]]] = {
    "A1-binding": (
        "where is the C++ behind torch._C._nn.nll_loss",
        "op torch._C._nn.nll_loss",
        [NF + "11646", T + "python_nn_functions.cpp", N + "LossNLL.cpp:670", "nll_loss_forward", N + "LossNLL.cpp:455"]
        + [f"{N}cuda/Loss.cu:{line}" for line in (592, 172, 194, 230)]
        + [D + "2067"],
    ),
    "A1-functional": (
        "F.nll_loss does not call the operator of its name",
        "op F.nll_loss",
        ["torch._C._nn.nll_loss_nd", F + "3094", ":3158", NF + "11641", "nll_loss_forward"],
    ),
    "A3": (
        "storage.cuda() has no operator",
        "op torch.storage._StorageBase.cuda",
        ["pure Python", "torch/storage.py:87"],
    ),
    "A4-matmul": (
        "does matmul end in a GEMM of cuBLAS",
        "op matmul",
        [NF + "3775", N + "LinearAlgebra.cpp:2180", N + "LinearAlgebra.cpp:2000", "aten::mm", "aten::bmm"],
    ),
    "A4-linear": ("what is linear made of", "op linear", [NF + "3331", N + "Linear.cpp:73", F + "2309", "aten::addmm"]),
    "A4-addmm": (
        "where does addmm call cuBLAS",
        "op addmm --device cuda",
        [
            NF + "7022",
            N + "cuda/Blas.cpp:589",
            N + "cuda/Blas.cpp:249",
            "at::cuda::blas::gemm_and_bias",
            ":461",
            "at::cuda::blas::gemm ",
        ],
    ),
    "A4-cublas": (
        "what calls cublasSgemm",
        "kernel cublasSgemm --up --limit 0",
        ["aten/src/ATen/cuda/CUDABlas.cpp:820", ":828", "aten::addmm.out", "aten::mm.out", "aten::bmm.out", "cuBLAS"],
    ),
    "A5": (
        "where is conv2d implemented",
        "op torch.nn.functional.conv2d",
        [F + "92", NF + "1724", D + "2379"]
        + [f"{N}Convolution.cpp:{line}" for line in (940, 1173, 1468)]
        + ["ConvBackend::Cudnn", "ConvBackend::CudaDepthwise2d", "ConvBackend::Slow2d"],
    ),
    "A7": (
        "which files make torch.cat on the CPU",
        "op torch.cat --device cpu",
        [NF + "1398", N + "TensorShape.cpp:594", ":624", N + "TensorShape.cpp:344", N + "cpu/CatKernel.cpp:"],
    ),
    "A8": (
        "the profiler says add: which overloads are there",
        "op aten::add",
        [NF + str(line) for line in (552, 564, 575, 618, 625)] + ["add_.Tensor", "add.out", "in-place", "out="],
    ),
    "B1": (
        "depthwise convolution on CUDA",
        "op _convolution --device cuda",
        [
            "case ConvBackend::CudaDepthwise2d",
            ":1523",
            "aten::_conv_depthwise2d",
            N + "cuda/DepthwiseConv2d.cu:685",
            f"{N}cuda/DepthwiseConv2d.cu:33|{N}cuda/DepthwiseConv2d.cu:37",
        ],
    ),
    "B2": (
        "which softmax kernels serve which size",
        "op softmax --device cuda",
        [
            NF + "5541",
            N + "SoftMax.cpp:443",
            N + "cuda/SoftMax.cu:1091",
            ":853",
            N + "cuda/PersistentSoftmax.cuh:68",
            "dim_size <= 1024",
            f"{N}cuda/SoftMax.cu:700|{N}cuda/SoftMax.cu:699",
            f"{N}cuda/SoftMax.cu:663|{N}cuda/SoftMax.cu:662",
        ],
    ),
    "B4": (
        "max_pool2d always computes indices",
        "op max_pool2d --device cuda",
        [NF + "3884", N + "Pooling.cpp:140", ":162", "aten::max_pool2d_with_indices"]
        + [f"{N}cuda/DilatedMaxPool2d.cu:{line}" for line in (294, 45, 84)],
    ),
    "B9": (
        "a kernel that another version has",
        "kernel CatArrayBatchedCopy_alignedK_contig",
        ["no kernel", "CatArrayBatchedCopy_aligned16_contig", N + "cuda/Shape.cu:234"],
    ),
    "B9-paths": (
        "who launches the aligned kernel",
        "kernel CatArrayBatchedCopy_aligned16_contig --up",
        [N + "cuda/Shape.cu:288", N + "cuda/Shape.cu:446", "aten::cat.out", "isContig", "torch.cat"],
    ),
    "B10": (
        "all CUDA kernels of cat",
        "op cat --device cuda",
        [f"{N}cuda/Shape.cu:{line}" for line in (165, 201, 234, 288, 446)],
    ),
    "B11": (
        "all variants of index_add",
        "op index_add",
        [NF + str(line) for line in (8108, 8118, 8122, 8126)] + ["delegated"],
    ),
    "C1": ("backward of conv2d", "op conv2d", ["CompositeImplicitAutograd", "aten::convolution", D + "2379"]),
    "C1-convolution": (
        "backward of convolution",
        "backward convolution",
        ["ConvolutionBackward0", D + "2379", "convolution_backward_symint", D + "2390", N + "Convolution.cpp:1981"],
    ),
    "C3": (
        "heaviside has no derivative",
        "op heaviside",
        [
            NF + "6964",
            NF + "6972",
            "is not implemented",
            N + "BinaryOps.cpp:1539",
            N + "cpu/BinaryOpsKernel.cpp:",
            ":1404",
            N + "cuda/StepKernel.cu:",
            ":31",
        ],
    ),
    "C4": (
        "an error in NextafterBackward0",
        "backward NextafterBackward0",
        ["aten::nextafter", D + "1299", D + "1300", 'not_implemented("nextafter")'],
    ),
    "C5": (
        "what max_pool2d_with_indices saves",
        "backward max_pool2d_with_indices",
        [
            "saves self,",
            "result1",
            D + "2360",
            "max_pool2d_with_indices_backward",
            D + "2530",
            N + "cuda/DilatedMaxPool2d.cu:417",
        ],
    ),
    "C6": (
        "is the overload grad_input dead",
        "op max_pool2d_with_indices_backward",
        ["max_pool2d_with_indices_backward.grad_input", NF + "12368", NF + "12376", "delegated"],
    ),
    "C10": (
        "second gradient of layer_norm",
        "backward native_layer_norm_backward",
        ["layer_norm_double_backward", "torch/csrc/autograd/FunctionsManual.cpp:4771", "not_implemented", D + "1260"],
    ),
    "C11": (
        "nn.LSTM down to its kernels, and back",
        "op torch.nn.LSTM",
        [
            NF + "7854",
            "CompositeImplicitAutograd",
            "torch/nn/modules/rnn.py",
            ":1124",
            ":1136",
            N + "RNN.cpp:1429",
            "at::cudnn_is_acceptable",
            "lstm_cudnn_stub",
            N + "RNN.cpp:1419",
            N + "cudnn/RNN.cpp:2689",
            "aten::_cudnn_rnn",
            "lstm_cell_forward",
            N + "cuda/RNN.cu:100",
        ]
        + [D + str(line) for line in (2763, 2807, 2930, 2753)],
    ),
    "C11-backward-kernel": (
        "the backward kernel of the fused cell",
        "kernel lstm_cell_backward --up",
        [N + "cuda/RNN.cu:187", "aten::_thnn_fused_lstm_cell_backward_impl", "aten::_thnn_fused_lstm_cell_backward"],
    ),
    "D1": (
        "a softmax kernel as an old profiler prints it",
        "kernel 'void at::native::_GLOBAL__N__53_tmpxft_00009fac_00000000_9_SoftMax_compute_70_cpp1_ii_a3310042::"
        "cunn_SoftMaxBackward<2, float, float, float>(float*, float*, float, int)' --up",
        [
            f"{N}cuda/SoftMax.cu:775|{N}cuda/SoftMax.cu:774",
            "aten::_log_softmax_backward_data",
            "aten::_softmax_backward_data",
        ],
    ),
    "D4": (
        "a generic driver names no operator",
        "kernel unrolled_elementwise_kernel --up",
        [N + "cuda/CUDALoops.cuh:128", "Generic", "functor"],
    ),
    "D11": (
        "an index_select kernel in a trace of an LLM",
        "kernel 'void at::native::<unnamed>::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, (int)2>' --up",
        [N + "cuda/Indexing.cu:1397", N + "cuda/Indexing.cu:1456", "aten::index_select", "aten::embedding"],
    ),
    "G6": (
        "an illegal access in adaptive_max_pool2d",
        "op adaptive_max_pool2d --device cuda",
        [NF + "12184", N + "cuda/AdaptiveMaxPooling2d.cu:204", N + "cuda/AdaptiveMaxPooling2d.cu:46"],
    ),
    "G3": (
        "a frame of a sanitizer's stack",
        "at /mnt/pytorch-2.5.0/aten/src/ATen/native/FractionalMaxPool3d.cpp:283",
        [
            "fractional_max_pool3d_backward_out_single_batch_frame",
            N + "FractionalMaxPool3d.cpp:262",
            "fractional_max_pool3d_backward",
        ],
    ),
}


@pytest.fixture(scope="module")
def tree() -> str:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC is not set")
    from pytrace.index import refresh

    refresh(Path(os.environ["PYTORCH_SRC"]), quiet=True)
    return os.environ["PYTORCH_SRC"]


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, tree: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    _, command, answer = CASES[case]
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(main, [*shlex.split(command), "--root", tree, "--no-refresh"])
    missing = [text for text in answer if not any(way in result.output for way in text.split("|"))]
    assert missing == [], f"{command}\n{result.output}"
