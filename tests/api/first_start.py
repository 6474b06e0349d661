"""An installation that was started for the first time, and the form behind the link that it printed."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.api.pages import A_BROWSERS
from tests.running import Answer, Client, DawrServer

LINK = re.compile(r"(http://\S+)/first-run\?code=(\S+)")
PASSWORD = "a long walk to the sea"
FORM = "application/x-www-form-urlencoded"
JSON = {"Content-Type": "application/json"}
NOTHING: Mapping[str, str] = {}
VENUE = {
    "language": "en",
    "venue_name": "Our clinic",
    "venue_slug": "ours",
    "venue_kind": "clinic",
    "zone": "Asia/Qatar",
    "queue_name": "",
}


class Installation(NamedTuple):
    server: DawrServer
    data: Path

    def codes(self) -> list[str]:
        """Of all the links that were printed so far."""
        return [code for _, code in LINK.findall(self.server.log.read_text(encoding="utf-8"))]

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] = NOTHING
    ) -> Answer:
        with Client(self.server.url) as client:
            return client.ask(path, method=method, body=body, headers=headers)

    def open(self, path: str, **headers: str) -> Answer:
        """As a browser does; a header is named with low lines for its hyphens."""
        return self.ask(path, headers={**A_BROWSERS, **_hyphenated(headers)})

    def fill_in(self, code: str, given: Mapping[str, str] = NOTHING, **headers: str) -> Answer:
        """Send the form as the page does."""
        form = urlencode({"code": code, "username": "amna", "password": PASSWORD, **given}).encode()
        sent = {"Content-Type": FORM, "Sec-Fetch-Site": "same-origin", **A_BROWSERS, **_hyphenated(headers)}
        return self.ask("/first-run", method="POST", body=form, headers=sent)

    def log_in(self, username: str = "amna") -> Answer:
        body = f'{{"username": "{username}", "password": "{PASSWORD}"}}'.encode()
        return self.ask("/v1/login", method="POST", body=body, headers=JSON)

    def set_up_of(self, slug: str) -> dict[str, Any]:
        bearer = {"Authorization": f"Bearer {self.log_in().json['session']}"}
        return self.ask(f"/v1/venues/{slug}/set-up", headers=bearer).json


def is_done(answer: Answer) -> bool:
    """The owner is sent to the start page, signed in."""
    return answer.status == 303 and answer.headers["location"] == "/" and answer.cookies != ()


def cookie_of(answer: Answer) -> str:
    """What the browser sends from then on."""
    return "; ".join(cookie.partition(";")[0] for cookie in answer.cookies)


def _hyphenated(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
