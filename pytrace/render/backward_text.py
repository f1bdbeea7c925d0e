"""Formulas and backward sections as text."""

from __future__ import annotations

from pytrace.render import tree
from pytrace.render.page import Page, Span
from pytrace.trace.answers import Backward, BackwardAnswer, Formula, FormulaVar, Part

_MOST = 12
#: What autograd does with an operator that has no formula (``link/formula_match.py``: autograd_kind).
_WITHOUT = {
    "composite": ("composite: autograd records what it calls", "dim"),
    "not_implemented": ("no formula: its backward is not implemented and raises", "warn"),
    "not_differentiable": ("not differentiable", "dim"),
    "manual": ("Autograd kernel written by hand", "dim"),
}


def render(page: Page, answer: BackwardAnswer, *, why: bool = False) -> None:
    """``pytrace backward``."""
    names = list(dict.fromkeys(op for entry in answer.backward.formulas for op in entry.ops))
    names = names or [ref.name for ref in answer.ops] or [answer.query]
    page.paragraph(f"Backward of {', '.join(names[:6])}{' …' if len(names) > 6 else ''}", "", "title")
    if answer.how:
        page.paragraph(answer.how, "", "dim")
    section(page, answer.backward, why=why, most=0)


def section(page: Page, backward: Backward, *, why: bool = False, most: int = _MOST) -> None:
    """What ``pytrace op`` says under "Backward"; ``most`` bounds lists (0: all)."""
    if backward.sentence:
        page.paragraph(backward.sentence)
    for entry in backward.formulas:
        _formula(page, entry, why)
    for place in backward.errors:
        page.row([("error made by ", "dim"), (place.name, "function")], place.at, indent="  ", rest="  ")
    if backward.manual:
        if backward.verdict != "manual":
            page.add(("  Autograd by hand: the kernel, then what the backward pass runs", "dim"))
        for step in backward.manual:
            tree.draw(page, step, why=why, indent="    ")
    if backward.verdict == "composite":
        _parts(page, backward.parts, most)
    if backward.double:
        page.add(("  Double backward: the operators of the formula, and their own formulas", "dim"))
        _parts(page, backward.double, most)
    if backward.used_by:
        page.add(("  Called by the formulas of", "dim"))
        shown = backward.used_by[:most] if most else backward.used_by
        for entry in shown:
            ops = ", ".join(entry.ops[:3])
            page.row(
                [
                    (ops, "op"),
                    (f"  {entry.node}", "formula"),
                    ("  in forward mode" if entry.forward_mode else "", "dim"),
                ],
                f"{entry.file}:{entry.line}",
                indent="    ",
                rest="    ",
            )
        _rest(page, len(backward.used_by) - len(shown), "formulas")


def _formula(page: Page, entry: Formula, why: bool) -> None:
    key = "" if entry.key in ("", "Default") else f"  for {entry.key}"
    page.row([(entry.node, "formula"), (key, "key")], f"{entry.file}:{entry.line}", indent="  ", rest="  ")
    page.row([("of ", "dim"), (", ".join(entry.ops), "op")], indent="    ", rest="    ")
    for var in entry.vars:
        _variable(page, var, entry.file, "")
    for var in entry.forward:
        _variable(page, var, entry.file, "forward ")
    if entry.not_differentiable:
        page.row([("no gradient for ", "dim"), (", ".join(entry.not_differentiable), "")], indent="    ", rest="    ")
    if entry.output_differentiability:
        text = ", ".join(entry.output_differentiability)
        page.row([("differentiable outputs: ", "dim"), (text, "")], indent="    ", rest="    ")
    for step in entry.calls:
        tree.draw(page, step, why=why, indent="    ")
    if entry.forward_only:
        page.paragraph(f"forward mode also calls {', '.join(entry.forward_only)}", "    ", "dim")


def _variable(page: Page, var: FormulaVar, file: str, word: str) -> None:
    names = ", ".join(var.names)
    left: list[Span] = [(f"{word}{names}: ", "dim"), (var.formula, "warn" if var.not_implemented else "")]
    page.row(left, f"{file}:{var.line}" if var.line else "", indent="    ", rest="    ")
    if var.saved:
        page.row([(f"saves {', '.join(var.saved)}", "dim")], indent="        ", rest="        ")


def _parts(page: Page, parts: list[Part], most: int) -> None:
    shown = parts[:most] if most else parts
    for part in shown:
        spans: list[Span] = [(part.op, "op")]
        if part.node:
            spans.append((f"  {part.node}", "formula"))
        else:
            text, role = _WITHOUT.get(part.autograd, ("no formula", "warn"))
            spans.append((f"  {text}", role))
        if part.through:
            spans.append((f"  in {' → '.join(part.through)}", "dim"))
        page.row(spans, f"{part.file}:{part.line}" if part.file else "", indent="    ", rest="    ")
    _rest(page, len(parts) - len(shown), "operators")


def _rest(page: Page, more: int, what: str) -> None:
    if more > 0:
        page.add((f"    … and {more} more {what} (`pytrace backward` shows all)", "dim"))
