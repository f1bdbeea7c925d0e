"""``pytrace search`` and did-you-mean: names like a text, over every kind, without scoring the whole index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytrace.model import Node, NodeKind
from pytrace.store import Store
from pytrace.trace import lookup
from pytrace.trace.answers import SearchAnswer
from pytrace.trace.python_side import is_public
from pytrace.trace.walk import ref

if TYPE_CHECKING:
    from difflib import SequenceMatcher

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
#: How alike two names must be (difflib's ratio) to be offered as what was meant.
_CLOSE = 0.6
#: More letters of a text are not compared: no name of the index has as many.
_LONGEST = 300
#: What a private name of Python must be closer than a public one to be offered before it.
_PRIVATE = 0.15


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

    wanted = (re.split(r"[.:]+", text.strip())[-1] or text)[:_LONGEST]
    pieces = [p for p in re.split(r"_+", wanted) if len(p) > 2] or [wanted[:3]]
    size = 3 if len(wanted) < 8 else 4
    pieces += [wanted[i : i + size] for i in range(0, max(1, len(wanted) - size + 1), size - 2)]
    pieces = list(dict.fromkeys(pieces))[:12]
    low = wanted.lower()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(low)
    scored: dict[str, float] = {}
    for node in store.nodes(lookup.sharing(store, pieces, kinds, wanted, 400)).values():
        matcher.set_seq1(node.bare.lower())
        ratio = 0.0
        if matcher.real_quick_ratio() >= _CLOSE and matcher.quick_ratio() >= _CLOSE:
            ratio = matcher.ratio()
        ratio = max(ratio, _inside(low, node.bare.lower()))
        if ratio >= _CLOSE:
            scored[node.bare] = ratio - (0.0 if is_public(node.name) else _PRIVATE)
    best = sorted(scored, key=lambda bare: (-scored[bare], len(bare), bare))[:limit]
    whole = SequenceMatcher(None, b=text.strip(), autojunk=False)
    return [_likest(store.bare(bare, *kinds), text, whole) for bare in best]


def _inside(wanted: str, name: str) -> float:
    """How good a name is that merely holds the text, words apart or not: ``GeluKernel`` for ``gelu``."""
    short, long = sorted((wanted.replace("_", ""), name.replace("_", "")), key=len)
    return _CLOSE + 0.3 * len(short) / len(long) if len(short) > 3 and short in long else 0.0


def _likest(nodes: list[Node], text: str, matcher: SequenceMatcher[str]) -> Node:
    """Of nodes with one last name part, the one whose full name is most like ``text``; then by kind."""

    def rank(node: Node) -> tuple[int, float, int, str]:
        matcher.set_seq1(node.name)
        likeness = -matcher.ratio() if re.search(r"[.:]", text) else 0.0
        kind = 0 if likeness else _KIND_ORDER.get(node.kind, 99)
        return (kind, likeness, len(node.name) + 40 * (not is_public(node.name)), node.name)

    return min(nodes[:200], key=rank)
