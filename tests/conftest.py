"""What all tests share: a cache folder of their own, a working folder outside of any tree, and no skipped truth."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_skipped: list[str] = []


@pytest.fixture(autouse=True)
def _own_world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's caches, or depends on where it was started."""
    if "real" not in Path(str(request.path)).parts:  # an index of the real tree is shared by all tests on it
        monkeypatch.setenv("PYTRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTRACE_ROOT", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fake_stages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Extraction and linking of a few lines (``fake_stage.py``), to test what stands around them."""
    import pytrace.extract
    import pytrace.link
    from tests import fake_stage

    for kind in pytrace.extract.EXTRACTORS:
        monkeypatch.setitem(pytrace.extract.EXTRACTORS, kind, "tests.fake_stage")
    monkeypatch.setattr(pytrace.link, "link", fake_stage.link)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what was skipped."""
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With PYTRACE_NO_SKIP (CI sets it where the real tree is at hand) a skipped real-tree test is a failure."""
    real = [name for name in _skipped if "tests/real" in name]
    if real and os.environ.get("PYTRACE_NO_SKIP"):
        print(f"\nskipped, which PYTRACE_NO_SKIP forbids: {', '.join(real)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
