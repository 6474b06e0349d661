"""What a venue says about its pages: the language they speak, their digits and their colour."""

import re
from typing import Any

import pytest

from tests.api.pages import A_BROWSERS, Page
from tests.api.world import Api
from tests.builders import a_new
from tests.running import Answer, must_be_problem

OWNER = "owner@clinic"
SHEET = re.compile(r"/hue/(\d+)\.[0-9a-f]{12}\.css")


def set_up(api: Api, slug: str, **look: object) -> Answer:
    document = {
        "name": {"en": "A place", "ar": "مكان"},
        "zone": "Asia/Qatar",
        "queues": [{"id": "main", "name": {"en": "Main"}, "prefix": "A"}],
        **look,
    }
    return api.ask("PUT", f"/v1/venues/{slug}/set-up", document, by=OWNER)


def link_at(api: Api, **look: object) -> str:
    """Of the fourth in line at a venue that looks like this."""
    slug = a_new("place")
    assert set_up(api, slug, **look).status == 201
    *_, last = [api.take(f"{slug}:main") for _ in range(4)]
    link: str = last["link"]
    return link


def opened(api: Api, link: str, **headers: str) -> str:
    answer = api.get(link, headers={**A_BROWSERS, **{name.replace("_", "-"): said for name, said in headers.items()}})
    assert answer.status == 200
    return answer.body.decode()


def text_of(page: str) -> str:
    return " ".join(Page(page.encode()).text.split())


def test_a_look_is_kept_and_shown_as_it_was_set_up(api: Api) -> None:
    slug = a_new("place")
    look: dict[str, Any] = {"language": "zh", "digits": "arabic", "hue": 260, "display": "staff"}

    made = set_up(api, slug, **look)
    shown = api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json

    assert made.status == 201
    assert {name: shown[name] for name in look} == look
    set_up(api, slug)
    plain = api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json
    assert [plain[name] for name in look] == ["en", "latin", None, "open"]


@pytest.mark.parametrize(
    ("look", "code"),
    [
        ({"language": "fr"}, "invalid-body"),
        ({"digits": "roman"}, "invalid-body"),
        ({"display": "nobody"}, "invalid-body"),
        ({"hue": "#006668"}, "invalid-body"),
        ({"hue": 360}, "invalid-value"),
        ({"hue": -1}, "invalid-value"),
    ],
)
def test_a_look_that_cannot_be_is_refused_with_its_field(api: Api, look: dict[str, object], code: str) -> None:
    refused = set_up(api, a_new("place"), **look)

    must_be_problem(refused, 422, code)
    assert refused.json["field"] == next(iter(look))


def test_pages_speak_the_venues_language_unless_the_browser_says_one_of_ours(api: Api) -> None:
    link = link_at(api, language="ar")

    assert Page(opened(api, link).encode()).language == "ar"
    assert Page(opened(api, link, Accept_Language="fr, de;q=0.5").encode()).language == "ar"
    assert Page(opened(api, link, Accept_Language="fr, zh;q=0.1").encode()).language == "zh"


def test_arabic_pages_count_in_the_venues_digits_and_print_labels_as_on_paper(api: Api) -> None:
    link = link_at(api, digits="arabic")

    arabic, english = opened(api, link, Accept_Language="ar"), opened(api, link, Accept_Language="en")

    assert "٣ أشخاص" in text_of(arabic)
    assert "A004" in text_of(arabic)
    assert 'data-digits="arabic"' in arabic
    assert "3 people" in text_of(english)


def test_pages_of_a_venue_that_says_nothing_are_latin_and_teal(api: Api) -> None:
    page = opened(api, link_at(api), Accept_Language="ar")

    assert "3 أشخاص" in text_of(page)
    assert "data-digits" not in page
    assert SHEET.search(page) is None


def test_a_page_has_its_venues_colour_after_its_own_sheets(api: Api) -> None:
    page = opened(api, link_at(api, hue=25))

    *own, last = [address for address in Page(page.encode()).addresses if address.endswith(".css")]

    assert own
    found = SHEET.fullmatch(last)
    assert found is not None
    assert found[1] == "25"
    assert not [address for address in own if SHEET.fullmatch(address)]


def test_a_colour_is_kept_for_ever_by_browsers(api: Api) -> None:
    found = SHEET.search(opened(api, link_at(api, hue=300)))
    assert found is not None

    sheet = api.get(found[0])

    assert (sheet.status, sheet.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert sheet.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert b"--accent: #" in sheet.body


@pytest.mark.parametrize(
    "file",
    [
        "25.css",
        "25.000000000000.css",
        "360.000000000000.css",
        "025.000000000000.css",
        "%D9%A2%D9%A5.000000000000.css",
        "x",
        "%00",
    ],
)
def test_a_colour_under_another_name_is_not_there_and_kept_by_nobody(api: Api, file: str) -> None:
    answer = api.get(f"/hue/{file}")

    must_be_problem(answer, 404, "no-such-path")
    assert answer.headers["cache-control"] == "no-store"
