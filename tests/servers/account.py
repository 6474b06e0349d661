"""The account a server runs as, and what that account can reach."""

import os
import subprocess
from pathlib import Path
from typing import TypedDict

NOBODY = 65534


def unprivileged() -> int | None:
    """Another account than ours if we are root, whom some servers refuse."""
    return NOBODY if os.geteuid() == 0 else None


class Account(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def account(uid: int | None) -> Account:
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def may_run(path: Path, uid: int | None) -> bool:
    """Whether an account may run this program, or reach into this directory."""
    asked = subprocess.run(["/bin/sh", "-c", 'test -x "$1"', "sh", str(path)], cwd="/", check=False, **account(uid))
    return asked.returncode == 0
