"""Names that profilers and messages printed, as people pasted them in public, and what they are in PyTorch 2.6.0.

A case holds the answer, checked in the JSON of the command: operators that must be among those told, operators that
must not (a confident wrong match is worse than none), and places that must be cited somewhere (``a|b``: either; where a
kernel's name stands on the line after its ``__global__``).
"""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from click.testing import CliRunner

from pytrace.cli.main import main

pytestmark = pytest.mark.real

N = "aten/src/ATen/native/"
C = N + "cuda/"
YAML = N + "native_functions.yaml:"
OLD = "at::native::_GLOBAL__N__53_tmpxft_00009fac_00000000_9_SoftMax_compute_70_cpp1_ii_a3310042"
DRIVER = "void at::native::vectorized_elementwise_kernel<4, at::native::"
B16 = "c10::BFloat16, c10::BFloat16, c10::BFloat16"
MUL = f"at::native::BinaryFunctor<{B16}, at::native::binary_internal::MulFunctor<float> >"

#: id -> (the name as it was pasted, operators told, operators not told, places)
KERNELS: dict[str, tuple[str, set[str], set[str], set[str]]] = {
    "D1 an epilogue tells log_softmax": (
        f"void {OLD}::cunn_SoftMaxBackward<int=2, float, float, float, {OLD}::LogSoftMaxBackwardEpilogue>(float*, int)",
        {"_log_softmax_backward_data"},
        {"_softmax_backward_data"},
        {C + "SoftMax.cu:775|" + C + "SoftMax.cu:774", C + "SoftMax.cu:1075", YAML + "3723"},
    ),
    "compiled at run time, for vectors": (
        "gcd_vectorized4_kernel",
        {"gcd"},
        {"lcm", "mul"},
        {C + "GcdLcmKernel.cu:21", C + "Math.cuh:189", N + "BinaryOps.cpp:545"},
    ),
    "compiled at run time, a reduction": (
        "reduction_prod_kernel",
        {"prod"},
        {"sum", "mean"},
        {C + "ReduceSumProdKernel.cu:94"},
    ),
    "compiled at run time, by another name than the operator's": (
        "calc_i0e_kernel",
        {"special_i0e"},
        {"i0"},
        {C + "UnarySpecialOpsKernel.cu:66|" + C + "UnarySpecialOpsKernel.cu:74|" + C + "UnarySpecialOpsKernel.cu:70"},
    ),
    "D5 copy, as nsys writes it": (
        "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl<at::native::<unnamed>::"
        "direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const::"
        "[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
        {"copy_", "cat"},
        {"mul", "add"},
        {C + "Copy.cu:154"},
    ),
    "D5 a GEMM of cuBLAS": (
        "ampere_sgemm_64x64_tn",
        {"addmm", "mm", "bmm", "baddbmm"},
        {"softmax", "copy_"},
        {"aten/src/ATen/cuda/CUDABlas.cpp:820", C + "Blas.cpp:249"},
    ),
    "D6 one symbol serves four comparisons": (
        DRIVER + "compare_scalar_kernel<int>(at::TensorIteratorBase&, at::native::(anonymous namespace)::OpType, int)"
        "::{lambda(int)#1}, std::array<char*, 2ul> >",
        {"ge", "gt", "le", "lt"},
        {"eq", "ne", "mul"},
        {C + "CompareKernels.cu:47", YAML + "9076"},
    ),
    "D6 mul in bfloat16": (
        f"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{MUL} >"
        f"(at::TensorIteratorBase&, {MUL} const&)::{{lambda(int)#1}}>(int, {MUL})",
        {"mul"},
        {"add", "sub"},
        {C + "BinaryInternal.h:28", C + "BinaryMulKernel.cu:22", N + "BinaryOps.cpp:440"},
    ),
    "D8 a functor that only generated code holds": (
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctorOnSelf_add<long>, at:…",
        {"add", "sub"},
        {"mul"},
        {YAML + "575"},
    ),
    "D10 a cut symbol tells its file": (
        "_ZN2at6native89_GLOBAL__N__65_tmpxft_00001610_00000000_10_DistributionNormal_compute_86_cpp1_ii_7d8…",
        {"normal_"},
        {"uniform_", "log_normal_"},
        {C + "DistributionNormal.cu:8", YAML + "10299"},
    ),
    "D11 index_select, cut": (
        "void at::native::<unnamed>::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, (int)2, (int)2…",
        {"index_select"},
        {"index_add"},
        {C + "Indexing.cu:1397", C + "Indexing.cu:1456"},
    ),
    "D12 a collective": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
        set(),
        {"add", "sum"},
        set(),
    ),
    "G1 nvcc's name of a lambda": (
        "void at::native::gpu_kernel_impl<__nv_hdl_wrapper_t<false, false, __nv_dl_tag<void (*)(at::TensorIterator&, "
        "c10::Scalar), &at::native::(anonymous namespace)::leaky_relu_backward_kernel, 3u>, c10::Half (c10::Half, "
        "c10::Half), c10::Half> >(at::TensorIterator&)",
        {"leaky_relu_backward"},
        {"leaky_relu"},
        {C + "ActivationLeakyReluKernel.cu:38", N + "Activation.cpp:328", YAML + "11966"},
    ),
    "G4 the same, cut in front": (
        "…&at::native::copy_device_to_device, 4u>, float (float)>",
        {"copy_"},
        {"mul"},
        {C + "Copy.cu:191"},
    ),
    "hard case: div by a number runs the functor of mul": (
        DRIVER + "BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, char>(int)",
        {"div"},
        {"add", "mul"},  # mul takes the symmetric way: its scalar is the first operand (Loops.cuh:199)
        {C + "BinaryDivTrueKernel.cu:20"},
    ),
    "E8 a label": (
        "\"multinomial_kernel_cuda\" not implemented for 'Half'",
        {"multinomial"},
        set(),
        {C + "MultinomialKernel.cu:345", C + "MultinomialKernel.cu:327", YAML + "9511"},
    ),
    "E9 a label tells the device": (
        "\"replication_pad1d\" not implemented for 'Half'",
        {"replication_pad1d"},
        set(),
        {N + "cpu/PaddingKernel.cpp:606", N + "ReplicationPadding.cpp:352"},
    ),
    "E10 a label that stands twice": (
        "\"upsample_bilinear2d_out_frame\" not implemented for 'BFloat16'",
        {"upsample_bilinear2d", "_upsample_bilinear2d_aa"},
        set(),
        {C + "UpSampleBilinear2d.cu:286", C + "UpSampleBilinear2d.cu:704"},
    ),
    "E10 nearest": (
        "\"upsample_nearest2d_out_frame\" not implemented for 'BFloat16'",
        {"upsample_nearest2d"},
        set(),
        {C + "UpSampleNearest2d.cu:308"},
    ),
    "F7 a label that an alert once had": (
        "index_add_cuda_",
        {"index_add"},
        set(),
        {C + "Indexing.cu:984"},
    ),
}
#: id -> (a name of another version, what must be said)
DRIFT = {
    "D2": (
        "_ZN2at4cuda74_GLOBAL__N__50_tmpxft_00009c3a_00000000_9_Copy_compute_70_cpp1_ii_dd3fb9a321kernelPointwiseApply2I"
        "ZN74_GLOBAL__N__50_tmpxft_00009c3a_00000000_9_Copy_compute_70_cpp1_ii_dd3fb9a36CopyOpIffE5applyERNS_6TensorERKS6"
        "_EUlRfRKfE_ffjLi1ELi2ELi1EEEvNS0_6detail10TensorInfoIT0_T2_EENSF_IT1_SH_EESH_T_",
        ["CopyOp::apply is not in this tree", "another version", "aten/src/ATen/cuda/CUDAApplyUtils.cuh:36"],
    ),
    "D10": (
        DRIVER + "BUnaryFunctor<at::native::CompareGTFu…",
        ["CompareGTFu… is not in this tree", "another version", "CompareFunctor"],
    ),
    "B9": ("CatArrayBatchedCopy_alignedK_contig", ["CatArrayBatchedCopy_aligned16_contig", C + "Shape.cu:234"]),
    "Triton": ("triton_poi_fused_add_cos_sin_0", ["Triton", "not in the tree"]),
}


def run(tree: str, command: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*shlex.split(command), "--root", tree, "--no-refresh"])
    return result.exit_code, result.output


def places(value: Any) -> set[str]:
    """Every ``path:line`` in an answer: of things, and of the evidence."""
    found = {f"{value['file']}:{value['line']}"} if isinstance(value, dict) and value.get("file") else set()
    if isinstance(value, dict):
        found |= {str(text) for key, text in value.items() if key == "at"}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found.union(*map(places, parts)) if parts else found


@pytest.mark.parametrize("case", KERNELS)
def test_kernel(case: str, real_tree: str, real_index: object) -> None:
    text, told, not_told, cited = KERNELS[case]
    code, output = run(real_tree, f"kernel {shlex.quote(text)} --up --limit 0 --format json")
    assert code == 0, output
    answer = json.loads(output)
    text_of_all = json.dumps(answer)
    reached = {r["op"]["name"] for r in answer.get("up", ())}
    reached |= {name for r in answer.get("up", ()) for name in r.get("overloads", ())}
    bases = {name.rpartition("::")[2].partition(".")[0] for name in reached}
    assert told <= bases
    assert not not_told & bases
    known = places(answer)
    assert [c for c in cited if not any(p in known or p in text_of_all for p in c.split("|"))] == []


@pytest.mark.parametrize("case", DRIFT)
def test_another_version_is_said_and_nothing_matched(case: str, real_tree: str, real_index: object) -> None:
    text, told = DRIFT[case]
    code, output = run(real_tree, f"kernel {shlex.quote(text)} --up")
    assert code == 1
    assert [part for part in told if part not in " ".join(output.split())] == []
