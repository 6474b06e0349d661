"""Other sites' pages: what they may ask with a bearer, and what they cannot do with a browser's cookie."""

from urllib.parse import urlsplit

import pytest

from tests.api.world import Api
from tests.running import must_be_problem

BOARD = "https://board.example"
EVIL = "https://evil.example"


def with_cookie(api: Api, by: str, **said: str) -> dict[str, str]:
    """As a browser sends it, with what it says of the page that asked."""
    return {
        "Cookie": f"dawr={api.bearer(by)}",
        **{name.replace("_", "-"): value for name, value in said.items()},
    }


OURS: dict[str, dict[str, str]] = {
    "our own page": {"Sec_Fetch_Site": "same-origin"},
    "typed by hand": {"Sec_Fetch_Site": "none"},
    "our own page, both said": {"Sec_Fetch_Site": "same-origin", "Origin": "{ours}"},
    "an older browser on our page": {"Origin": "{ours}"},
}
THEIRS: dict[str, dict[str, str]] = {
    "another site": {"Sec_Fetch_Site": "cross-site"},
    "a neighbour of ours": {"Sec_Fetch_Site": "same-site"},
    "another site that says it is us": {"Sec_Fetch_Site": "cross-site", "Origin": "{ours}"},
    "something new": {"Sec_Fetch_Site": "whatever-comes"},
    "an older browser elsewhere": {"Origin": EVIL},
    "an older browser in a sandbox": {"Origin": "null"},
    "a sandbox that names no host": {"Origin": "null", "Host": ""},
    "our name as the beginning of theirs": {"Origin": "{ours}.evil.example"},
    "our host on another port": {"Origin": "http://127.0.0.1:1"},
    "nothing said": {},
}


def said(api: Api, words: dict[str, str]) -> dict[str, str]:
    return {name: value.replace("{ours}", api.url) for name, value in words.items()}


@pytest.mark.parametrize("page", OURS)
def test_a_cookie_changes_something_from_our_own_pages(api: Api, queue: str, page: str) -> None:
    headers = with_cookie(api, "manager@clinic", **said(api, OURS[page]))

    assert api.post(f"/v1/queues/{queue}/pause", {}, headers=headers).status == 200


@pytest.mark.parametrize("page", THEIRS)
def test_a_cookie_changes_nothing_from_anywhere_else(api: Api, queue: str, page: str) -> None:
    headers = with_cookie(api, "manager@clinic", **said(api, THEIRS[page]))

    refused = [
        api.post(f"/v1/queues/{queue}/pause", {}, headers=headers),
        api.post(f"/v1/queues/{queue}/tickets", {}, headers=headers),
        api.post("/v1/logout", {}, headers=headers),
        api.ask("PUT", "/v1/venues/clinic/set-up", {}, headers=headers),
    ]

    for answer in refused:
        must_be_problem(answer, 403, "cross-site")
    seen = api.get(f"/v1/queues/{queue}").json
    assert (seen["state"], seen["waiting"]) == ("open", 0)
    assert api.get("/v1/me", by="manager@clinic").status == 200


SAFE = "queue.example"
PAGES: dict[str, tuple[str, str, str, bool]] = {
    "encrypted, as we are": ("https", SAFE, f"https://{SAFE}", True),
    "with the port that goes without saying": ("https", SAFE, f"https://{SAFE}:443", True),
    "where we are named with it": ("https", f"{SAFE}:443", f"https://{SAFE}", True),
    "neither is encrypted": ("http", f"{SAFE}:80", f"http://{SAFE}", True),
    "not encrypted, and we are": ("https", SAFE, f"http://{SAFE}", False),
    "not encrypted, on our port": ("https", SAFE, f"http://{SAFE}:443", False),
    "of another scheme": ("https", SAFE, f"ftp://{SAFE}", False),
    "of no scheme": ("https", SAFE, f"://{SAFE}", False),
    "on another port": ("https", SAFE, f"https://{SAFE}:80", False),
}


@pytest.mark.parametrize("header", ["Origin", "Referer"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_ours_only_if_it_came_the_same_way_as_what_it_asks(
    api: Api, queue: str, page: str, header: str
) -> None:
    """Whoever is between a browser and an unencrypted page of our host has written that page."""
    scheme, host, origin, is_ours = PAGES[page]
    cookie = {"Cookie": f"{'__Host-dawr' if scheme == 'https' else 'dawr'}={api.bearer('manager@clinic')}"}
    named = {header: origin if header == "Origin" else f"{origin}/staff/clinic", "Host": host}
    sent = {**cookie, **named, "X-Forwarded-Proto": scheme}

    by_script = api.post(f"/v1/queues/{queue}/pause", {}, headers=sent)
    by_form = api.post(
        f"/v1/queues/{queue}/resume", b"", headers={**sent, "Content-Type": "application/x-www-form-urlencoded"}
    )

    if is_ours:
        assert (by_script.status, by_form.status) == (200, 200)
    else:
        must_be_problem(by_script, 403, "cross-site")
        must_be_problem(by_form, 403, "cross-site")


@pytest.mark.parametrize("page", THEIRS)
def test_a_bearer_needs_no_page(api: Api, queue: str, page: str) -> None:
    """A page that has no bearer cannot send one, and one that has it was given it."""
    headers = with_cookie(api, "viewer@clinic", **said(api, THEIRS[page]))

    assert api.post(f"/v1/queues/{queue}/pause", {}, by="manager@clinic", headers=headers).status == 200


def test_a_cookie_lets_one_look_from_anywhere_for_nobody_else_can_read_it(api: Api) -> None:
    answer = api.get("/v1/me", headers=with_cookie(api, "viewer@clinic", Sec_Fetch_Site="cross-site", Origin=EVIL))

    assert answer.status == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_of_another_site_is_no_request_of_ours(api: Api, queue: str, kind: str) -> None:
    """What a page may send without asking first is none of the kinds that are read here."""
    for path in (f"/v1/queues/{queue}/tickets", "/v1/login", "/api/v1/queue/enter"):
        must_be_problem(api.post(path, b"{}", headers={"Content-Type": kind}), 415, "not-json")


def preflight(
    api: Api, origin: str, path: str = "/v1/queues/clinic:lab/tickets", method: str = "POST"
) -> dict[str, str]:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
    }
    answer = api.ask("OPTIONS", path, headers=headers)
    assert (answer.status, answer.body) == (200, b"")
    return dict(answer.headers)


@pytest.mark.parametrize("origin", [BOARD, "https://other.example"])
def test_a_site_on_the_list_may_call(strict: Api, origin: str) -> None:
    allowed = preflight(strict, origin)

    assert allowed["access-control-allow-origin"] == origin
    assert "POST" in allowed["access-control-allow-methods"].split(", ")
    assert {"authorization", "content-type", "idempotency-key"} <= set(
        allowed["access-control-allow-headers"].split(", ")
    )
    assert "access-control-allow-credentials" not in allowed
    assert allowed["vary"] == "origin"


@pytest.mark.parametrize("origin", [EVIL, "null", f"{BOARD}.evil.example", "http://board.example", BOARD.upper()])
def test_a_site_that_is_not_on_the_list_may_not(strict: Api, origin: str) -> None:
    allowed = preflight(strict, origin)

    assert not any(name.startswith("access-control") for name in allowed)
    assert allowed["vary"] == "origin"


def test_a_page_on_the_list_reads_answers_and_refusals(strict: Api) -> None:
    answers = [
        strict.get("/v1/venues/clinic", headers={"Origin": BOARD}),
        strict.get("/v1/venues/nowhere", headers={"Origin": BOARD}),
        strict.get("/nothing", headers={"Origin": BOARD}),
        strict.get("/v1/me", headers={"Origin": BOARD}),
    ]

    assert [answer.status for answer in answers] == [200, 404, 404, 401]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == BOARD
        assert "retry-after" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers


def test_without_a_list_no_other_site_reads_anything(api: Api) -> None:
    answer = api.get("/v1/venues/clinic", headers={"Origin": BOARD})

    assert "access-control-allow-origin" not in answer.headers
    assert not any(name.startswith("access-control") for name in preflight(api, BOARD))


def test_a_site_on_the_list_has_no_use_of_a_cookie(strict: Api) -> None:
    headers = with_cookie(strict, "manager@clinic", Origin=BOARD, Sec_Fetch_Site="cross-site")

    must_be_problem(strict.post("/v1/queues/clinic:fresh0/pause", {}, headers=headers), 403, "cross-site")


def test_a_question_about_nothing_is_not_answered(strict: Api) -> None:
    headers = {"Origin": BOARD, "Access-Control-Request-Method": "POST"}

    must_be_problem(strict.ask("OPTIONS", "/nothing", headers=headers), 404, "no-such-path")
    must_be_problem(strict.ask("OPTIONS", "/v1/me"), 405, "method-not-allowed")


def test_the_host_that_is_compared_is_the_one_that_was_asked_for(api: Api, queue: str) -> None:
    """Behind a proxy the page's origin is that of the proxy, as the Host header passes it on."""
    headers = with_cookie(api, "manager@clinic", Origin="http://queue.example", Host="queue.example")
    elsewhere = with_cookie(api, "manager@clinic", Origin=api.url, Host="queue.example")

    must_be_problem(api.post(f"/v1/queues/{queue}/pause", {}, headers=elsewhere), 403, "cross-site")
    assert api.post(f"/v1/queues/{queue}/pause", {}, headers=headers).status == 200
    assert urlsplit(api.url).hostname == "127.0.0.1"
