"""Which Chromium the browser tests drive: the one that is named, else the one on PATH, else the one that was got.

`tests/machine.py` gets one where there is none. What is not installed for everybody is kept in `.venv/chromium`.
"""

import os
import shutil
import subprocess
from pathlib import Path

NAMES = (
    *("chromium-headless-shell", "chrome-headless-shell"),  # the same engine without windows: a third of the time
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
)
KEPT = Path(__file__).parents[2] / ".venv" / "chromium"
OF_PLAYWRIGHT = KEPT / "playwright"
OF_NPM = KEPT / "npm"
VERSION_SECONDS = 60


class ChromiumMissing(RuntimeError):
    """There is no Chromium on this machine."""


def find_chromium() -> Path:
    if named := os.environ.get("DAWR_TEST_CHROMIUM"):
        if not runs(Path(named)):
            raise ChromiumMissing(f"DAWR_TEST_CHROMIUM is {named}, but that is no Chromium that starts.")
        return Path(named)
    for candidate in [*_on_path(), *_kept()]:
        if runs(candidate):
            return candidate
    raise ChromiumMissing(
        "The browser tests need Chromium: run `make test`, which gets one, install it (on Debian: apt install "
        "chromium), or set DAWR_TEST_CHROMIUM to its program."
    )


def arguments() -> list[str]:
    """For root alone without its sandbox, which does not work for root."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def runs(program: Path) -> bool:
    """Some distributions install a program that only says how to install Chromium."""
    try:
        asked = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=VERSION_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def _on_path() -> list[Path]:
    return [Path(found) for found in map(shutil.which, NAMES) if found]


def _kept() -> list[Path]:
    return [*sorted(OF_PLAYWRIGHT.glob("chromium-*/chrome-*/chrome"), reverse=True), OF_NPM / "chromium"]
