"""``pytrace check`` as SARIF 2.1.0 (OASIS), which GitHub code scanning, Azure and editors read."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from pytrace.report.check import CheckReport, Violation

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_HOME = "https://pypi.org/project/pytrace-torch/"


def render(report: CheckReport) -> str:
    """The log, with one run."""
    return (
        json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report)]}, indent=1, ensure_ascii=False)
        + "\n"
    )


def _run(report: CheckReport) -> dict[str, Any]:
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.sentence},
            **({"fullDescription": {"text": rule.why}} if rule.why else {}),
            "defaultConfiguration": {"level": rule.level},
        }
        for rule in report.rules
    ]
    places = {rule.id: number for number, rule in enumerate(report.rules)}
    stamp = report.stamp
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "pytrace",
                "informationUri": _HOME,
                "version": stamp.pytrace,
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(violation, places[violation.rule]) for violation in report.violations],
        "properties": {"tree": str(stamp)},
    }
    if stamp.commit and stamp.url:
        run["versionControlProvenance"] = [{"repositoryUri": stamp.url, "revisionId": stamp.commit}]
    return run


def _result(violation: Violation, rule: int) -> dict[str, Any]:
    # What identifies a result over commits: not its line, which moves with every edit above it.
    print_of = sha256("\0".join((violation.rule, violation.subject, violation.file)).encode("utf-8", "replace"))
    result: dict[str, Any] = {
        "ruleId": violation.rule,
        "ruleIndex": rule,
        "level": violation.level,
        "message": {"text": violation.message},
        "partialFingerprints": {"pytrace/1": print_of.hexdigest()[:32]},
    }
    if violation.file:
        place: dict[str, Any] = {
            "artifactLocation": {"uri": quote(violation.file, errors="replace"), "uriBaseId": "%SRCROOT%"}
        }
        if violation.line:
            place["region"] = {"startLine": violation.line}
        result["locations"] = [{"physicalLocation": place}]
    return result
