"""Find the tree-sitter queries, ``queries/<language>/<name>.scm``: beside the package, or inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def load(name: str) -> str:
    """The text of the query ``name`` ("python/events").

    Raises ``FileNotFoundError`` that names both places when the installation has lost its queries.
    """
    places = [_PACKAGE / "queries" / f"{name}.scm", _PACKAGE.parent / "queries" / f"{name}.scm"]
    for place in places:
        if place.is_file():
            return place.read_text(encoding="utf-8")
    raise FileNotFoundError(f"the query {name!r} stands neither at {places[0]} nor at {places[1]}: reinstall pytrace")
