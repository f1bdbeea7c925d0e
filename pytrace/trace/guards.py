"""Guards as the extractor writes them: conditions joined by `` && ``, outermost first.

A condition is ``if (…)``, ``else of if (…)``, ``unless (…)`` (an early return above), ``case …``, ``default``, or a
preprocessor line (``#if …``, ``#else of #if …``).
"""

from __future__ import annotations

import re

#: Where one condition ends and the next begins; a ``&&`` inside a condition is followed by something else.
_BETWEEN = re.compile(r" && (?=(?:else of )?(?:if|unless) \(|(?:else of )?case |default\b|(?:else of )?#)")
_WORD = re.compile(r"(?:else of )?(?:if|unless|case|default|#)")
_ELSE = "else of "
_PREPROCESSOR_ELSE = "#else of "
_ELSE_OF_PLAIN = re.compile(r"#else of #(if|ifdef|ifndef) (!)?\s*(\w+(?:\(\w*\))?)")


def conditions(guard: str) -> list[str]:
    """The conditions of a guard, outermost first."""
    return _BETWEEN.split(" ".join(guard.split())) if guard else []


def either(one: str, other: str) -> str:
    """The guard of something that happens under ``one`` and also under ``other``.

    What both share stays; the two sides of one ``if`` cancel out; otherwise the rests are joined by " or ".
    """
    first, second = conditions(one), conditions(other)
    shared = []
    while first and second and first[0] == second[0]:
        shared.append(first.pop(0))
        second.pop(0)
    rests = [[c for c in rest if not c.startswith("unless ")] for rest in (first, second)]
    if not rests[0] or not rests[1] or (len(rests[0]) == len(rests[1]) == 1 and _opposite(rests[0][0], rests[1][0])):
        return " && ".join(shared)
    return " && ".join([*shared, f"{' && '.join(rests[0])} or {' && '.join(rests[1])}"])


def _opposite(one: str, other: str) -> bool:
    return any(a == prefix + b for a, b in ((one, other), (other, one)) for prefix in (_ELSE, _PREPROCESSOR_ELSE))


def _plain(part: str) -> str:
    """A preprocessor's ``#else`` of one plain condition, as the condition that it is."""
    found = _ELSE_OF_PLAIN.fullmatch(part)
    if found is None:
        return part
    if found[1] == "if":
        return f"#if {found[3]}" if found[2] else f"#if !{found[3]}"
    return part if found[2] else f"#{'ifndef' if found[1] == 'ifdef' else 'ifdef'} {found[3]}"


def compact(guard: str, most: int = 90) -> str:
    """A guard as short as it can be and still answer "when?": its innermost conditions, and in which builds.

    Of a line below early returns ("unless …") it only says "otherwise".
    """
    parts = conditions(guard)
    if not parts:
        return ""
    if not _WORD.match(parts[0]):
        parts[0] = f"if {parts[0]}"  # Python's are written bare
    parts = [_plain(part) for part in parts if not part.startswith("unless ")] or ["otherwise"]
    if sum(map(len, parts)) + 4 * len(parts) > most:
        builds = [part for part in parts if part.startswith("#")]
        inner = [part for part in parts if not part.startswith("#")]
        if builds and inner and sum(map(len, builds)) <= most // 2:
            return f"{' && '.join(builds)} && {_innermost(inner, most)}"
    return _innermost(parts, most)


def _innermost(parts: list[str], most: int) -> str:
    """The last conditions that fit, the last one at any rate; ``parts`` is used up."""
    text = parts.pop()
    while parts and len(parts[-1]) + len(text) + 4 <= most:
        text = f"{parts.pop()} && {text}"
    if parts:
        text = f"… && {text}"
    return text if len(text) <= most + 6 else f"{text[: most - 20].rstrip()} … {text[-18:].lstrip()}"
