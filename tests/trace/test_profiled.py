"""``pytrace kernel`` with a name as a profiler prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.names import read
from pytrace.store import Store
from pytrace.trace import fused, kernel, profiled, resolve
from tests.graphs import store

N = "at::native::"
GRAPH = """
node cuda_kernel at::native::driver cuda/Loops.cuh:10
node cuda_kernel at::native::scan cuda/Scan.cu:5
node cuda_kernel at::native::other cuda/Other.cu:5
node function at::native::launch cuda/Loops.cuh:30
edge at::native::launch launches at::native::driver @cuda/Loops.cuh:31
node functor at::native::Mul cuda/Functors.h:3
node functor at::native::Wrap cuda/Functors.h:9
node function at::native::Mean::Mean Reduce.h:7
node function at::native::mul_cuda cuda/Mul.cu:3
node function at::native::mean_cuda cuda/Mean.cu:3
node function at::native::scan_cuda cuda/Scan.cu:9
node function at::native::silu cuda/Silu.cu:3
edge at::native::mul_cuda calls at::native::launch @cuda/Mul.cu:4
edge at::native::mul_cuda instantiates=launch at::native::Mul @cuda/Mul.cu:4
node function at::native::Mul::operator() cuda/Functors.h:4
edge at::native::mul_cuda calls at::native::Mul::operator() @cuda/Mul.cu:4
edge at::native::launch instantiates=launch at::native::Wrap @cuda/Loops.cuh:31
edge at::native::mean_cuda calls at::native::launch @cuda/Mean.cu:4
edge at::native::mean_cuda calls at::native::Mean::Mean @cuda/Mean.cu:4
edge at::native::silu calls at::native::launch @cuda/Silu.cu:4
edge at::native::scan_cuda launches at::native::scan @cuda/Scan.cu:10
node op aten::mul.out native_functions.yaml:1
node op aten::mean.out native_functions.yaml:2
node op aten::silu.out native_functions.yaml:3
node op aten::cumsum.out native_functions.yaml:4
edge aten::mul.out dispatches=CUDA at::native::mul_cuda @native_functions.yaml:1
edge aten::mean.out dispatches=CUDA at::native::mean_cuda @native_functions.yaml:2
edge aten::silu.out dispatches=CUDA at::native::silu @native_functions.yaml:3
edge aten::cumsum.out dispatches=CUDA at::native::scan_cuda @native_functions.yaml:4
node function at::native::silu cpu/Silu.cpp:3
node op aten::silu_cpu native_functions.yaml:5
edge aten::silu_cpu dispatches=CPU at::native::silu @native_functions.yaml:5
node library cublasSgemm_v2 {"vendor": "cuBLAS"}
node function at::native::addmm_cuda cuda/Blas.cpp:3
node op aten::addmm.out native_functions.yaml:6
edge at::native::addmm_cuda calls_library cublasSgemm_v2 @cuda/Blas.cpp:4
edge aten::addmm.out dispatches=CUDA at::native::addmm_cuda @native_functions.yaml:6
node function at::native::mean_cpu Mean.cpp:3
node op aten::mean_cpu.out native_functions.yaml:7
edge at::native::mean_cpu calls at::native::Mean::Mean @Mean.cpp:4
edge aten::mean_cpu.out dispatches=CPU at::native::mean_cpu @native_functions.yaml:7
node functor std::plus
node functor std::minus
node op aten::sub.out native_functions.yaml:12
node function at::native::sub_cuda cuda/Sub.cu:3
edge at::native::sub_cuda calls at::native::launch @cuda/Sub.cu:4
edge at::native::sub_cuda instantiates=launch at::native::Mul @cuda/Sub.cu:4
edge at::native::sub_cuda instantiates=launch std::minus @cuda/Sub.cu:4
edge at::native::sub_cuda launches at::native::scan @cuda/Sub.cu:5
edge at::native::mul_cuda instantiates=launch std::plus @cuda/Mul.cu:4
edge aten::sub.out dispatches=CUDA at::native::sub_cuda @native_functions.yaml:12
node library cusolverDnSgetrf {"vendor": "cuSOLVER"}
node library cusolverDnSgetrf_bufferSize {"vendor": "cuSOLVER"}
node function at::native::lu_cuda cuda/Lu.cpp:3
node op aten::lu native_functions.yaml:8
node op lib::lu native_functions.yaml:9
edge at::native::lu_cuda calls_library cusolverDnSgetrf @cuda/Lu.cpp:4
edge aten::lu dispatches=CUDA at::native::lu_cuda @native_functions.yaml:8
node function lib::lu_cuda lib.cpp:3
edge lib::lu dispatches=CUDA lib::lu_cuda @lib.cpp:1
edge lib::lu_cuda calls_library cusolverDnSgetrf @lib.cpp:3
node functor twist_kernel cuda/Codes.h:5 {"compiled": "at run time"}
node function at::native::twist_cuda cuda/Twist.cu:3
node op aten::twist.out native_functions.yaml:13
edge at::native::twist_cuda instantiates=jitted_loop twist_kernel @cuda/Twist.cu:4
edge aten::twist.out dispatches=CUDA at::native::twist_cuda @native_functions.yaml:13
node python torch._inductor.lowering.add torch/_inductor/lowering.py:9
node op aten::add.Tensor native_functions.yaml:10
node op aten::native_layer_norm native_functions.yaml:11
edge aten::add.Tensor registers_python torch._inductor.lowering.add @torch/_inductor/lowering.py:8 !python-lowering
"""


@pytest.fixture
def graph(tmp_path: Path) -> Store:
    return store(tmp_path, GRAPH)


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        (f"void {N}driver<4, {N}Mul<float> >(int)", ["aten::mul.out", "aten::sub.out"]),
        (f"void {N}driver<4, {N}Wrap<float, {N}Mul<float> > >(int)", ["aten::mul.out", "aten::sub.out"]),
        (f"void {N}driver<4, {N}Reduce<float, {N}Mean<float> > >(int)", ["aten::mean.out"]),
        (f"void {N}driver<4, {N}<unnamed>::silu({N}I &)::[lambda() (instance 1)]>(int)", ["aten::silu.out"]),
        (f"void {N}driver<4, {N}moved::silu({N}I&)::{{lambda()#1}}>(int)", ["aten::silu.out"]),
        (f"void {N}gone<__nv_dl_tag<void (*)({N}I&), &{N}(anonymous namespace)::silu, 3u> >(int)", ["aten::silu.out"]),
        (f"…&{N}silu, 4u>, float (float)>", ["aten::silu.out"]),
        (f"void {N}driver<4, {N}Mu…", ["aten::mul.out", "aten::sub.out"]),
        (f"void {N}scan<4, {N}OpaqueType<4> >(int)", ["aten::cumsum.out", "aten::sub.out"]),
        ("void (anonymous namespace)::scan<4>(int)", ["aten::cumsum.out", "aten::sub.out"]),
        ("_ZN2at6native4scanILi4EEEvi", ["aten::cumsum.out", "aten::sub.out"]),
        ("_ZN2at6native52_GLOBAL__N__83ba8c45_7_Scan_cu_1…", ["aten::cumsum.out", "aten::sub.out"]),
        ("ampere_sgemm_64x64_tn", ["aten::addmm.out"]),
        ("void cusolver_getrf_kernel<float>(int)", ["aten::lu", "lib::lu"]),
        (f"void {N}driver<4, {N}Mul<float>, std::plus<float> >(int)", ["aten::mul.out"]),
        (f"void {N}driver<4, {N}Mul<float>, std::__1::minus<float> >(int)", ["aten::sub.out"]),
        (f"void {N}scan<float, std::minus<float> >(int)", ["aten::sub.out"]),
        (f"void {N}driver<4, std::plus<float> >(int)", ["aten::mul.out"]),
        ("twist_kernel", ["aten::twist.out"]),
        ("twist_vectorized4_kernel", ["aten::twist.out"]),
    ],
)
def test_operators(graph: Store, text: str, operators: list[str]) -> None:
    answer = kernel.answer(graph, text, resolve.kernels(graph, text), up=True)
    assert [reached.op.name for reached in answer.up] == operators
    graph.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"void {N}driver<4, {N}GoneFunctor<float> >(int)", "GoneFunctor is not in this tree"),
        (f"void {N}driver<4, {N}Wrap<float, {N}GoneFu…", "GoneFu… is not in this tree"),
        (f"void {N}driver<4, {N}gone_impl({N}I&)::{{lambda()#1}}>(int)", "gone_impl is not in this tree"),
        (f"void {N}scan<4, {N}CopyOp<4> >(int)", "scan (cuda/Scan.cu:5) is still there"),
        ("triton_poi_fused_gone_0", "Triton"),
        (
            "triton_per_fused_add_native_layer_norm_3",
            "add (lowered at torch/_inductor/lowering.py:8), native_layer_norm",
        ),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "NCCL"),
    ],
)
def test_no_match_is_made_up(graph: Store, text: str, told: str) -> None:
    found = profiled.find(graph, text)
    assert found is not None and not found.nodes
    assert told in found.how
    graph.close()


@pytest.mark.parametrize("text", ["driver", "at::native::driver", "mul_cuda", "cublasSgemm_v2", "", "<<<>>>"])
def test_plain_names_are_not_read(graph: Store, text: str) -> None:
    assert profiled.find(graph, text) is None
    graph.close()


def test_a_name_that_says_nothing_is_no_answer(graph: Store) -> None:
    assert read("…").name == ""
    assert resolve.kernels(graph, "…").nodes == []
    graph.close()


def test_entry_points_are_what_starts_work(graph: Store) -> None:
    found = resolve.kernels(graph, "void getrf_pivot<float, float, 0, 1>(int)")
    assert [node.name for node in found.nodes] == ["cusolverDnSgetrf"]
    graph.close()


def test_a_functor_and_its_methods_are_one_way(graph: Store) -> None:
    text = f"void {N}driver<4, {N}Mul<float> >(int)"
    answer = kernel.answer(graph, text, resolve.kernels(graph, text), up=True, paths=5)
    assert [[r.name for r in path.refs][:2] for path in answer.up[0].paths] == [[f"{N}Mul", f"{N}mul_cuda"]]
    graph.close()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("add", ["add"]),
        ("_to_copy_add_mul", ["_to_copy", "add", "mul"]),
        ("add_native_layer_norm", ["add", "native_layer_norm"]),
        ("native_layer_norm", ["native_layer_norm"]),
        ("mul_add", []),  # Inductor sorts them
        ("add_unknown", []),
        ("", []),
        ("_".join(["a"] * 3000), []),
    ],
)
def test_names_that_were_fused(text: str, names: list[str]) -> None:
    assert fused.split(text, {"_to_copy", "add", "mul", "layer", "norm", "native_layer_norm"}) == names
