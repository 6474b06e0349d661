"""Get what some tests need beside the packages of Python. Run as `python -m tests.machine`.

Programs are installed where that can be done: as root, with apt-get. Without them the tests that need them are skipped,
and say what is missing. A Chromium there must be: without one nothing is tested.
"""

import os
import shutil
import subprocess
import sys
from functools import cache

from tests.browser.chromium import ChromiumMissing
from tests.browser.getting import get_chromium, get_fonts

PACKAGES = {
    "faketime": "faketime",
    "ip": "iproute2",
    "nginx": "nginx-light",
    "nsenter": "util-linux",
    "openssl": "openssl",
    "strace": "strace",
    "systemd-analyze": "systemd",
}
SECONDS = 300
QUIETLY = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
"""Nothing is asked, and what is installed is not started."""


def main() -> None:
    missing = [program for program in PACKAGES if shutil.which(program) is None]
    if missing and not install(*(PACKAGES[program] for program in missing)):
        say(f"Not installed here: {', '.join(missing)}. The tests that need them are skipped.")
    try:
        get_chromium(install)
    except ChromiumMissing as error:
        sys.exit(str(error))
    get_fonts(install)


def install(*packages: str) -> bool:
    if not may_install():
        return False
    say(f"Installing what some tests need: {', '.join(packages)} ...")
    return apt_get("install", "-y", "--no-install-recommends", *packages)


@cache
def may_install() -> bool:
    """Only root, with apt-get, whose lists are brought up to date once."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say("Only root with apt-get can install packages.")
        return False
    return apt_get("update")


def apt_get(*arguments: str) -> bool:
    try:
        subprocess.run(
            ["apt-get", "-qq", *arguments],
            env=os.environ | QUIETLY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=SECONDS,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        say(f"{error}")
        return False
    return True


def say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    main()
