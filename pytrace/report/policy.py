"""The policy file, ``pytrace.toml``: rules that a maintainer wants the tree to keep.

::

    [[rule]]
    id = "cuda-has-cpu"
    about = "operators"                    # operators, stubs, or change (needs a base)
    where = { namespace = ["aten"], has = ["cuda"], public = true }
    require = { runs-on = ["cpu"] }
    except = ["aten::_cudnn_*"]
    level = "error"                        # error (default), warning, note
    why = "Without a CPU kernel an operator cannot be tested on every machine."

    [[rule]]
    id = "no-lost-backend"
    about = "change"
    forbid = ["lost-backend", "removed-operator"]
    where = { backend = ["cpu", "cuda"] }

Every word is checked when the file is read: a rule with a misspelled condition would hold forever.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

#: Words of ``where`` and ``require`` by what the rule is about, with the type of their value.
CONDITIONS: dict[str, dict[str, str]] = {
    "operators": {
        "ops": "list", "namespace": "list", "tag": "list", "has": "list", "runs-on": "list", "lacks": "list",
        "public": "flag", "structured": "flag", "composite": "flag", "meta": "flag", "backward": "flag",
        "decomposition": "flag", "batching": "flag", "written": "flag",
    },
    "stubs": {"stubs": "list", "has": "list", "lacks": "list"},
    "change": {"ops": "list", "namespace": "list", "backend": "list"},
}  # fmt: skip
#: What a rule about a change may forbid.
FORBIDDEN = (
    "lost-backend", "removed-operator", "schema-changed", "lost-formula", "formula-changed", "lost-stub", "lost-kernel",
)  # fmt: skip
LEVELS = ("error", "warning", "note")
_KEYS = ("id", "about", "where", "require", "forbid", "except", "level", "why")
_ID = re.compile(r"[A-Za-z0-9][\w.-]*$")

EXAMPLE = """# Rules that `pytrace check` holds the tree against: an id, which things, and what must be.

[[rule]]
id = "cuda-runs-on-cpu"
about = "operators"
where = { namespace = ["aten"], has = ["cuda"], public = true }
require = { runs-on = ["cpu"] }
level = "warning"
why = "What runs on CUDA only cannot be tested on every machine."

[[rule]]
id = "core-has-meta"
about = "operators"
where = { tag = ["core"] }
require = { meta = true }
why = "The core operators must run without data, for torch.export."

[[rule]]
id = "stub-for-cpu"
about = "stubs"
where = { has = ["cuda"] }
require = { has = ["cpu"] }
level = "note"

[[rule]]
id = "no-lost-backend"
about = "change"
forbid = ["lost-backend", "removed-operator"]
why = "Users' programs would fail with NotImplementedError."
"""


class PolicyError(Exception):
    """The policy file cannot be used; the message names the rule and the way out."""


@dataclass
class Rule:
    """One rule, checked."""

    id: str
    about: str
    where: dict[str, Any] = field(default_factory=dict)
    require: dict[str, Any] = field(default_factory=dict)
    forbid: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    level: str = "error"
    why: str = ""

    def sentence(self) -> str:
        """The rule in words."""
        scope = f" {_words(self.where, _WITH, ', ')}" if self.where else ""
        if self.about == "change":
            return f"No {' and no '.join(word.replace('-', ' ') for word in self.forbid)}{scope}"
        return f"Every {self.about.removesuffix('s')}{scope} must {_words(self.require, _MUST)}"


#: Conditions as they are said of what a rule selects, and of what it demands.
_WITH = {
    "ops": "named", "stubs": "named", "namespace": "of namespace", "tag": "with tag", "has": "with a kernel for",
    "runs-on": "that runs on", "lacks": "without a way to run on", "backend": "for", "public": "that is public",
    "structured": "that is structured", "composite": "that is composite", "meta": "with a meta function",
    "backward": "with a backward", "decomposition": "with a decomposition", "batching": "with a batching rule",
    "written": "of native_functions.yaml",
}  # fmt: skip
_MUST = {
    "ops": "be named", "stubs": "be named", "namespace": "be of namespace", "tag": "have tag",
    "has": "have a kernel for", "runs-on": "run on", "lacks": "not run on", "public": "be public",
    "structured": "be structured", "composite": "be composite", "meta": "have a meta function",
    "backward": "have a backward", "decomposition": "have a decomposition", "batching": "have a batching rule",
    "written": "stand in native_functions.yaml",
}  # fmt: skip


def _words(conditions: Mapping[str, Any], words: Mapping[str, str], between: str = " and ") -> str:
    parts = []
    for word, value in conditions.items():
        if isinstance(value, bool):
            parts.append(words[word] if value else f"not ({words[word]})")
        else:
            parts.append(f"{words[word]} {' or '.join(value) if word in _ANY else ' and '.join(value)}")
    return between.join(parts)


#: Conditions of which one value is enough.
_ANY = ("ops", "stubs", "namespace", "tag", "backend")


def parse(text: str) -> list[Rule]:
    """The rules of a policy file. Raises ``PolicyError``."""
    data = _toml(text)
    _known(data, ("rule", "check"), "the file")
    entries = data.get("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PolicyError("Rules are written as [[rule]] tables. `pytrace check --example` shows some.")
    if not entries:
        raise PolicyError("There is no [[rule]] in the file. `pytrace check --example` shows some.")
    rules = [_rule(entry, number) for number, entry in enumerate(entries, 1)]
    ids = [rule.id for rule in rules]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise PolicyError(f"Two rules have the id {twice[0]}; give each its own.")
    return rules


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]
        except ModuleNotFoundError as error:
            raise PolicyError("Reading TOML needs Python 3.11, or `pip install tomli`.") from error
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"It is not TOML: {error}.") from error
    except RecursionError as error:
        raise PolicyError("It is nested too deeply.") from error
    return found


def _rule(entry: Mapping[str, Any], number: int) -> Rule:
    name = entry.get("id")
    where = f"rule {number}" + (f" ({name})" if isinstance(name, str) else "")
    if not isinstance(name, str) or not _ID.match(name):
        raise PolicyError(f"{where} needs an id of letters, digits, dots and dashes.")
    _known(entry, _KEYS, where)
    about = _word(entry, "about", tuple(CONDITIONS), where, "operators")
    rule = Rule(name, about, level=_word(entry, "level", LEVELS, where, "error"))
    rule.where = _conditions(entry.get("where", {}), about, f"`where` of {where}")
    rule.require = _conditions(entry.get("require", {}), about, f"`require` of {where}")
    rule.forbid = _strings(entry.get("forbid", []), f"`forbid` of {where}")
    rule.exceptions = _strings(entry.get("except", []), f"`except` of {where}")
    rule.why = str(entry.get("why", ""))
    for word in rule.forbid:
        if word not in FORBIDDEN:
            raise PolicyError(
                f"{where} forbids {word!r}, which is none of {', '.join(FORBIDDEN)}.{_near(word, FORBIDDEN)}"
            )
    if about == "change" and (not rule.forbid or rule.require):
        raise PolicyError(f"{where} is about a change: it says what to `forbid`, not what to `require`.")
    if about != "change" and (rule.forbid or not rule.require):
        raise PolicyError(f"{where} is about {about}: it says what to `require`, not what to `forbid`.")
    return rule


def _conditions(value: Any, about: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PolicyError(f'{where} must be a table such as {{ has = ["cuda"] }}.')
    known = CONDITIONS[about]
    _known(value, tuple(known), where)
    found: dict[str, Any] = {}
    for word, inner in value.items():
        if known[word] == "flag":
            if not isinstance(inner, bool):
                raise PolicyError(f"{word} in {where} is true or false.")
            found[word] = inner
        else:
            found[word] = _strings(inner, f"{word} in {where}")
    return found


def _strings(value: Any, where: str) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(entry, str) for entry in values):
        raise PolicyError(f"{where} must be a text or a list of texts.")
    return list(values)


def _word(entry: Mapping[str, Any], key: str, known: Sequence[str], where: str, default: str) -> str:
    value = entry.get(key, default)
    if value not in known:
        raise PolicyError(f"{key} of {where} is {value!r}; it must be {' or '.join(known)}.{_near(str(value), known)}")
    return str(value)


def _known(entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in entry:
        if key not in known:
            raise PolicyError(f"There is no {key!r} in {where}. Known: {', '.join(known)}.{_near(key, known)}")


def _near(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""
