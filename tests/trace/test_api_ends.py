"""``pytrace api``: where a name ends that is no operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytrace.model import EdgeKind
from pytrace.trace import api
from tests.graphs import store

GRAPH = """
node op aten::add nf.yaml:1 {"schema":"add(Tensor self) -> Tensor"}
node binding torch._C.run torch/csrc/run.cpp:3
node binding torch._C.add
node python torch.both torch/a.py:1
node python torch.given torch/a.py:5 {"runs":["fn"]}
node python torch.helper torch/a.py:9
node python torch.find torch/a.py:20
node python torch.first torch/a.py:30
node python torch.second torch/a.py:40
node python torch.plain torch/a.py:50
edge torch.both calls torch._C.add @torch/a.py:2 !python-call
edge torch.both calls torch._C.run @torch/a.py:3 !python-call
edge torch._C.add binds aten::add @nf.yaml:1 !python-binding
edge torch.helper calls torch.given @torch/a.py:10 !python-call
edge torch.helper calls torch._C.run @torch/a.py:11 !python-call
edge torch.find may_call=torch.register torch.first @torch/a.py:21 !python-registry
edge torch.find may_call=torch.register torch.second @torch/a.py:21 !python-registry
"""


@pytest.mark.parametrize(
    ("name", "ops", "cpp", "sentence"),
    [
        ("torch.both", ["aten::add"], ["torch._C.run"], ""),
        ("torch.given", [], [], "it calls what it is given"),
        ("torch.helper", [], ["torch._C.run"], "it ends in C++"),  # that a helper calls its parameter is an aside
        ("torch.find", [], [], "registered functions"),
        ("torch._C.run", [], ["torch._C.run"], "it ends in C++"),
        ("torch.plain", [], [], "Pure Python"),
    ],
)
def test_ends(tmp_path: Path, name: str, ops: list[str], cpp: list[str], sentence: str) -> None:
    graph = store(tmp_path, GRAPH)
    answer = api.answer(graph, name, graph.named(name))
    assert ([op.op.name for op in answer.ops], [each.ref.name for each in answer.cpp]) == (ops, cpp)
    assert sentence in answer.sentence and bool(sentence) == bool(answer.sentence)


def test_a_registry_is_drawn(tmp_path: Path) -> None:
    graph = store(tmp_path, GRAPH)
    (root,) = api.answer(graph, "torch.find", graph.named("torch.find")).roots
    assert [(each.why, each.names) for each in root.folded] == [
        ("one of 2 registered with @register", ["first", "second"])
    ]
    assert [e.kind for e in graph.edges_from(graph.named("torch.find")[0].id)] == [EdgeKind.MAY_CALL] * 2
