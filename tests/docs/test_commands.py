"""What the documents tell people to type can be typed, and does what they say."""

import re
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from dawr.cli import main
from tests.cli.certificates import Pair
from tests.docs.pages import ROOT, documents, text_of
from tests.docs.shell import blocks_in, commands_in, run, what_can_be_run
from tests.servers import ValkeyServer

PAGES = sorted(path.name for path in (ROOT / "docs" / "run").glob("*.md"))
LEFT_OUT = {"CHANGELOG.md"}
"""What it says was true of the version it says it of."""


def unknown_in(words: list[str]) -> list[str]:
    """What a command line has that the program does not know."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return [words[0]] if re.fullmatch(r"[a-z-]+", words[0]) else []
        command, words = found, words[1:]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = [word.partition("=")[0].rstrip(".,:;") for word in words if word.startswith("--")]
    return [option for option in given if option not in options | {"--help", "--version", "--"}]


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_document_names_is_there_with_its_options(document: Path) -> None:
    if document.name in LEFT_OUT:
        return
    text = document.read_text(encoding="utf-8")

    assert not {" ".join(["dawr", *words]): found for words in commands_in(text) if (found := unknown_in(words))}


def test_a_command_that_is_wrong_is_noticed() -> None:
    text = (
        "`dawr frobnicate` `dawr check --jsno`\n```bash\ndawr backup --fast FILE && dawr serve --port 1  # --x\n```\n"
    )

    assert [unknown_in(words) for words in commands_in(text)] == [["--fast"], [], ["frobnicate"], ["--jsno"]]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_runs_in_the_order_of_the_page(
    page: str, tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer
) -> None:
    """With the venue that docs/venue.md shows. A server is stopped as soon as it is ready."""
    prepare(tmp_path)
    replaced = names(tmp_path, postgres_url, valkey_server.url)

    for block in filter(None, map(what_can_be_run, blocks_in(text_of(f"docs/run/{page}")))):
        # The reader has one venue; here there is one more as soon as a page makes its own.
        done = run(block, tmp_path, replaced, DAWR_CLINIC_VENUE="clinic")

        assert done.exit_code == 0, f"{block}\n{done.said}\n{done.complained}"


def prepare(directory: Path) -> None:
    (document,) = re.findall(r"^```json\n(.*?)^```$", text_of("docs/venue.md"), re.MULTILINE | re.DOTALL)
    (directory / "my-venue.json").write_text(document, encoding="utf-8")
    (directory / "backups").mkdir()
    done = run("dawr venue apply my-venue.json && dawr staff add first --role owner", directory, {})
    assert done.exit_code == 0, done


def names(directory: Path, postgres: str, valkey: str) -> Mapping[str, str]:
    """What stands on a page for something of its reader's."""
    pair = Pair(directory)
    return {
        "/backups/": f"{directory}/backups/",
        "postgresql://dawr@localhost/dawr_restored": postgres,
        "postgresql://dawr@localhost/dawr": postgres,
        "postgresql://dawr@db.example/dawr": postgres,
        "postgresql://dawr@db/dawr": postgres,
        "redis://cache:6379/0": valkey,
        "redis://db.example:6379/0": valkey,
        "DAWR_HOST=10.0.0.5": "DAWR_HOST=127.0.0.1",
        "--host 0.0.0.0 --port 8443": "",
        "fullchain.pem": str(pair.cert),
        "privkey.pem": str(pair.key),
        ".venv/bin/dawr": "dawr",
        "env/bin/dawr": "dawr",
        "revoke mkrqs8-0Q7XcXYgKFg3cjomqc2EB8JJyeiC8DNE": "revoke $(dawr token list | cut -d' ' -f1 | head -n 1)",
        "take-over mkrqs8-0Q7XcXYgKFg3cjomqc2EB8JJyeiC8DNE": "take-over $(dawr token list | cut -d' ' -f1 | tail -n 1)",
    }
