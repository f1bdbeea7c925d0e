"""Small graphs for tests of questions: written as text, put in a store as the indexer would.

Two kinds of lines::

    node  KIND NAME [PATH:LINE] [{json attrs}]
    edge  SOURCE KIND[=KEY] DESTINATION [@PATH:LINE] [xCANDIDATES] [!RULE] [if GUARD …]

A name in an edge is a node's name (the latest of that name); ``kind:name`` tells nodes of one name apart.
"""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

from pytrace.graph import Graph
from pytrace.store import Store
from pytrace.writer import write

_EDGE = re.compile(
    r"(?P<src>\S+) (?P<kind>[a-z_]+)(?:=(?P<key>\S*))? (?P<dst>\S+)"
    r"(?: @(?P<place>\S+))?(?: x(?P<candidates>\d+))?(?: !(?P<rule>\S+))?(?: if (?P<guard>.*))?$"
)
_NODE = re.compile(r"(?P<kind>[a-z_]+) (?P<name>.+?)(?: (?P<place>[^\s{]+:\d+(?:-\d+)?))?(?: (?P<attrs>\{.*\}))?$")


def parse(text: str) -> Graph:
    """The graph that the lines describe; ``ValueError`` names a line that is not understood."""
    graph = Graph()
    ids: dict[str, int] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "#":
            continue
        if word == "node" and (match := _NODE.match(rest)):
            file, first, last = _place(match["place"])
            attrs = json.loads(match["attrs"] or "{}")
            number = graph.node(match["kind"], match["name"], file, first, last, owner=file, attrs=attrs)
            ids[match["name"]] = ids[f"{match['kind']}:{match['name']}"] = number
        elif word == "edge" and (match := _EDGE.match(rest)):
            file, first, _ = _place(match["place"])
            graph.edge(
                ids[match["src"]],
                ids[match["dst"]],
                match["kind"],
                match["key"] or "",
                rule=match["rule"] or "test",
                file=file,
                line=first,
                guard=match["guard"] or "",
                candidates=int(match["candidates"] or 1),
                owner=file,
            )
        else:
            raise ValueError(line)
    return graph


def _place(text: str | None) -> tuple[str, int, int]:
    if not text:
        return "", 0, 0
    file, _, lines = text.rpartition(":")
    first, _, last = lines.partition("-")
    return file, int(first), int(last or first)


def store(folder: Path, text: str) -> Store:
    """An opened store with the graph that the lines describe."""
    path = folder / "index.db"
    db = sqlite3.connect(path, isolation_level=None)
    write(db, parse(text), [], {}, {"root": "/tree", "version": "9.9.9", "commit": "c0ffee", "schema": "2"})
    db.close()
    return Store(path)


#: An imitation of PyTorch: names and shapes of the paths as there, places made up.
MINI = """
node op aten::lstm.input nf.yaml:10 {"schema":"lstm.input(Tensor input, Tensor[] hx, Tensor[] params) -> (Tensor, Tensor)"}
node op aten::lstm.data nf.yaml:12 {"schema":"lstm.data(Tensor data, Tensor batch_sizes) -> (Tensor, Tensor)"}
node op aten::_cudnn_rnn nf.yaml:20 {"schema":"_cudnn_rnn(Tensor input, Tensor[] weight) -> (Tensor, Tensor)"}
node op aten::_cudnn_rnn_backward nf.yaml:22 {"schema":"_cudnn_rnn_backward(Tensor input, Tensor grad) -> (Tensor, Tensor)"}
node op aten::_fused_cell nf.yaml:24 {"schema":"_fused_cell(Tensor gates, Tensor cx) -> (Tensor, Tensor)"}
node op aten::_fused_cell_backward nf.yaml:26 {"schema":"_fused_cell_backward(Tensor grad, Tensor cx) -> Tensor"}
node op aten::linear nf.yaml:28 {"schema":"linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"}
node op aten::addmm nf.yaml:30 {"schema":"addmm(Tensor self, Tensor mat1, Tensor mat2) -> Tensor","structured_delegate":"addmm.out"}
node op aten::addmm.out nf.yaml:32 {"schema":"addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)","kind":"out","structured":true}
node op aten::empty nf.yaml:34 {"schema":"empty(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None) -> Tensor"}
node op aten::select nf.yaml:36 {"schema":"select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)"}
node op aten::cumsum nf.yaml:40 {"schema":"cumsum(Tensor self, int dim) -> Tensor","structured_delegate":"cumsum.out"}
node op aten::cumsum_ nf.yaml:42 {"schema":"cumsum_(Tensor(a!) self, int dim) -> Tensor(a!)","kind":"inplace"}
node op aten::cumsum.out nf.yaml:44 {"schema":"cumsum.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)","kind":"out","structured":true}
node op aten::step nf.yaml:50 {"schema":"step(Tensor self) -> Tensor"}
node function at::native::lstm RNN.cpp:100-140
node function at::native::lstm_cudnn cudnn/RNN.cpp:50-60
node function at::native::_cudnn_rnn cudnn/RNN.cpp:20-40
node function at::native::apply_layers RNN.cpp:60-80
node function at::native::check_args RNN.cpp:10-12
node function at::native::fused_cell_cuda cuda/RNN.cu:30-44 {"dtypes":[["lstm_cell",["float","double","Half"],33]]}
node function at::native::linear Linear.cpp:7-20
node function at::native::structured_addmm_out_cuda::impl cuda/Blas.cpp:70-80
node function at::cuda::blas::gemm cuda/CUDABlas.cpp:5-9
node function at::native::structured_cumsum_out::impl ReduceOps.cpp:30-38
node function at::native::cumsum_cpu_kernel cpu/ReduceOpsKernel.cpp:12-30
node function at::native::cumsum_cuda_kernel cuda/Scan.cpp:22-30
node function at::native::launch_cumsum cuda/ScanKernels.cu:40-52 {"dtypes":[["cumsum_cuda",["float","int"],42]]}
node function at::native::step_cpu Step.cpp:3-5
node stub lstm_cudnn_stub RNN.cpp:95
node stub cumsum_stub ReduceOps.cpp:20
node cuda_kernel at::native::kernel::cell_forward cuda/RNN.cu:10-28
node cuda_kernel at::native::scan_kernel cuda/ScanUtils.cuh:90-120
node library cudnnRNNForward
node library cublasSgemm
node binding torch._C._VariableFunctions.lstm {"generated_file":"python_torch_functions_0.cpp","template":"tools/autograd/templates/python_torch_functions.cpp"}
node binding torch._C._VariableFunctions.cumsum
node binding torch._C.TensorBase.cumsum_
node python torch._VF.lstm torch/_VF.py:20
node python torch.lstm torch/__init__.py:9
node python torch.cumsum torch/__init__.py:9
node python torch.Tensor.cumsum_ torch/_tensor.py:9
node python torch.nn.modules.rnn.LSTM torch/nn/modules/rnn.py:80-120
node python torch.nn.LSTM torch/nn/__init__.py:4
node python torch.storage.cuda torch/storage.py:8
node formula CudnnRnnBackward0 derivatives.yaml:70 {"vars":[{"vars":["input","weight"],"formula":"_cudnn_rnn_backward(input, grad)","saved_inputs":["input"],"saved_outputs":["result1"],"line":71}]}
node formula FusedCellBackward0 derivatives.yaml:80 {"vars":[{"vars":["gates"],"formula":"cell_differentiable(grad, cx)","saved_inputs":["cx"],"line":81}]}
node formula AddmmBackward0 derivatives.yaml:90 {"vars":[{"vars":["self"],"formula":"grad","line":91}]}
node formula CumsumBackward0 derivatives.yaml:95 {"vars":[{"vars":["self"],"formula":"cumsum_backward(grad, dim)","line":96}],"forward":[{"vars":["result"],"formula":"auto_linear","line":97}]}
node formula CudnnRnnBackwardBackward0 derivatives.yaml:99 {"vars":[{"vars":["grad"],"formula":"not_implemented(\\"_cudnn_rnn_backward\\")","line":100}]}
node function torch::autograd::generated::details::cell_differentiable FunctionsManual.cpp:40-50
node function torch::autograd::generated::details::cumsum_backward FunctionsManual.cpp:60-62
edge aten::lstm.input dispatches=CompositeImplicitAutograd at::native::lstm @nf.yaml:10 !yaml-default
edge aten::lstm.data dispatches=CompositeImplicitAutograd at::native::lstm @nf.yaml:12 !yaml-default
edge at::native::lstm calls at::native::check_args @RNN.cpp:101 !call
edge at::native::lstm uses_stub lstm_cudnn_stub @RNN.cpp:103 !stub-call if at::cudnn_is_acceptable(_input)
edge lstm_cudnn_stub registers=CUDA at::native::lstm_cudnn @cudnn/RNN.cpp:90 !register-dispatch
edge at::native::lstm_cudnn calls_op aten::_cudnn_rnn @cudnn/RNN.cpp:55 !call
edge aten::_cudnn_rnn dispatches=CUDA at::native::_cudnn_rnn @nf.yaml:21 !yaml-dispatch
edge at::native::_cudnn_rnn calls_library cudnnRNNForward @cudnn/RNN.cpp:30 !library-call if !training
edge at::native::_cudnn_rnn calls_op aten::empty @cudnn/RNN.cpp:22 !call
edge at::native::lstm calls at::native::apply_layers @RNN.cpp:110 !call
edge at::native::apply_layers calls_op aten::empty @RNN.cpp:61 !call
edge at::native::apply_layers calls_op aten::select @RNN.cpp:62 !call
edge at::native::apply_layers calls_op aten::_fused_cell @RNN.cpp:63 !call if input.is_cuda()
edge at::native::apply_layers calls_op aten::linear @RNN.cpp:65 x2 !call
edge at::native::apply_layers calls_op aten::linear @RNN.cpp:66 x2 !call
edge aten::_fused_cell dispatches=CUDA at::native::fused_cell_cuda @nf.yaml:25 !yaml-dispatch
edge at::native::fused_cell_cuda launches at::native::kernel::cell_forward @cuda/RNN.cu:40 !launch
edge aten::linear dispatches=CompositeImplicitAutograd at::native::linear @nf.yaml:28 !yaml-default
edge at::native::linear calls_op aten::addmm @Linear.cpp:12 !call if input_dim == 2 && bias->defined()
edge aten::addmm delegates aten::addmm.out @nf.yaml:31 !structured-delegate
edge aten::addmm.out dispatches=CUDA at::native::structured_addmm_out_cuda::impl @nf.yaml:33 !yaml-dispatch
edge at::native::structured_addmm_out_cuda::impl calls at::cuda::blas::gemm @cuda/Blas.cpp:75 !call
edge at::cuda::blas::gemm calls_library cublasSgemm @cuda/CUDABlas.cpp:7 !library-call
edge aten::cumsum delegates aten::cumsum.out @nf.yaml:41 !structured-delegate
edge aten::cumsum_ delegates aten::cumsum.out @nf.yaml:43 !structured-delegate
edge aten::cumsum.out dispatches=CPU at::native::structured_cumsum_out::impl @nf.yaml:45 !yaml-dispatch
edge aten::cumsum.out dispatches=CUDA at::native::structured_cumsum_out::impl @nf.yaml:45 !yaml-dispatch
edge at::native::structured_cumsum_out::impl uses_stub cumsum_stub @ReduceOps.cpp:35 !stub-call
edge cumsum_stub registers=DEFAULT at::native::cumsum_cpu_kernel @cpu/ReduceOpsKernel.cpp:99 !register-dispatch
edge cumsum_stub registers=AVX2 at::native::cumsum_cpu_kernel @cpu/ReduceOpsKernel.cpp:99 !register-dispatch
edge cumsum_stub registers=CUDA at::native::cumsum_cuda_kernel @cuda/Scan.cpp:60 !register-dispatch
edge at::native::cumsum_cuda_kernel calls at::native::launch_cumsum @cuda/Scan.cpp:25 !call
edge at::native::launch_cumsum launches at::native::scan_kernel @cuda/ScanKernels.cu:48 !launch if self.dim() == 1
edge aten::step dispatches=CPU at::native::step_cpu @nf.yaml:51 !yaml-dispatch
edge torch._C._VariableFunctions.lstm binds aten::lstm.input @nf.yaml:10 !python-binding
edge torch._C._VariableFunctions.lstm binds aten::lstm.data @nf.yaml:12 !python-binding
edge torch._C._VariableFunctions.cumsum binds aten::cumsum @nf.yaml:40 !python-binding
edge torch._C._VariableFunctions.cumsum binds aten::cumsum.out @nf.yaml:44 !python-binding
edge torch._C.TensorBase.cumsum_ binds aten::cumsum_ @nf.yaml:42 !python-binding
edge torch._VF.lstm alias_of torch._C._VariableFunctions.lstm @torch/_VF.py:20 !alias
edge torch.lstm alias_of torch._C._VariableFunctions.lstm @torch/__init__.py:9 !alias
edge torch.cumsum alias_of torch._C._VariableFunctions.cumsum @torch/__init__.py:9 !alias
edge torch.Tensor.cumsum_ alias_of torch._C.TensorBase.cumsum_ @torch/_tensor.py:9 !alias
edge torch.nn.modules.rnn.LSTM calls torch._VF.lstm @torch/nn/modules/rnn.py:110 !call if batch_sizes is None
edge torch.nn.LSTM alias_of torch.nn.modules.rnn.LSTM @torch/nn/__init__.py:4 !alias
edge aten::_cudnn_rnn derivative=Default CudnnRnnBackward0 @derivatives.yaml:70 !formula
edge aten::_fused_cell derivative=Default FusedCellBackward0 @derivatives.yaml:80 !formula
edge aten::addmm derivative=Default AddmmBackward0 @derivatives.yaml:90 !formula
edge aten::cumsum derivative=Default CumsumBackward0 @derivatives.yaml:95 !formula
edge aten::_cudnn_rnn_backward derivative=Default CudnnRnnBackwardBackward0 @derivatives.yaml:99 !formula
edge CudnnRnnBackward0 calls_op aten::_cudnn_rnn_backward @derivatives.yaml:71 !formula
edge FusedCellBackward0 calls torch::autograd::generated::details::cell_differentiable @derivatives.yaml:81 !formula
edge torch::autograd::generated::details::cell_differentiable calls_op aten::_fused_cell_backward @FunctionsManual.cpp:44 !call
edge CumsumBackward0 calls torch::autograd::generated::details::cumsum_backward @derivatives.yaml:96 !formula
edge torch::autograd::generated::details::cumsum_backward calls_op aten::cumsum @FunctionsManual.cpp:61 !call
"""
