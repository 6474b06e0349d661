"""Install what some tests need beside the packages of Python, where that can be done: as root, with apt-get.

Without it those tests are skipped, and say what is missing. Run as `python -m tests.machine`.
"""

import os
import shutil
import subprocess
import sys

PACKAGES = {
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
    if not missing:
        return
    named = ", ".join(missing)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say(f"Not installed here: {named}. The tests that need them are skipped; root with apt-get could install them.")
        return
    say(f"Installing what some tests need: {named} ...")
    packages = [PACKAGES[program] for program in missing]
    apt_get("update") and apt_get("install", "-y", "--no-install-recommends", *packages)


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
        say(f"{error} The tests that need it are skipped.")
        return False
    return True


def say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    main()
