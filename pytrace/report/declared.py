"""Who names what a changed header declares: a macro, a constant, a member, a function that another file defines.

The files that include the header are read, and the functions in whose text such a name stands have changed with it.
A name that another macro, constant or declaration is made of leads on to that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytrace.report import changed, including, mentions
from pytrace.report.changed import Changed
from pytrace.report.queries import NodeRow
from pytrace.store import Store

#: A name that more functions have than this tells nothing; that is said.
_MOST_USERS = 300
#: So often a declaration leads on to another one.
_MOST_ROUNDS = 4


def users(
    store: Store, found: Sequence[Changed], reverse: Mapping[str, Sequence[str]]
) -> tuple[list[tuple[NodeRow, str]], list[str]]:
    """(function, the name in it) for what the changed headers of ``found`` declare; sentences on what was not followed.

    ``reverse`` gives the files that include a file (``including.reversed_includes``).
    """
    todo = {(one.change.path, name) for one in found if one.header and not one.change.whole for name in one.names}
    known = set(todo)
    followed: dict[int, tuple[NodeRow, str]] = {}
    common: list[str] = []
    for _ in range(_MOST_ROUNDS):
        more: set[tuple[str, str]] = set()
        for path in sorted({path for path, _ in todo}):
            words = sorted(name for home, name in todo if home == path)
            inside, declaring = _named(store, words, sorted({path, *including.seen_by(path, reverse)}))
            for word in words:
                if len(inside.get(word, ())) > _MOST_USERS:
                    common.append(f"{word} of {path} is named by {len(inside[word]):,} functions of what includes it.")
                else:
                    followed.update({node.id: (node, word) for node in inside.get(word, ())})
                    more |= declaring.get(word, set())
        todo = more - known
        known |= todo
        if not todo:
            break
    else:
        names = sorted({name for _, name in todo})
        common.append(f"{', '.join(names[:3])} and what is made of them were not followed.")
    return [followed[key] for key in sorted(followed)], common


def _named(
    store: Store, words: Sequence[str], paths: Sequence[str]
) -> tuple[dict[str, list[NodeRow]], dict[str, set[tuple[str, str]]]]:
    """By word: the functions in which it stands, and (file, name) of the declarations in which it stands."""
    inside: dict[str, dict[int, NodeRow]] = {}
    declaring: dict[str, set[tuple[str, str]]] = {}
    for mention in mentions.find(store, words, paths):
        if mention.inside:
            inside.setdefault(mention.word, {}).update({node.id: node for node in mention.inside})
            continue
        text = mention.source[mention.line - 1]
        name = changed.macro_around(mention.source, mention.line) or changed.declared(text)
        if name and name not in words and changed.is_code(text):
            declaring.setdefault(mention.word, set()).add((mention.path, name))
    return {word: list(nodes.values()) for word, nodes in inside.items()}, declaring
