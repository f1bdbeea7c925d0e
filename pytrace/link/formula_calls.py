"""What a derivative formula calls: functions of ``torch/csrc/autograd/FunctionsManual.cpp``, operators of ``at``.

A formula is C++ that ``tools/autograd/gen_autograd_functions.py`` pastes into ``namespace torch::autograd::generated``,
where ``generated::details`` is used (tools/autograd/templates/Functions.cpp). So it is read as a function body of that
namespace whose locals are the operator's arguments, its results and the gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytrace.extract import cpp
from pytrace.link.context import Context
from pytrace.link.formulas_model import Formula
from pytrace.link.functions import Symbol
from pytrace.model import FORWARD_MODE

if TYPE_CHECKING:
    from pytrace.link.resolver import Resolver

#: The namespace whose names a formula sees first.
SCOPE = "torch::autograd::generated::details"
#: Names that every formula may use: tools/autograd/gen_autograd_functions.py and load_derivatives.py.
_LOCALS = {
    "grad": "TTensor",
    "grads": "Tstd::vector<Tensor>",
    "result": "TTensor",
    "retain_variables": "Tbool",
    "grad_input_mask": "Tstd::array<bool, 4>",
    "output_mask": "Tstd::array<bool, 4>",
    "wrap_opt_if": "T",
}
#: Kind of an argument (pytrace.schema.cpp) -> a C++ type of that kind.
_TYPES = {
    "int": "int64_t",
    "SymInt": "SymInt",
    "float": "double",
    "OptTensor": "std::optional<Tensor>",
    "str": "std::string",
}


def link(ctx: Context, resolver: Resolver) -> None:
    """Add ``calls`` and ``calls_op`` edges from formula nodes, at the lines of the formulas.

    Backward formulas come before the forward-mode ones of their entry, and one edge tells of all calls: only what the
    backward pass does not call has the key ``FORWARD_MODE``.
    """
    from pytrace.link.calls import add

    table = getattr(ctx.operators, "formulas", None)
    if table is None:
        return
    rows = list(table.texts())
    # as a statement of its own, ``grad * other`` would declare a pointer
    found = cpp.bodies([f"return {text}" for _, _, text, _ in rows], [_names(formula) for _, formula, _, _ in rows])
    symbols, calls = [], []
    for number, ((node_id, formula, _, line), made) in enumerate(zip(rows, found)):
        name = f"{SCOPE}::{formula.node}"
        symbols.append(Symbol(node_id, (name, "function", line, line, (), "", False, "", ""), table.path))
        calls += [call._replace(function=number, line=line) for call in made]
    if symbols:
        forward = {(table.nodes[f.node], row.line) for f in table.all() for row in f.forward}
        edges, lost, libraries = resolver.resolve_calls(table.path, symbols, calls)
        backward = {(edge.src, edge.dst) for edge in edges if (edge.src, edge.line) not in forward}
        edges = [
            edge if (edge.src, edge.dst) in backward else edge._replace(key=FORWARD_MODE)
            for edge in edges
            if (edge.src, edge.line) not in forward or (edge.src, edge.dst) not in backward
        ]
        add(ctx, table.path, (edges, lost, libraries))


def _names(formula: Formula) -> dict[str, str]:
    names = dict(_LOCALS)
    schema = formula.op.schema
    if schema is None:
        return names
    for argument in schema.arguments:
        text = str(argument.type)
        kind = "Tensor" if text.startswith("Tensor") and "[" not in text and "?" not in text else _cpp_type(text)
        names[argument.name] = f"T{kind}"
        names[f"{argument.name}_t"] = names[f"{argument.name}_p"] = f"T{kind}"
    for number, _ in enumerate(schema.returns):
        names[f"result{number}"] = "TTensor"
    for gradient in formula.available_gradients:
        names[gradient] = "TTensor"
    for item in schema.returns:
        if item.name:
            names[item.name] = "TTensor" if "[" not in str(item.type) else "TTensorList"
    return names


def _cpp_type(text: str) -> str:
    optional = text.endswith("?")
    plain = text.rstrip("?")
    base = plain.partition("[")[0].partition("(")[0]
    single = "Tensor" if base.startswith("Tensor") else _TYPES.get(base, base)
    made = f"ArrayRef<{single}>" if "[" in plain else single
    return f"std::optional<{made}>" if optional else made
