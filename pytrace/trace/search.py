"""``pytrace search`` and did-you-mean: names like a text, over every kind, without scoring the whole index."""

from __future__ import annotations

import re

from pytrace.model import Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup
from pytrace.trace.answers import SearchAnswer
from pytrace.trace.walk import ref

#: What a searcher most likely means, first.
_KIND_ORDER = {
    kind: place
    for place, kind in enumerate(
        (
            NodeKind.OP,
            NodeKind.PYTHON,
            NodeKind.CUDA_KERNEL,
            NodeKind.STUB,
            NodeKind.FUNCTION,
            NodeKind.FUNCTOR,
            NodeKind.BINDING,
            NodeKind.FORMULA,
            NodeKind.LIBRARY,
            NodeKind.MACRO,
        )
    )
}
_MAX_CANDIDATES = 4000


def answer(store: Store, text: str, *, limit: int = 20, kinds: tuple[str, ...] = ()) -> SearchAnswer:
    """Nodes whose names hold the words of ``text``, then those that are merely close."""
    words = [w for w in re.split(r"[^\w<>()~+*/=!&|^%-]+|\x00", text) if w]
    found = _holding(store, words, kinds) if words else []
    ranked = sorted(found, key=lambda n: _score(n, text, words))
    if not ranked and words:
        ranked = nearest(store, text, kinds=kinds, limit=limit or 50)
    kept = ranked[:limit] if limit else ranked
    return SearchAnswer(text, [ref(n) for n in kept], len(ranked) - len(kept))


def _holding(store: Store, words: list[str], kinds: tuple[str, ...]) -> list[Node]:
    """Nodes whose full name holds every word, in any case."""
    return list(store.nodes(lookup.holding(store, words, kinds, _MAX_CANDIDATES)).values())


def _score(node: Node, text: str, words: list[str]) -> tuple[int, int, int, int, str, str, int]:
    """Exact before prefix before part; then by kind, and short names before long ones."""
    last = words[-1].lower()
    bare = node.bare.lower()
    if node.name == text or bare == text.lower():
        kind_of_match = 0
    elif bare == last:
        kind_of_match = 1
    elif bare.startswith(last) or bare.endswith(last):
        kind_of_match = 2
    else:
        kind_of_match = 3
    hidden = int(any(part.startswith("_") for part in re.split(r"[.:]+", node.name)))
    return (kind_of_match, _KIND_ORDER.get(node.kind, 99), hidden, len(node.name), node.name, node.file, node.line)


def nearest(store: Store, text: str, *, kinds: tuple[str, ...] = (), limit: int = 5) -> list[Node]:
    """The nodes whose last name part is closest to that of ``text``, each name once, best first.

    Candidates share a piece of three letters with it (or its first ones), found by the store; only some hundreds
    are compared in earnest.
    """
    from difflib import SequenceMatcher

    wanted = re.split(r"[.:]+", text.strip())[-1] or text
    pieces = [p for p in re.split(r"_+", wanted) if len(p) > 2] or [wanted[:3]]
    pieces += [wanted[i : i + 4] for i in range(0, max(1, len(wanted) - 3), 2)]
    candidates: dict[str, Node] = {}
    pieces = list(dict.fromkeys(pieces))[:12]
    for node in store.nodes(lookup.sharing(store, pieces, kinds, len(wanted), 400)).values():
        known = candidates.get(node.bare)
        if known is None or _KIND_ORDER.get(node.kind, 99) < _KIND_ORDER.get(known.kind, 99):
            candidates[node.bare] = node
    low = wanted.lower()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(low)
    scored = []
    for bare, node in candidates.items():
        matcher.set_seq1(bare.lower())
        if matcher.real_quick_ratio() < 0.5 or matcher.quick_ratio() < 0.5:
            continue
        ratio = matcher.ratio()
        if ratio >= 0.6:
            scored.append((-ratio, _KIND_ORDER.get(node.kind, 99), len(bare), node.name, node))
    scored.sort(key=lambda s: s[:4])
    return [s[-1] for s in scored[:limit]]
