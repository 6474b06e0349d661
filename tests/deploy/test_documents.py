"""The documents name files of `deploy/` that are there."""

import re

from tests.deploy.files import DEPLOY, ROOT, files

MADE_BY_THE_OWNER = {"deploy/.env", "deploy/dawr.env", "deploy/tls"}
NAMED = re.compile(r"(?<![\w/])deploy(?:/[\w.-]*\w)+")


def test_every_file_that_a_document_or_another_file_names_is_there() -> None:
    texts = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *files()]
    named = {name for text in texts for name in NAMED.findall(text.read_text(encoding="utf-8"))}
    mine = {name for name in named if "/".join(name.split("/")[:2]) not in MADE_BY_THE_OWNER}

    assert not sorted(name for name in mine if not (ROOT / name).exists())
    assert {"deploy/compose.yaml", "deploy/systemd", "deploy/nginx", "deploy/env.example"} <= named


def test_every_part_of_it_is_named_in_a_document() -> None:
    documents = "".join(text.read_text(encoding="utf-8") for text in (ROOT / "docs").rglob("*.md"))

    assert not sorted(
        part.name for part in DEPLOY.iterdir() if f"deploy/{part.name}" not in documents and _is_ours(part.name)
    )


def _is_ours(name: str) -> bool:
    return f"deploy/{name}" not in MADE_BY_THE_OWNER and not name.endswith(".dockerignore")
