"""Pages are light: on an old phone with a bad connection the number is there soon."""

import pytest

from tests.browser.places import Place
from tests.browser.weight import BARS, KB, weigh
from tests.browser.windows import DESK, PHONE, TV, Windows


@pytest.mark.parametrize("page", BARS)
def test_a_first_visit_weighs_no_more_than_it_may(clinic: Place, windows: Windows, page: str) -> None:
    most, most_script = BARS[page]
    taken = [clinic.take("lab") for _ in range(12)]
    paths = {
        "join": (f"/v/{clinic.slug}", PHONE),
        "phone": (clinic.start(visitor="first").link, PHONE),
        "display": (f"/d/{clinic.slug}", TV),
        "console": (f"/staff/{clinic.slug}/room-101", DESK),
    }
    path, size = paths[page]
    assert clinic.call_next() == taken[0].label

    window = windows.open("about:blank", size, session=clinic.session() if page == "console" else None)
    weight = weigh(window, path)

    assert window.title()
    assert KB < weight.total <= most * KB, weight
    assert weight.script <= most_script * KB, weight
