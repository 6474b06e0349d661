"""What a request says comes back as text, and never as markup, a header, a cookie or the address of another site."""

from itertools import product
from urllib.parse import quote

import msgspec
import pytest

from dawr.web.table import ROUTES
from tests.api.pages import A_BROWSERS, Page
from tests.api.world import Api
from tests.running import Answer

HOSTILE = (
    '"><script>alert(1)</script>',
    "'onmouseover='alert(1)",
    "javascript:alert(1)",
    "//evil.example/\\evil.example",
    "x\r\nSet-Cookie: evil=1\r\n\r\n<script>alert(1)</script>",
    "{{ 7 * 191 }}\u2028\u202e",
)
SAME_FOR_ALL = "/docs"
PAGES = {
    route.path: route
    for route in ROUTES
    if route.kind == "text/html" and route.method == "GET" and route.path != SAME_FOR_ALL
}
KNOWN = {"venue": "clinic", "desk": "room", "visit": "nothing.here", "ticket": "nothing"}


def must_be_harmless(answer: Answer, asked: str) -> None:
    assert answer.status < 500, asked
    assert "default-src 'none'" in answer.headers["content-security-policy"], asked
    assert not [cookie for cookie in answer.cookies if "evil" in cookie], asked
    assert "evil" not in answer.headers.get("set-cookie", ""), asked
    assert answer.headers.get("location", "/").startswith("/"), asked
    assert not answer.headers.get("location", "/").startswith(("//", "/\\")), asked
    if answer.body:
        page = Page(answer.body)
        assert page.inline == [], asked
        addresses = [*page.links, *page.addresses]
        assert not [one for one in addresses if one.startswith(("javascript:", "//", "http://evil"))], asked
    assert b"<script>alert" not in answer.body, asked
    assert b"1337" not in answer.body.replace(answer.headers["x-correlation-id"].encode(), b""), asked


@pytest.mark.parametrize("path", PAGES)
def test_no_page_runs_or_follows_what_its_address_says(api: Api, path: str) -> None:
    route = PAGES[path]
    queries = [] if route.query is None else [field.encode_name for field in msgspec.structs.fields(route.query)]
    names = [name for name in KNOWN if f"{{{name}}}" in path]
    browser = {**A_BROWSERS, "Cookie": f"dawr={api.bearer('manager@clinic')}"}

    for text in HOSTILE:
        written = quote(text, safe="")
        for name in names:
            must_be_harmless(api.get(path.format(**{**KNOWN, name: written}), headers=browser), f"{name} {text}")
        for name in (*queries, "lang", "nothing"):
            must_be_harmless(api.get(f"{path.format(**KNOWN)}?{name}={written}", headers=browser), f"{name} {text}")


@pytest.mark.parametrize("header", ["Referer", "Host", "User-Agent", "Accept-Language", "X-Forwarded-Host", "Origin"])
def test_no_page_runs_or_follows_what_a_header_says(api: Api, header: str) -> None:
    for text, path in product(HOSTILE, ("/sign-in", "/staff/clinic/room", "/nothing")):
        said = text.split("\r")[0].encode("ascii", "ignore").decode()
        host = api.url.partition("//")[2]
        named = {header: said, **({"Host": host} if header != "Host" else {})}

        must_be_harmless(api.get(path, headers={**A_BROWSERS, **named}), f"{header} {path} {text}")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie_of_the_language_is_for_no_script_and_encrypted_where_the_page_is(api: Api, scheme: str) -> None:
    (cookie,) = api.get("/?lang=ar", headers={**A_BROWSERS, "X-Forwarded-Proto": scheme}).cookies

    _, *attributes = cookie.split("; ")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes)
    assert ("Secure" in attributes) == (scheme == "https")
