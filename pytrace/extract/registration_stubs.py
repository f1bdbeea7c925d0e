"""Dispatch stubs in one C++ file: where they are declared and defined, and what is registered into them.

Implements ``aten/src/ATen/native/DispatchStub.h``: the macros of ``registration_macros.STUB_SLOTS``, the objects
behind them (``static RegisterCUDADispatch<…> object(stub, fn)``) and the setters (``stub.set_cuda_dispatch_ptr(fn)``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Tree

from pytrace.extract.cpp_guards import guards_of
from pytrace.extract.registration_macros import STUB_SITES, STUB_SLOTS
from pytrace.extract.registration_text import Lines, arguments, clean, place
from pytrace.model import Facts

#: Bytes without which a file has nothing for this module (``AT_DISPATCH_…`` has none of them).
KEYWORDS = (b"_DISPATCH(", b"_DISPATCH (", b"Dispatch<", b"_dispatch_ptr")

# Patterns that begin with a literal are searched many times faster than ones that begin with a class.
_MACRO = re.compile(rb"DISPATCH\s*\(")
_OBJECT = re.compile(rb"Register(?P<object>CUDA|HIP|MPS|XPU|MTIA|PRIVATEUSE1)Dispatch\s*<[^<>;{}]*>\s*\w+\s*[({]")
_SETTER = re.compile(rb"set_(?P<setter>cuda|hip|mps|xpu|mtia|privateuse1)_dispatch_ptr\s*\(")
_WORD_BEFORE = re.compile(rb"\w+\Z")
_OBJECT_BEFORE = re.compile(rb"((?:\w+::)*\w+)\s*\.\s*\Z")


def extract_stubs(tree: Tree, source: bytes) -> Facts:
    """Facts about dispatch stubs, or {} when the file has none.

    ``stub_sites``: (line, ``declare`` or ``define``, name, pointer type, scope, guard)
    ``stub_registrations``: (line, name, function expression, macro, slot, scope, guard); the slot is a value of
    ``STUB_SLOTS``, or the capability that ``REGISTER_ARCH_DISPATCH`` names.
    """
    if not (b"ispatch" in source or b"DISPATCH" in source) or not any(word in source for word in KEYWORDS):
        return {}
    sites: list[tuple[int, str, str, str, str, str]] = []
    registrations: list[tuple[int, str, str, str, str, str, str]] = []
    lines, guards = Lines(source), guards_of(source.decode("latin-1"))
    for start, opening, what, name, slot in _found(source):
        scope = place(tree, start)
        if scope is None:
            continue
        line, guard = lines.of(start), guards.at(start)
        # The preprocessor knows no templates: f<a, b> is two arguments, put together again below.
        texts = [clean(source[a:b]) for a, b in arguments(source, opening, templates=False)[0]]
        if name:  # a setter: the stub stands before the call
            texts.insert(0, name)
        if slot == "argument" and len(texts) > 2:
            slot = texts.pop(1)
        if slot in ("declare", "define"):
            if texts:
                sites.append((line, slot, texts[-1], ", ".join(texts[:-1]), scope, guard))
        elif any("##" in text for text in texts):
            continue  # the body of a macro, in a place that the parser did not see as one
        elif len(texts) > 1 or (texts and slot == "none"):
            registrations.append((line, texts[0], ", ".join(texts[1:]), what, slot, scope, guard))
    facts: Facts = {}
    if sites:
        facts["stub_sites"] = sites
    if registrations:
        facts["stub_registrations"] = registrations
    return facts


def _found(source: bytes) -> Iterator[tuple[int, int, str, str, str]]:
    """(start, offset of the opening bracket, spelling, stub of a setter, slot) of everything that may be a site."""
    for match in _MACRO.finditer(source):
        word = _WORD_BEFORE.search(source, max(0, match.start() - 40), match.start())
        macro = (word.group() if word else b"") + b"DISPATCH"
        slot = STUB_SLOTS.get(macro) or STUB_SITES.get(macro)
        if slot and word:
            yield word.start(), match.end() - 1, macro.decode(), "", slot
    for match in _OBJECT.finditer(source):
        kind = match["object"].decode()
        yield match.start(), match.end() - 1, f"Register{kind}Dispatch", "", kind
    for match in _SETTER.finditer(source):
        owner = _OBJECT_BEFORE.search(source, max(0, match.start() - 120), match.start())
        # DispatchStub.h's own helpers set the pointer of their parameter `stub`.
        if owner and owner.group(1) != b"stub":
            kind = match["setter"].decode()
            yield owner.start(), match.end() - 1, f"set_{kind}_dispatch_ptr", owner.group(1).decode(), kind.upper()
