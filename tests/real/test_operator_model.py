"""The operator model against torchgen's own, over every overload of the real tree.

``PYTORCH_SRC`` names a PyTorch 2.6.0 checkout, ``PYTRACE_ORACLE`` the folder of the measured truth.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytrace.extract.native_functions import extract
from pytrace.link.context import Context
from pytrace.link.operator_model import KernelRef, Operator
from pytrace.link.operators import link
from pytrace.schema import keys as dispatch_keys
from pytrace.schema.native import declaration, impl_arguments
from pytrace.schema.ufunc import parse_loop

pytestmark = pytest.mark.real
YAML = "aten/src/ATen/native/native_functions.yaml"
TAGS = "aten/src/ATen/native/tags.yaml"
#: Words of the truth for a generated body, by ours.
BODIES = {
    "out= from functional": "out from functional",
    "functional from in-place or mutable": "functional from inplace/mutable",
    "copy of a view": "view_copy from view",
}


@pytest.fixture(scope="module")
def ctx() -> Context:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC is not set")
    root = Path(os.environ["PYTORCH_SRC"])
    made = Context(
        {
            YAML: ("native_functions", extract((root / YAML).read_bytes())),
            TAGS: ("tags", extract((root / TAGS).read_bytes())),
        }
    )
    link(made)
    return made


def truth(name: str) -> dict[str, Any]:
    if "PYTRACE_ORACLE" not in os.environ:
        pytest.skip("PYTRACE_ORACLE is not set")
    with gzip.open(Path(os.environ["PYTRACE_ORACLE"]) / f"{name}.json.gz", "rt") as file:
        data: dict[str, Any] = json.load(file)
    return data


def table(kernels: dict[str, KernelRef]) -> dict[str, Any]:
    return {
        key: {"kernel": ref.name, "cpp_namespace": ref.namespace, "structured": ref.structured}
        for key, ref in kernels.items()
    }


def native_declarations(op: Operator) -> dict[str, str]:
    assert op.schema is not None
    return {
        "symint" if ref.symint else "int": declaration(
            op.schema,
            "K",
            symint=ref.symint,
            const_ref_mutable=op.const_ref_mutable,
            tensor_list_ref=op.part_of_structured_group,
        )
        for ref in op.dispatch.values()
        if not ref.structured
    }


def described(op: Operator) -> dict[str, Any]:
    """An operator in the words of the truth; None values mean that the truth leaves the key out."""
    assert op.schema is not None
    group, view = op.group, op.view_group
    bodies = [BODIES[r.generated.what] for r in op.dispatch.values() if r.generated and r.generated.what in BODIES]
    return {
        "schema": op.text,
        "line": op.line,
        "kind": op.kind,
        "variants": sorted(op.variants),
        "python_module": op.python_module or None,
        "structured": op.structured,
        "structured_delegate": op.structured_delegate or None,
        "structured_inherits": op.structured_inherits or None,
        "part_of_structured_group": op.part_of_structured_group,
        "autogen_from_yaml": list(op.autogen),
        "tags": sorted(op.tags),
        "is_view": op.is_view,
        "is_generated": op.is_generated,
        "is_abstract": op.is_abstract,
        "dispatch": table(op.dispatch),
        "dispatch_inherited": table(op.inherited),
        "category_override": op.category_override or None,
        "device_check": op.device_check,
        "device_guard": op.device_guard,
        "manual_cpp_binding": op.manual_cpp_binding,
        "manual_kernel_registration": op.manual_kernel_registration,
        "cpp_no_default_args": sorted(op.cpp_no_default_args),
        "cpp_name": op.schema.cpp_name,
        "unambiguous_name": op.schema.name.unambiguous,
        "has_symint": op.schema.has_symint,
        "has_composite_implicit": dispatch_keys.CIA in op.dispatch,
        "has_composite_implicit_nested": dispatch_keys.CIA_NESTED in op.dispatch,
        "has_composite_explicit": dispatch_keys.CEA in op.dispatch,
        "has_composite_explicit_non_functional": dispatch_keys.CEA_NON_FUNCTIONAL in op.dispatch,
        "n_returns": len(op.schema.returns),
        "native_decl": native_declarations(op),
        "impl_args": impl_arguments(op.schema, op.precomputed) if op.structured else None,
        "generated_from": [op.generated_from] if op.generated_from else None,
        "generated_body": bodies[0] if bodies else None,
        "ufunc_inner_loop": {
            key: {"name": parse_loop(key, text).name, "dtypes": list(parse_loop(key, text).dtypes)}
            for key, text in op.ufunc.items()
        },
        "group": {
            "functional": group.functional,
            "inplace": group.inplace or None,
            "mutable": group.mutable or None,
            "out": group.out,
        }
        if group
        else None,
        "view_group": {"view": view.view, "view_copy": view.copy or None, "view_inplace": view.inplace or None}
        if view
        else None,
    }


def wanted(t: dict[str, Any], key: str) -> Any:
    value = t.get(key)
    if value is None:
        return None
    if key in ("variants", "tags", "cpp_no_default_args"):
        return sorted(value)
    if key == "generated_body":
        return value.partition(" (")[0]
    if key in ("group", "view_group"):
        return {k: v for k, v in value.items() if k not in ("structured", "meta_name", "composite")}
    return value


def test_no_entry_is_odd(ctx: Context) -> None:
    assert ctx.graph.diagnostics == []
    assert ctx.files[YAML][1]["diagnostics"] == []


def test_every_overload_is_what_torchgen_says(ctx: Context) -> None:
    ops = truth("torchgen")["ops"]
    assert ctx.operators.by_name.keys() == ops.keys()
    differ = [
        (name, key, got, wanted(ops[name], key))
        for name, op in ctx.operators.by_name.items()
        for key, got in described(op).items()
        if got != wanted(ops[name], key)
    ]
    assert differ[:5] == []


def test_generated_registrations_are_those_of_the_running_program(ctx: Context) -> None:
    """What the Register*.cpp files of the build register, key by key; the build has no MPS and no XPU."""
    dispatcher = truth("dispatch")["ops"]
    differ = []
    for name, op in ctx.operators.by_name.items():
        got = {
            r["key"]
            for r in dispatcher[name]["regs"]
            if r["file"].startswith("generated:Register") and "Functionalization" not in r["file"]
        }
        table = {*op.dispatch, *op.inherited, *op.generated_keys} - {"MPS", "XPU"}
        if got != table:
            differ.append((name, sorted(got - table), sorted(table - got)))
    assert differ[:5] == []
