"""Somebody who installs Dawr for a clinic of their own: what they type, and what they read."""

import html
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from tests.running import Answer, Client, DawrServer, Finished, dawr, zone_where_it_is_noon

SLUG = "al-noor"
PASSWORD = "a long walk to the sea"
LINK = re.compile(r"^Make the owner's account at http://\S+/first-run\?code=(\S+)$", re.MULTILINE)
COMMAND = re.compile(r"<pre[^>]*><code>(.*?)</code></pre>", re.DOTALL)
FORM = "application/x-www-form-urlencoded"


class Newcomer(NamedTuple):
    """They sit in `home`, and keep the data where the settings say."""

    home: Path
    settings: dict[str, str | Path]

    @property
    def data(self) -> Path:
        return self.home / "data"

    def types(self, *arguments: str | Path, stdin: str = "") -> Finished:
        return dawr(*arguments, stdin=stdin, **self.settings)

    def types_in_shell(self, *lines: str) -> Finished:
        """Lines as a page shows them, and nothing else: no setting, no other PATH than the server's."""
        done = subprocess.run(
            ["/bin/bash", "-e", "-c", "\n".join(lines)],
            cwd=self.home,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def serves(self) -> DawrServer:
        return DawrServer(self.home, "serve", **self.settings)

    def fills_in_the_form(self, server: DawrServer, **given: str) -> Answer:
        (code,) = LINK.findall(server.log.read_text(encoding="utf-8"))
        venue = {"language": "en", "venue_name": "Al Noor", "venue_slug": SLUG, "venue_kind": "clinic"}
        owner = {"code": code, "username": "huda", "password": PASSWORD}
        form = {**owner, **venue, "zone": zone_where_it_is_noon(), "queue_name": "Laboratory", **given}
        with Client(server.url) as client:
            return client.ask(
                "/first-run", method="POST", body=urlencode(form).encode(), headers={"Content-Type": FORM}
            )

    def looks_at(self, server: DawrServer, path: str, **headers: str) -> Answer:
        with Client(server.url) as client:
            return client.ask(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def writes_the_venues_file(self) -> Path:
        """The file to begin with, with a name, a slug and hours of their own."""
        file = self.home / "clinic.toml"
        assert self.types("venue", "new", file).exit_code == 0
        text = file.read_text(encoding="utf-8")
        text = re.sub(r'^slug = "[^"]*"', f'slug = "{SLUG}"', text, flags=re.MULTILINE)
        text = re.sub(r'^zone = "[^"]*"', f'zone = "{zone_where_it_is_noon()}"', text, flags=re.MULTILINE)
        week = json.dumps([["08:00-12:00", "12:00-18:00"]] * 7)
        file.write_text(text.replace("\n[[desks]]", f"\n[queues.hours]\nweek = {week}\n\n[[desks]]", 1), "utf-8")
        return file


def commands_on(page: Answer) -> list[str]:
    return [html.unescape(command) for command in COMMAND.findall(page.body.decode())]


def cookie_of(answer: Answer) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def damage(database: Path) -> None:
    """As a failing disk would: pages in the middle are other bytes."""
    size = database.stat().st_size
    with database.open("r+b") as opened:
        for start in range(4_096, size - 4_096, 8_192):
            opened.seek(start)
            opened.write(b"\xa5" * 2_048)


def command_in(text: str) -> list[str]:
    """The command that a sentence says to type, between backticks or after a colon."""
    found = re.search(r"dawr [a-z]+[^\n`]*", text)
    assert found is not None, text
    return shlex.split(found[0].rstrip("."))[1:]
