"""HTML files in a real browser: what the document is after its scripts ran, and what they wrote to the console."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")


def browse(folder: Path, html: str, script: str = "", size: str = "1280,900") -> tuple[str, str]:
    """The document after its scripts ran, and what they wrote to the console. ``script`` runs at the end."""
    if script:
        html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        html = html.replace("</body>", f"<script>{script}</script></body>")
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8", errors="replace")
    assert BROWSER is not None
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={size}",
        f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom",
        file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    console = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode("utf-8", "replace"), "\n".join(console)


def result(dom: str) -> str:
    found = re.search(r'data-result="([^"]*)"', dom)
    assert found is not None, dom[:400]
    return found[1]
