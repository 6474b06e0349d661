"""A scripted day in which every page comes to each of its states, for `tests/browser/screenshots.py` to take pictures.

Each scene is taken before the day goes on to the next. A page that needs more than its address has a `then`.
"""

from collections.abc import Callable, Iterator

import msgspec
from playwright.sync_api import Page

from tests.browser.places import PASSWORD, Place, Taken
from tests.browser.stage import Stage
from tests.browser.windows import DESK, PHONE, PORTRAIT, TV, Size

LOOKS = ("light", "dark", "arabic")
IN_THE_HALL = ("light", "arabic")
"""Its screens are dark, whatever the machine would like."""
HERE = {"zone": "Asia/Qatar"}
MINUTES_EACH = 2
OTHER_ROOMS = {"xray": "room-102", "bio": "room-103", "int": "room-301", "sur": "room-105", "psy": "room-201"}
SILENCE_MS = 25_000
WAITING = 14
FIRST_SHOWN = 42


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str
    sizes: tuple[Size, ...] = (PHONE,)
    looks: tuple[str, ...] = LOOKS
    session: str | None = None
    is_followed: bool = False
    """It has a stream, and is complete when that is open."""
    is_demo: bool = False
    then: Callable[[Page], object] | None = None


def scenes(stage: Stage) -> Iterator[Scene]:
    """Three clinics have the same morning, and then each shows other pages."""
    yield from _start(stage)
    clinics = [stage.clinic(**HERE) for _ in range(3)]
    session = clinics[2].session()
    stage.ask("POST", f"/v1/desks/{clinics[2].slug}:room-101/open", by=session)
    yield from _before_anybody_came(clinics, session)
    lines = _morning(stage, clinics)
    yield from _visitors(clinics[0], lines[0])
    yield from _between_rooms(stage)
    yield from _hall(stage, clinics[1])
    yield from _desk(stage, clinics[2], lines[2], session)
    yield from _restaurant(stage)
    yield from _demo()


def _before_anybody_came(clinics: list[Place], session: str) -> Iterator[Scene]:
    yield Scene(name="join-empty", path=f"/v/{clinics[0].slug}")
    yield _display(clinics[1], "empty")
    yield _console(clinics[2], session, "empty")


def _start(stage: Stage) -> Iterator[Scene]:
    desk = "/sign-in?then=/staff/clinic/room-101"
    yield Scene(name="start", path="/", sizes=(DESK, PHONE))
    yield Scene(name="start-owner", path="/", sizes=(DESK,), session=stage.owner)
    yield Scene(name="start-no-such-page", path="/nowhere", sizes=(PHONE,))
    yield Scene(name="docs", path="/docs", sizes=(DESK,))
    yield Scene(name="sign-in", path=desk, sizes=(DESK, PHONE))
    yield Scene(name="sign-in-wrong", path=desk, sizes=(DESK,), then=_sign_in_wrongly)


def _visitors(clinic: Place, line: list[Taken]) -> Iterator[Scene]:
    """Their way, from the door to the end."""
    first, later = line[0], line[4]
    yield from _door(clinic)
    yield _phone("waiting", later)
    yield _phone("away", later, _lose_the_network)
    yield _phone("near", first)
    clinic.call_next()
    yield _phone("called", first)
    clinic.do("start", first.ticket)
    yield _phone("serving", first)
    clinic.do("finish", first.ticket)
    yield _phone("next-room", first)
    yield from _odd_ends(clinic, line)


def _door(clinic: Place) -> Iterator[Scene]:
    clinic.switch("close", "eye")
    clinic.switch("pause", "dnt")
    clinic.change_queue("bio", capacity=2)
    yield Scene(name="join", path=f"/v/{clinic.slug}")
    yield Scene(name="join-queue", path=f"/v/{clinic.slug}?queue=lab")
    yield Scene(name="join-journey", path=f"/v/{clinic.slug}?journey=")
    yield Scene(name="join-closed", path=f"/v/{clinic.slug}?queue=eye")
    clinic.change(active=False)
    yield Scene(name="join-inactive", path=f"/v/{clinic.slug}")
    clinic.change(active=True)


def _odd_ends(clinic: Place, line: list[Taken]) -> Iterator[Scene]:
    missed, held, left = line[1:4]
    clinic.call_next()
    clinic.do("miss", missed.ticket)
    yield _phone("missed", missed)
    clinic.do("hold", held.ticket)
    yield _phone("held", held)
    clinic.house.ask("POST", f"/v1/visits/{left.link.removeprefix('/t/')}/leave", {}, by="")
    yield _phone("left", left)
    short = clinic.take("ecg")
    clinic.call_next("room-202")
    clinic.do("start", short.ticket)
    clinic.do("finish", short.ticket)
    yield _phone("finished", short)
    yield Scene(name="phone-unknown", path=f"{left.link[:-4]}AAAA")


def _between_rooms(stage: Stage) -> Iterator[Scene]:
    clinic = stage.clinic(**HERE)
    visitor = clinic.start("aviation", visitor="first")
    for room in ("eye", "int", "ent", "ecg", "aud"):
        clinic.switch("close", room)
    clinic.call_next()
    clinic.do("start", visitor.ticket)
    clinic.do("finish", visitor.ticket)
    yield _phone("between", visitor)


def _hall(stage: Stage, clinic: Place) -> Iterator[Scene]:
    yield _display(clinic, "calm")
    clinic.call_next()
    yield _display(clinic, "call")
    yield _display(clinic, "sound", _allow_sound)
    yield _display(clinic, "stale", _lose_the_network)
    names = {2: "two", 4: "four", 6: "six"}
    for number, desk in enumerate(OTHER_ROOMS.values(), 2):
        stage.clock.advance(seconds=1)
        clinic.call_next(desk)
        if number in names:
            yield _display(clinic, names[number])
    clinic.switch("pause", "xray")
    yield _display(clinic, "notice")


def _desk(stage: Stage, clinic: Place, line: list[Taken], session: str) -> Iterator[Scene]:
    clinic.do("hold", line[6].ticket)
    yield _console(clinic, session, "next")
    yield _console(clinic, session, "walk-in", lambda page: page.locator("[data-key='walk-in']").first.click())
    yield _console(clinic, session, "keys", lambda page: page.keyboard.press("?"))
    yield _console(clinic, session, "nobody-found", _look_for_nobody)
    clinic.call_next()
    clinic.do("prioritize", line[3].ticket, priority=1, why="appointment")
    stage.clock.advance(seconds=42)
    yield _console(clinic, session, "called")
    yield _console(clinic, session, "transfer", lambda page: page.keyboard.press("t"))
    yield _console(clinic, session, "away", _lose_the_network)
    clinic.do("start", line[0].ticket)
    stage.clock.advance(seconds=95)
    yield _console(clinic, session, "serving")
    yield Scene(name="console-desks", path=f"/staff/{clinic.slug}", sizes=(DESK, PHONE), session=session)
    clinic.post(f"/v1/desks/{clinic.slug}:room-101/open")
    yield _console(clinic, session, "taken")


def _restaurant(stage: Stage) -> Iterator[Scene]:
    restaurant = stage.restaurant(**HERE)
    yield Scene(name="restaurant-join", path=f"/v/{restaurant.slug}")
    parties = []
    for number, size in enumerate((2, 4, 2, 6, 3, 2), 1):
        stage.clock.advance(minutes=4)
        parties.append(restaurant.take("waitlist", name=f"Guest {number}", party_size=size))
    yield _phone("party", parties[3])
    restaurant.call_next("host")
    stage.clock.advance(seconds=30)
    path = f"/staff/{restaurant.slug}/host"
    session = restaurant.session()
    yield Scene(name="restaurant-console", path=path, sizes=(DESK, PHONE), session=session, is_followed=True)
    yield Scene(
        name="restaurant-display", path=f"/d/{restaurant.slug}", sizes=(TV,), looks=IN_THE_HALL, is_followed=True
    )


def _demo() -> Iterator[Scene]:
    yield Scene(name="demo", path="/", sizes=(DESK,), is_demo=True)
    yield Scene(name="demo-called", path="/", sizes=(DESK,), is_demo=True, then=_press_and_call)
    yield Scene(name="demo-signed-in", path="/", sizes=(DESK, PHONE), is_demo=True, then=_press)


def _phone(state: str, taken: Taken, then: Callable[[Page], object] | None = None) -> Scene:
    ended = state in {"left", "finished"}
    return Scene(name=f"phone-{state}", path=taken.link, is_followed=not ended, then=then)


def _display(place: Place, state: str, then: Callable[[Page], object] | None = None) -> Scene:
    path = f"/d/{place.slug}"
    return Scene(
        name=f"display-{state}", path=path, sizes=(TV, PORTRAIT), looks=IN_THE_HALL, is_followed=True, then=then
    )


def _console(place: Place, session: str, state: str, then: Callable[[Page], object] | None = None) -> Scene:
    path = f"/staff/{place.slug}/room-101"
    return Scene(name=f"console-{state}", path=path, sizes=(DESK, PHONE), session=session, is_followed=True, then=then)


def _morning(stage: Stage, clinics: list[Place]) -> list[list[Taken]]:
    """Somebody comes every two minutes, and is served in two. Those who wait in the end begin with A042."""
    lines: list[list[Taken]] = [[] for _ in clinics]
    served: list[Taken | None] = [None for _ in clinics]
    for number in range(1, FIRST_SHOWN + WAITING + 1):
        stage.clock.advance(minutes=MINUTES_EACH)
        for which, (clinic, line) in enumerate(zip(clinics, lines, strict=True)):
            if (before := served[which]) is not None:
                clinic.do("finish", before.ticket)
            is_last = number == FIRST_SHOWN + WAITING
            if not is_last:
                line.append(_come(clinic, number))
            served[which] = None if is_last or len(line) <= WAITING else _call(clinic, line)
    for clinic in clinics:
        _serve_elsewhere(clinic)
    stage.clock.advance(minutes=1)
    return lines


def _come(clinic: Place, number: int) -> Taken:
    """Some of those who wait later are on a journey."""
    is_on_journey = number >= FIRST_SHOWN and number % 2 == 0
    return clinic.start(visitor=f"{number}") if is_on_journey else clinic.take("lab")


def _call(clinic: Place, line: list[Taken]) -> Taken:
    first = line.pop(0)
    assert clinic.call_next() == first.label
    return first


def _serve_elsewhere(clinic: Place) -> None:
    for room, desk in OTHER_ROOMS.items():
        first, *_ = [clinic.take(room) for _ in range(3)]
        clinic.call_next(desk)
        clinic.do("finish", first.ticket)


def _sign_in_wrongly(page: Page) -> None:
    page.locator("[name=username]").fill("noor")
    page.locator("[name=password]").fill(PASSWORD[::-1])
    with page.expect_navigation():
        page.locator("[name=password]").press("Enter")


def _look_for_nobody(page: Page) -> None:
    page.locator("input[name=find]").fill("Z999")
    page.clock.run_for(1000)
    page.locator(".nobody").wait_for()


def _lose_the_network(page: Page) -> None:
    """Twice: what was on its way still comes."""
    page.context.set_offline(offline=True)
    for _ in range(2):
        page.clock.fast_forward(SILENCE_MS)
        page.evaluate("new Promise(requestAnimationFrame)")


def _allow_sound(page: Page) -> None:
    page.mouse.click(5, 5)
    page.locator(".hint").wait_for(state="hidden")


def _press(page: Page) -> None:
    with page.expect_navigation():
        page.locator("main form button").first.click()
    for frame in page.frames[1:]:
        frame.wait_for_load_state()


def _press_and_call(page: Page) -> None:
    _press(page)
    page.frame_locator("iframe[src*='/staff/']").locator("#big:enabled").wait_for()
    page.keyboard.press("Space")
    shown = {"/t/": "[data-state=called]", "/d/": ".call:not(.idle, .last)", "/staff/": ".calling"}
    for path, call in shown.items():
        page.frame_locator(f"iframe[src*='{path}']").locator(call).wait_for()
