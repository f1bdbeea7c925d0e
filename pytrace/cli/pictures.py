"""``--format mermaid|dot|svg|html``: the hook of the commands that can draw their answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytrace.model import EdgeKind, NodeKind

if TYPE_CHECKING:
    from pytrace.render.drawing import Drawing
    from pytrace.report.impact import ImpactReport
    from pytrace.store import Store
    from pytrace.trace.answers import KernelAnswer, OpAnswer

#: The formats that are pictures.
FORMATS = ("mermaid", "dot", "svg", "html")


def of_operator(store: Store, answer: OpAnswer, fmt: str) -> str:
    """The picture of an answer of ``pytrace op``."""
    from pytrace.render import drawing
    from pytrace.report.stamp import stamp

    return drawn(store, drawing.of_operator(answer, stamp(store), _binds(store, answer)), fmt)


def of_kernel(store: Store, answer: KernelAnswer, fmt: str) -> str:
    """The picture of an answer of ``pytrace kernel --up``."""
    from pytrace.render import drawing
    from pytrace.report.stamp import stamp

    return drawn(store, drawing.of_kernel(answer, stamp(store)), fmt)


def of_impact(store: Store, report: ImpactReport, fmt: str, limit: int) -> str:
    """The picture of an answer of ``pytrace impact``."""
    from pytrace.render import drawing_impact

    return drawn(store, drawing_impact.of_impact(report, limit), fmt)


def drawn(store: Store, picture: Drawing, fmt: str) -> str:
    """A drawing in one of ``FORMATS``."""
    if fmt == "mermaid":
        from pytrace.render import mermaid

        return mermaid.render(picture)
    if fmt == "dot":
        from pytrace.render import dot

        return dot.render(picture)
    if fmt == "svg":
        from pytrace.render import svg

        return svg.render(picture)
    from pytrace.render import html_trace
    from pytrace.report import snippets

    root = store.meta("root")
    return html_trace.render(picture, snippets.read(root, [(box.file, box.line) for box in picture.boxes]), root)


def _binds(store: Store, answer: OpAnswer) -> dict[str, list[str]]:
    """binding -> the operators that it calls."""
    found: dict[str, list[str]] = {}
    for binding in answer.bindings:
        nodes = store.named(binding.ref.name, NodeKind.BINDING)
        edges = store.edges_from([node.id for node in nodes], EdgeKind.BINDS)
        ends = store.nodes(edge.dst for edge in edges)
        found[binding.ref.name] = [ends[edge.dst].name for edge in edges if edge.dst in ends]
    return found
