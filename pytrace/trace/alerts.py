"""From "NAME does not have a deterministic implementation" to the functions that say so.

The name is no function, though often spelled like one: it is the string that ``alertNotDeterministic`` is given
(aten/src/ATen/Context.cpp). A message of another version may have a name that no alert of this tree has any more.
"""

from __future__ import annotations

import re

from pytrace.model import EdgeKind, NodeKind
from pytrace.store import Store
from pytrace.trace import labels
from pytrace.trace.resolve import Found

_WORDING = "does not have a deterministic implementation"
_MESSAGE = re.compile(r"['\"]?(?P<name>[\w:. ]+?)['\"]? does not have a deterministic implementation")


def is_message(text: str) -> bool:
    """Whether the text is the message of an alert."""
    return _WORDING in text and bool(_MESSAGE.search(text))


def find(store: Store, text: str) -> Found | None:
    """The functions behind an alert's name, or behind the message with it; None for a name that none has.

    A message always gets an answer: the functions where its name survives as the label of a dispatch, or none.
    """
    message = _MESSAGE.search(text) if _WORDING in text else None
    name = message["name"].strip() if message else text.strip("`'\" ")
    alerts = store.named(name, NodeKind.ALERT)
    if alerts:
        edges = store.edges_to([n.id for n in alerts], EdgeKind.ALERTS)
        functions = sorted(store.nodes(e.src for e in edges).values(), key=lambda n: (n.file, n.line))
        places = ", ".join(dict.fromkeys(f"{e.file}:{e.line}{f' ({e.guard})' if e.guard else ''}" for e in edges))
        return Found(functions, f'alertNotDeterministic("{name}") stands at {places}')
    if not message:
        return None
    gone = f'No kernel of this tree alerts with "{name}": the message is of another version.'
    label = labels.find(store, name)
    if label is None:
        return Found([], gone)
    return Found(label.nodes, f"{gone} {label.how}")
