"""``pytrace kernel``, ``stub``, ``at``: who uses something, and which operators reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.errors import BadQuestion, UnknownName
from pytrace.store import Store
from pytrace.trace import at, kernel, resolve
from pytrace.trace.answers import KernelAnswer
from tests.graphs import store


def ask(mini: Store, query: str, *, up: bool = True, limit: int = 12, paths: int = 2) -> KernelAnswer:
    return kernel.answer(mini, query, resolve.kernels(mini, query), up=up, limit=limit, paths=paths)


@pytest.mark.parametrize(
    ("query", "operators"),
    [
        ("scan_kernel", ["aten::cumsum.out"]),
        ("cell_forward", ["aten::_fused_cell"]),
        ("cublasSgemm", ["aten::addmm.out"]),
        ("lstm_cudnn_stub", ["aten::lstm.input", "aten::lstm.data"]),
        ("cumsum_cpu_kernel", ["aten::cumsum.out"]),
        ("cell_differentiable", ["aten::_fused_cell"]),
    ],
)
def test_operators_above(mini: Store, query: str, operators: list[str]) -> None:
    answer = ask(mini, query)
    assert [r.op.name for r in answer.up] == operators
    assert answer.operators == len(operators) and not answer.generic


def test_the_path_from_kernel_to_operator(mini: Store) -> None:
    (reached,) = ask(mini, "scan_kernel").up
    (path,) = reached.paths
    assert [r.name.rpartition("::")[2] for r in path.refs] == [
        "scan_kernel",
        "launch_cumsum",
        "cumsum_cuda_kernel",
        "cumsum_stub",
        "impl",
        "cumsum.out",
    ]
    assert [v.kind for v in path.vias] == ["launches", "calls", "registers", "uses_stub", "dispatches"]
    assert path.vias[-1].key == "CUDA"  # the CPU row of the same function does not lead to a CUDA kernel
    assert path.guards == ["if (self.dim() == 1)"]


def test_who_calls_the_operator(mini: Store) -> None:
    (reached,) = ask(mini, "scan_kernel").up
    assert reached.overloads == ["aten::cumsum", "aten::cumsum_"]
    assert reached.python == ["torch.Tensor.cumsum_", "torch.cumsum"]
    assert reached.used_by == ["CumsumBackward0"]
    (cell,) = ask(mini, "cell_forward").up
    assert cell.used_by == ["aten::lstm.input", "aten::lstm.data"]


def test_a_formula_leads_to_its_operator(mini: Store) -> None:
    (reached,) = ask(mini, "cell_differentiable").up
    assert [r.name for r in reached.paths[0].refs][-2:] == ["FusedCellBackward0", "aten::_fused_cell"]


def test_users_without_up(mini: Store) -> None:
    answer = ask(mini, "scan_kernel", up=False)
    (root,) = answer.users
    assert [(s.ref.name, s.via.at if s.via else "") for s in root.steps] == [
        ("at::native::launch_cumsum", "cuda/ScanKernels.cu:48")
    ]
    assert answer.up == []


def test_a_stub_tells_its_registrations(mini: Store) -> None:
    (below,) = ask(mini, "cumsum_stub", up=False).below
    assert [(s.via.key if s.via else "", s.ref.name.rpartition("::")[2]) for s in below.steps] == [
        ("DEFAULT, AVX2", "cumsum_cpu_kernel"),
        ("CUDA", "cumsum_cuda_kernel"),
    ]


def test_a_wrong_device_is_no_path(tmp_path: Path) -> None:
    only_cpu = store(
        tmp_path,
        """
        node op aten::x nf.yaml:1 {"schema":"x(Tensor self) -> Tensor"}
        node function at::native::x_cpu a.cpp:1
        node stub x_stub a.h:4
        node function at::native::k_cuda cuda/a.cu:6
        node cuda_kernel at::native::kern cuda/a.cu:8
        edge aten::x dispatches=CPU at::native::x_cpu @nf.yaml:2
        edge at::native::x_cpu uses_stub x_stub @a.cpp:1
        edge x_stub registers=CUDA at::native::k_cuda @cuda/a.cu:9
        edge at::native::k_cuda launches at::native::kern @cuda/a.cu:6
        """,
    )
    assert ask(only_cpu, "kern").operators == 0
    assert ask(only_cpu, "x_stub").operators == 1
    only_cpu.close()


def _generic(operators: int) -> str:
    lines = [
        "node cuda_kernel at::native::driver Loops.cuh:1",
        "node function at::native::gpu_kernel Loops.cuh:2",
        "edge at::native::gpu_kernel launches at::native::driver @Loops.cuh:3",
    ]
    for n in range(operators):
        lines += [
            f'node op aten::op{n} nf.yaml:{n + 1} {{"schema":"op{n}(Tensor self) -> Tensor"}}',
            f"node function at::native::op{n}_cuda o.cu:{n + 1}",
            f"node functor at::native::Functor{n} o.cu:{n + 100}",
            f"edge aten::op{n} dispatches=CUDA at::native::op{n}_cuda @nf.yaml:{n + 1}",
            f"edge at::native::op{n}_cuda calls at::native::gpu_kernel @o.cu:{n + 1}",
            f"edge at::native::op{n}_cuda instantiates=gpu_kernel at::native::Functor{n} @o.cu:{n + 1}",
        ]
    return "\n".join(lines)


def test_a_generic_kernel_says_so(tmp_path: Path) -> None:
    many = store(tmp_path, _generic(40))
    answer = ask(many, "driver", limit=5)
    assert (answer.generic, answer.operators, len(answer.up), len(answer.bases)) == (True, 40, 5, 40)
    assert answer.functors[0] == "at::native::Functor0"
    one = ask(many, "Functor7")
    assert (one.generic, [r.op.name for r in one.up]) == (False, ["aten::op7"])
    profiled = ask(many, "void at::native::driver<4, at::native::Functor7<float>, std::array<char*, 2> >(int)")
    assert [r.op.name for r in profiled.up] == ["aten::op7"]
    assert "was made for" in profiled.how
    many.close()


def test_paths_are_limited_and_counted(tmp_path: Path) -> None:
    lines = [
        'node op aten::x nf.yaml:1 {"schema":"x(Tensor self) -> Tensor"}',
        "node function at::native::x a.cpp:1",
        "node cuda_kernel at::native::k a.cu:1",
        "edge aten::x dispatches=CUDA at::native::x @nf.yaml:1",
    ]
    for n in range(6):
        lines += [
            f"node function at::native::way{n} a.cu:{n + 10}",
            f"edge at::native::x calls at::native::way{n} @a.cpp:{n + 1}",
            f"edge at::native::way{n} launches at::native::k @a.cu:{n + 10}",
        ]
    wide = store(tmp_path, "\n".join(lines))
    (reached,) = ask(wide, "at::native::k", paths=2).up
    assert (len(reached.paths), reached.more_paths) == (2, 4)
    wide.close()


@pytest.mark.parametrize(
    ("place", "innermost", "operators"),
    [
        ("cuda/ScanKernels.cu:48", "at::native::launch_cumsum", ["aten::cumsum.out"]),
        ("ScanKernels.cu:48", "at::native::launch_cumsum", ["aten::cumsum.out"]),
        ("/build/pytorch/cuda/ScanKernels.cu:48:7", "at::native::launch_cumsum", ["aten::cumsum.out"]),
        ("RNN.cu:15", "at::native::kernel::cell_forward", ["aten::_fused_cell"]),
        ("torch/nn/modules/rnn.py:110", "torch.nn.modules.rnn.LSTM", []),
        ("nf.yaml:10", "aten::lstm.input", []),
    ],
)
def test_at(mini: Store, place: str, innermost: str, operators: list[str]) -> None:
    path, line = at.parse(place)
    answer = at.answer(mini, at.locate(mini, path, "/tree"), line)
    assert answer.nodes[0].name == innermost
    assert [r.op.name for r in answer.up] == operators


def test_at_tells_the_crossings_of_the_line(mini: Store) -> None:
    answer = at.answer(mini, "RNN.cpp", 103)
    assert [(s.ref.name, [c.ref.name for c in s.steps]) for s in answer.here] == [
        ("at::native::lstm", ["lstm_cudnn_stub"])
    ]


def test_at_nothing(mini: Store) -> None:
    assert "Nothing" in at.answer(mini, "RNN.cpp", 9999).sentence


@pytest.mark.parametrize("text", ["RNN.cpp", "RNN.cpp:", "RNN.cpp:0", ":3", "", "a:b"])
def test_at_needs_a_line(text: str) -> None:
    with pytest.raises(BadQuestion, match="FILE:LINE"):
        at.parse(text)


@pytest.mark.parametrize("path", ["no/such/file.cpp", "RNN_cpp", "%"])
def test_at_unknown_file(mini: Store, path: str) -> None:
    with pytest.raises(UnknownName):
        at.locate(mini, path, "/tree")


def test_at_ambiguous_file(tmp_path: Path) -> None:
    two = store(tmp_path, "node function a x/f.cpp:1\nnode function b y/f.cpp:1")
    with pytest.raises(UnknownName, match="Several"):
        at.locate(two, "f.cpp", "")
    two.close()


def test_a_method_of_a_functor_runs_where_the_functor_is_given_to_a_launcher(tmp_path: Path) -> None:
    small = store(
        tmp_path,
        """
        node op aten::norm nf.yaml:1 {"schema":"norm(Tensor self) -> Tensor"}
        node function at::native::norm_cuda n.cu:20
        node functor at::native::NormFunctor n.cu:1
        node function at::native::NormFunctor::operator() n.cu:3-9 {"device":true}
        node function at::native::helper Math.cuh:5-9 {"device":true}
        edge aten::norm dispatches=CUDA at::native::norm_cuda @nf.yaml:1
        edge at::native::norm_cuda instantiates=gpu_kernel at::native::NormFunctor @n.cu:22
        """,
    )
    assert [r.op.name for r in at.answer(small, "n.cu", 5).up] == ["aten::norm"]
    assert [r.op.name for r in ask(small, "NormFunctor::operator()").up] == ["aten::norm"]
    assert at.answer(small, "Math.cuh", 6).sentence == kernel.ON_DEVICE
    small.close()


def test_a_module_of_the_frontend_is_no_forward_mode(tmp_path: Path) -> None:
    graph = """
node op aten::mul nf.yaml:2
node function torch::nn::MulImpl api/mul.h:9
node formula MulBackward0 derivatives.yaml:4
node function at::native::mul_cuda Mul.cu:3
edge aten::mul dispatches=CUDA at::native::mul_cuda
edge torch::nn::MulImpl calls_op=forward aten::mul
edge MulBackward0 calls_op=forward-mode aten::mul
"""
    (reached,) = ask(store(tmp_path, graph), "mul_cuda").up
    assert reached.used_by == ["MulBackward0 (forward mode)"]
