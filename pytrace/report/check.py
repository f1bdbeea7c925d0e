"""A tree held against a policy: each rule, and each place where it does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from pytrace.errors import BadQuestion
from pytrace.report import diff, operators, stubs
from pytrace.report.filters import check_words, has_kernel, is_composite, key_test, matches
from pytrace.report.filters import has as has_key
from pytrace.report.filters import lacks as lacks_key
from pytrace.report.policy import PolicyError, Rule
from pytrace.report.rows import OperatorRow, Stamp, StubRow
from pytrace.report.stamp import stamp
from pytrace.store import Store
from pytrace.trace.devices import canonical


@dataclass(eq=False, repr=False)
class Violation:
    """One place where a rule does not hold."""

    rule: str
    level: str
    subject: str
    message: str
    file: str
    line: int

    @property
    def at(self) -> str:
        """``path:line`` or ""."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(eq=False, repr=False)
class CheckedRule:
    """A rule with what it was held against."""

    id: str
    level: str
    sentence: str
    why: str
    checked: int  #: operators, stubs or changes that it spoke of
    excepted: int  #: violations that ``except`` lets pass
    violations: list[Violation] = field(default_factory=list)
    skipped: str = ""  #: why it was not checked


@dataclass(eq=False, repr=False)
class CheckReport:
    """Answer of ``pytrace check``."""

    stamp: Stamp
    policy: str
    base: str
    rules: list[CheckedRule]

    @property
    def violations(self) -> list[Violation]:
        """All violations, in order of rules."""
        return [violation for rule in self.rules for violation in rule.violations]

    def failed(self, strict: bool = False) -> bool:
        """Whether an error (with ``strict``: or a warning) was found."""
        levels = ("error", "warning") if strict else ("error",)
        return any(violation.level in levels for violation in self.violations)


#: Gives the index of the base, None when no base was named.
Base = Callable[[], "Store | None"]


def report(
    store: Store, rules: Sequence[Rule], *, policy: str, base: str = "", old: Base = lambda: None
) -> CheckReport:
    """Hold the tree of ``store`` against ``rules``. Raises ``PolicyError`` for a key that no backend has."""
    result = CheckReport(stamp(store), policy, base, [])
    facts = _Facts(store, old)
    for rule in rules:
        try:
            result.rules.append(_checked(rule, facts))
        except BadQuestion as error:
            raise PolicyError(f"rule {rule.id}: {error}") from error
    return result


class _Facts:
    """The tables that rules speak of, each made when it is first asked for."""

    def __init__(self, store: Store, old: Base) -> None:
        self.store, self._old = store, old
        self._operators: list[OperatorRow] | None = None
        self._stubs: list[StubRow] | None = None
        self._change: diff.DiffReport | None = None

    def operators(self) -> list[OperatorRow]:
        if self._operators is None:
            self._operators = operators.rows(self.store, details=False)
        return self._operators

    def stubs(self) -> list[StubRow]:
        if self._stubs is None:
            self._stubs = stubs.report(self.store).rows
        return self._stubs

    def change(self) -> diff.DiffReport | None:
        if self._change is None:
            before = self._old()
            self._change = diff.report(before, self.store) if before is not None else None
        return self._change


def _checked(rule: Rule, facts: _Facts) -> CheckedRule:
    made = CheckedRule(rule.id, rule.level, rule.sentence(), rule.why, 0, 0)
    if rule.about == "operators":
        found = _operators(rule, facts.operators(), made)
    elif rule.about == "stubs":
        found = _stubs(rule, facts.stubs(), made)
    else:
        change = facts.change()
        if change is None:
            made.skipped = "it is about a change; --base REV names what to compare with"
            return made
        found = _change(rule, change, facts, made)
    for violation in found:
        local = violation.subject.partition("::")[2] or violation.subject
        if any(fnmatchcase(name, glob) for name in (violation.subject, local) for glob in rule.exceptions):
            made.excepted += 1
        else:
            made.violations.append(violation)
    return made


# -- operators -------------------------------------------------------------------------------------------------------

#: word -> (value -> test, what to say when it does not hold)
_Test = Callable[[OperatorRow], bool]


#: Conditions whose values must be something that the tree has, as arguments of ``check_words``.
_NAMED = {"tag": "tags", "namespace": "namespaces", "ops": "names"}


def _operators(rule: Rule, rows: Sequence[OperatorRow], made: CheckedRule) -> Iterator[Violation]:
    for conditions in (rule.where, rule.require):
        words = {argument: conditions.get(word, ()) for word, argument in _NAMED.items()}
        check_words(rows, **words)
    selected = [test for word, value in rule.where.items() for test, _ in operator_tests(word, value)]
    required = [pair for word, value in rule.require.items() for pair in operator_tests(word, value)]
    for row in rows:
        if not all(test(row) for test in selected):
            continue
        made.checked += 1
        wrong = [text for test, text in required if not test(row)]
        if wrong:
            yield Violation(rule.id, rule.level, row.name, f"{row.name} {' and '.join(wrong)}", row.file, row.line)


def operator_tests(word: str, value: Any) -> list[tuple[_Test, str]]:
    """Tests of one condition, each with what is said of an operator for which it does not hold."""
    if word in _FLAGS:
        test, positive, negative = _FLAGS[word]
        wanted = bool(value)
        return [(lambda row: test(row) == wanted, negative if wanted else positive)]
    if word == "ops":
        return [(lambda row: any(matches(row, glob) for glob in value), f"is not named {' or '.join(value)}")]
    if word == "namespace":
        said = f"is not of namespace {' or '.join(value)}"
        return [(lambda row: any(fnmatchcase(row.namespace, glob) for glob in value), said)]
    if word == "tag":
        return [(lambda row: any(tag in row.tags for tag in value), f"lacks the tag {' or '.join(value)}")]
    keys = [key_test(key) for key in value]
    if word == "has":
        return [(has_key(key), f"has no kernel for {key.label}") for key in keys]
    if word == "lacks":
        return [(lacks_key(key), f"runs on {key.label}") for key in keys]
    return [(_runs_on(lacks_key(key)), f"cannot run on {key.label}") for key in keys]


def _runs_on(lacks: _Test) -> _Test:
    return lambda row: not lacks(row)


#: word -> (test, what is said when it holds, what is said when it does not)
_FLAGS: dict[str, tuple[_Test, str, str]] = {
    "public": (lambda row: row.public, "is public", "is private"),
    "structured": (lambda row: row.structured or bool(row.delegates), "is structured", "is not structured"),
    "composite": (is_composite, "is composite", "has kernels of backends"),
    "meta": (lambda row: bool(row.meta), "has a meta function", "has no meta function"),
    "backward": (
        lambda row: row.autograd in ("formula", "composite", "manual", "not_differentiable"),
        "can be differentiated",
        "has no backward",
    ),
    "decomposition": (
        lambda row: bool(row.decomposition) or row.autograd == "composite" or not has_kernel(row),
        "has a decomposition",
        "has no decomposition",
    ),
    "batching": (lambda row: bool(row.batching), "has a batching rule", "has no batching rule"),
    "written": (lambda row: row.written, "stands in native_functions.yaml", "is generated or registered elsewhere"),
}


# -- stubs and changes -----------------------------------------------------------------------------------------------


def _stubs(rule: Rule, rows: Sequence[StubRow], made: CheckedRule) -> Iterator[Violation]:
    for row in rows:
        if any(text for text in _stub_faults(rule.where, row)):
            continue
        made.checked += 1
        wrong = _stub_faults(rule.require, row)
        if wrong:
            file, line = _stub_place(row)
            yield Violation(rule.id, rule.level, row.name, f"{row.name} {' and '.join(wrong)}", file, line)


def _stub_faults(conditions: dict[str, Any], row: StubRow) -> list[str]:
    wrong = []
    for word, value in conditions.items():
        if word == "stubs":
            if not any(fnmatchcase(row.name, glob) for glob in value):
                wrong.append(f"is not named {' or '.join(value)}")
            continue
        for device in map(canonical, value):
            if (device in row.registered) != (word == "has"):
                wrong.append(f"is {'not ' if word == 'has' else ''}registered for {device.upper()}")
    return wrong


def _stub_place(row: StubRow) -> tuple[str, int]:
    """Where the stub is defined, else where something is registered for it."""
    if row.line:
        return row.file, row.line
    for sites in row.sites.values():
        for site in sites:
            file, _, line = site.rpartition(":")
            return file, int(line or 0)
    return "", 0


def _change(rule: Rule, change: diff.DiffReport, facts: _Facts, made: CheckedRule) -> Iterator[Violation]:
    rows = {row.name: row for row in facts.operators()}
    for word in rule.forbid:
        for subject, message, place in _FORBID[word](rule, change, rows):
            made.checked += 1
            if not _selected(rule, subject):
                continue
            file, _, line = place.rpartition(":") if ":" in place else (place, "", "0")
            yield Violation(rule.id, rule.level, subject, message, file, int(line) if line.isdigit() else 0)


def _selected(rule: Rule, subject: str) -> bool:
    local = subject.partition("::")[2] or subject
    names = (subject, local, local.partition(".")[0])
    globs = rule.where.get("ops")
    if globs and not any(fnmatchcase(name, glob) for name in names for glob in globs):
        return False
    namespaces = rule.where.get("namespace")
    return not namespaces or any(fnmatchcase(subject.partition("::")[0], glob) for glob in namespaces)


#: (subject, message, place)
_Found = Iterator[tuple[str, str, str]]


def _backends(rule: Rule) -> set[str]:
    return {key_test(name).key for name in rule.where.get("backend", operators.PLAIN)}


def _lost_backend(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    for backend in sorted(_backends(rule) & change.lost.keys()):
        for name in change.lost[backend]:
            yield name, f"{name} could run on {backend} at the base, and cannot now", _place(rows, name)


def _removed(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    for one in change.removed:
        hint = f"; did it become {' or '.join(one.like)}?" if one.like else ""
        yield one.name, f"{one.name} is gone (it was at {one.place}){hint}", one.place.partition(":")[0]


def _schema_changed(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    for subject in change.schemas:
        for one in subject.changes:
            if one.what == "schema":
                yield subject.name, f"the schema of {subject.name} was {one.old}, and is {one.new}", subject.place


def _lost_formula(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    for one in change.formulas_removed:
        yield one.text or one.name, f"the formula {one.name} of {one.text} is gone", one.place.partition(":")[0]


def _formula_changed(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    for subject in change.formulas:
        for one in subject.changes:
            yield (
                subject.name,
                f"{subject.name}, {one.what}: {one.old or 'nothing'} became {one.new or 'nothing'}",
                subject.place,
            )


def _lost_stub(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    wanted = {device_name(key) for key in _backends(rule)}
    for subject in change.stubs:
        for one in subject.changes:
            if one.old and not one.new and one.what in wanted:
                place = one.old_place.partition(":")[0]
                yield (
                    subject.name,
                    f"{subject.name} is not registered for {one.what} any more (it was {one.old})",
                    place,
                )


def device_name(key: str) -> str:
    """The device of a backend's key, as stub differences write it."""
    return canonical(key).upper()


def _lost_kernel(rule: Rule, change: diff.DiffReport, rows: dict[str, OperatorRow]) -> _Found:
    wanted = _backends(rule)
    for subject in change.dispatch:
        for one in subject.changes:
            if one.old and not one.new and one.what in wanted:
                yield subject.name, f"{subject.name} has no {one.what} row any more (it was {one.old})", subject.place


_FORBID: dict[str, Callable[[Rule, diff.DiffReport, dict[str, OperatorRow]], _Found]] = {
    "lost-backend": _lost_backend,
    "removed-operator": _removed,
    "schema-changed": _schema_changed,
    "lost-formula": _lost_formula,
    "formula-changed": _formula_changed,
    "lost-stub": _lost_stub,
    "lost-kernel": _lost_kernel,
}


def _place(rows: dict[str, OperatorRow], name: str) -> str:
    row = rows.get(name)
    return f"{row.file}:{row.line}" if row is not None and row.file else ""
