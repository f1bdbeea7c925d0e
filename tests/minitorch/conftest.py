"""One shell for all tests: the tree is indexed once."""

from __future__ import annotations

import pytest

from tests.minitorch.commands import Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell with an index."""
    made = Shell(tmp_path_factory.mktemp("minitorch"))
    assert made.run("pytrace index").exit_code == 0
    return made
