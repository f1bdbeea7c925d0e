"""The stage that resolves what the C++ of the tree calls: see ``Resolver`` for the rules.

Files are resolved in several processes; what only the whole tree tells (templates that are handed functions, virtual
methods, instantiations) is settled when all are read.
"""

from __future__ import annotations

from pytrace.forks import fork_map
from pytrace.link import formula_calls
from pytrace.link.context import Context
from pytrace.link.instantiations import Parts
from pytrace.link.resolved import Packed, Resolved
from pytrace.link.resolver import Resolver
from pytrace.link.vendor_headers import is_outside
from pytrace.model import EdgeKind, NodeKind


def link(ctx: Context, jobs: int = 1) -> None:
    """Add the edges that start in C++ functions and in formulas; files are spread over ``jobs`` processes."""
    resolver = Resolver(ctx)
    resolver.types.operators.by_cpp_name  # noqa: B018  # made once, before the processes part
    paths = [path for path, (kind, facts) in ctx.files.items() if kind in ("cpp", "template") and "calls" in facts]

    def work(path: str) -> Packed:
        resolved = resolver.resolve(path, ctx.files[path][1])
        return resolver.pack(resolved)

    outside = [path for path in paths if is_outside(path)]
    paths = paths[len(outside) :]  # they sort first
    for path, packed in zip(paths, fork_map(work, paths, jobs)):
        add(ctx, path, resolver.unpack(ctx, path, packed))
    parts = Parts(ctx.graph, resolver.functions.by_id)
    for path, row in resolver.instantiations.settled(resolver.functions.by_id):
        add(ctx, path, ([parts.placed(row)], [], []))
    indirect = [*resolver.virtual, *resolver.templates.rows(resolver)]
    made = {e[1] for e in ctx.graph.edges if e[4] in ("construct", "reference")}
    for path, row in indirect:
        if row.kind == EdgeKind.CALLS and row.rule == "virtual-call" and row.dst in made:
            row = row._replace(kind=EdgeKind.MAY_CALL)
        add(ctx, path, ([parts.placed(row)], [], []))
    parts.handed_on([*resolver.instantiations.handed_on, *resolver.templates.handed_on])
    for template, site in resolver.templates.handed_on:
        ctx.hands_on.setdefault(site.caller.id, set()).add(template)
    reached = {e[1] for e in ctx.graph.edges} if outside else set()
    for path in outside:  # of a vendor's headers only what the tree uses
        rows, lost, libraries = resolver.resolve(path, ctx.files[path][1])
        add(ctx, path, (rows, lost, [call for call in libraries if call[0] in reached]))
    formula_calls.link(ctx, resolver)


def add(ctx: Context, path: str, resolved: Resolved) -> None:
    """Put what was resolved in one file into the graph."""
    graph = ctx.graph
    rows, lost, libraries = resolved
    library_rule = "vendor-header" if is_outside(path) else "library-call"
    path = "" if is_outside(path) else path
    for src, dst, edge_kind, key, rule, line, guard, candidates in rows:
        graph.edge(
            src, dst, edge_kind, key, rule=rule, file=path, line=line, guard=guard, candidates=candidates, owner=path
        )
    for what, name, line, reason in lost:
        graph.unresolved_name(path, what, name, line, reason)
    for src, name, line, guard, vendor in libraries:
        node = graph.shared(NodeKind.LIBRARY, name, attrs={"vendor": vendor})
        graph.edge(src, node, EdgeKind.CALLS_LIBRARY, rule=library_rule, file=path, line=line, guard=guard, owner=path)
