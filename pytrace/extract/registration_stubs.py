"""Dispatch stubs in one C++ file: where they are declared and defined, and what is registered into them.

Implements ``aten/src/ATen/native/DispatchStub.h``: the macros of ``registration_macros.STUB_SLOTS``, the objects
behind them (``static RegisterCUDADispatch<…> object(stub, fn)``) and the setters (``stub.set_cuda_dispatch_ptr(fn)``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Tree

from pytrace.extract.registration_macros import STUB_SITES, STUB_SLOTS
from pytrace.extract.registration_text import Guards, Lines, arguments, clean, place
from pytrace.model import Facts

#: Bytes without which a file has nothing for this module (``AT_DISPATCH_…`` has none of them).
KEYWORDS = (b"_DISPATCH(", b"_DISPATCH (", b"Dispatch<", b"_dispatch_ptr")

_SITE = re.compile(
    rb"\b(?:(?P<macro>(?:ALSO_)?(?:REGISTER|DECLARE|DEFINE)_(?:[A-Z0-9]+_){0,2}DISPATCH)\s*\("
    rb"|Register(?P<object>CUDA|HIP|MPS|XPU|MTIA|PRIVATEUSE1)Dispatch\s*<[^<>;{}]*>\s*\w+\s*[({]"
    rb"|(?P<stub>(?:\w+::)*\w+)\s*\.\s*set_(?P<setter>cuda|hip|mps|xpu|mtia|privateuse1)_dispatch_ptr\s*\()"
)


def extract_stubs(tree: Tree, source: bytes) -> Facts:
    """Facts about dispatch stubs, or {} when the file has none.

    ``stub_sites``: (line, ``declare`` or ``define``, name, pointer type, scope, guard)
    ``stub_registrations``: (line, name, function expression, macro, slot, scope, guard); the slot is a value of
    ``STUB_SLOTS``, or the capability that ``REGISTER_ARCH_DISPATCH`` names.
    """
    if not any(word in source for word in KEYWORDS):
        return {}
    sites: list[tuple[int, str, str, str, str, str]] = []
    registrations: list[tuple[int, str, str, str, str, str, str]] = []
    lines, guards = Lines(source), Guards(source)
    for match in _SITE.finditer(source):
        scope = place(tree, match.start())
        if scope is None:
            continue
        line, guard = lines.of(match.start()), guards.at(match.start())
        # The preprocessor knows no templates: f<a, b> is two arguments, put together again below.
        texts = [clean(source[a:b]) for a, b in arguments(source, match.end() - 1, templates=False)[0]]
        what = STUB_SITES.get(match["macro"] or b"")
        if what and texts:
            sites.append((line, what, texts[-1], ", ".join(texts[:-1]), scope, guard))
        else:
            registrations.extend(
                (line, name, function, macro, slot, scope, guard) for name, function, macro, slot in _registered(match, texts)
            )
    facts: Facts = {}
    if sites:
        facts["stub_sites"] = sites
    if registrations:
        facts["stub_registrations"] = registrations
    return facts


def _registered(match: re.Match[bytes], texts: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """(stub, function expression, macro, slot) of one registration; nothing when it is none, or is malformed."""
    macro, kind, setter = (match[group] for group in ("macro", "object", "setter"))
    if setter:
        # DispatchStub.h's own helpers set the pointer of their parameter `stub` to their parameter `value`.
        if texts and texts != ["value"]:
            yield match["stub"].decode(), ", ".join(texts), f"set_{setter.decode()}_dispatch_ptr", setter.decode().upper()
    elif kind:
        if len(texts) > 1:
            yield texts[0], ", ".join(texts[1:]), f"Register{kind.decode()}Dispatch", kind.decode()
    elif (slot := STUB_SLOTS.get(macro)) == "argument":
        if len(texts) > 2:
            yield texts[0], ", ".join(texts[2:]), macro.decode(), texts[1]
    elif slot and (len(texts) > 1 or texts and slot == "none"):
        yield texts[0], ", ".join(texts[1:]), macro.decode(), slot
