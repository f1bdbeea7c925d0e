"""What the question commands share: the page to fill, JSON, and the error for a name that the index lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from pytrace.cli import common
from pytrace.errors import UnknownName
from pytrace.model import NodeKind
from pytrace.trace import labels, lookup, messages, resolve, search, spelling
from pytrace.trace.answers import Unknown
from pytrace.trace.walk import ref

if TYPE_CHECKING:
    from pytrace.render.page import Page
    from pytrace.store import Store

#: So many letters of what was asked are repeated in a sentence.
_MOST_QUOTED = 200


def page(store: Store) -> Page:
    """An empty page as wide as the terminal, coloured and linked when stdout is one."""
    from pytrace.render.page import Page

    return Page(common.width(), colour=common.colour(), root=store.meta("root"))


def emit_json(store: Store, schema: str, answer: Any) -> None:
    """Write an answer as JSON, with the tree that it speaks of."""
    from pytrace.render.json_text import dumps

    tree = {key: store.meta(key) for key in ("version", "commit", "dirty") if store.meta(key)}
    common.emit(dumps(schema, answer, tree))


def unknown(store: Store, text: str, what: str, kinds: tuple[str, ...], answer: str = "") -> NoReturn:
    """Raise ``UnknownName``: what was looked for, the nearest names of these kinds, the next command.

    ``answer`` is what else was found out about the name; then it is all that is said.
    """
    from pytrace.render.other_text import unknown_text
    from pytrace.render.page import printable

    if answer:
        raise UnknownName(printable(answer[:1].upper() + answer[1:] if answer.split()[0].isalpha() else answer))
    message = messages.read(text)
    text = message.op if message is not None else text
    name = spelling.cpp_name(text) if "(" in text or "<" in text else spelling.clean(text)
    label = labels.name_in(text)
    if label:
        name, kinds = label, (NodeKind.LABEL, *resolve.CPP_KINDS)
    hint = elsewhere(store, text)
    nearest = [] if hint and len(kinds) > 1 else search.nearest(store, name, kinds=kinds)
    last = name.replace("::", ".").rpartition(".")[2]
    word = last if re.fullmatch(r"\w{2,60}", last) else "WORD"
    hint = hint or f"`pytrace search {word}` looks through every kind of name."
    raise UnknownName(
        unknown_text(Unknown(_short(text), what, [ref(n) for n in nearest], hint)), [n.name for n in nearest]
    )


def _short(text: str) -> str:
    """A text as it is quoted: the middle of a long one is left out."""
    return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 40]}…{text[-39:]}"


def elsewhere(store: Store, text: str) -> str:
    """A sentence that says what the name is, when it is something that another command answers for."""
    if store.named(labels.name_in(text), NodeKind.LABEL):
        return "It is what an AT_DISPATCH says: `pytrace kernel MESSAGE --up` shows the operators that reach it."
    named = resolve.python_nodes(store, text)
    if not named and resolve.operators(store, text).nodes:
        return f"It is an operator: `pytrace op {spelling.clean(text)}` tells all about it."
    cpp = resolve.cpp_nodes(store, text).nodes
    if cpp:
        first = cpp[0]
        return (
            f"{first.name} is a {first.kind.replace('_', ' ')}{f' ({first.at})' if first.at else ''}:"
            f" `pytrace kernel {first.bare} --up` shows the operators that reach it."
        )
    if named:
        return f"It is a Python name: `pytrace api {named[0].name}` goes down from it."
    namespace = next((space for space, _, _ in spelling.op_names(text) if space), "")
    if namespace and not lookup.has_namespace(store, namespace) and text.partition(namespace)[0] in ("", "torch.ops."):
        return f"The tree defines no operator in the namespace {namespace}: another project does, or it is misspelt."
    return ""
