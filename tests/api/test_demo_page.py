"""The demo's start page: three screens, and one press that signs in on the machine itself and nowhere else."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.api.pages import A_BROWSERS, Page
from tests.running import Answer, Client, DawrServer, at_once

FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", **A_BROWSERS}
FROM_ELSEWHERE = {"X-Forwarded-For": "192.0.2.7"}
PASSWORD = "open sesame"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    directory = tmp_path_factory.mktemp("demo")
    with DawrServer(directory, "demo", "--data", directory / "data", "--password", PASSWORD) as demo:
        yield demo


class Browser:
    """It keeps cookies as browsers do."""

    def __init__(self, demo: DawrServer) -> None:
        self._url = demo.url
        self.cookies: dict[str, str] = {}

    def open(self, path: str = "/", **headers: str) -> Answer:
        return self._ask("GET", path, None, {**A_BROWSERS, **_hyphenated(headers)})

    def press(self, venue: str = "clinic", **headers: str) -> Answer:
        body = urlencode({"venue": venue}).encode()
        return self._ask("POST", "/demo/sign-in", body, {**FORM, **_hyphenated(headers)})

    def change(self, verb: str) -> None:
        """The queue that is shown, by whoever signed in."""
        assert self._ask("POST", f"/v1/queues/clinic:xray/{verb}", b"", FORM).status == 303

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        kept = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        with Client(self._url) as client:
            answer = client.ask(path, method=method, body=body, headers={**headers, **kept})
        for cookie in answer.cookies:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


def _hyphenated(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture
def browser(demo: DawrServer) -> Browser:
    return Browser(demo)


def frames(answer: Answer) -> list[str]:
    return re.findall(r'<iframe src="([^"]+)"', answer.body.decode())


def waiting(demo: DawrServer, queue: str) -> int:
    with Client(demo.url) as client:
        return int(client.get(f"/v1/queues/{queue}").json["waiting"])


def test_before_the_press_the_page_shows_what_anybody_sees_and_how_to_begin(browser: Browser) -> None:
    answer = browser.open()

    assert frames(answer) == ["/v/clinic", "/d/clinic?queues=xray"]
    assert "/demo/sign-in" in Page(answer.body).addresses
    assert Page(answer.body).inline == []


def test_one_press_signs_in_and_gives_the_phone_a_number_before_three_others(
    demo: DawrServer, browser: Browser
) -> None:
    pressed = browser.press()
    page = browser.open(pressed.headers["location"])
    phone, display, console = frames(page)

    assert (pressed.status, pressed.headers["location"]) == (303, "/")
    assert phone.startswith("/t/")
    assert (display, console) == ("/d/clinic?queues=xray", "/staff/clinic/room-102")
    assert waiting(demo, "clinic:xray") == 4
    assert "nobody" in Page(browser.open(phone).body).text
    assert browser.open(console).status == 200
    assert browser.open("/v1/me").json["username"] == "demo"


def test_the_press_sits_down_at_the_desk(browser: Browser) -> None:
    browser.press()

    desk = browser.open("/v1/desks/clinic:room-102").json["desk"]

    assert (desk["state"], desk["occupant"]) == ("open", "staff:demo")


def test_every_press_lets_a_new_visitor_in_and_nobody_of_the_last_one_stands_in_front(
    demo: DawrServer, browser: Browser
) -> None:
    browser.press()
    first = frames(browser.open())[0]
    browser.press()
    second = frames(browser.open())[0]

    assert first != second
    assert waiting(demo, "clinic:xray") == 4
    assert "nobody" in Page(browser.open(second).body).text


def test_where_the_queue_is_closed_the_press_signs_in_all_the_same_and_ends_nobody(
    demo: DawrServer, browser: Browser
) -> None:
    browser.press()
    browser.change("close")
    another = Browser(demo)

    pressed = another.press()
    waiting_then, phone = waiting(demo, "clinic:xray"), frames(browser.open())[0]
    browser.change("open")

    assert pressed.status == 303
    assert another.open("/v1/me").json["username"] == "demo"
    assert waiting_then == 4
    assert phone.startswith("/t/")


def test_the_laboratory_is_left_for_what_people_type(demo: DawrServer, browser: Browser) -> None:
    browser.press()

    with Client(demo.url) as client:
        assert client.enter("lab", "TEST_1").json["display_number"] == "A001"


def test_the_restaurant_has_the_same_three_screens(demo: DawrServer, browser: Browser) -> None:
    assert "/demo/demo-restaurant" in Page(browser.open().body).links

    pressed = browser.press("demo-restaurant")
    page = browser.open(pressed.headers["location"])
    phone, *others = frames(page)

    assert pressed.headers["location"] == "/demo/demo-restaurant"
    assert phone.startswith("/t/")
    assert others == ["/d/demo-restaurant?queues=waitlist", "/staff/demo-restaurant/host"]
    assert "/" in Page(page.body).links
    assert waiting(demo, "demo-restaurant:waitlist") == 4


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Forwarded_For": "192.0.2.7"},
        {"X_Forwarded_For": "127.0.0.1, 192.0.2.7"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_without_a_password_nobody_signs_in_from_elsewhere(browser: Browser, headers: dict[str, str]) -> None:
    answer = browser.press(**headers)

    assert answer.status == 403
    assert browser.cookies == {}


def test_from_elsewhere_the_start_page_is_that_of_every_server(browser: Browser) -> None:
    page = Page(browser.open(X_Forwarded_For="192.0.2.7").body)
    restaurant = browser.open("/demo/demo-restaurant", X_Forwarded_For="192.0.2.7")

    assert {"/v/clinic", "/v/demo-restaurant", "/sign-in"} <= set(page.links)
    assert "/demo/sign-in" not in page.addresses
    assert "/demo/sign-in" not in Page(restaurant.body).addresses


def test_the_press_is_refused_in_words_in_every_language(browser: Browser) -> None:
    for language, words in (
        ("en", "Only on this machine."),
        ("ar", "على هذا الجهاز فقط."),
        ("zh", "只能在本机上使用。"),
    ):
        assert words in Page(browser.press(**FROM_ELSEWHERE, Accept_Language=language).body).text


def test_only_the_demos_pages_may_be_framed_and_only_by_its_own(browser: Browser, tmp_path: Path) -> None:
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data") as server, Client(server.url) as client:
        of_a_server = client.ask("/", headers=A_BROWSERS).headers["content-security-policy"]
        press = client.ask("/demo/sign-in", method="POST", body=b"", headers=FORM)
    of_the_demo = [browser.open(path).headers["content-security-policy"] for path in ("/", "/v/clinic", "/d/clinic")]

    assert "frame-ancestors 'none'" in of_a_server
    assert "frame-src" not in of_a_server
    assert press.status == 404
    for policy in of_the_demo:
        assert "frame-ancestors 'self'" in policy
        assert "frame-src 'self'" in policy


def test_on_loopback_it_says_how_to_let_phones_in(demo: DawrServer, browser: Browser, tmp_path: Path) -> None:
    browser.press()

    (command,) = Page(browser.open().body).commands

    assert re.search(rf"dawr demo --host 0\.0\.0\.0 --port {demo.port} --data \S+$", command)


def test_beyond_loopback_a_qr_code_leads_a_phone_to_its_number(tmp_path: Path) -> None:
    arguments = ("demo", "--data", tmp_path / "data", "--host", "0.0.0.0")
    with DawrServer(tmp_path, *arguments) as demo:
        browser = Browser(demo)
        browser.press(Host=f"127.0.0.1:{demo.port}")
        page = browser.open(Host=f"127.0.0.1:{demo.port}")
        said = demo.log.read_text()
    told = re.search(r"on a phone +(http://[0-9.]+:\d+)/v/clinic", said)

    assert f"open first     http://127.0.0.1:{demo.port}/" in said
    assert told is not None
    assert not told[1].startswith("http://0.0.0.0")
    assert f"{told[1]}{frames(page)[0]}" in Page(page.body).links
    assert Page(page.body).commands == []


def test_a_public_address_begins_the_qr_code(tmp_path: Path) -> None:
    settings = {"DAWR_PUBLIC_URL": "https://queue.example.org"}
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", **settings) as demo:
        browser = Browser(demo)
        browser.press()
        page = browser.open()

    assert f"https://queue.example.org{frames(page)[0]}" in Page(page.body).links


@pytest.mark.parametrize(("language", "words"), [("en", "One press"), ("ar", "ضغطة واحدة"), ("zh", "按一下")])
def test_the_page_speaks_three_languages(browser: Browser, language: str, words: str) -> None:
    for path in ("/", "/demo/demo-restaurant"):
        assert words in Page(browser.open(path, Accept_Language=language).body).text


@pytest.mark.parametrize("language", ["ar", "zh"])
def test_the_display_speaks_the_guides_language(browser: Browser, language: str) -> None:
    display = frames(browser.open(Accept_Language=language))[1].replace("&amp;", "&")
    shown = browser.open(display)

    assert display == f"/d/clinic?queues=xray&lang={language}"
    assert f'<html lang="{language}"' in shown.body.decode()
    assert "dawr-language" not in browser.cookies


def test_each_of_two_presses_at_once_lets_its_own_visitor_in(demo: DawrServer) -> None:
    pressed = at_once(lambda _: Browser(demo).press(), range(4))

    assert [answer.status for answer in pressed] == [303] * 4
    with Client(demo.url) as client:
        assert client.ask("/v1/queues/clinic:xray").json["waiting"] == 4
