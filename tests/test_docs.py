"""The documents tell what the code does: made ones are up to date, written ones name everything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytrace.extract import EXTRACTORS
from pytrace.model import EdgeKind, NodeKind

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
#: Rules that the link stage gives to edges, as far as they stand in its code as such.
RULES = re.compile(r'(?:\brule(?:: str)?|_RULE\w*) ?= ?f?"([a-z][a-z-]+)"|"(python-[a-z-]+)"')
#: Looks like one, but is a kind of unresolved name.
UNRESOLVED = {"python-registration"}


def kinds(cls: type) -> list[str]:
    return [value for name, value in vars(cls).items() if name.isupper()]


def rules() -> list[str]:
    found = set()
    for path in sorted((ROOT / "pytrace" / "link").glob("*.py")):
        found |= {one or other for one, other in RULES.findall(path.read_text(encoding="utf-8"))}
    return sorted(found - UNRESOLVED)


def test_made_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", kinds(NodeKind))
def test_kinds_of_nodes(kind: str) -> None:
    assert re.search(rf"^\| `{kind}` \|", ARCHITECTURE, re.MULTILINE)


@pytest.mark.parametrize("kind", kinds(EdgeKind))
def test_kinds_of_edges(kind: str) -> None:
    assert f"`{kind}`" in ARCHITECTURE


@pytest.mark.parametrize("rule", rules())
def test_rules(rule: str) -> None:
    assert f"`{rule}`" in ARCHITECTURE


@pytest.mark.parametrize("kind", EXTRACTORS)
def test_kinds_of_files(kind: str) -> None:
    assert f"`{kind}`" in ARCHITECTURE


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:\w+/)*\w+\.py)`", ARCHITECTURE))))
def test_modules_that_are_named_exist(name: str) -> None:
    """Of pytrace, or (``torchgen/…``, ``tools/…``) of PyTorch."""
    if name.startswith(("torchgen/", "tools/", "torch/")):
        return
    assert any((folder / name).exists() for folder in (ROOT, ROOT / "pytrace", ROOT / "pytrace" / "extract")), name
