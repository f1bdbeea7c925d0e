"""Macros of the tree: which ``#define`` a name means in a file, and what its expansion defines, registers and calls.

A macro call at file, namespace or class level is expanded as the preprocessor would, except for the macros that other
parts of pytrace read as they stand (``KEPT``); what the text then defines joins the facts of the file, at the line
of the call, with the macro's name as evidence.
"""

from __future__ import annotations

import re
from typing import Any

from pytrace.extract import cpp, macros
from pytrace.extract.cpp_blank import is_leaf
from pytrace.extract.registration_library import LibraryCall
from pytrace.forks import fork_map
from pytrace.link.context import Context
from pytrace.link.includes import Includes
from pytrace.model import Facts

#: Macros that are never expanded, by the rule of their name, each with the reason.
KEPT = re.compile(
    r"TORCH_(?:IMPL|META|PRECOMPUTE_META)_FUNC2?$"  # heads of structured kernels; cpp.py reads them
    r"|TORCH_LIBRARY(?:_IMPL|_FRAGMENT)?$"  # registrations.py reads the block
    r"|(?:ALSO_)?REGISTER_\w*DISPATCH$|DE(?:FINE|CLARE)_DISPATCH$"  # registrations.py reads stubs
    r"|AT_(?:DISPATCH|PRIVATE)_\w+$"  # their lambdas are arguments: what they hold is read in place
    r"|TORCH_(?:CHECK|WARN|INTERNAL_ASSERT|FN|SELECTIVE)\w*$"  # say nothing about kernels
    r"|C10_\w+$|GPU_LAMBDA$|VMAP_SUPPORT2?$"
)
#: Macros that check and report: what they call is the reporting, but for methods of what they are given.
REPORTING = re.compile(r"CHECK|ASSERT|ENFORCE|WARN|LOG|DEBUG|DUMP|THROW|_ERROR|EXPECT_|RECORD_FUNCTION|UNLIKELY|LIKELY")
#: ``x.f(…).g(…)``
_CHAIN = re.compile(r"\b(\w+)\)?\s*\.\s*\w+\([^()]*\)\s*\.\s*\w+\s*[(<]")
#: Names that macros have; a function of such a name may be a macro call with a body.
_HEAD = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+$")
_PLAIN_IF = re.compile(r"#if (\w+)(?:\(\))?$")
#: An expansion without any of these defines and registers nothing.
_DEFINES = re.compile(r"\)[^;{}()=]*\{|\b(?:struct|class)\b|_DISPATCH\s*\(|TORCH_LIBRARY")
#: A class's text is put in a namespace, where ``public:`` is no C++ (TORCH_ARG, torch/csrc/api/include/torch/arg.h).
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class MacroTable:
    """Every ``#define``, looked up as a file sees it: its own, then those of the files it includes."""

    def __init__(self, ctx: Context) -> None:
        self.own: dict[str, dict[str, list[macros.Define]]] = {}
        self.by_name: dict[str, list[tuple[str, macros.Define]]] = {}
        sources = {}
        for path, (kind, facts) in ctx.files.items():
            if kind not in ("cpp", "template"):
                continue
            sources[path] = facts.get("includes", ())
            for row in facts.get("defines", ()):
                define = macros.Define(*row)
                self.own.setdefault(path, {}).setdefault(define.name, []).append(define)
                self.by_name.setdefault(define.name, []).append((path, define))
        self.includes = Includes(sources)
        self._dead: dict[str, bool] = {}
        self._asks: dict[str, bool] = {}
        self._constants = _constants(ctx)

    def is_dead(self, guard: str) -> bool:
        """Whether no build compiles what stands under this guard: an ``#if NAME()`` whose macro the tree defines once
        and for all as false, or the ``#else`` of a true one.
        """
        if "#" not in guard:
            return False
        found = self._dead.get(guard)
        if found is None:
            found = self._dead[guard] = any(self._never(part) for part in guard.split(" && ") if part.startswith("#"))
        return found

    def _never(self, condition: str) -> bool:
        negated = condition.startswith("#else of ")
        plain = _PLAIN_IF.match(condition.removeprefix("#else of "))
        value = self._constants.get(plain[1]) if plain else None
        return value is not None and value == negated

    def lookup(self, path: str, name: str, line: int = 0) -> macros.Define | None:
        """The definition of ``name`` that holds in ``path`` at ``line``; None when the file sees none."""
        found = self.own.get(path, {}).get(name)
        if found:
            above = [d for d in found if not line or d.line <= line]
            if above and above[-1].body is not None:
                return above[-1]
            if len(above) > 1 and above[-2].body is not None:
                return above[-2]
            # what stands below holds for a header's users; an #undef of another file's macro says nothing about it
            below = next((d for d in found if d.body is not None), None)
            if below is not None:
                return below
        for other, define in self.by_name.get(name, ()):
            if define.body is not None and self.includes.sees(path, other):
                return define
        return None

    def reports(self, name: str) -> bool:
        """Whether a macro only checks and reports, and asks nothing of its arguments (``std.min().ge(0)`` does)."""
        if not REPORTING.search(name):
            return False
        asks = self._asks.get(name)
        if asks is None:
            asks = self._asks[name] = any(_asks(define) for _, define in self.by_name.get(name, ()))
        return not asks

    def expand(self, path: str, text: str, line: int = 0, keep: re.Pattern[str] = KEPT) -> str:
        """``text`` as the preprocessor leaves it here, macros of ``keep`` unexpanded; "" when it cannot be."""
        known: dict[str, macros.Define | None] = {}

        def find(name: str) -> macros.Define | None:
            if name not in known:
                known[name] = None if name not in self.by_name or keep.match(name) else self.lookup(path, name, line)
            return known[name]

        try:
            return macros.expand_text(text, find)
        except macros.MacroError:
            return ""


def _constants(ctx: Context) -> dict[str, bool]:
    """Macros with one unconditional value in the whole tree and no other definition."""
    values: dict[str, set[bool]] = {}
    counts: dict[str, int] = {}
    for _, facts in ctx.files.values():
        for row in facts.get("defines", ()):
            counts[row[0]] = counts.get(row[0], 0) + 1
        for name, value, conditional in facts.get("constants", ()):
            if not conditional:
                values.setdefault(name, set()).add(value)
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1 and counts.get(name) == 1}


def link(ctx: Context, jobs: int = 1) -> None:
    """Set ``ctx.macros`` and add what macro calls make to the facts of their files, by ``jobs`` processes."""
    table = ctx.macros = MacroTable(ctx)
    paths = [
        path
        for path, (kind, facts) in ctx.files.items()
        if kind in ("cpp", "template") and (facts.get("invocations") or facts.get("environments"))
    ]

    def work(path: str) -> tuple[Facts, list[tuple[Any, ...]], set[int]]:
        facts = ctx.files[path][1]
        more = expand_file(table, path, facts) if facts.get("invocations") else {}
        return more, *(expand_bodies(table, path, facts) if facts.get("environments") else ([], set()))

    for path, (kind, facts) in ctx.files.items():
        if kind in ("cpp", "template") and (made := expand_heads(table, path, facts)):
            ctx.files[path] = kind, {**facts, **made}
    for path, (more, calls, gone) in zip(paths, fork_map(work, paths, jobs)):
        kind, facts = ctx.files[path]
        ctx.files[path] = kind, with_bodies(joined(facts, more) if more else facts, calls, gone)


def expand_heads(table: MacroTable, path: str, facts: Facts) -> Facts:
    """Functions whose head is a macro call, ``DEFINE_KERNEL(name, …) { … }``, with what the macro says of them.

    Returns the rows of ``functions`` and ``calls`` that replace those of the file; {} when it has no such head.
    """
    functions, kernels = facts.get("functions", ()), set()
    made: list[Any] = []
    for number, row in enumerate(functions):
        name = row[0].rpartition("::")[2]
        if not _HEAD.match(name) or name not in table.by_name or KEPT.match(name):
            continue
        arguments = ", ".join(" ".join(filter(None, part[:2])) for part in row[4])
        text = table.expand(path, f"{name}({arguments})", row[2])
        if not text or text.startswith(f"{name}("):
            continue
        scope = row[0].rpartition("::")[0]
        body = f"{text} {{ }}".replace("\n", " ")
        source = f"namespace {scope} {{ {body} }}" if scope else body
        found = cpp.extract(source.encode("latin-1", "replace")).get("functions", ())
        if len(found) != 1:
            continue
        made = made or list(functions)
        made[number] = (*found[0][:2], row[2], row[3], *found[0][4:9], row[9], name)
        if found[0][1] != "function":
            kernels.add(number)
    if not made:
        return {}
    # what stands in a kernel runs on the device: it calls nothing
    return {"functions": made, "calls": [call for call in facts.get("calls", ()) if call[0] not in kernels]}


def expand_bodies(table: MacroTable, path: str, facts: Facts) -> tuple[list[tuple[Any, ...]], set[int]]:
    """Calls that come from macro calls inside of function bodies, at the lines of the macro calls.

    Also the numbers of those rows of ``calls`` that go: names handed to a macro that only pastes or quotes them
    (``ATTR_FUNC(relu)`` is ``fuse_relu``, no mention of ``relu``).
    """
    pieces, texts, outer, gone = [], [], [], set()
    environments = facts["environments"]
    calls = facts.get("calls", ())
    references: dict[int, list[int]] = {}
    for number, row in enumerate(calls):
        if row[1] == "r":
            references.setdefault(row[0], []).append(number)
    for row in calls:
        name = row[2]
        if not row[8] or name not in table.by_name or KEPT.match(name) or table.reports(name):
            continue
        define = table.lookup(path, name, row[3])
        if define is None or define.params is None or not _calls_something(define.body or ""):
            continue
        text = table.expand(path, f"{name}({row[8]})", row[3])
        if text:
            last, code = row[3] + row[8].count("\n"), _STRING.sub("", text)
            for number in references.get(row[0], ()):
                word, line = calls[number][2:4]
                if row[3] <= line <= last and word in row[8] and not re.search(rf"\b{re.escape(word)}\b", code):
                    gone.add(number)
        if "(" not in text:
            continue
        pieces.append(row)
        texts.append(text)
        outer.append(environments.get(row[0], {}))
    found: list[tuple[Any, ...]] = []
    for row, made in zip(pieces, cpp.bodies(texts, outer) if texts else ()):
        for call in made:
            guard = " && ".join(g for g in (row[4], call.guard) if g)
            found.append((row[0], call.kind, call.name, row[3], guard, *call[5:8], ""))
    return found, gone


def with_bodies(facts: Facts, found: list[tuple[Any, ...]], gone: set[int]) -> Facts:
    """Facts with what ``expand_bodies`` found and without what it says goes."""
    if not found and not gone:
        return facts
    kept = [row for number, row in enumerate(facts.get("calls", ())) if number not in gone]
    return {**facts, "calls": [*kept, *found]}


def _asks(define: macros.Define) -> bool:
    """Whether the body calls a method of a parameter on what another method gave: more than ``x.is_cuda()``."""
    found = _CHAIN.findall(define.body or "")
    return any(name in (define.params or ()) for name in found)


def _calls_something(body: str) -> bool:
    return "(" in body or "##" in body


def expand_file(table: MacroTable, path: str, facts: Facts) -> Facts:
    """Facts of the expansions of one file's macro calls, at the lines of the calls; {} when they define nothing."""
    pieces, texts = [], []
    for name, arguments, line, scope, guard in facts["invocations"]:
        if name not in table.by_name or KEPT.match(name) or is_leaf(scope):
            continue
        define = table.lookup(path, name, line)
        if define is None or define.body is None or not _may_define(table, define):
            continue
        text = table.expand(path, f"{name}({arguments})", line)
        if not _DEFINES.search(text):
            continue
        pieces.append((line, guard, name))
        body = _ACCESS.sub(" ", text.replace("\n", " "))
        texts.append(f"namespace {scope} {{ {body} }}" if scope else body)
    if not texts:
        return {}
    found = cpp.extract("\n".join(texts).encode("latin-1", "replace"))
    return _placed(found, pieces)


def _may_define(table: MacroTable, define: macros.Define) -> bool:
    body = define.body or ""
    return "(" in body or "{" in body


def _placed(facts: Facts, pieces: list[tuple[int, str, str]]) -> Facts:
    """``facts`` of the joined expansions with the line, guard and macro of the call that made each."""

    def at(line: int) -> tuple[int, str, str]:
        return pieces[min(line, len(pieces)) - 1]

    out: dict[str, list[Any]] = {}
    for row in facts.get("functions", ()):
        line, guard, name = at(row[2])
        out.setdefault("functions", []).append((*row[:2], line, line, *row[4:9], guard, name))
    for row in facts.get("calls", ()):
        out.setdefault("calls", []).append((*row[:3], at(row[3])[0], *row[4:]))
    for row in facts.get("classes", ()):
        line = at(row[2])[0]
        out.setdefault("classes", []).append((*row[:2], line, line, *row[4:]))
    for row in facts.get("stub_sites", ()):
        line, guard, _ = at(row[0])
        out.setdefault("stub_sites", []).append((line, *row[1:5], row[5] or guard))
    for row in facts.get("stub_registrations", ()):
        line, guard, _ = at(row[0])
        out.setdefault("stub_registrations", []).append((line, *row[1:6], row[6] or guard))
    for row in facts.get("library_calls", ()):
        call = LibraryCall(*row)
        line, guard, _ = at(call.line)
        call = call._replace(line=line, below=0, guard=call.guard or guard, lines=0)
        out.setdefault("library_calls", []).append(tuple(call))
    return out


def joined(facts: Facts, more: Facts) -> Facts:
    """Facts of a file with those of its expansions; the calls of the latter count their functions anew."""
    offset = len(facts.get("functions", ()))
    result = dict(facts)
    for key, rows in more.items():
        if key == "calls":
            rows = [(row[0] + offset, *row[1:]) for row in rows]
        result[key] = [*facts.get(key, ()), *rows]
    return result
