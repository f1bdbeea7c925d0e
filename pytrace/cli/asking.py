"""What the question commands share: the page to fill, JSON, and the error for a name that the index lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pytrace.cli import common
from pytrace.errors import UnknownName
from pytrace.trace import resolve, search, spelling
from pytrace.trace.answers import Unknown
from pytrace.trace.walk import ref

if TYPE_CHECKING:
    from pytrace.render.page import Page
    from pytrace.store import Store


def page(store: Store) -> Page:
    """An empty page as wide as the terminal, coloured and linked when stdout is one."""
    from pytrace.render.page import Page

    return Page(common.width(), colour=common.colour(), root=store.meta("root"))


def emit_json(store: Store, schema: str, answer: Any) -> None:
    """Write an answer as JSON, with the tree that it speaks of."""
    from pytrace.render.json_text import dumps

    tree = {key: store.meta(key) for key in ("version", "commit", "dirty") if store.meta(key)}
    common.emit(dumps(schema, answer, tree))


def unknown(store: Store, text: str, what: str, kinds: tuple[str, ...], hint: str = "") -> NoReturn:
    """Raise ``UnknownName``: what was looked for, the nearest names of these kinds, the next command."""
    from pytrace.render.other_text import unknown_text

    name = spelling.cpp_name(text) if "(" in text or "<" in text else spelling.clean(text)
    hint = hint or elsewhere(store, text)
    nearest = [] if hint else search.nearest(store, name, kinds=kinds)
    last = name.replace("::", ".").rpartition(".")[2]
    hint = hint or f"`pytrace search {last or text}` looks through every kind of name."
    answer = Unknown(text, what, [ref(n) for n in nearest], hint)
    raise UnknownName(unknown_text(answer), [n.name for n in nearest])


def elsewhere(store: Store, text: str) -> str:
    """A sentence that says what the name is, when it is something that another command answers for."""
    cpp = resolve.cpp_nodes(store, text).nodes
    if cpp:
        first = cpp[0]
        return (
            f"{first.name} is a {first.kind.replace('_', ' ')}{f' ({first.at})' if first.at else ''}:"
            f" `pytrace kernel {first.bare} --up` shows the operators that reach it."
        )
    named = resolve.python_nodes(store, text)
    if named:
        return f"It is a Python name: `pytrace api {named[0].name}` goes down from it."
    if resolve.operators(store, text).nodes:
        return f"It is an operator: `pytrace op {spelling.clean(text)}` tells all about it."
    return ""
