"""Entries of OpInfo and its like."""

from __future__ import annotations

import marshal

import pytest

from pytrace.extract import python_tests


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ('OpInfo("abs")', [("OpInfo", "abs", 1, {})]),
        ("x = [\n    UnaryUfuncInfo(\n        'nn.relu',\n    )]", [("UnaryUfuncInfo", "nn.relu", 3, {})]),
        (
            'OpInfo(name="mse", aten_backward_name="mse_backward", op=torch.mse, ref=np.mse)',
            [("OpInfo", "mse", 1, {"aten_backward_name": "mse_backward", "op": "torch.mse"})],
        ),
        ('OpInfo("a", aten_name="x")\nOpInfo("b")', [("OpInfo", "a", 1, {"aten_name": "x"}), ("OpInfo", "b", 2, {})]),
        ('ElementwiseUnaryPythonRefInfo("_refs.abs", torch_opinfo_name="abs")',
         [("ElementwiseUnaryPythonRefInfo", "_refs.abs", 1, {"torch_opinfo_name": "abs"})]),
        ("ModuleInfo(torch.nn.LSTM,\n  train_and_eval_differ=True)", [("ModuleInfo", "torch.nn.LSTM", 1, {})]),
        ("ModuleInfo(module_cls=torch.nn.GRU)", [("ModuleInfo", "torch.nn.GRU", 1, {})]),
        ("class OpInfo(Base): pass", []),
        ("DecorateInfo(x)", []),
        ('DeviceInfo("c")\nMyModuleInfo(d)', []),  # other classes
        ("OpInfo(name)", []),  # computed
    ],
)  # fmt: skip
def test_entries(source: str, rows: list[tuple[str, str, int, dict[str, str]]]) -> None:
    facts = python_tests.extract(source.encode())
    marshal.dumps(facts)
    assert facts.get("tests", []) == rows
