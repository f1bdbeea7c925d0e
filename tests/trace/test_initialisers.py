"""``pytrace init`` and ``pytrace binding``."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pytrace.store import Store
from pytrace.trace import binding, init
from pytrace.writer import write
from tests.graphs import parse

GRAPH = """
node module torch torch/__init__.py:1
node function PyInit__C torch/csrc/stub.c:12-15
node function initModule torch/csrc/Module.cpp:100-200
node function c10::initLogging c10/util/Logging.cpp:3
node function THPSize_init torch/csrc/Size.cpp:20-30
node function torch::jit::initBindings torch/csrc/jit/init.cpp:5-90
node function torch::jit::initTrees torch/csrc/jit/trees.cpp:7-60
node function THPModule_initExtension torch/csrc/Module.cpp:50-60
node function torch::initDtypes torch/csrc/dtypes.cpp:1-40
node function THPVariable_Wrap torch/csrc/autograd/python_variable.cpp:257-300
node function wrap torch/csrc/wrap.cpp:4
node binding torch._C._initExtension torch/csrc/Module.cpp:20 {"from":"manual","how":"methods","function":"THPModule_initExtension","holds":"torch/csrc/Module.cpp"}
node binding torch._C.Size torch/csrc/Size.cpp:25 {"from":"manual","how":"type","tp_name":"torch.Size"}
node binding torch.Size.numel torch/csrc/Size.cpp:10 {"from":"manual","how":"methods"}
node binding torch.Size.count torch/csrc/Size.cpp:11 {"from":"manual","how":"methods"}
node binding torch._C._nn torch/csrc/jit/trees.cpp:9 {"from":"manual","how":"module"}
node binding torch._C._nn.gelu {"from":"generated","holds":"torch/csrc/autograd/generated/python_nn_functions.cpp","generator":"tools/autograd/gen_python_functions.py","template":"tools/autograd/templates/python_nn_functions.cpp","template_line":86,"signatures":["gelu(Tensor input)"]}
node op aten::gelu nf.yaml:3 {"schema":"gelu(Tensor self) -> Tensor"}
edge torch calls PyInit__C @torch/__init__.py:405 !python-import
edge torch calls torch._C._initExtension @torch/__init__.py:2046 !python-module
edge PyInit__C calls initModule @torch/csrc/stub.c:14
edge initModule calls c10::initLogging @torch/csrc/Module.cpp:101
edge initModule provides=function torch._C._initExtension @torch/csrc/Module.cpp:103 !method-table {"table":"TorchMethods"}
edge initModule calls torch::jit::initBindings @torch/csrc/Module.cpp:120
edge initModule calls THPSize_init @torch/csrc/Module.cpp:110 when #ifdef USE_SIZE
edge torch::jit::initBindings calls torch::jit::initTrees @torch/csrc/jit/init.cpp:60
edge torch::jit::initTrees provides=module torch._C._nn @torch/csrc/jit/trees.cpp:9 !module-object
edge THPSize_init provides=type torch._C.Size @torch/csrc/Size.cpp:25 !python-type
edge torch._C._initExtension implemented_by THPModule_initExtension @torch/csrc/Module.cpp:20 !method-table
edge THPModule_initExtension calls torch::initDtypes @torch/csrc/Module.cpp:55
edge torch._C._nn.gelu binds aten::gelu @nf.yaml:3
edge wrap calls THPVariable_Wrap @torch/csrc/wrap.cpp:5
edge wrap calls THPVariable_Wrap @torch/csrc/wrap.cpp:6
"""  # noqa: E501


@pytest.fixture
def graph(tmp_path: Path) -> Store:
    made = parse(GRAPH)
    made.unresolved_name("torch/csrc/dtypes.cpp", "binding", "dtype", 27, "computed")
    path = tmp_path / "index.db"
    db = sqlite3.connect(path, isolation_level=None)
    write(db, made, [], {}, {"root": "/tree", "version": "9.9.9"})
    db.close()
    return Store(path)


def test_the_order_is_that_of_the_calls(graph: Store) -> None:
    answer = init.answer(graph)
    assert [via.at for via in answer.imported] == ["torch/__init__.py:405"]
    assert answer.entry is not None and answer.entry.at == "torch/csrc/stub.c:12"
    assert answer.root is not None and answer.root.ref.name == "initModule"
    assert [(c.ref.name, c.via.line, c.via.guard) for c in answer.root.calls if c.via] == [
        ("THPSize_init", 110, "#ifdef USE_SIZE"),
        ("torch::jit::initBindings", 120, ""),
    ]
    assert [other.name for other in answer.root.others] == ["c10::initLogging"]


def test_what_each_puts_in(graph: Store) -> None:
    root = init.answer(graph).root
    assert root is not None
    (table,) = root.provides
    assert (table.owner, table.kind, table.names, table.table, table.at) == (
        "torch._C", "function", ["_initExtension"], "TorchMethods", 103
    )  # fmt: skip
    size, bindings = root.calls
    assert [(p.kind, p.names, p.members, p.generated) for p in size.provides] == [("type", ["Size"], 2, 0)]
    (trees,) = bindings.calls
    assert [(p.kind, p.names, p.members, p.generated) for p in trees.provides] == [("module", ["_nn"], 1, 1)]


def test_what_python_calls_later(graph: Store) -> None:
    (later,) = init.answer(graph).later
    assert (later.binding.name, later.caller_names) == ("torch._C._initExtension", ["torch"])
    (dtypes,) = later.fills.calls
    assert (dtypes.ref.name, dtypes.unnamed) == ("torch::initDtypes", [27])


def test_a_tree_without_the_module(mini: Store) -> None:
    answer = init.answer(mini)
    assert answer.root is None and "no PyInit__C" in answer.sentence


def test_a_cpp_name(graph: Store) -> None:
    (told,) = binding.answer(graph, "THPVariable_Wrap").cpp
    assert told.ref.at == "torch/csrc/autograd/python_variable.cpp:257"
    assert [(c.ref.name, c.via.line, c.via.lines) for c in told.callers] == [("wrap", 5, [6])]
    assert told.bound == []


def test_a_function_behind_a_binding(graph: Store) -> None:
    (told,) = binding.answer(graph, "THPModule_initExtension").cpp
    assert [end.ref.name for end in told.bound] == ["torch._C._initExtension"]


@pytest.mark.parametrize("name", ["torch._C._nn.gelu", "_nn.gelu", "gelu"])
def test_a_generated_binding(graph: Store, name: str) -> None:
    (told,) = binding.answer(graph, name).python
    assert (told.how, told.template) == ("generated", "tools/autograd/templates/python_nn_functions.cpp:86")
    assert [end.ref.name for end in told.ops] == ["aten::gelu"]
    assert [end.ref.name for end in told.provided_by] == ["torch::jit::initTrees"]  # through its module


def test_a_generated_function_has_no_place(graph: Store) -> None:
    answer = binding.answer(graph, "torch::autograd::THPVariable_gelu")
    assert [told.ref.name for told in answer.python] == ["torch._C._nn.gelu"]
    assert "is in no file of the tree" in answer.note


def test_names_of_torch_itself(graph: Store) -> None:
    assert [told.ref.name for told in binding.answer(graph, "torch.Size").python] == ["torch._C.Size"]


def test_unknown(graph: Store) -> None:
    answer = binding.answer(graph, "nothing_like_it")
    assert (answer.cpp, answer.python) == ([], [])
