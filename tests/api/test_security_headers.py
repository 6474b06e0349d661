"""What every answer says to a browser, whatever the answer is."""

from pathlib import Path

import pytest

from dawr.web.pages.assets import address_of
from tests.api.pages import A_BROWSERS, Page
from tests.api.world import Api
from tests.running import Answer, Client, DawrServer

PATHS = {
    "an answer": ("GET", "/v1/venues/clinic", 200),
    "a document": ("GET", "/openapi.json", 200),
    "a style": ("GET", address_of("base.css"), 200),
    "a script": ("GET", address_of("live.js"), 200),
    "an icon": ("GET", "/favicon.ico", 200),
    "the pictures of pages": ("GET", address_of("icons.svg"), 200),
    "the words of a page": ("GET", address_of("words-phone-ar.json"), 200),
    "nothing there": ("GET", "/nothing", 404),
    "no such style": ("GET", "/static/nothing.css", 404),
    "another method": ("DELETE", "/v1/venues/clinic", 405),
    "not signed in": ("GET", "/v1/me", 401),
    "a refusal": ("POST", "/v1/queues/clinic:closed/tickets", 409),
    "health": ("GET", "/health/ready", 200),
}
KEPT = {"an icon": "public, max-age=300"} | dict.fromkeys(
    ("a style", "a script", "the pictures of pages", "the words of a page"), "public, max-age=31536000, immutable"
)
"""By browsers: for ever, where the name has a hash in it."""
PAGES = ("/", "/docs", "/first-run?code=x", "/t/nothing.here", "/nowhere")
"""With a problem that is a page, too."""


def directives(answer: Answer) -> dict[str, str]:
    parts = [part.strip().partition(" ") for part in answer.headers["content-security-policy"].split(";")]
    return {name: value for name, _, value in parts}


@pytest.mark.parametrize("what", PATHS)
def test_every_answer_lets_a_browser_run_nothing(api: Api, what: str) -> None:
    method, path, status = PATHS[what]

    answer = api.ask(method, path)

    assert answer.status == status
    policy = directives(answer)
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "script-src" not in policy
    must_be_guarded(answer, kept=KEPT.get(what, "no-store"))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_runs_and_shows_only_what_is_ours(api: Api, path: str) -> None:
    answer = api.get(path, headers=A_BROWSERS)

    policy = directives(answer)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["object-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["media-src"] == policy["manifest-src"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    must_be_guarded(answer, referrer="same-origin")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_nothing_inline_and_loads_nothing_from_elsewhere(api: Api, path: str) -> None:
    page = Page(api.get(path, headers=A_BROWSERS).body)

    assert page.inline == []
    assert page.addresses
    assert all(address.startswith(("/", "#", "?")) and not address.startswith("//") for address in page.addresses)


@pytest.mark.parametrize("path", PAGES)
def test_what_a_page_loads_is_there(api: Api, path: str) -> None:
    for address in Page(api.get(path, headers=A_BROWSERS).body).addresses:
        if address.startswith("/"):
            assert api.get(address).status == 200


@pytest.mark.parametrize("path", ["/v1/venues/clinic", "/docs", "/nothing"])
def test_https_is_kept_for_a_year_and_http_promises_nothing(api: Api, path: str) -> None:
    plain, secure = api.get(path), api.get(path, headers={"X-Forwarded-Proto": "https"})

    assert "strict-transport-security" not in plain.headers
    assert secure.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    ("subdomains", "promised"), [("off", "max-age=31536000"), ("on", "max-age=31536000; includeSubDomains")]
)
def test_https_is_promised_for_subdomains_only_if_the_operator_says_so(
    tmp_path: Path, subdomains: str, promised: str
) -> None:
    server = DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data", DAWR_HSTS_SUBDOMAINS=subdomains)

    with server, Client(server.url) as client:
        answer = client.ask("/health/live", headers={"X-Forwarded-Proto": "https"})

    assert answer.headers["strict-transport-security"] == promised


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "base.css", "base.css/", ".", "base.css%00"]
)
def test_nothing_but_the_pages_files_is_given_out(api: Api, name: str) -> None:
    answer = api.get(f"/static/{name}")

    assert answer.status == 404
    assert b"import" not in answer.body


def must_be_guarded(answer: Answer, *, kept: str = "no-store", referrer: str = "no-referrer") -> None:
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == referrer
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == kept
    assert answer.headers["x-correlation-id"]
    assert "server" not in answer.headers
