"""Somebody at a desk whose browser runs no script: what they see, and what the buttons of a page send."""

from html.parser import HTMLParser
from typing import Any

import msgspec

from tests.api.pages import A_BROWSERS, Page
from tests.api.test_forms import send
from tests.api.world import Api
from tests.running import Answer


class Button(msgspec.Struct):
    action: str
    method: str
    fields: dict[str, str]
    words: str = ""
    enabled: bool = True


class Buttons(HTMLParser):
    """Every button of a page, with what it would send."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.found: list[Button] = []
        self._form: Button | None = None
        self._of_form: list[Button] = []
        self._pressed: Button | None = None
        self._choosing = ""
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form, self._of_form = Button(given.get("action", ""), given.get("method", "get"), {}), []
        if self._form is None:
            return
        if tag == "input":
            self._form.fields[given["name"]] = given.get("value", "")
        elif tag == "select":
            self._choosing = given["name"]
        elif tag == "option" and ("selected" in given or self._choosing not in self._form.fields):
            self._form.fields[self._choosing] = given["value"]
        elif tag == "button":
            own = {given["name"]: given["value"]} if "name" in given else {}
            self._pressed = Button(self._form.action, self._form.method, own, "", "disabled" not in given)
            self._of_form.append(self._pressed)

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._pressed = None
        if tag == "form" and self._form is not None:
            for button in self._of_form:
                button.fields = {**self._form.fields, **button.fields}
                button.words = " ".join(button.words.split())
            self.found += self._of_form
            self._form = None

    def handle_data(self, data: str) -> None:
        if self._pressed is not None:
            self._pressed.words += data


class Desk(msgspec.Struct, frozen=True):
    api: Api
    venue: str
    desk: str
    by: str = "staff@clinic"
    language: str = "en"

    @property
    def address(self) -> str:
        return f"/staff/{self.venue}/{self.desk}"

    @property
    def _said(self) -> dict[str, str]:
        host = self.api.url.partition("//")[2]
        return {"Cookie": f"dawr={self.api.bearer(self.by)}", "Accept-Language": self.language, "Host": host}

    def open(self, path: str = "") -> Answer:
        """The console, or a page beside it."""
        return self.api.get(self.address + path, headers={**A_BROWSERS, **self._said})

    def text(self, path: str = "") -> str:
        answer = self.open(path)
        assert answer.status == 200, answer
        return " ".join(Page(answer.body).text.split())

    def buttons(self, path: str = "") -> dict[str, Button]:
        """By what is written on them."""
        return {button.words: button for button in Buttons(self.open(path).body).found}

    def press(self, words: str, path: str = "", *, at: str = "", **typed: str) -> Answer:
        """The button that begins with these words, and if there are several, whose form is sent to this address."""
        found = Buttons(self.open(path).body).found
        button = next(one for one in found if one.words.startswith(words) and at in one.action)
        assert button.enabled, words
        return self.send(button, path, **typed)

    def send(self, button: Button, path: str = "", **typed: str) -> Answer:
        referrer = {"Referer": f"{self.api.url}{self.address}{path}"}
        said = {name.replace("-", "_"): text for name, text in {**self._said, **referrer}.items()}
        return send(self.api, button.action, {**button.fields, **typed}, **said)

    def must_press(self, words: str, path: str = "", *, at: str = "", **typed: str) -> None:
        """And be led back to the console."""
        answer = self.press(words, path, at=at, **typed)
        assert (answer.status, answer.headers.get("location")) == (303, self.address), answer

    def post(self, path: str, body: object = None) -> dict[str, Any]:
        answer = self.api.post(path, body or {}, by="owner@clinic")
        assert answer.status < 300, answer
        return answer.json

    def take(self, queue: str, **given: object) -> dict[str, Any]:
        return self.post(f"/v1/queues/{self.venue}:{queue}/tickets", given)
