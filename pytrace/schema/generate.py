"""Schemas that torchgen makes and no file holds: out= and functional variants named by ``autogen``.

The rules are ``torchgen/native_function_generation.py``.
"""

from __future__ import annotations

import string

from pytrace.schema.function import FUNCTIONAL, INPLACE, MUTABLE, OUT, TENSOR_OPTIONS, Argument, Schema
from pytrace.schema.names import BaseName, OperatorName
from pytrace.schema.types import Annotation


def out_overload(overload: str) -> str:
    """``Scalar`` -> ``Scalar_out``, "" -> ``out`` (``get_expected_out_variant_overload_name``)."""
    return f"{overload}_out" if overload else "out"


def out_variant(schema: Schema) -> Schema:
    """The out= variant of a functional, in-place or mutable schema. ``ValueError`` when it can have none."""
    name = schema.name.with_overload(out_overload(schema.name.overload))
    if schema.kind == INPLACE:
        if schema.self_index < 0:
            raise ValueError(f"{schema.name} is named like an in-place operator but has no self")
        own = schema.positional[schema.self_index]
        positional = tuple(a._replace(annotation=None) if a is own else a for a in schema.positional)
        out = own._replace(name="out", default=None)
        return Schema(name, positional, schema.kwarg_only, (out,), schema.returns)
    if schema.kind not in (FUNCTIONAL, MUTABLE):
        raise ValueError(f"{schema.name} is an {schema.kind} schema: it has no out= variant")
    returns, out_args = _outs_for_returns(schema)
    if schema.kind == MUTABLE:
        return Schema(name, schema.positional, schema.kwarg_only, out_args, returns)
    return Schema(name, _plain(schema.positional), _plain(_without_options(schema)), out_args, returns)


def functional_variant(schema: Schema) -> Schema:
    """The functional variant of an in-place, out= or mutable schema (``signature(keep_return_names=True)``)."""
    name = schema.name
    own = BaseName(name.name.base, False, name.name.dunder, functional=schema.kind == MUTABLE)
    returns = tuple(r._replace(annotation=None, annotation_at=0) for r in schema.returns)
    returns += tuple(Argument(f"{a.name}_out", a.type) for a in schema.mutable_input_returns())
    return Schema(
        OperatorName(own, name.overload), _plain(schema.positional), _plain(_without_options(schema)), (), returns
    )


def _plain(args: tuple[Argument, ...]) -> tuple[Argument, ...]:
    return tuple(a._replace(annotation=None, annotation_at=0) if a.annotation else a for a in args)


def _without_options(schema: Schema) -> tuple[Argument, ...]:
    at = schema.options_index
    return schema.kwarg_only if at < 0 else schema.kwarg_only[:at] + schema.kwarg_only[at + len(TENSOR_OPTIONS) :]


def _outs_for_returns(schema: Schema) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """(new returns, out arguments): every tensor-like return becomes an out argument.

    The out arguments are returned only when all returns are plain tensors (``generate_out_args_from_schema``).
    """
    used = {letter for a in schema.arguments if a.annotation for letter in a.annotation.before}
    letters = [c for c in string.ascii_lowercase if c not in used]
    if len(schema.returns) > len(letters):
        raise ValueError(f"{schema.name} returns more values than there are letters for their annotations")
    if not any(r.type.is_tensor_like for r in schema.returns):
        raise ValueError(f"{schema.name} returns no tensor: it has no out= variant")
    all_plain = all(str(r.type) == "Tensor" for r in schema.returns)
    returns, outs = [], []
    for i, r in enumerate(schema.returns):
        if not r.type.is_tensor_like:
            returns.append(r)
            continue
        name = "out" if len(schema.returns) == 1 else f"out{i}"
        outs.append(Argument(name, r.type, None, Annotation((letters[i],), True, ())))
        if all_plain:
            returns.append(Argument("", r.type, None, outs[-1].annotation))
    return tuple(returns), tuple(outs)


def generated_kernel_name(schema: Schema, source: Schema) -> str:
    """The kernel that torchgen writes for a generated variant of ``source`` (``generate_function``)."""
    name = schema.name.unambiguous if schema.kind == OUT else schema.cpp_name
    return f"{name}_symint" if source.has_symint else name
