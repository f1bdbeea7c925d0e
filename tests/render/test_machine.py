"""JSON and JSON lines."""

from __future__ import annotations

import json

from pytrace.render import json_text, jsonl
from pytrace.store import Store
from pytrace.trace import kernel, op, resolve


def test_op_as_json(mini: Store) -> None:
    answer = op.answer(mini, "cumsum", resolve.operators(mini, "cumsum"))
    found = json.loads(json_text.dumps("pytrace/op/1", answer, {"version": "9.9.9"}))
    assert list(found)[:3] == ["schema", "tree", "query"]
    assert found["schema"] == "pytrace/op/1"
    assert found["dispatch"][0]["keys"] == ["CPU", "CUDA"]
    stub = found["paths"][0]["tree"]["steps"][0]
    assert (stub["ref"]["name"], stub["via"]["line"]) == ("cumsum_stub", 35)
    assert "device" not in found  # what is empty is left out


def test_json_is_stable(mini: Store) -> None:
    def text() -> str:
        answer = kernel.answer(mini, "scan_kernel", resolve.kernels(mini, "scan_kernel"), up=True)
        return json_text.dumps("pytrace/kernel/1", answer)

    assert text() == text()


def test_export(mini: Store) -> None:
    lines = [json.loads(line) for line in jsonl.lines(mini.all_nodes(), mini.all_edges())]
    nodes = {row["id"]: row for row in lines if row["t"] == "node"}
    edges = [row for row in lines if row["t"] == "edge"]
    assert all(isinstance(i, str) for i in nodes)
    lstm = next(row for row in nodes.values() if row["name"] == "at::native::lstm")
    assert (lstm["kind"], lstm["file"], lstm["line"], lstm["end_line"]) == ("function", "RNN.cpp", 100, 140)
    registered = [e for e in edges if (e["kind"], e["key"]) == ("registers", "CUDA")]
    stub = next(e for e in registered if nodes[e["src"]]["name"] == "cumsum_stub")
    assert nodes[stub["dst"]]["name"] == "at::native::cumsum_cuda_kernel"
    assert (stub["file"], stub["line"], stub["rule"]) == ("cuda/Scan.cpp", 60, "register-dispatch")
    linear = next(e for e in edges if e.get("candidates") == 2)
    assert nodes[linear["dst"]]["name"] == "aten::linear"
    assert all(e["src"] in nodes and e["dst"] in nodes for e in edges)
    assert [row["t"] for row in lines] == ["node"] * len(nodes) + ["edge"] * len(edges)


def test_export_escapes(mini: Store) -> None:
    from pytrace.model import Edge, Node

    odd = 'a"b\\c\nd\x01é'
    (node, edge) = jsonl.lines(
        [Node(1, "function", odd, odd, 1, 2, {"x": odd})], [Edge(1, 1, "calls", odd, "r", odd, 1, odd, 3, {})]
    )
    assert json.loads(node)["name"] == json.loads(node)["attrs"]["x"] == odd
    assert json.loads(edge)["guard"] == json.loads(edge)["key"] == odd
