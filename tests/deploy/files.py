"""Reads what is under `deploy/`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

_SETTING = re.compile(r"\bDAWR_[A-Z_]+\b")


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def yaml_of(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(text_of(name))
    return document


def files() -> list[Path]:
    """What is kept with the source; what an owner adds (`.env`, `dawr.env`, `tls`) is not."""
    theirs = {".env", "dawr.env", "tls"}
    return [
        path for path in sorted(DEPLOY.rglob("*")) if path.is_file() and path.relative_to(DEPLOY).parts[0] not in theirs
    ]


def settings_named_in(text: str) -> set[str]:
    return set(_SETTING.findall(text))


def variables_of(text: str, *, with_comments: bool = False) -> dict[str, str]:
    """NAME=value lines, as systemd and Compose both read them; those in comments too if asked for."""
    prefix = r"(?:# )?" if with_comments else ""
    return dict(re.findall(rf"^{prefix}([A-Z][A-Z_]*)=(.*)$", text, re.MULTILINE))


def instructions_of(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Each instruction of a Dockerfile with what it is given, without comments and line ends."""
    plain = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ")
    for line in plain.splitlines():
        if line.strip():
            name, _, given = line.strip().partition(" ")
            yield name, re.sub(r"\s+", " ", given).strip()
