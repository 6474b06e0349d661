"""A venue's own colour in a real browser: it is there at once, in light and in dark, and nothing complains."""

import re

import pytest

from dawr.web.pages.hue import sheet_of
from tests.browser.places import House
from tests.browser.windows import Windows

ACCENT = "() => getComputedStyle(document.body).getPropertyValue('--accent').trim()"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_have_the_colour_of_their_venue(house: House, windows: Windows, *, dark: bool) -> None:
    clinic, other = house.clinic(hue=300), house.clinic()
    light_accent, dark_accent, _ = re.findall(r"--accent: (#\w+)", sheet_of(300).response.body.decode())

    page = windows.open(clinic.take("lab").link, dark=dark)
    plain = windows.open(other.take("lab").link, dark=dark)

    assert page.evaluate(ACCENT) == (dark_accent if dark else light_accent)
    assert plain.evaluate(ACCENT) == ("#51cec7" if dark else "#006668")


def test_an_arabic_page_counts_in_the_digits_of_its_venue(house: House, windows: Windows) -> None:
    clinic = house.clinic(digits="arabic")
    *_, last = [clinic.take("lab") for _ in range(4)]

    page = windows.open(last.link, language="ar")

    said = page.locator("body").inner_text()
    assert "٣" in said
    assert last.label in said
    assert page.locator("html").get_attribute("data-digits") == "arabic"
