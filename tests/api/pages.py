"""A page as a browser reads it: what it links to, what it loads, and what of it would be inline."""

from html.parser import HTMLParser

LOADED_BY = {"src", "href", "action", "formaction", "srcset", "poster", "data"}
NOT_INLINE = {"script", "style", "svg", "iframe", "object", "embed", "base"}


class Page(HTMLParser):
    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.inline: list[str] = []
        """Whatever a strict policy would not let run or show."""
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
