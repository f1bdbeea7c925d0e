"""Bindings: each name that C++ gives to Python, and the operators behind it.

The generated ones follow ``tools/autograd/gen_python_functions.py``: which operators get a binding
(``should_generate_py_binding``, whose two lists are read from the tree), under which name, in which file. The
hand-written ones come from method tables (``extract/cbindings.py``).

A ``binding`` node has ``attrs``: ``from`` (``generated`` or ``manual``), ``holds`` (the file that has its code; for a
generated one below ``torch/csrc/autograd/generated``), ``generator``, ``template``, ``template_line``, ``signatures``,
``deprecated`` (lines of ``deprecated.yaml``), ``function`` and ``setter`` (C++ names), ``how`` (kind of table),
``tensor`` (whether a hand-written one gives back a Tensor), ``bases`` (of a class of pybind11: the classes after it in
its order of resolution). An ``alias_of`` edge between bindings says that both name
the same C function.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytrace.link.binding_calls import Implementations
from pytrace.link.binding_signatures import signature_text
from pytrace.link.binding_tables import Generated, Row, Tables
from pytrace.link.context import Context
from pytrace.link.operator_model import FUNCTION, METHOD, Operator
from pytrace.model import EdgeKind, NodeKind
from pytrace.schema import parse_schema

#: Where the generator stands and where setup writes what it makes.
GENERATOR = "tools/autograd/gen_python_functions.py"
GENERATED_FOLDER = "torch/csrc/autograd/generated"

TENSOR = "torch._C.TensorBase"
FUNCTIONS = "torch._C._VariableFunctions"
#: Families of generated bindings that no ``python_module`` names -> (variant, template).
_PLAIN = {TENSOR: METHOD, FUNCTIONS: FUNCTION}
#: Template of a family whose tables were not found: the rule of ``gen()`` in the generator.
_TEMPLATES = {TENSOR: "python_variable_methods.cpp", FUNCTIONS: "python_torch_functions.cpp"}
_TEMPLATE_FOLDER = "tools/autograd/templates"

#: What the generator puts before a binding's name (``get_pycname``).
_GENERATED_FUNCTION = "THPVariable_"

_SKIPPED_NAMES = "_SKIP_PYTHON_BINDINGS"
_SKIPPED_SIGNATURES = "SKIP_PYTHON_BINDINGS_SIGNATURES"


class Skips(NamedTuple):
    """What ``should_generate_py_binding`` leaves out, as the generator lists it."""

    names: re.Pattern[str] | None
    signatures: frozenset[str]
    shards: int

    def generates(self, op: Operator) -> bool:
        """``should_generate_py_binding``: entirely generated operators get none, view_copy excepted."""
        if op.schema is None or ("generated" in op.tags and "view_copy" not in op.tags):
            return False
        if self.names is not None and self.names.match(op.schema.cpp_name):
            return False
        return str(op.schema) not in self.signatures


def _skips(ctx: Context) -> Skips:
    kind, facts = ctx.files.get(GENERATOR, ("", {}))
    lists = {name: rows for name, _, rows in facts.get("strings", ())}
    patterns = lists.get(_SKIPPED_NAMES, [])
    try:
        names = re.compile(f"(?:{'|'.join(patterns)})$") if patterns else None
    except re.error as error:
        names = None
        ctx.graph.diagnostic(GENERATOR, 0, "bindings", f"{_SKIPPED_NAMES} is not understood: {error}")
    if kind and not patterns:
        ctx.graph.diagnostic(GENERATOR, 0, "bindings", f"no list {_SKIPPED_NAMES}: bindings may be too many")
    shards = facts.get("shards") or [(0, 1)]
    return Skips(names, frozenset(lists.get(_SKIPPED_SIGNATURES, ())), max(1, shards[0][1]))


def family(op: Operator) -> Iterator[str]:
    """The owners of an operator's generated bindings (``is_py_variable_method``, ``is_py_torch_function``, …)."""
    if op.python_module:
        yield f"torch._C._{op.python_module}"
        return
    for owner, variant in _PLAIN.items():
        if variant in op.variants:
            yield owner


def link(ctx: Context) -> None:
    """Add the binding nodes and the edges to the operators."""
    tables = Tables((path, facts) for path, (kind, facts) in ctx.files.items() if kind in ("cpp", "template"))
    deprecated = _deprecated(ctx)
    skips = _skips(ctx)
    groups: dict[tuple[str, str], list[Operator]] = {}
    for op in ctx.operators.by_name.values():
        if op.file and skips.generates(op):
            for owner in family(op):
                groups.setdefault((owner, op.base), []).append(op)
    code = Implementations(ctx.graph, ctx.operators)
    for (owner, name), ops in sorted(groups.items()):
        node = _generated(ctx, owner, name, ops, tables.generated.get(owner), deprecated, skips.shards)
        if any(op.manual_cpp_binding for op in ops):
            code.generated(node, name)
    families = {owner for owner, _ in groups}
    made = []
    for owner, rows in sorted(tables.rows.items()):
        made += [(owner, row, node) for row in rows if (node := _manual(ctx, owner, row, tables.bases))]
    for owner, row, node in made:
        # Only these names stand for operators; what a storage or an engine does in C++ is no operator of theirs.
        if owner in families and row.how != "renamed":
            code.manual(node, owner, row, row.passes)


def shard(base: str, count: int) -> int:
    """Which of ``count`` files holds a name: ``FileManager.write_sharded`` with ``string_stable_hash``."""
    return int.from_bytes(hashlib.sha1(base.encode("latin-1", "replace")).digest(), "little") % count


def holder(template: str, sharded: bool, base: str, shards: int) -> str:
    """The file that the generator writes the code of a name to."""
    name = template.rpartition("/")[2]
    if sharded:
        stem, _, extension = name.rpartition(".")
        name = f"{stem}_{shard(base, shards)}.{extension}"
    return f"{GENERATED_FOLDER}/{name}"


def _generated(
    ctx: Context,
    owner: str,
    name: str,
    ops: list[Operator],
    made: Generated | None,
    deprecated: dict[str, list[tuple[int, str, str, str]]],
    shards: int,
) -> int:
    method = owner == TENSOR
    bare = owner.rpartition("._")[2]
    template = made.template if made else f"{_TEMPLATE_FOLDER}/{_TEMPLATES.get(owner, f'python_{bare}_functions.cpp')}"
    sharded = made.sharded if made else owner == FUNCTIONS
    signatures = [signature_text(op.schema, method=method, category=op.category_override) for op in ops if op.schema]
    old = deprecated.get(name, []) if owner in _PLAIN else []
    kept = [(line, old_signature(text, method)) for line, text, kind, _ in old if not method or kind != "out"]
    attrs: dict[str, Any] = {
        "from": "generated",
        "generator": GENERATOR,
        "template": template,
        "holds": holder(template, sharded, ops[0].root, shards),
        "signatures": signatures + [text for _, text in kept if text],
    }
    if made:
        attrs["template_line"] = made.line
    if kept:
        attrs["deprecated"] = [line for line, _ in kept]
    node = ctx.graph.shared(NodeKind.BINDING, f"{owner}.{name}", attrs=attrs)
    for op in ops:
        target = ctx.graph.find(NodeKind.OP, op.name)
        if target is not None:
            ctx.graph.edge(node, target, EdgeKind.BINDS, rule="python-binding", file=op.file, line=op.line)
    return node


def old_signature(text: str, method: bool) -> str:
    """The Python signature of an entry of ``deprecated.yaml``; "" when its schema is not understood."""
    try:
        schema = parse_schema(text)
    except ValueError:
        return ""
    return signature_text(schema, method=method, deprecated=True)


def _deprecated(ctx: Context) -> dict[str, list[tuple[int, str, str, str]]]:
    """Name -> (line, signature, "out" or "", call) of ``deprecated.yaml``."""
    found: dict[str, list[tuple[int, str, str, str]]] = {}
    for _, facts in ctx.of_kind("deprecated"):
        for line, text, call in facts.get("deprecated", ()):
            name = text.partition("(")[0].partition(".")[0].strip()
            kind = "out" if call.partition("(")[0].strip().endswith("_out") else ""
            found.setdefault(name, []).append((line, text, kind, call))
    return found


def _manual(ctx: Context, owner: str, row: Row, bases: Mapping[str, list[str]]) -> int:
    """The node of a row of a table; 0 when the name is taken: the first definition counts."""
    graph = ctx.graph
    name = f"{owner}.{row.name}"
    attrs: dict[str, Any] = {"from": "manual", "how": row.how, "holds": row.file, "tensor": row.tensor}
    attrs |= {"function": row.function, "setter": row.setter}
    attrs["bases"] = bases.get(name) if row.how == "class" else None
    attrs = {key: value for key, value in attrs.items() if value}
    if row.how == "renamed":
        # The same C function under another name: what is behind the first one is behind this one.
        attrs["renames"] = attrs.pop("function")
    elif graph.find(NodeKind.BINDING, name) is not None:
        return 0  # pybind11's getters and overloads repeat a name
    node = graph.shared(NodeKind.BINDING, name, row.file, row.line, owner=row.file, attrs=attrs)
    if row.how == "renamed":
        first = graph.find(NodeKind.BINDING, f"{owner}.{row.function}")
        if first is not None:
            graph.edge(node, first, EdgeKind.ALIAS_OF, rule="renamed", file=row.file, line=row.line, owner=row.file)
    elif row.function.startswith(_GENERATED_FUNCTION):
        # ``{"__add__", …<THPVariable_add>…}``: the C function of a generated binding under another name.
        first = graph.find(NodeKind.BINDING, f"{owner}.{row.function.removeprefix(_GENERATED_FUNCTION)}")
        if first is not None and first != node:
            graph.edge(
                node, first, EdgeKind.ALIAS_OF, rule="method-table", file=row.file, line=row.line, owner=row.file
            )
    return node
