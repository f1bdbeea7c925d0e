"""ARCHITECTURE.md explains every rule and every attribute that the index of the real tree holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytrace.store import Store

pytestmark = pytest.mark.real

TEXT = (Path(__file__).resolve().parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_rules(real_store: Store) -> None:
    rules = [row[0] for row in real_store.db.execute("SELECT DISTINCT r.name FROM rule r JOIN edge e ON e.rule = r.id")]
    assert [rule for rule in rules if f"`{rule}`" not in TEXT] == []


def test_attributes(real_store: Store) -> None:
    """Of all kinds whose attributes are listed there (bindings say where theirs are listed)."""
    missing = set()
    for kind, keys in real_store.db.execute(
        "SELECT DISTINCT n.kind, j.key FROM node n, json_each(n.attrs) j WHERE n.attrs IS NOT NULL"
        " AND n.kind NOT IN ('binding', 'test')"
    ):
        rows = re.findall(rf"^\| `{kind}` \|.*$", TEXT, re.MULTILINE)  # some kinds of files have the name of one
        if not any(f"`{keys}`" in row for row in rows):
            missing.add((kind, keys))
    assert missing == set()
