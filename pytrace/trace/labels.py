"""From the message ``"NAME" not implemented for 'Half'`` to the functions whose ``AT_DISPATCH_…`` has that name.

The name is no function: it is the string that a dispatch macro is given (aten/src/ATen/Dispatch.h), often, but not
always, that of a function around it.
"""

from __future__ import annotations

import re

from pytrace.model import EdgeKind, NodeKind
from pytrace.store import Store
from pytrace.trace.resolve import Found

_MESSAGE = re.compile(r"[\"\u201c]?(?P<label>[\w:. ]+?)[\"\u201d]? not implemented for \W?(?P<type>\w+)")


def name_in(text: str) -> str:
    """The name in the message; "" in another text.

    >>> name_in("RuntimeError: \\"histogram_cpu\\" not implemented for 'Half'")
    'histogram_cpu'
    """
    message = _MESSAGE.search(text) if " not implemented for " in text else None
    return message["label"].strip() if message else ""


def find(store: Store, text: str) -> Found | None:
    """The functions behind a label, or behind the message with it; None when there is no such label."""
    message = _MESSAGE.search(text) if " not implemented for " in text else None
    name = message["label"].strip() if message else text.strip("`'\" ")
    labels = store.named(name, NodeKind.LABEL)
    if not labels:
        return _without_label(store, name) if message else None
    edges = store.edges_to([n.id for n in labels], EdgeKind.DTYPES)
    functions = sorted(store.nodes(e.src for e in edges).values(), key=lambda n: (n.file, n.line))
    places = ", ".join(sorted({f"{e.file}:{e.line}" for e in edges}))
    how = f'"{name}" is no function but the name that AT_DISPATCH is given at {places}'
    if message:
        wanted = message["type"]
        having = sorted({f"{e.file}:{e.line}" for e in edges if wanted in e.attrs.get("dtypes", ())})
        how += f"; in this tree {wanted} is {'implemented there' if having else 'not among its types'}"
        if having and len(having) < len(places.split(", ")):
            how += f" at {', '.join(having)} only"
    return Found(functions, how)


def _without_label(store: Store, name: str) -> Found | None:
    """The functions that are called like the label, when no dispatch that was read has it."""
    functions = store.bare(name.rpartition("::")[2], NodeKind.FUNCTION)
    if not functions:
        return None
    how = f'no AT_DISPATCH that the index has read is given the name "{name}"; a function is called so'
    return Found(sorted(functions, key=lambda n: (n.file, n.line)), how)
