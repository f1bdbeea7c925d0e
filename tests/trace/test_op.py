"""``pytrace op``: tables, trees, dtypes, backward."""

from __future__ import annotations

from pathlib import Path

from pytrace.store import Store
from pytrace.trace import op, resolve
from pytrace.trace.answers import OpAnswer, Step
from tests.graphs import store


def ask(mini: Store, query: str, *, device: str = "", depth: int = 1, limit: int = 90) -> OpAnswer:
    return op.answer(mini, query, resolve.operators(mini, query), device=device, depth=depth, limit=limit)


def names(step: Step) -> list[str]:
    """All names of a tree, depth first."""
    return [step.ref.name, *(name for child in step.steps for name in names(child))]


def find(step: Step, name: str) -> Step:
    """The first step of this name."""
    if step.ref.name == name:
        return step
    for child in step.steps:
        try:
            return find(child, name)
        except KeyError:
            continue
    raise KeyError(name)


def test_the_way_of_lstm(mini: Store) -> None:
    answer = ask(mini, "lstm")
    (path,) = answer.paths
    assert path.keys == ["CompositeImplicitAutograd"]
    below = names(path.tree)
    assert below.index("lstm_cudnn_stub") < below.index("at::native::lstm_cudnn") < below.index("aten::_cudnn_rnn")
    assert "cudnnRNNForward" in below and "at::native::kernel::cell_forward" in below
    stub = find(path.tree, "lstm_cudnn_stub")
    assert stub.via is not None
    assert (stub.via.guard, stub.via.at, stub.ref.at) == (
        "if (at::cudnn_is_acceptable(_input))",
        "RNN.cpp:103",
        "RNN.cpp:95",
    )


def test_two_calls_of_one_operator_are_one_step(mini: Store) -> None:
    step = find(ask(mini, "lstm").paths[0].tree, "aten::linear")
    assert step.via is not None
    assert (step.via.line, step.via.lines, step.via.candidates) == (65, [66], 2)


def test_plumbing_and_helpers_are_named_not_dropped(mini: Store) -> None:
    tree = ask(mini, "lstm").paths[0].tree
    assert {f.why: f.names for f in find(tree, "at::native::apply_layers").folded} == {
        "plumbing": ["aten::empty", "aten::select"]
    }
    assert {f.why: f.names for f in tree.folded} == {"helpers": ["at::native::check_args"]}


def test_depth_opens_operators(mini: Store) -> None:
    def state(depth: int, name: str) -> str:
        return find(ask(mini, "lstm", depth=depth).paths[0].tree, name).state

    assert state(0, "aten::linear") == "closed"
    assert state(1, "aten::linear") == ""
    assert state(1, "aten::addmm") == "closed"
    assert "cublasSgemm" in names(ask(mini, "lstm", depth=2).paths[0].tree)


def test_the_limit_cuts_and_says_so(mini: Store) -> None:
    tree = ask(mini, "lstm", limit=4).paths[0].tree
    assert len(names(tree)) < 10
    states = [find(tree, name).state for name in names(tree)]
    assert "cut" in states or "closed" in states


def test_a_function_of_two_keys_is_drawn_once_with_both_devices(mini: Store) -> None:
    (path,) = ask(mini, "cumsum").paths
    assert path.keys == ["CPU", "CUDA"]
    stub = find(path.tree, "cumsum_stub")
    assert [(s.via.key if s.via else "", s.ref.name) for s in stub.steps] == [
        ("DEFAULT, AVX2", "at::native::cumsum_cpu_kernel"),
        ("CUDA", "at::native::cumsum_cuda_kernel"),
    ]


def test_device_keeps_one_path(mini: Store) -> None:
    (path,) = ask(mini, "cumsum", device="cuda").paths
    assert path.keys == ["CUDA"]
    assert "at::native::cumsum_cpu_kernel" not in names(path.tree)
    assert "at::native::scan_kernel" in names(path.tree)
    assert ask(mini, "step", device="CUDA").notes == ["No row of the dispatch table serves cuda."]


def test_table_names_the_owner_and_who_delegates(mini: Store) -> None:
    (row,) = ask(mini, "cumsum").dispatch
    assert (row.op, row.keys, row.shared_by) == ("aten::cumsum.out", ["CPU", "CUDA"], ["aten::cumsum", "aten::cumsum_"])
    assert (row.function.at, row.via.at) == ("ReduceOps.cpp:30", "nf.yaml:45")


def test_dtypes_come_with_their_device(mini: Store) -> None:
    (dtypes,) = ask(mini, "cumsum").dtypes
    assert (dtypes.device, dtypes.label, dtypes.types) == ("cuda", "cumsum_cuda", ["Float", "Int"])


def test_dtypes_of_a_called_operator_are_its_own(mini: Store) -> None:
    assert ask(mini, "lstm").dtypes == []


def test_python_names_and_bindings(mini: Store) -> None:
    answer = ask(mini, "lstm")
    assert [n.ref.name for n in answer.python] == ["torch.lstm", "torch.nn.LSTM"]
    assert [n.ref.name for n in answer.bindings] == ["torch._C._VariableFunctions.lstm"]


def test_backward_of_a_composite(mini: Store) -> None:
    backward = ask(mini, "lstm").backward
    assert backward is not None and backward.verdict == "composite"
    assert {(p.op, p.node, tuple(p.through)) for p in backward.parts} == {
        ("aten::_cudnn_rnn", "CudnnRnnBackward0", ()),
        ("aten::_fused_cell", "FusedCellBackward0", ()),
        ("aten::addmm", "AddmmBackward0", ("aten::linear",)),
    }


def test_backward_by_formula(mini: Store) -> None:
    backward = ask(mini, "_cudnn_rnn").backward
    assert backward is not None and backward.verdict == "formula"
    (formula,) = backward.formulas
    (var,) = formula.vars
    assert (formula.node, var.names, var.saved, var.line) == (
        "CudnnRnnBackward0",
        ["input", "weight"],
        ["input", "result1"],
        71,
    )
    assert [(p.op, p.node) for p in backward.double] == [("aten::_cudnn_rnn_backward", "CudnnRnnBackwardBackward0")]


def test_backward_through_a_function_of_the_formula(mini: Store) -> None:
    backward = ask(mini, "_fused_cell").backward
    assert backward is not None
    (part,) = backward.double
    assert (part.op, part.node) == ("aten::_fused_cell_backward", "")
    assert part.through == ["torch::autograd::generated::details::cell_differentiable"]


def test_no_backward_is_an_answer(mini: Store) -> None:
    backward = ask(mini, "step").backward
    assert backward is not None and backward.verdict == "none"
    assert "derivative for aten::step is not implemented" in backward.sentence


def test_explicitly_not_implemented(mini: Store) -> None:
    backward = ask(mini, "_cudnn_rnn_backward").backward
    assert backward is not None and backward.verdict == "formula"
    assert backward.formulas[0].vars[0].not_implemented
    assert [f.node for f in backward.used_by] == ["CudnnRnnBackward0"]


def test_a_loop_of_calls_ends(tmp_path: Path) -> None:
    looped = store(
        tmp_path,
        """
        node op aten::loop nf.yaml:1 {"schema":"loop(Tensor self) -> Tensor"}
        node function at::native::a a.cpp:1
        node function at::native::b a.cpp:2
        node cuda_kernel at::native::k a.cu:3
        edge aten::loop dispatches=CUDA at::native::a @nf.yaml:1
        edge aten::loop structured_delegate aten::loop @nf.yaml:1
        edge at::native::a calls at::native::b @a.cpp:1
        edge at::native::b calls at::native::a @a.cpp:2
        edge at::native::b calls at::native::b @a.cpp:2
        edge at::native::b launches at::native::k @a.cpp:2
        edge at::native::a calls_op aten::loop @a.cpp:1
        """,
    )
    tree = ask(looped, "loop", depth=5, limit=0).paths[0].tree
    assert names(tree) == [
        "at::native::a",
        "at::native::b",
        "at::native::a",
        "at::native::k",
        "aten::loop",
        "at::native::a",
    ]
    looped.close()


def test_what_was_opened_for_one_device_is_opened_again_for_another(tmp_path: Path) -> None:
    shared = store(
        tmp_path,
        """
        node op aten::x nf.yaml:1 {"schema":"x(Tensor self) -> Tensor"}
        node function at::native::x_cpu a.cpp:1
        node function at::native::x_cuda a.cu:2
        node function at::native::both a.h:3
        node stub x_stub a.h:4
        node function at::native::k_cpu cpu/a.cpp:5
        node function at::native::k_cuda cuda/a.cu:6
        edge aten::x dispatches=CPU at::native::x_cpu @nf.yaml:2
        edge aten::x dispatches=CUDA at::native::x_cuda @nf.yaml:3
        edge at::native::x_cpu calls at::native::both @a.cpp:1
        edge at::native::x_cuda calls at::native::both @a.cu:2
        edge at::native::both uses_stub x_stub @a.h:3
        edge x_stub registers=CPU at::native::k_cpu @cpu/a.cpp:9
        edge x_stub registers=CUDA at::native::k_cuda @cuda/a.cu:9
        """,
    )
    cpu, cuda = ask(shared, "x").paths
    assert names(cpu.tree)[-1] == "at::native::k_cpu" and "at::native::k_cuda" not in names(cpu.tree)
    assert names(cuda.tree)[-1] == "at::native::k_cuda"
    shared.close()


def test_a_launcher_that_many_call_is_told_with_its_functor(tmp_path: Path) -> None:
    lines = [
        'node op aten::x nf.yaml:1 {"schema":"x(Tensor self) -> Tensor"}',
        "node function at::native::x_cuda x.cu:5",
        "node function at::native::gpu_kernel Loops.cuh:10",
        "node cuda_kernel at::native::vectorized Loops.cuh:2",
        "node functor at::native::XFunctor x.cu:1",
        "edge aten::x dispatches=CUDA at::native::x_cuda @nf.yaml:2",
        "edge at::native::x_cuda calls at::native::gpu_kernel @x.cu:6",
        "edge at::native::x_cuda instantiates=gpu_kernel at::native::XFunctor @x.cu:6",
        "edge at::native::gpu_kernel launches at::native::vectorized @Loops.cuh:11",
    ]
    for n in range(50):
        lines += [
            f"node function at::native::other{n} o.cu:{n + 1}",
            f"edge at::native::other{n} calls at::native::gpu_kernel @o.cu:{n + 1}",
        ]
    many = store(tmp_path, "\n".join(lines))
    (path,) = ask(many, "x").paths
    assert names(path.tree) == ["at::native::x_cuda", "at::native::XFunctor"]
    assert path.tree.steps[0].ref.note == "launches vectorized"
    many.close()


def test_a_lambda_for_a_plain_loop_is_no_kernel(tmp_path: Path) -> None:
    plain = store(
        tmp_path,
        """
        node op aten::x nf.yaml:1 {"schema":"x(Tensor self) -> Tensor"}
        node function at::native::x_cpu x.cpp:5
        node functor at::native::x_cpu::{lambda:6} x.cpp:6
        edge aten::x dispatches=CPU at::native::x_cpu @nf.yaml:2
        edge at::native::x_cpu instantiates=parallel_for at::native::x_cpu::{lambda:6} @x.cpp:6
        """,
    )
    assert names(ask(plain, "x").paths[0].tree) == ["at::native::x_cpu"]
    plain.close()


def test_checks_and_resizes_lead_nowhere(tmp_path: Path) -> None:
    checks = store(
        tmp_path,
        """
        node op aten::x nf.yaml:1 {"schema":"x(Tensor self) -> Tensor"}
        node op aten::mul nf.yaml:9 {"schema":"mul(Tensor self, Tensor other) -> Tensor"}
        node function at::native::x x.cpp:5
        node function at::native::use_fast x.cpp:1
        node function at::native::resize_output x.cpp:2
        node function c10::check c10.h:3
        node function at::native::work x.cpp:4
        edge aten::x dispatches=CPU at::native::x @nf.yaml:2
        edge at::native::x calls at::native::use_fast @x.cpp:6
        edge at::native::x calls at::native::resize_output @x.cpp:7
        edge at::native::x calls c10::check @x.cpp:8
        edge at::native::x calls at::native::work @x.cpp:9
        edge at::native::use_fast calls_op aten::mul @x.cpp:1
        edge at::native::resize_output calls_op aten::mul @x.cpp:2
        edge c10::check calls_op aten::mul @c10.h:3
        edge at::native::work calls_op aten::mul @x.cpp:4
        """,
    )
    tree = ask(checks, "x").paths[0].tree
    assert names(tree) == ["at::native::x", "at::native::work", "aten::mul"]
    assert tree.folded[0].names == ["at::native::use_fast", "at::native::resize_output"]
    checks.close()


PYTHON = """
node op aten::conv nf.yaml:1 {"schema":"conv(Tensor self) -> Tensor"}
node binding torch._C._VariableFunctions.conv
node python torch.conv torch/__init__.py:1
node python torch.nn.functional.conv torch/nn/functional.py:92
node python torch.nn.modules.conv.Conv torch/nn/modules/conv.py:10
node python torch.nn.modules.conv.Conv.forward torch/nn/modules/conv.py:20
node python torch.nn.modules.conv.Conv._conv_forward torch/nn/modules/conv.py:15
node python torch.nn.modules.Conv torch/nn/modules/__init__.py:3
node python torch.nn.Conv torch/nn/__init__.py:3
node python torch._private.use torch/_private.py:1
edge torch._C._VariableFunctions.conv binds aten::conv @nf.yaml:1
edge torch.conv alias_of torch._C._VariableFunctions.conv @torch/__init__.py:1 !python-member
edge torch.nn.functional.conv alias_of torch._C._VariableFunctions.conv @torch/nn/functional.py:92 !python-assignment
edge torch.nn.modules.conv.Conv calls torch.nn.modules.conv.Conv.forward @torch/nn/modules/conv.py:10
edge torch.nn.modules.conv.Conv.forward calls torch.nn.modules.conv.Conv._conv_forward @torch/nn/modules/conv.py:21
edge torch.nn.modules.conv.Conv._conv_forward calls torch._C._VariableFunctions.conv @torch/nn/modules/conv.py:16
edge torch.nn.modules.conv.Conv._conv_forward calls torch._C._VariableFunctions.conv @torch/nn/modules/conv.py:18
edge torch.nn.modules.Conv alias_of torch.nn.modules.conv.Conv @torch/nn/modules/__init__.py:3
edge torch.nn.Conv alias_of torch.nn.modules.conv.Conv @torch/nn/__init__.py:3
edge torch._private.use calls torch.conv @torch/_private.py:1
"""


def test_a_class_is_told_once_by_the_name_people_write(tmp_path: Path) -> None:
    python = store(tmp_path, PYTHON)
    answer = ask(python, "conv")
    told = {n.ref.name: n for n in answer.python}
    assert list(told) == ["torch.conv", "torch.nn.functional.conv", "torch.nn.Conv"]
    module = told["torch.nn.Conv"]
    assert (module.ref.note, module.ref.at) == ("is torch.nn.modules.conv.Conv", "torch/nn/modules/conv.py:10")
    assert module.through[0] == "torch.nn.modules.conv.Conv._conv_forward"
    python.close()


def test_what_is_called_everywhere_is_only_counted(tmp_path: Path) -> None:
    lines = [PYTHON]
    for n in range(300):
        lines += [
            f"node python torch.other.f{n} torch/other.py:{n + 1}",
            f"edge torch.other.f{n} calls torch._C._VariableFunctions.conv @torch/other.py:{n + 1}",
        ]
    python = store(tmp_path, "\n".join(lines))
    answer = ask(python, "conv")
    assert [n.ref.name for n in answer.python] == ["torch.conv", "torch.nn.functional.conv"]
    assert answer.python_places == 302
    python.close()


def test_who_calls_an_operator_leaves_out_layers(tmp_path: Path) -> None:
    layers = store(
        tmp_path,
        """
        node op aten::inner nf.yaml:1 {"schema":"inner(Tensor self) -> Tensor"}
        node op aten::outer nf.yaml:2 {"schema":"outer(Tensor self) -> Tensor"}
        node op aten::cast nf.yaml:3 {"schema":"cast(Tensor self) -> Tensor"}
        node function at::native::outer a.cpp:1
        node function at::autocast::wrap b.cpp:1
        edge at::native::outer calls_op aten::inner @a.cpp:2
        edge at::autocast::wrap calls_op aten::inner @b.cpp:2
        edge aten::outer dispatches=CompositeImplicitAutograd at::native::outer @nf.yaml:2
        edge aten::cast dispatches=AutocastCPU at::autocast::wrap @b.cpp:9
        """,
    )
    assert ask(layers, "inner").used_by == ["aten::outer"]
    layers.close()


def test_kernels_that_python_registers_are_rows(tmp_path: Path) -> None:
    prims = store(
        tmp_path,
        """
        node op prims::add torch/_prims/__init__.py:3 {"schema":"prims::add(Tensor self) -> Tensor"}
        node python torch._prims.add_impl torch/_prims/__init__.py:20
        node python torch._prims.add_autograd torch/_prims/__init__.py:30
        node python torch._prims.add_meta torch/_prims/__init__.py:40
        edge prims::add registers_python=CompositeExplicitAutograd torch._prims.add_impl @p.py:4 !python-library-impl
        edge prims::add registers_python=Autograd torch._prims.add_autograd @p.py:5 !python-library-impl
        edge prims::add registers_python=Meta torch._prims.add_meta @p.py:6 !python-library-impl
        """,
    )
    answer = ask(prims, "prims::add")
    assert [(row.keys, row.function.name, row.via.at) for row in answer.dispatch] == [
        (["CompositeExplicitAutograd"], "torch._prims.add_impl", "p.py:4"),
        (["Autograd"], "torch._prims.add_autograd", "p.py:5"),
    ]
    assert answer.backward is not None and answer.backward.verdict == "manual"
    assert answer.backward.sentence == (
        "Its Autograd kernel is in Python: torch._prims.add_autograd, registered at p.py:5."
    )
    how = resolve.operators(prims, "Could not run 'prims::add' with arguments from the 'CUDA' backend").how
    assert how.endswith("it is composite, so that what it calls decides for CUDA")
    prims.close()


def test_what_only_sparse_tensors_have_is_drawn(tmp_path: Path) -> None:
    text = """
        node op aten::nnz nf.yaml:1 {"schema":"nnz(Tensor self) -> int"}
        node function at::native::nnz_cpu a.cpp:1
        node function at::native::nnz_cuda a.cu:1
        edge aten::nnz dispatches=SparseCPU at::native::nnz_cpu @nf.yaml:2
        edge aten::nnz dispatches=SparseCUDA at::native::nnz_cuda @nf.yaml:3
    """
    small = store(tmp_path, text)
    assert [path.keys for path in ask(small, "nnz").paths] == [["SparseCPU"], ["SparseCUDA"]]
    small.close()


def test_functions_that_a_macro_defines_on_one_line_are_told_once(tmp_path: Path) -> None:
    text = """
        node op aten::exp nf.yaml:1 {"schema":"exp(Tensor self) -> Tensor"}
        node function at::native::exp_cpu a.cpp:1
        node function at::vml::vexp vml.h:8 {"guard":"#if MKL"}
        edge aten::exp dispatches=CPU at::native::exp_cpu @nf.yaml:2
        edge at::native::exp_cpu calls at::vml::vexp @a.cpp:2 x2
        node library vmsExp
        edge at::vml::vexp calls_library vmsExp @vml.h:8
        node function at::vml::vexp vml.h:8 {"guard":"#if MKL"}
        edge at::native::exp_cpu calls at::vml::vexp @a.cpp:2 x2
        node library vmdExp
        edge at::vml::vexp calls_library vmdExp @vml.h:8
    """
    small = store(tmp_path, text)
    (path,) = ask(small, "exp").paths
    assert names(path.tree) == ["at::native::exp_cpu", "at::vml::vexp", "vmsExp", "vmdExp"]
    small.close()
