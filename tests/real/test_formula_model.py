"""The formula model against torchgen's own, over every entry and every operator of the real tree.

``PYTORCH_SRC`` names a PyTorch 2.6.0 checkout, ``PYTRACE_ORACLE`` the folder of the measured truth.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytrace.extract import load
from pytrace.link.context import Context
from pytrace.link.formula_text import Saved, called_names
from pytrace.link.formulas import FormulaTable
from pytrace.link.formulas_model import Formula
from pytrace.link.operators import link

pytestmark = pytest.mark.real
DERIVATIVES = "tools/autograd/derivatives.yaml"
FILES = {
    "aten/src/ATen/native/native_functions.yaml": "native_functions",
    "aten/src/ATen/native/tags.yaml": "tags",
    DERIVATIVES: "derivatives",
    "torchgen/api/autograd.py": "python",
    "tools/autograd/gen_variable_type.py": "python",
    "tools/autograd/gen_trace_type.py": "python",
}


@pytest.fixture(scope="module")
def ctx() -> Context:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC is not set")
    root = Path(os.environ["PYTORCH_SRC"])
    made = Context({path: (kind, load(kind).extract((root / path).read_bytes())) for path, kind in FILES.items()})
    link(made)
    return made


@pytest.fixture(scope="module")
def formulas(ctx: Context) -> FormulaTable:
    return ctx.operators.formulas


def truth(name: str) -> dict[str, Any]:
    if "PYTRACE_ORACLE" not in os.environ:
        pytest.skip("PYTRACE_ORACLE is not set")
    with gzip.open(Path(os.environ["PYTRACE_ORACLE"]) / f"{name}.json.gz", "rt") as file:
        data: dict[str, Any] = json.load(file)
    return data


def saved(values: Iterable[Saved]) -> list[dict[str, str]]:
    return [{"expr": s.expr, "name": s.name, "type": s.type} for s in values]


def described(f: Formula) -> dict[str, Any]:
    return {
        "name": f.name,
        "func": f.op.name,
        "op": f.node or None,
        "yaml_line": None if f.generated_from else f.line,
        "args_with_derivatives": f.args_with_derivatives,
        "non_differentiable": f.non_differentiable,
        "available_named_gradients": f.available_gradients,
        "used_named_gradients": f.used_gradients,
        "output_differentiability": f.output_differentiability,
        "output_differentiability_conditions": f.output_conditions,
        "saved_inputs": saved(f.saved_inputs),
        "saved_outputs": saved(f.saved_outputs),
        "derivatives": [
            {
                "vars": list(d.vars),
                "formula": d.formula,
                "original": d.original,
                "named_gradients": sorted(d.named_gradients),
                "saved_inputs": saved(d.saved_inputs),
                "saved_outputs": saved(d.saved_outputs),
            }
            for d in f.derivatives
        ],
        "forward": [
            {
                "outs": list(w.outs),
                "formula": w.formula,
                "required_fw_grad": sorted(w.required_fw_grad),
                "required_primal": sorted(w.required_primal),
            }
            for w in f.forward
        ],
    }


def wanted(info: dict[str, Any]) -> dict[str, Any]:
    """The truth, with an order where torchgen has sets."""
    made = dict(info, used_named_gradients=sorted(info["used_named_gradients"]))
    made["derivatives"] = [{**d, "named_gradients": sorted(d["named_gradients"])} for d in info["derivatives"]]
    made["forward"] = [
        {**w, "required_fw_grad": sorted(w["required_fw_grad"]), "required_primal": sorted(w["required_primal"])}
        for w in info["forward"]
    ]
    return made


def test_no_entry_is_odd(ctx: Context) -> None:
    assert ctx.graph.diagnostics == []
    assert ctx.files[DERIVATIVES][1]["diagnostics"] == []


def test_every_entry_is_what_torchgen_says(formulas: FormulaTable) -> None:
    want = {
        (op, key): wanted(info) for op, infos in truth("derivatives")["entries"].items() for key, info in infos.items()
    }
    got = {(op, key): described(f) for op, by_key in formulas.entries.items() for key, f in by_key.items()}
    assert got.keys() == want.keys()
    assert [(at, got[at], want[at]) for at in want if got[at] != want[at]][:3] == []


def test_every_autograd_node_is_there(ctx: Context, formulas: FormulaTable) -> None:
    want = truth("derivatives")
    names = {row[2] for row in ctx.graph.nodes if row[1] == "formula"}
    assert names == want["nodes"].keys() | want["nodes_generated"].keys()
    assert {f.node for f in formulas.match.foreach} == want["nodes_generated"].keys()


def test_every_operator_uses_what_torchgen_says(ctx: Context, formulas: FormulaTable) -> None:
    differ = []
    for name, want in truth("derivatives")["ops"].items():
        uses = formulas.match.uses.get(name, {})
        got = {
            key: {
                "from": use.formula.op.name,
                "op": use.formula.node or None,
                "exact": use.exact,
                "n_derivatives": len(use.formula.derivatives),
                "n_forward": len(use.formula.forward),
                "fw": [
                    {
                        "formula": f.formula,
                        "outs": list(f.outs),
                        "original_self": f.original_self,
                        "reusing_outplace": f.reuses_outplace,
                    }
                    for f in use.forward
                ],
            }
            for key, use in uses.items()
        }
        told = {
            key: {k: v for k, v in info.items() if k not in ("yaml", "generated_info")}
            for key, info in want.get("info", {}).items()
        }
        kind = formulas.autograd(ctx.operators.by_name[name])
        derived = "use_type" if kind == "composite" else "use_derived"
        manual = (kind == "manual") == bool(want.get("manual_autograd"))
        if got != told or (kind != "manual" and derived != want["strategy"]) or not manual:
            differ.append((name, kind, got, want))
    assert differ[:3] == []


def test_every_foreach_formula_is_what_torchgen_makes(formulas: FormulaTable) -> None:
    ops = truth("derivatives")["ops"]
    differ = []
    for made in formulas.match.foreach:
        got, want = described(made), wanted(ops[made.op.name]["info"]["Default"]["generated_info"])
        for side in (got, want):
            for key in ("saved_inputs", "saved_outputs"):  # sets in torchgen
                side[key] = sorted({json.dumps(value, sort_keys=True) for value in side[key]})
        if got != want:
            differ.append((made.op.name, got, want))
    assert differ[:3] == []


def test_autograd_kernels_are_those_of_the_running_program(ctx: Context, formulas: FormulaTable) -> None:
    """Boxed means that the kernel raises in the backward pass; a wrapper that takes SymInt is not marked unboxed."""
    dispatcher = truth("dispatch")["ops"]
    expected = {"formula": "wrapper", "not_differentiable": "wrapper", "not_implemented": "boxed"}
    differ = []
    for name, op in ctx.operators.by_name.items():
        regs = [r for r in dispatcher[name]["regs"] if r["key"].startswith("Autograd") and "VariableType_" in r["file"]]
        kind = formulas.autograd(op)
        runs = "none" if not regs else "wrapper" if any(r["unboxed"] for r in regs) else "boxed"
        symint = op.schema is not None and any(
            "SymInt" in str(a.type) for a in (*op.schema.arguments, *op.schema.returns)
        )
        if runs != expected.get(kind, "none") and not (symint and runs == "boxed"):
            differ.append((name, kind, runs))
    assert differ == []


def test_the_calls_of_every_formula_are_read(formulas: FormulaTable) -> None:
    """As many calls as there are names before a parenthesis, strings and comments aside."""
    for _, formula, text, line in formulas.texts():
        calls = called_names(text)
        plain = re.sub(r'"[^"]*"|/\*.*?\*/', '""', text)
        assert len(calls) == len(re.findall(r"[A-Za-z_]\w*(?:<[^()]*?>)?\(", plain)), (formula.node, line, text)
        assert all(call.receiver for call in calls if call.is_method), (formula.node, line, text)
