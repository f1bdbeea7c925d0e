"""``pytrace check`` as JUnit XML: a suite for each rule, a failed case for each violation."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from pytrace.report.check import CheckedRule, CheckReport, Violation

#: What XML 1.0 cannot hold, not even as a reference.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: CheckReport) -> str:
    """The document. Notes pass; warnings and errors fail; a rule that was not checked is skipped."""
    suites = [_suite(rule) for rule in report.rules]
    tests, failures = sum(s[1] for s in suites), sum(s[2] for s in suites)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name="pytrace check" tests="{tests}" failures="{failures}">')
    for text, _, _ in suites:
        lines += text
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _clean(value: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", value)


def _attribute(value: str) -> str:
    return quoteattr(_clean(value))


def _suite(rule: CheckedRule) -> tuple[list[str], int, int]:
    failing = [v for v in rule.violations if v.level != "note"]
    tests = max(1, len(rule.violations))
    head = f'  <testsuite name={_attribute(rule.id)} tests="{tests}" failures="{len(failing)}"'
    lines = [f'{head} skipped="{int(bool(rule.skipped))}">']
    lines.append(f'    <properties><property name="rule" value={_attribute(rule.sentence)}/></properties>')
    if rule.skipped:
        lines.append(f"    <testcase classname={_attribute(rule.id)} name={_attribute(rule.sentence)}>")
        lines.append(f"      <skipped message={_attribute(rule.skipped)}/>")
        lines.append("    </testcase>")
    elif not rule.violations:
        lines.append(f"    <testcase classname={_attribute(rule.id)} name={_attribute(rule.sentence)}/>")
    for violation in rule.violations:
        lines += _case(violation)
    lines.append("  </testsuite>")
    return lines, tests, len(failing)


def _case(violation: Violation) -> list[str]:
    place = f' file={_attribute(violation.file)} line="{violation.line}"' if violation.file else ""
    head = f"    <testcase classname={_attribute(violation.rule)} name={_attribute(violation.subject)}{place}"
    body = escape(_clean(f"{violation.at}: {violation.message}" if violation.at else violation.message))
    if violation.level == "note":
        return [f"{head}>", f"      <system-out>{body}</system-out>", "    </testcase>"]
    return [
        f"{head}>",
        f"      <failure type={_attribute(violation.level)} message={_attribute(violation.message)}>{body}</failure>",
        "    </testcase>",
    ]
