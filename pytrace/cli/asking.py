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
#: How alike (difflib's ratio) a name must be to be offered beside a C++ name that is spelt just so.
_NEARLY = 0.8
#: So many overloads are told of an operator that lacks the one asked for.
_MOST_OVERLOADS = 12


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
    hint, sure = elsewhere(store, text)
    nearest = [] if sure and len(kinds) > 1 else search.nearest(store, name, kinds=kinds)
    if hint and not sure:
        nearest = [node for node in nearest if _nearly(node.bare, name)]
    last = name.replace("::", ".").rpartition(".")[2]
    word = last if re.fullmatch(r"\w{2,60}", last) else "WORD"
    hint = hint or f"`pytrace search {word}` looks through every kind of name."
    raise UnknownName(
        unknown_text(Unknown(_short(text), what, [ref(n) for n in nearest], hint)), [n.name for n in nearest]
    )


def _short(text: str) -> str:
    """A text as it is quoted: the middle of a long one is left out."""
    return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 40]}…{text[-39:]}"


def _nearly(bare: str, name: str) -> bool:
    """Whether a name is so close to what was asked that it may be meant though something else is called so."""
    from difflib import SequenceMatcher

    last = re.split(r"[.:]+", name)[-1]
    return SequenceMatcher(None, bare.lower(), last.lower(), autojunk=False).ratio() >= _NEARLY


def elsewhere(store: Store, text: str) -> tuple[str, bool]:
    """A sentence that says what the name is, when it is something that another command answers for ("" when not).

    And whether that is what was meant: a C++ name that merely has the same last part leaves it open.
    """
    if store.named(labels.name_in(text), NodeKind.LABEL):
        told = "It is what an AT_DISPATCH says: `pytrace kernel MESSAGE --up` shows the operators that reach it."
        return told, True
    named = resolve.python_nodes(store, text)
    if not named and resolve.operators(store, text).nodes:
        return f"It is an operator: `pytrace op {spelling.clean(text)}` tells all about it.", True
    other = _place(store, text) or _many(store, text) or _overloads(store, text)
    if other:
        return other, True
    cpp = resolve.cpp_nodes(store, text).nodes
    if cpp:
        first = cpp[0]
        told = (
            f"{first.name} is a {first.kind.replace('_', ' ')}{f' ({first.at})' if first.at else ''}:"
            f" `pytrace kernel {first.bare} --up` shows the operators that reach it."
        )
        return told, False
    if named:
        return f"It is a Python name: `pytrace api {named[0].name}` goes down from it.", True
    namespace = next((space for space, _, _ in spelling.op_names(text) if space), "")
    if namespace and not lookup.has_namespace(store, namespace) and text.partition(namespace)[0] in ("", "torch.ops."):
        told = f"The tree defines no operator in the namespace {namespace}: another project does, or it is misspelt."
        return told, True
    return "", False


def _place(store: Store, text: str) -> str:
    """For a file of the tree, with or without a line."""
    match = re.fullmatch(r"(.+?\.\w+)(?::(\d+))?(?::\d+)?:?", text.strip())
    if not match or not (match[2] or "/" in match[1]):
        return ""
    paths = lookup.paths_like(store, match[1].removeprefix("./"), 1)
    if not paths:
        return ""
    if match[2]:
        return f"It is a place: `pytrace at {match[1]}:{match[2]}` tells what stands there."
    return (
        f"It is a file: `pytrace at {match[1]}:LINE` tells what stands on a line of it, `pytrace impact --files "
        f"{paths[0]}` which operators it reaches."
    )


def _many(store: Store, text: str) -> str:
    """For a namespace and for a pattern, which name many operators."""
    namespace = text.strip().removesuffix("*").removesuffix("::")
    if re.fullmatch(r"\w+::\*?", text.strip()) and lookup.has_namespace(store, namespace):
        return f"It is a namespace: `pytrace report --namespace {namespace}` tells of all its operators."
    if re.fullmatch(r"[\w:.*?]*\w[\w:.*?]*", text) and re.search(r"[*?]", text):
        return f"It is a pattern: `pytrace report '{text}'` tells of all operators that it fits."
    return ""


def _overloads(store: Store, text: str) -> str:
    """For an operator that has no such overload: those that it has."""
    for namespace, base, overload in spelling.op_names(text):
        if not base or overload is None:
            continue
        found = store.bare(base, NodeKind.OP) or store.bare(base.lower(), NodeKind.OP)
        spaces = [node.name.partition("::")[0] for node in found]
        space = namespace or ("aten" if "aten" in spaces else next(iter(spaces), ""))
        names = [node.name for node, own in zip(found, spaces, strict=True) if own == space]
        if names:
            has = f"{', '.join(names[:_MOST_OVERLOADS])}{', …' if len(names) > _MOST_OVERLOADS else ''}"
            lacks = f"no overload {overload}" if overload else "no default overload (one without a name)"
            return f"The operator {names[0].partition('.')[0]} has {lacks}. It has {has}."
    return ""
