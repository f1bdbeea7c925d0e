"""Strings of deterministic alerts."""

from __future__ import annotations

import pytest

from pytrace.extract import cpp_alerts


@pytest.mark.parametrize(
    ("source", "alerts"),
    [
        ('void f() {\n  at::globalContext().alertNotDeterministic("f_cuda");\n}', [(2, "f_cuda")]),
        ('ctx->alertNotDeterministic(\n    "median with indices");', [(1, "median with indices")]),
        ("globalContext().alertCuBLASConfigNotDeterministic();", [(1, cpp_alerts.CUBLAS)]),
        ("globalContext().alertNotDeterministic(name);", []),  # computed: not known
        ("static void alertNotDeterministic(std::string_view caller);", []),  # the declaration
        ('\n\na.alertNotDeterministic("one"); b.alertNotDeterministic("two");', [(3, "one"), (3, "two")]),
        ("int main() {}", []),
    ],
)
def test_alerts(source: str, alerts: list[tuple[int, str]]) -> None:
    assert cpp_alerts.extract(source.encode()).get("alerts", []) == alerts


def test_any_bytes() -> None:
    assert cpp_alerts.extract(b'\xff.alertNotDeterministic("\xfe\x00") \xff') == {"alerts": [(1, "\ufffd\x00")]}
