"""Questions of the same kinds about other operators, kernels and messages, their answers read in the sources of 2.6.0.

A kernel's case holds the base names of the operators that the answer must name and of some that it must not, and places
that must be cited. A question's case holds what the text must say, and the exit code.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main
from tests.real.test_cases_profiler import places, run

pytestmark = pytest.mark.real

N = "aten/src/ATen/native/"
C = N + "cuda/"
A = "at::native::(anonymous namespace)::"
VECTOR = "void at::native::vectorized_elementwise_kernel<4, "
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::"
FOREACH = f"void {A}multi_tensor_apply_kernel<{A}"
LISTS = f"{FOREACH}TensorListMetadata"
ARRAY = ", std::array<char*, 2ul> >(int)"
LAMBDA = (
    "(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)}"
)

#: name as a profiler prints it -> (operators told, operators not told, places cited)
KERNELS: dict[str, tuple[str, str, str]] = {
    # softmax, normalisation
    f"void {A}cunn_SoftMaxForward<4, float, float, float, {A}SoftMaxForwardEpilogue>(float*, int)": (
        "_softmax",
        "_log_softmax native_layer_norm",
        C + "SoftMax.cu:663",
    ),
    f"void {A}cunn_SpatialSoftMaxForward<float, float, float, int, {A}LogSoftMaxForwardEpilogue>(float*)": (
        "_log_softmax",
        "_softmax",
        C + "SoftMax.cu:255",
    ),
    "void (anonymous namespace)::softmax_warp_backward<c10::Half, c10::Half, float, 9, false, false>(c10::Half*)": (
        "_softmax_backward_data _log_softmax_backward_data _masked_softmax_backward",
        "_softmax",
        C + "PersistentSoftmax.cuh:215",
    ),
    f"void {A}vectorized_layer_norm_kernel<float, float>(int, float, float const*)": (
        "native_layer_norm",
        "native_group_norm",
        C + "layer_norm_kernel.cu:300",
    ),
    f"void {A}GammaBetaBackwardCUDAKernel<float, float>(long, long, float const*)": (
        "native_layer_norm_backward",
        "native_layer_norm",
        C + "layer_norm_kernel.cu:648",
    ),
    f"void {A}RowwiseMomentsCUDAKernel<float>(long, float, float const*, float*, float*)": (
        "native_layer_norm native_group_norm",
        "native_batch_norm",
        C + "layer_norm_kernel.cu:54 " + C + "group_norm_kernel.cu:32",
    ),
    "void at::native::batch_norm_transform_input_kernel<float, float, float, false, int>(int)": (
        "native_batch_norm batch_norm_elemt",
        "native_layer_norm",
        C + "Normalization.cuh:212",
    ),
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)": (
        "cudnn_batch_norm",
        "cudnn_convolution add linear",
        N + "cudnn/BatchNorm.cpp:123",
    ),
    # pointwise
    f"{VECTOR}at::native::GeluCUDAKernelImpl{LAMBDA}{ARRAY}": (
        "gelu",
        "gelu_backward silu",
        C + "ActivationGeluKernel.cu:21",
    ),
    f"{VECTOR}{A}silu_kernel{LAMBDA}{ARRAY}": ("silu", "gelu sigmoid", C + "ActivationSiluKernel.cu:23"),
    f"{VECTOR}at::native::rsqrt_kernel_cuda{LAMBDA}{ARRAY}": ("rsqrt pow", "sqrt", C + "UnaryOpsKernel.cu:96"),
    f"{VECTOR}{A}launch_clamp_scalar{LAMBDA}{ARRAY}": (
        "clamp clamp_max clamp_min",
        "maximum",
        C + "TensorCompare.cu:59",
    ),
    f"{VECTOR}at::native::BinaryFunctor<float, float, bool, {A}CompareEqFunctor<float> >{ARRAY}": (
        "eq ne",
        "ge lt",
        C + "CompareEQKernel.cu:18",
    ),
    f"{VECTOR}at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>)": (
        "fill_",
        "copy_ zero_",
        C + "FillKernel.cu:13",
    ),
    f"{VECTOR}at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)": ("add sub", "mul", ""),
    f"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<{A}where_kernel_impl"
    "(at::TensorIterator&)::{lambda()#1}::operator()() const::{lambda(bool, float, float)#1}>(int)>": (
        "where",
        "masked_fill_",
        C + "TensorCompare.cu:14",
    ),
    f"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<{A}masked_fill_kernel"
    "(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda(float, bool)#1}>(int)>": (
        "masked_fill_",
        "where fill_",
        C + "Indexing.cu:1658",
    ),
    # reductions
    f"{REDUCE}func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)"
    "::{lambda(float, float)#1}>, unsigned int, float, 4> >(int)": (
        "sum",
        "prod mean",
        C + "ReduceSumProdKernel.cu:15",
    ),
    f"{REDUCE}MeanOps<float, float, float, float>, unsigned int, float, 4> >(int)": (
        "mean",
        "sum std",
        C + "ReduceMomentKernel.cu:40",
    ),
    f"{REDUCE}WelfordOps<float, float, int, thrust::pair<float, float> >, unsigned int, float, 4> >(int)": (
        "std var std_mean var_mean",
        "mean sum",
        C + "ReduceMomentKernel.cu:14",
    ),
    f"{REDUCE}NormTwoOps<float, float, float>, unsigned int, float, 4> >(int)": (
        "linalg_vector_norm",
        "sum",
        C + "ReduceNormKernel.cu:17",
    ),
    f"{REDUCE}func_wrapper_t<float, at::native::MaxNanFunctor<float> >, unsigned int, float, 4> >(int)": (
        "amax max",
        "amin argmax",
        C + "ReduceMaxValuesKernel.cu:21",
    ),
    # indices, sorting, scans
    "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)": ("topk", "sort", C + "TensorTopK.cu:40"),
    "void at::native::radixSortKVInPlace<2, -1, 32, 4, float, long, unsigned int>(int)": (
        "sort topk",
        "argmax",
        C + "SortUtils.cuh:251",
    ),
    f"void {A}indexFuncLargeIndex<float, long, unsigned int, 1, 1, -2, true, {A}ReduceAdd>(int)": (
        "index_add index_reduce",
        "index_select",
        C + "Indexing.cu:905",
    ),
    "void at::native::(anonymous namespace)::indexing_backward_kernel_stride_1<float, false>(long const*)": (
        "_index_put_impl_",
        "index_add",
        C + "Indexing.cu:186",
    ),
    "void at::native::triu_tril_kernel<float, int, true, 1, false>(int)": (
        "triu tril",
        "tril_indices",
        C + "TriangularOps.cu:41",
    ),
    "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*)": (
        "cumsum",
        "cumprod _logcumsumexp",
        C + "ScanUtils.cuh:371",
    ),
    "void at::native::tensor_kernel_scan_innermost_dim<float, std::multiplies<float> >(float*)": (
        "cumprod",
        "cumsum",
        C + "CumprodKernel.cu:10",
    ),
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::P<float>::Policy800, int>(int*)": (
        "sort _unique2 randperm",
        "cumsum nonzero",
        "aten/src/ATen/cuda/cub-RadixSortPairs.cu:8",
    ),
    "void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::P<long>::Policy600, long*>(long*)": (
        "cumsum cumprod masked_scatter_",
        "sort",
        C + "CumsumKernel.cu:10",
    ),
    "void cub::CUB_200200_800_NS::DeviceSelectSweepKernel<int>(int)": ("nonzero", "sort", C + "Nonzero.cu:170"),
    "void thrust::T::cuda_cub::core::_kernel_agent<thrust::T::cuda_cub::__unique::UniqueAgent<long*>, int>(int)": (
        "unique_consecutive unique_dim",
        "topk sort",
        C + "Unique.cu:89",
    ),
    # embeddings
    f"void {A}embedding_backward_feature_kernel<float, float, long>(long const*)": (
        "embedding_dense_backward",
        "embedding",
        C + "Embedding.cu:48",
    ),
    f"void {A}EmbeddingBag_updateOutputKernel_sum_mean<float, int>(int const*)": (
        "_embedding_bag _embedding_bag_forward_only",
        "embedding_dense_backward",
        C + "EmbeddingBag.cu:112",
    ),
    # foreach and fused optimizers
    f"{LISTS}<2>, {A}BinaryOpScalarFunctor<float, 2, 1, 1>, std::plus<float>, float>(int)": (
        "_foreach_add",
        "_foreach_mul _foreach_sub",
        C + "ForeachFunctors.cuh:207",
    ),
    f"{LISTS}<3>, {A}PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>, float>(int)": (
        "_foreach_addcmul",
        "_foreach_addcdiv",
        C + "ForeachPointwiseOp.cu:265",
    ),
    f"{LISTS}<2>, {A}UnaryOpFunctor<float, 2, 1, 1>, at::native::Sqrt<float> >(int)": (
        "_foreach_sqrt",
        "_foreach_rsqrt",
        C + "ForeachUnaryOp.cu:263",
    ),
    f"{FOREACH}FusedOptimizerTensorListMetadata<4>, {A}FusedAdamMathFunctor<float, 4, false> >(int)": (
        "_fused_adam_ _fused_adamw_",
        "_fused_sgd_ _foreach_add",
        C + "fused_adam_utils.cuh:105",
    ),
    f"{LISTS}<1>, at::native::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0> >(int)": (
        "_foreach_norm",
        "linalg_vector_norm",
        C + "ForeachReduceOp.cu:243",
    ),
    # attention
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, cutlass::half_t>, true>(P)": (
        "_flash_attention_forward",
        "_efficient_attention_forward",
        N + "transformers/cuda/flash_attn/flash_fwd_launch_template.h:35",
    ),
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128>, false>(P)": (
        "_flash_attention_backward",
        "_flash_attention_forward",
        N + "transformers/cuda/flash_attn/flash_bwd_launch_template.h:44",
    ),
    "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)": (
        "_efficient_attention_forward",
        "_flash_attention_forward",
        N + "transformers/cuda/mem_eff_attention/kernels/cutlassF.h:151",
    ),
    # convolution, pooling, losses, others
    "_ZN2at6native51_GLOBAL__N__d5bc0d7d_18_DepthwiseConv2d_cu_a62ad27031conv_depthwise2d_forward_kernelILi3EfiEEvNS_20"
    "GenericPackedTensorAccessorIKT0_Lm4ENS_17DefaultPtrTraitsEiEE": (
        "_conv_depthwise2d",
        "convolution_backward",
        C + "DepthwiseConv2d.cu:145",
    ),
    "void at::native::im2col_kernel<float>(long, float const*, long)": (
        "im2col _slow_conv2d_forward",
        "col2im",
        C + "im2col.cuh:20",
    ),
    "void at::native::max_pool_backward_nhwc<float, float>(float const*)": (
        "max_pool2d_with_indices_backward",
        "max_pool2d_with_indices",
        C + "DilatedMaxPool2d.cu:210",
    ),
    f"void {A}nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, float*)": (
        "nll_loss_forward",
        "nll_loss2d_forward",
        C + "Loss.cu:230",
    ),
    f"void {A}ctc_loss_log_alpha_gpu_kernel<float, long>(float*)": (
        "_ctc_loss",
        "_ctc_loss_backward",
        C + "LossCTC.cu:78",
    ),
    "void compute_cuda_kernel<long>(long const*, long const*, long*, long, long)": (
        "repeat_interleave",
        "repeat",
        C + "Repeat.cu:14",
    ),
    f"void {A}roll_cuda_kernel<float>(float const*, float*, long)": ("roll", "flip", C + "TensorTransformations.cu:84"),
    "void at::native::tinygemm_m16n8k16_chunk_kernel<at::native::ALayout_RM<(at::native::KReductionType)0> >(void*)": (
        "_weight_int4pack_mm",
        "_weight_int8pack_mm",
        C + "int4mm.cu:607",
    ),
    "void at::native::amp_update_scale_cuda_kernel(float*, int*, float const*, double, double, int)": (
        "_amp_update_scale_",
        "_amp_foreach_non_finite_check_and_unscale_",
        C + "AmpKernels.cu:181",
    ),
    # vendors
    "void getrf_pivot<float, float, 0, 1>(int)": (
        "linalg_lu_factor_ex",
        "linalg_cholesky_ex linalg_qr",
        C + "linalg/CUDASolver.cpp:12",
    ),
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, P>(int)": (
        "addmv mm",
        "dot",
        "aten/src/ATen/cuda/CUDABlas.cpp:1843",
    ),
    "void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const> > >(int)": (
        "dot vdot",
        "sum",
        C + "Blas.cpp:656",
    ),
    "void vector_fft<512u, 8u, 8u, (padding_t)1, (twiddle_t)0, float>(kernel_arguments_t<unsigned int>)": (
        "_fft_r2c _fft_c2r _fft_c2c",
        "mm",
        C + "SpectralOps.cpp:38",
    ),
    "void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)2, (cudnnRNNBiasMode_t)2>(int)": (
        "_cudnn_rnn _cudnn_rnn_backward",
        "cudnn_convolution",
        N + "cudnn/RNN.cpp:1384",
    ),
    "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_1LDSB0_APM1_ABV0_ACED0_AF0EM1": ("mm addmm bmm baddbmm", "dot", C + "Blas.cpp:249"),
    # messages with names
    "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'": (
        "mm addmm bmm",
        "linalg_lu_solve",
        N + "LinearAlgebra.cpp:1395",
    ),
    "\"check_uniform_bounds\" not implemented for 'Int'": ("uniform_", "normal_", N + "DistributionTemplates.h:286"),
    "\"softmax_lastdim_kernel_impl\" not implemented for 'Half'": (
        "_softmax",
        "_log_softmax",
        N + "cpu/SoftMaxKernel.cpp:1206",
    ),
    "upsample_bilinear2d_backward_out_cuda does not have a deterministic implementation": (
        "upsample_bilinear2d_backward",
        "upsample_bilinear2d",
        C + "UpSampleBilinear2d.cu:857",
    ),
}
#: question -> (exit code, what the text says)
QUESTIONS: dict[str, tuple[int, list[str]]] = {
    "op torch.nn.LTSM": (1, ["torch.nn.LSTM"]),
    "op scater_add_": (1, ["aten::scatter_add_"]),
    "op torch.ops.torchvision.nms": (1, ["no operator in the namespace torchvision"]),
    "op \"Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.\"": (1, ["torchvision"]),
    "op \"The operator 'aten::_linalg_solve_ex.result' is not currently implemented for the MPS device.\"": (
        0,
        ["no kernel for MPS, only for CPU, CUDA", N + "BatchLinearAlgebra.cpp:1941"],
    ),
    "op prims::add": (0, ["CompositeExplicitAutograd  torch._prims", "Its Autograd kernel is in Python"]),
    "op torch.ops.higher_order.cond": (
        0,
        ["torch._higher_order_ops.cond.cond_op_dense", "torch/_higher_order_ops/cond.py"],
    ),
    "op torch.nn.functional.interpolate": (0, ["none is called like it", "upsample_bilinear2d"]),
    "op torch.cuda.synchronize": (0, ["torch._C._cuda_synchronize"]),
    "api torch.cuda.synchronize": (0, ["binding torch._C._cuda_synchronize", "it ends in C++"]),
    "op torch.ops.quantized.linear": (0, [N + "quantized/cpu/qlinear.cpp:1177", N + "quantized/cudnn/Linear.cpp:345"]),
    "op torch.special.erfcx --device cpu": (0, [N + "cpu/UnaryOpsKernel.cpp:617", N + "Math.h:2159"]),
    "op F.cross_entropy": (0, ["native_functions.yaml:9360", "torch/nn/functional.py:3404"]),
    "op Tensor.__add__": (0, ["native_functions.yaml:552"]),
    "stub gelu": (1, ["GeluKernel", "pytrace op gelu"]),
    "kernel triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0": (
        1,
        ["Triton", "fused from _to_copy, add (lowered at torch/_inductor/lowering.py:", "rsqrt"],
    ),
    "kernel triton_per_fused_native_layer_norm_backward_12": (1, ["fused from native_layer_norm_backward;"]),
    "kernel 'Memcpy HtoD (Pageable -> Device)'": (1, ["the CUDA runtime"]),
    "backward \"Function 'PowBackward0' returned nan values in its 0th output.\"": (
        0,
        ["tools/autograd/derivatives.yaml:1375"],
    ),
    "backward 'tensor(2., grad_fn=<AddmmBackward0>)'": (0, ["AddmmBackward0", "of aten::addmm"]),
    "backward MaxPool2DWithIndicesBackward0": (
        0,
        ["derivatives.yaml:2359", "saves self", N + "DilatedMaxPool2d.cpp:194"],
    ),
    'backward "derivative for aten::bincount is not implemented"': (
        0,
        ["no entry in derivatives.yaml", "basic_ops.h:39"],
    ),
    "backward AccumulateGrad": (0, ["torch/csrc/autograd/functions/accumulate_grad.cpp:24"]),
    "backward SelectBackward1": (1, ["SelectBackward0"]),
    "at /pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:91": (0, ["gpu_index_kernel", "_index_put_impl_"]),
    "at 'C:\\b\\pytorch\\aten\\src\\ATen\\native\\cuda\\Loss.cu:250'": (0, ["nll_loss_forward_reduce_cuda_kernel_2d"]),
    "at tools/autograd/derivatives.yaml:2379": (0, ["ConvolutionBackward0"]),
    "at torch/csrc/autograd/python_variable.cpp:1751": (0, ["THPVariable_setitem"]),
    "binding torch._C._cuda_synchronize": (0, ["torch/csrc/cuda/Module.cpp:1937", "torch/cuda/__init__.py:985"]),
}


@pytest.mark.parametrize("text", KERNELS)
def test_kernel(text: str, real_tree: str, real_index: object) -> None:
    told, not_told, cited = (set(words.split()) for words in KERNELS[text])
    code, output = run(real_tree, f"kernel {shlex.quote(text)} --up --limit 0 --format json")
    assert code == 0, output
    answer = json.loads(output)
    names = {name for r in answer.get("up", ()) for name in (r["op"]["name"], *r.get("overloads", ()))}
    bases = {name.rpartition("::")[2].partition(".")[0] for name in names}
    assert told <= bases | {base.rstrip("_") for base in bases}
    assert not_told & bases == set()
    known = places(answer)
    assert {place for place in cited if place not in known and place not in output} == set()


@pytest.mark.parametrize("question", QUESTIONS)
def test_question(question: str, real_tree: str, real_index: object, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, told = QUESTIONS[question]
    for width in ("80", "160"):
        monkeypatch.setenv("COLUMNS", width)
        code, output = run(real_tree, question)
        text = " ".join(output.split())
        assert code == wanted, output
        assert [part for part in told if " ".join(part.split()) not in text] == [], output
        # a path is never cut, deep trees leave no room for it
        wide = [line for line in output.splitlines() if len(line) > int(width) and not re.search(r"/\S+:\d+$", line)]
        assert wide == [] or code == 1


def test_every_answer_is_json(real_tree: str, real_index: object) -> None:
    for question in QUESTIONS:
        code, output = run(real_tree, f"{question} --format json")
        if code == 0:
            assert json.loads(output)["tree"]["version"], question


def test_nothing_breaks_a_question(real_tree: str, real_index: object) -> None:
    odd = [
        "",
        " ",
        "'",
        "<",
        ">>",
        "()",
        "::",
        ".",
        "a<" * 900,
        "_ZN" + "1a" * 5000,
        "\x1b[2J",
        "\udcff",
        "%",
        "`",
        "…",
    ]
    for command in ("op", "kernel", "stub", "api", "binding", "backward", "at", "search"):
        for text in odd:
            arguments = [command, "--root", real_tree, "--no-refresh", "--", text]
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code in (0, 1), (command, text)
            assert isinstance(result.exception, (SystemExit, type(None))), (command, text, result.exception)
            assert "\x1b" not in result.output
            assert len(result.output) < 5000 or result.exit_code == 0
