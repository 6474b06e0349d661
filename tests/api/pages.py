"""A page as a browser reads it: what it says, links to and loads, and what of it would be inline."""

from html.parser import HTMLParser

from tests.api.world import Api
from tests.running import Answer

LOADED_BY = {"src", "href", "action", "formaction", "srcset", "poster", "data"}
NOT_INLINE = {"script", "style", "iframe", "object", "embed", "base"}
WITHOUT_END = {"meta", "link", "input", "img", "br", "hr"}
A_BROWSERS = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
"""What one asks for when somebody opens a link."""


class Page(HTMLParser):
    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.inline: list[str] = []
        """Whatever a strict policy would not let run or show."""
        self.language, self.direction = "", ""
        self.typed: dict[str, str] = {}
        """What stands in the form, by the field's name."""
        self.wrong: dict[str, str] = {}
        """What is said beside a field, by the field's name."""
        self.commands: list[str] = []
        self.text = ""
        self._open: list[tuple[str, dict[str, str]]] = []
        self._choosing = ""
        self._described: dict[str, str] = {}
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.addresses += [value for name, value in given.items() if name in LOADED_BY]
        if tag == "a":
            self.links.append(given["href"])
        if "id" in given:
            self.ids.add(given["id"])
        if tag in NOT_INLINE and "src" not in given:
            self.inline.append(tag)
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        if tag == "html":
            self.language, self.direction = given.get("lang", ""), given.get("dir", "")
        self._read_field(tag, given)
        if tag == "code":
            self.commands.append("")
        if tag not in WITHOUT_END:
            self._open.append((tag, given))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.text += data
        inner, given = self._open[-1] if self._open else ("", {})
        if inner == "code":
            self.commands[-1] += data
        if given.get("id") in self._described:
            self.wrong[self._described[given["id"]]] = data

    def _read_field(self, tag: str, given: dict[str, str]) -> None:
        if tag in {"input", "select"} and "aria-invalid" in given:
            self._described[given["aria-describedby"]] = given["name"]
        if tag == "input":
            self.typed[given["name"]] = given.get("value", "")
        if tag == "select":
            self._choosing = given["name"]
        if tag == "option" and "selected" in given:
            self.typed[self._choosing] = given["value"]


def open_link(api: Api, link: str, **headers: str) -> Answer:
    """As a browser opens a page."""
    return api.get(link, headers={**A_BROWSERS, **{name.replace("_", "-"): said for name, said in headers.items()}})
