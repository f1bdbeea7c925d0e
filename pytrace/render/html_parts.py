"""What the HTML files share: escaping, assets, and the frame of a page that loads nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from pathlib import Path

_ASSETS = Path(__file__).parent / "assets"


def text(value: str) -> str:
    """Escaped for text and for quoted attributes; what would steer the page's direction or break lines is replaced."""
    return html.escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value), quote=True)


def asset(name: str) -> str:
    """A file of the folder ``assets``."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def page(title: str, body: Sequence[str], *, style: str, script: str, data: str = "") -> str:
    """A whole document. Its policy allows its own script and style and nothing else, no network at all.

    ``data`` is JSON for the script, in an element that is never run.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = "; ".join(
        (
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            f"script-src 'sha256-{digest}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    held = f'<script type="application/json" id="data">{script_safe(data)}</script>' if data else ""
    return (
        "\n".join(
            [
                "<!doctype html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
                '<meta name="referrer" content="no-referrer">',
                f"<title>{text(title)}</title>",
                f"<style>{style}</style>",
                "</head>",
                "<body>",
                *body,
                held,
                f"<script>{script}</script>",
                "</body>",
                "</html>",
            ]
        )
        + "\n"
    )


def script_safe(data: str) -> str:
    """JSON that cannot end the element that it stands in."""
    return (
        data.replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
