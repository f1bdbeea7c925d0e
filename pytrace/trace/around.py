"""Round about an operator: what the tree has for it besides the path to its kernels.

Meta and fake implementations, decompositions, lowerings, batching rules, autocast, determinism, symbolic functions,
kernels for other layouts, siblings, documentation, tests. A section without an entry says what its absence means
where that matters; the reasons are those of the dispatcher (aten/src/ATen/core/dispatch/OperatorEntry.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pytrace.model import Edge, EdgeKind, Node, NodeKind
from pytrace.store import Store
from pytrace.trace.answers import Ref, Via
from pytrace.trace.guards import compact
from pytrace.trace.region import Region
from pytrace.trace.table import TableRow
from pytrace.trace.walk import ref, via

_CIA = "CompositeImplicitAutograd"
_FALLBACK = "fallback"
#: What a kernel that passes the call on is called (aten/src/ATen/core/boxing/KernelFunction.cpp).
_FALLTHROUGH = "fallthrough"


@dataclass(eq=False, repr=False)
class Item:
    """One entry of a section: what it is, where it is registered, for which operators."""

    ref: Ref
    via: Via
    ops: list[str]
    note: str = ""


@dataclass(eq=False, repr=False)
class Section:
    """One kind of thing that belongs to an operator.

    ``sentence`` says what follows when ``items`` is empty, or adds to them; ``absent`` that it is a "None" which
    matters (no Meta kernel, no batching rule).
    """

    name: str
    items: list[Item] = field(default_factory=list)
    sentence: str = ""
    absent: bool = False


class Facts:
    """What the index says about some operators, loaded once for all sections."""

    def __init__(self, store: Store, ops: list[Node], known: Mapping[int, list[TableRow]], region: Region) -> None:
        self.store = store
        self.ops = ops
        self.known = known
        self.region = region
        self.names = {op.id: op.name for op in ops}
        self.edges = store.edges_from(list(self.names), EdgeKind.REGISTERS_PYTHON, EdgeKind.TESTED_BY)
        self.nodes = store.nodes(e.dst for e in self.edges)
        self.rows = [(op, row) for op in ops for row in known[op.id]]
        self.own = [op for op in ops if "generated_from" not in op.attrs] or ops
        self.registered = {(e.src, e.key) for e in self.edges if e.kind == EdgeKind.REGISTERS_PYTHON}

    def python(self, *keys: str, note: Callable[[Edge], str] = lambda _: "") -> list[Item]:
        """What Python registers under one of these keys (or ``key:…``), functions in order, each once."""
        found = [e for e in self.edges if e.kind == EdgeKind.REGISTERS_PYTHON and e.key.partition(":")[0] in keys]
        found.sort(key=lambda e: _RULE_ORDER.get(e.rule, 9))
        return self.merged((self.nodes[e.dst], e, self.names[e.src], note(e)) for e in found)

    def kernels(self, *keys: str, family: bool = False, note: Callable[[Edge], str] = lambda _: "") -> list[Item]:
        """What the dispatch tables hold for these keys; ``family``: for all that begin with one of them."""
        found = [
            (row.function, row.edge, op.name, note(row.edge))
            for op, row in self.rows
            if (row.key.startswith(keys) if family else row.key in keys)
        ]
        return self.merged(found, by_key=True)

    def lacking(self, has: Callable[[Node], bool]) -> list[str]:
        """The operators written by hand for which ``has`` says no; their generated overloads call them."""
        return [op.name for op in self.own if not has(op)]

    def merged(self, rows: Iterable[tuple[Node, Edge, str, str]], *, by_key: bool = False) -> list[Item]:
        """Rows as items; operators are told only of what is not for all of them."""
        items = _merged(rows, by_key=by_key)
        every = {op.name for op in self.own}
        for item in items:
            if every <= set(item.ops):
                item.ops = []
        return items

    def fallback(self, key: str) -> str:
        """``path:line`` of the fallback of a dispatch key, with a blank before it; "" when the tree has none."""
        node = next(iter(self.store.named(key, _FALLBACK)), None)
        return f" ({node.at})" if node is not None else ""


#: The registration that says most first: a loop that activates the table of Meta functions says least.
_RULE_ORDER = {"python-meta": 0, "python-fake": 1, "python-decomposition": 1, "python-py-impl": 2}


def _merged(rows: Iterable[tuple[Node, Edge, str, str]], *, by_key: bool = False) -> list[Item]:
    """One item for each function and line (and key), with all operators that it is registered for."""
    found: dict[object, Item] = {}
    for node, edge, op, note in rows:
        key = (node.id, edge.file, edge.line if by_key else 0, edge.key if by_key else "")
        item = found.get(key)
        if item is None:
            item = found[key] = Item(ref(node), via(edge), [], note)
            origin = str(edge.attrs.get("from") or "")
            if origin and not item.note:
                item.note = f"by {origin}"
        if op and op not in item.ops:
            item.ops.append(op)
    return list(found.values())


def sections(
    store: Store, ops: list[Node], known: Mapping[int, list[TableRow]], region: Region, *, every: bool = False
) -> list[Section]:
    """The sections of ``ops`` (overloads of one operator) that hold something, or whose absence matters.

    ``region`` holds the functions of their kernels. ``every``: all sections, also those that the dispatch table and
    the schemas tell already.
    """
    if not ops:
        return []
    facts = Facts(store, ops, known, region)
    made = [make(facts) for make in (*_SHORT, *(_LONG if every else ()))]
    return [section for section in made if section.items or (section.sentence and (every or section.absent))]


# -- meta and fake ---------------------------------------------------------------------------------------------


def structured_meta(facts: Facts) -> Section:
    """TORCH_META_FUNC of structured operators: ``at::meta::structured_NAME::meta`` (link/dispatch.py)."""
    edges = facts.store.edges_from(list(facts.names), EdgeKind.STRUCTURED_META)
    nodes = facts.store.nodes(e.dst for e in edges)
    return Section("structured meta", facts.merged((nodes[e.dst], e, facts.names[e.src], "") for e in edges))


def meta(facts: Facts) -> Section:
    """What runs on the meta device, and with fake tensors."""
    items = facts.kernels("Meta", note=lambda _: "C++") + facts.python("meta", "Meta")
    section = Section("meta", items)
    lacking = facts.lacking(lambda op: _runs_on_meta(facts, op))
    if lacking:
        section.absent = len(lacking) == len(facts.own)
        whom = "" if section.absent else f" for {', '.join(lacking)}"
        section.sentence = f"None{whom}: no Meta kernel, no meta function; meta tensors fail{facts.fallback('Meta')}"
    elif not items and any("Meta" in (op.attrs.get("generated_keys") or ()) for op in facts.ops):
        section.sentence = "generated from the structured meta function"
    elif not items:
        section.sentence = "not needed: a composite kernel runs on meta tensors through the operators it calls"
    return section


def _runs_on_meta(facts: Facts, op: Node) -> bool:
    """Whether a kernel of the operator serves meta tensors: its own, a generated, a composite, or Python's."""
    if "Meta" in (op.attrs.get("generated_keys") or ()) or {(op.id, "meta"), (op.id, "Meta")} & facts.registered:
        return True
    return any(row.key == "Meta" or row.key.startswith("Composite") for row in facts.known[op.id])


def fake(facts: Facts) -> Section:
    """Fake-tensor implementations of their own (torch/_subclasses/fake_impls.py, ``register_fake``)."""
    return Section("fake", facts.python("fake", "FakeTensorMode"))


# -- decompositions and compilers --------------------------------------------------------------------------------


def decomposition(facts: Facts) -> Section:
    """``register_decomposition``; a table other than the global one is told."""
    items = facts.python(
        "decomposition", note=lambda e: f"in the table of {e.key.partition(':')[2]}" if ":" in e.key else ""
    )
    return Section("decomposition", [item for item in items if not item.ref.name.startswith("torch._refs.")])


def reference(facts: Facts) -> Section:
    """A Python reference (torch/_refs): registered as a decomposition as well."""
    items = [item for item in facts.python("decomposition") if item.ref.name.startswith("torch._refs.")]
    if not items:
        for base in dict.fromkeys(op.bare for op in facts.ops):
            items += [
                Item(ref(n), Via("named", file=n.file, line=n.line), [], "by its name")
                for n in facts.store.named(f"torch._refs.{base}", NodeKind.PYTHON)
            ]
    return Section("reference", items)


def lowering(facts: Facts) -> Section:
    """Inductor: ``register_lowering``, or ``make_fallback`` which calls the operator as it is."""
    items = facts.python("lowering")
    for item in facts.python("fallback"):
        item.note = f"fallback: the operator is called{f', {item.note}' if item.note else ''}"
        items.append(item)
    return Section("Inductor", items)


def shape_function(facts: Facts) -> Section:
    """Symbolic shape function of TorchScript (torch/jit/_shape_functions.py)."""
    return Section("shape function", facts.python("shape_function"))


def onnx(facts: Facts) -> Section:
    """Symbolic functions of the TorchScript ONNX exporter, by opset."""
    return Section("ONNX", facts.python("onnx_symbolic"))


def flops(facts: Facts) -> Section:
    """torch/utils/flop_counter.py."""
    return Section("flop formula", facts.python("flop_formula"))


# -- layers of the dispatcher --------------------------------------------------------------------------------------


def vmap(facts: Facts) -> Section:
    """Batching rules of functorch, in C++ or Python; decompositions; the older vmap's rules come last."""
    items = facts.kernels("FuncTorchBatched", note=_made_by) + facts.python("FuncTorchBatched", "Vmap")
    items += facts.kernels(
        "FuncTorchBatchedDecomposition", note=lambda _: "decomposed: vmap goes into the composite kernel"
    )
    items += facts.kernels("BatchedNestedTensor", note=lambda _: "nested tensors")
    items += facts.kernels("FuncTorchVmapMode", note=lambda e: f"randomness {e.attrs.get('macro') or ''}".strip())
    section = Section("vmap", items + facts.kernels("Batched", note=lambda _: "older vmap"))
    if not items:
        section.absent = True
        section.sentence = (
            f"None: no batching rule; vmap falls back to a loop and warns{facts.fallback('FuncTorchBatched')}"
        )
    return section


def _made_by(edge: Edge) -> str:
    return str(edge.attrs.get("macro") or "")


def autocast(facts: Facts) -> Section:
    """The policy of ``torch.autocast`` (aten/src/ATen/autocast_mode.h: ``CastPolicy``), a line for each device."""
    items = facts.kernels("Autocast", family=True, note=lambda e: str(e.attrs.get("policy") or ""))
    for item in items:
        if item.note:  # the wrapper is the same for all operators with this policy
            item.ref, item.note = Ref("policy", item.note), ""
    return Section("autocast", items)


def functionalization(facts: Facts) -> Section:
    """Kernels written by hand; of the others torchgen/gen_functionalization_type.py makes what mutates or views."""
    section = Section("functionalization", facts.kernels("Functionalize") + facts.python("Functionalize"))
    told = []
    for op in facts.ops:
        kind = str(op.attrs.get("kind") or "")
        if kind in ("inplace", "out", "mutable"):
            pure = [str(n) for n in op.attrs.get("group", ()) if n != op.name and _is_functional(str(n))]
            if pure:
                told.append(f"{op.name} becomes {pure[0]}")
        elif op.attrs.get("view_copy") and op.attrs.get("view"):
            told.append(f"{op.name} becomes {op.attrs['view_copy']}")
    if told:
        section.sentence = f"generated by torchgen/gen_functionalization_type.py: {', '.join(told)}"
    elif not section.items:
        section.sentence = "nothing to do: it neither mutates nor views"
    return section


def _is_functional(name: str) -> bool:
    base, _, overload = name.partition("::")[2].partition(".")
    return not base.endswith("_") and not overload.endswith("out")


def named_tensors(facts: Facts) -> Section:
    """Dimension names: an operator without a row for Named refuses them."""
    items = facts.kernels("Named", note=lambda e: "names pass through" if e.rule == _FALLTHROUGH else "")
    section = Section("named tensors", items)
    if not items and not any(row.key == _CIA for _, row in facts.rows):
        section.sentence = f"None: tensors with names are refused{facts.fallback('Named')}"
    return section


# -- determinism -----------------------------------------------------------------------------------------------------


def determinism(facts: Facts) -> Section:
    """Alerts in the kernels' functions, and branches that ask whether a deterministic way is wanted."""
    region = facts.region
    starts = [row.function.id for _, row in facts.rows if row.function.id in region.out]
    inside = list(dict.fromkeys(i for start in starts for i in (start, *region.below(start))))
    inside = [i for i in inside if region.nodes[i].kind == NodeKind.FUNCTION]
    edges = facts.store.edges_from(inside, EdgeKind.ALERTS)
    texts = facts.store.nodes(e.dst for e in edges)
    items = [Item(ref(region.nodes[e.src]), via(e), [], f'alert "{texts[e.dst].name}"') for e in edges]
    seen: set[int] = set()
    for node_id in inside:
        for edge in region.out.get(node_id, ()):
            if "eterministicAlgorithms" in edge.guard and node_id not in seen:
                seen.add(node_id)
                place = Via(EdgeKind.ALERTS, "", "branch", edge.file, edge.line, edge.guard)
                items.append(
                    Item(ref(region.nodes[node_id]), place, [], f"has a deterministic way: {compact(edge.guard)}")
                )
    return Section("determinism", items)


def forward_mode(facts: Facts) -> Section:
    """Forward-mode formulas of derivatives.yaml (``result: …``)."""
    edges = facts.store.edges_from(list(facts.names), EdgeKind.DERIVATIVE)
    nodes = facts.store.nodes(e.dst for e in edges)
    items: dict[int, Item] = {}
    for edge in edges:
        node = nodes[edge.dst]
        for row in node.attrs.get("forward") or ():
            place = Via("derivative", edge.key, "formula", node.file, int(row.get("line") or node.line))
            text = " ".join(str(row.get("formula", "")).split())
            written = f"{row['written']}: " if row.get("written") else ""
            item = items.setdefault(node.id, Item(ref(node), place, [], f"{written}{text}"))
            if facts.names[edge.src] not in item.ops:
                item.ops.append(facts.names[edge.src])
    section = Section("forward mode", list(items.values()))
    if edges and not items:
        section.sentence = "None: its formulas are for backward only"
    return section


# -- other kernels, siblings -------------------------------------------------------------------------------------------


def _layout(name: str, *keys: str) -> Callable[[Facts], Section]:
    """A section for kernels of one layout or device; the dispatch table has the lines of the YAML."""

    def make(facts: Facts) -> Section:
        items: dict[tuple[str, str], Item] = {}
        for item in facts.kernels(*keys, family=True):
            if name == "sparse" and "Csr" in item.via.key:
                continue
            known = items.setdefault((item.ref.name, item.ref.at), item)
            if known is item:
                continue
            if item.via.key not in known.via.key.split(", "):
                known.via.key += f", {item.via.key}"
            # Each overload has a line of its own in the YAML; none told means all of them.
            known.ops = [*known.ops, *(op for op in item.ops if op not in known.ops)] if known.ops and item.ops else []
        for item in items.values():
            if {op.name for op in facts.own} <= set(item.ops):
                item.ops = []
        return Section(name, list(items.values()))

    return make


def siblings(facts: Facts) -> Section:
    """The functional, in-place and out= forms (torchgen's groups), delegates, views and their copies."""
    asked = set(facts.names.values())
    names: dict[str, str] = {}
    for op in facts.ops:
        for other in op.attrs.get("group", ()):
            names.setdefault(str(other), "")
        if op.attrs.get("view_copy") and op.attrs.get("view"):
            names.setdefault(str(op.attrs["view_copy"]), "copy of the view")
        if op.attrs.get("generated_calls"):
            names.setdefault(str(op.attrs["generated_calls"]), "what it is made from")
    delegates = facts.store.edges_to(list(facts.names), EdgeKind.DELEGATES)
    for node in facts.store.nodes(e.src for e in delegates).values():
        names.setdefault(node.name, "delegates to it")
    items = []
    for name, note in names.items():
        if name not in asked:
            for node in facts.store.named(name, NodeKind.OP):
                kind = {"inplace": "in-place", "out": "out="}.get(str(node.attrs.get("kind")), "")
                items.append(Item(ref(node), Via("sibling", file=node.file, line=node.line), [], note or kind))
    return Section("siblings", items)


# -- documents and tests ---------------------------------------------------------------------------------------------


def docs(facts: Facts) -> Section:
    """Where the builtins get their documentation (``_add_docstr``)."""
    bound = facts.store.edges_to(list(facts.names), EdgeKind.BINDS)
    edges = facts.store.edges_from({e.src for e in bound}, EdgeKind.DOCUMENTED)
    nodes = facts.store.nodes(e.dst for e in edges)
    return Section("docs", [Item(ref(nodes[e.dst]), via(e), []) for e in edges])


def tests(facts: Facts) -> Section:
    """Entries of OpInfo and its like, those that are about it by their own name first."""
    edges = [e for e in facts.edges if e.kind == EdgeKind.TESTED_BY]
    edges.sort(key=lambda e: (e.key != "name", e.file, e.line))
    items = facts.merged((facts.nodes[e.dst], e, facts.names[e.src], _entry(facts.nodes[e.dst], e)) for e in edges)
    return Section("tests", items)


def _entry(node: Node, edge: Edge) -> str:
    kind = str(node.attrs.get("class", ""))
    return kind if edge.key == "name" else f"{kind}, {edge.key}"


def module_tests(store: Store, names: Iterable[str]) -> list[Item]:
    """ModuleInfo entries of the Python classes that lead to the operator."""
    nodes = [n for name in names for n in store.named(name, NodeKind.PYTHON)]
    known = {n.id for n in nodes}
    nodes += [
        n for n in store.nodes(e.dst for e in store.edges_from(known, EdgeKind.ALIAS_OF)).values() if n.id not in known
    ]
    edges = store.edges_from([n.id for n in nodes], EdgeKind.TESTED_BY)
    ends = store.nodes(e.dst for e in edges)
    return _merged((ends[e.dst], e, "", "ModuleInfo") for e in edges)


def benchmarks(root: str, names: Iterable[str]) -> Section:
    """Files of benchmarks/operator_benchmark that call one of these Python names; that folder is in no index."""
    from pytrace.report import testing

    found = testing.benchmarks(root, list(names))
    items = [
        Item(Ref("file", path, path, line), Via("calls", rule="text"), [], f"calls {', '.join(used[:4])}")
        for path, used, line in found
    ]
    sentence = "" if items else "None: benchmarks/operator_benchmark calls it nowhere, or is not in this tree"
    return Section("benchmarks", items, sentence)


#: One line each in ``pytrace op`` when there is something to tell.
_SHORT = (
    structured_meta,
    meta,
    fake,
    decomposition,
    reference,
    lowering,
    vmap,
    autocast,
    determinism,
    shape_function,
    onnx,
    flops,
    docs,
    tests,
)
#: What the dispatch table, the schemas and the formulas tell already; ``--all`` gathers it.
_LONG = (
    forward_mode,
    functionalization,
    named_tensors,
    _layout("quantized", "Quantized"),
    _layout("sparse", "Sparse"),
    _layout("sparse CSR", "SparseCsr"),
    _layout("nested", "NestedTensor", "CompositeImplicitAutogradNestedTensor"),
    _layout("MPS", "MPS"),
    _layout("XPU", "XPU"),
    _layout("MKLDNN", "Mkldnn"),
    _layout("mobile GPU", "Vulkan", "Metal"),
    siblings,
)
