"""What else the tree has about an operator: alerts of kernels, documentation, tests, symbolic shape functions.

Each is told by a call that names it as a string, or as a Python name, at the top level of a file; none is on a path
from a Python name to a kernel, so all of it is read from facts of single files and joined by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pytrace.link.context import Context
from pytrace.link.python_values import module_name
from pytrace.model import EdgeKind, Facts, NodeKind

_ALERT_CALL = re.compile(r"alert(?:CuBLASConfig)?NotDeterministic$")
#: ``torch/_tensor_docs.py``: ``add_docstr_all("abs", …)`` documents ``getattr(torch._C.TensorBase, "abs")``.
_METHOD_DOCS = {"torch/_tensor_docs.py": ("add_docstr_all", "torch._C.TensorBase")}
_ADD_DOCSTR = "torch._C._add_docstr"
#: ``torch/jit/_shape_functions.py``: one call for each schema (``add_bounded_compute_mapping`` has two functions).
_SHAPES = re.compile(r"\.add_(?:shape|bounded)_compute_mapping$")
SHAPE_FUNCTION = "shape_function"
_DOTTED = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:,|$)")
_STRING = re.compile(r"""\s*["']([^"']+)["']\s*(?:,|$)""")
_SHAPE_ARGUMENTS = re.compile(r"""\s*["']([\w:.]+)\(.*["']\s*,\s*([A-Za-z_]\w*)""", re.DOTALL)

#: What a binding of an in-place or a public name is called elsewhere: ``torch.abs`` is a member of these.
_FUNCTIONS = "torch._C._VariableFunctions"
#: Options of an OpInfo (torch/testing/_internal/opinfo/core.py) that name operators.
_OPERATOR_OPTIONS = ("aten_name", "aten_backward_name", "decomp_aten_name")


def link(ctx: Context) -> None:
    """Needs all nodes of operators, functions, bindings and Python names."""
    bases: dict[str, list[int]] = {}
    for row in ctx.graph.nodes:
        if row[1] == NodeKind.OP and row[2].startswith("aten::"):
            bases.setdefault(row[3], []).append(row[0])
    for path, (kind, facts) in ctx.files.items():
        if kind == "cpp":
            if facts.get("alerts"):
                _alerts(ctx, path, facts)
        elif kind.startswith("python"):
            if facts.get("tests"):
                _tests(ctx, path, facts, bases)
            if facts.get("calls"):
                _docs(ctx, path, facts)
                _shapes(ctx, path, facts)


def _alerts(ctx: Context, path: str, facts: Facts) -> None:
    symbols = ctx.functions.by_file.get(path, ())
    texts: dict[int, str] = dict(facts["alerts"])
    done: set[tuple[int, int]] = set()
    for call in facts.get("calls", ()):
        function, line, guard = call[0], call[3], call[4]
        text = texts.get(line)
        if text is None or not _ALERT_CALL.match(call[2]) or (function, line) in done:
            continue
        done.add((function, line))
        node = ctx.graph.node(NodeKind.ALERT, text, path, line, owner=path)
        ctx.graph.edge(
            symbols[function].id, node, EdgeKind.ALERTS, rule="alert", file=path, line=line, guard=guard, owner=path
        )


def _docs(ctx: Context, path: str, facts: Facts) -> None:
    imports: dict[str, str] = {}
    word, owner = _METHOD_DOCS.get(path, ("", ""))
    for line, target, text in facts["calls"]:
        if target == f"@{_ADD_DOCSTR}":
            if not imports:
                imports = {row[0]: row[1] for row in facts.get("imports", ())}
            found = _DOTTED.match(text)
            name = _full(found[1], imports) if found else ""
        elif word and target == f".{word}":
            found = _STRING.match(text)
            name = f"{owner}.{found[1]}" if found else ""
        else:
            continue
        for source in _documented(ctx, name):
            node = ctx.graph.node(NodeKind.DOC, name, path, line, owner=path)
            ctx.graph.edge(source, node, EdgeKind.DOCUMENTED, rule="add-docstr", file=path, line=line, owner=path)


def _full(name: str, imports: Mapping[str, str]) -> str:
    head, dot, rest = name.partition(".")
    return f"{imports.get(head, head)}{dot}{rest}"


def _documented(ctx: Context, name: str) -> Iterator[int]:
    """The binding (or else the Python name) that a documented name is."""
    bare = name.removeprefix("torch.")
    for candidate in (name, f"{_FUNCTIONS}.{bare}", f"torch._C.{bare}"):
        node = ctx.graph.find(NodeKind.BINDING, candidate)
        if node is not None:
            yield node
            return
    node = ctx.graph.find(NodeKind.PYTHON, name)
    if node is not None:
        yield node


def _shapes(ctx: Context, path: str, facts: Facts) -> None:
    for line, target, text in facts["calls"]:
        found = _SHAPE_ARGUMENTS.match(text) if _SHAPES.search(target) else None
        source = ctx.graph.find(NodeKind.OP, found[1]) if found else None
        if found is None or source is None:
            continue
        name = f"{module_name(path)}.{found[2]}"
        place = next((row[2:4] for row in facts.get("definitions", ()) if row[0] == found[2]), (line, line))
        function = ctx.graph.shared(NodeKind.PYTHON, name, path, place[0], end_line=place[1], owner=path)
        ctx.graph.edge(
            source,
            function,
            EdgeKind.REGISTERS_PYTHON,
            SHAPE_FUNCTION,
            rule="python-shape-function",
            file=path,
            line=line,
            owner=path,
        )


def _tests(ctx: Context, path: str, facts: Facts, bases: Mapping[str, list[int]]) -> None:
    imports = {row[0]: row[1] for row in facts.get("imports", ())}
    for kind, name, line, options in facts["tests"]:
        attrs = {"class": kind, **options}
        if kind == "ModuleInfo":
            source = ctx.graph.find(NodeKind.PYTHON, _full(name, imports))
            ends = [(source, "name")] if source is not None else []
        else:
            ends = [(op, option) for base, option in _tested(kind, name, options) for op in bases.get(base, ())]
        if not ends:
            continue
        node = ctx.graph.node(NodeKind.TEST, name, path, line, owner=path, attrs=attrs)
        for end, option in dict(ends).items():
            ctx.graph.edge(end, node, EdgeKind.TESTED_BY, option, rule="test-entry", file=path, line=line, owner=path)


def _tested(kind: str, name: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(base name of an operator, option that names it): the rule of ``OpInfo.__post_init__`` (opinfo/core.py)."""
    if "Foreach" in kind:
        # common_methods_invocations.py: ForeachFuncInfo("add") is about torch._foreach_add and its in-place twin
        stems = [f"_foreach_{name}"]
    elif "RefInfo" in kind:
        stems = [options.get("torch_opinfo_name", name).replace(".", "_"), name.rpartition(".")[2]]
    else:
        stems = [options.get("aten_name") or name.replace(".", "_"), name.rpartition(".")[2]]
    for option in _OPERATOR_OPTIONS:
        if option in options:
            yield options[option], option
    for stem in dict.fromkeys(stems):
        yield stem, "name"
        yield f"{stem}_", "name"
