"""Sixty people come to the sample clinic for everything that it offers, and go through all its rooms.

PINs are typed right, wrong and in the wrong room; some do not come when they are called; a room is full, one is closed,
one opens late; staff take a break, begin a line anew, send people elsewhere; and a day ends with people on their way.
At its end nobody is forgotten, and nobody was anywhere twice.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.builders import MONDAY_AT_TEN, DrivenClock
from tests.running import dawr
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stories.accounting import Books, must_stand_somewhere
from tests.stories.sixty import FIRST, WITHOUT_PIN, WORDS, Clinic, Desk, Person, opened, people

IN_THE_MORNING = 54
LATE = 6
MOST_MINUTES = 150
BREAK_MINUTES = 15
MINUTE_MS = 60_000


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def test_sixty_people_go_through_all_rooms_and_nobody_is_forgotten(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "dawr.sqlite"
    url = "" if kind == "sqlite" else request.getfixturevalue("migrated_url")
    database: Database = PostgresDatabase(url) if url else SqliteDatabase(path)
    clock = DrivenClock(MONDAY_AT_TEN)
    async with opened(database, clock) as clinic:
        morning = Morning(clinic)
        await asyncio.to_thread(morning.go_by)
        await asyncio.to_thread(must_stand_somewhere, url or path)
        await asyncio.to_thread(morning.end_with_people_on_their_way)

    books = await asyncio.to_thread(Books, url or path)
    must_add_up(books, morning)
    checked = dawr("check", **({"DAWR_DATABASE_URL": url} if url else {"DAWR_DATA": tmp_path}))
    assert checked.exit_code == 0, checked


def must_add_up(books: Books, morning: "Morning") -> None:
    books.must_have_no_holes()
    books.must_have_been_in_one_place_at_a_time()
    books.must_have_nobody_left()
    books.must_have_done_each_stage_once({person.id: person.plan for person in morning.everybody})
    for visit in books.visits:
        done, first = books.finished()[visit.visit], FIRST[visit.journey]
        assert tuple(done[: len(first)]) == first[: len(done)], (visit, done)
    states = Counter(visit.state for visit in books.visits)
    assert states == {"finished": IN_THE_MORNING - 2, "left": 3, "expired": LATE}
    kinds = books.kinds()
    assert kinds["pin.failed"] == morning.failures
    assert kinds["visit.locked"] == kinds["visit.unlocked"] == 1
    assert kinds["ticket.missed"] == 3
    assert kinds["ticket.rejoined"] == 2
    assert kinds["queue.reset"] == 1
    assert kinds["desk.on_break"] == 1
    assert kinds["visit.parked"] == len(morning.parked)
    assert morning.why_parked == {"closed", "full", "outside-hours"}
    assert {event.data["why"] for event in books.events if event.data.get("why")} >= {"pin", "returned", "elderly"}


class Morning:
    """What happens, and when. Time goes by in minutes."""

    def __init__(self, clinic: Clinic) -> None:
        self.clinic = clinic
        self.everybody = people(IN_THE_MORNING + LATE)
        self.under_way: dict[str, Person] = {}
        self.desks: dict[str, Desk] = {}
        self.failures = 0
        self.old_pins: set[str] = set()
        self.parked: set[str] = set()
        """Who was told that no room takes them, and when."""
        self.why_parked: set[str] = set()
        self._incidents: dict[int, Callable[[], None]] = {
            10: self.nobody_calls_somebody,
            12: self.close_bio,
            25: self.open_bio,
            30: self.begin_break,
            35: self.somebody_goes_home,
            15: self.begin_lab_anew,
            70: self.make_room_at_aud,
        }

    def go_by(self) -> None:
        """Until everybody who came early is done."""
        self.desks = self.clinic.desks()
        for desk in self.desks.values():
            self.sit_down(desk)
        coming = iter(self.everybody[:IN_THE_MORNING])
        for minute in range(MOST_MINUTES):
            for person in islice(coming, 3):
                self.arrive(person)
            self._incidents.get(minute, lambda: None)()
            for desk in self.desks.values():
                self.work_at(desk)
            self.clinic.clock.advance(minutes=1)
            self.clinic.ring()
            if not self.under_way:
                return
        raise AssertionError(f"These are still under way: {sorted(self.under_way)}")

    # People

    def arrive(self, person: Person) -> None:
        """Most log in at the door, every third at reception; of those some come first."""
        turn = int(person.id)
        said = {"patientId": person.typed(person.id), "gender": person.gender}
        word = WORDS.get(person.exam, person.exam)
        if turn % 3:
            told = self.clinic.post("/api/v1/patient/login", {**said, "examType": word})
            person.link = told["ticket"].removeprefix("/t/")
            assert (told["data"]["examType"], told["clinic"]) == (person.exam, "lab")
            again = self.clinic.post("/api/v1/patient/login", {**said, "examType": word})
            assert (again["ticket"], again["clinic"], again["stages"]) == (None, None, [])
        else:
            first = {"priority": 1, "why": "elderly"} if turn % 15 == 0 else {}
            audience = "women" if person.gender == "female" else "men"
            given = {"journey": word, "visitor": person.id, "audience": audience, **first}
            told = self.clinic.post("/v1/venues/clinic/journeys", given, bearer=self.desks["lab"].bearer)
            person.link = told["link"].removeprefix("/t/")
        person.visit = person.link.partition(".")[0]
        self.under_way[person.id] = person

    def leave_room(self, person: Person, desk: Desk, number: int) -> None:
        """Somebody was examined, and types what they read at the desk, or misread."""
        turn = int(person.id)
        self.mistype(person, desk, number, turn)
        given = self.typing(person, desk, number, desk.pin)
        if (person.exam, desk.queue) in WITHOUT_PIN:
            given |= {"pin": None, "ticket": person.link}
        told = self.clinic.post("/api/v1/patient/verify-pin", given, key=f"{person.id}-{desk.queue}-{turn}")
        seen = self.status(person)
        assert told["status"] == "DONE"
        assert told["stages"] == seen["stages"]
        following = told["next"] and (told["next"]["clinic"], told["next"]["queueNumber"])
        assert (seen["clinic"], seen["queueNumber"]) == (following or (None, None))
        if seen["status"] == "DONE":
            del self.under_way[person.id]
        elif following is None:
            self.must_be_parked(person, seen)
        elif desk.queue == "bio":
            self.be_sent_elsewhere(person, seen)

    def mistype(self, person: Person, desk: Desk, number: int, turn: int) -> None:
        if desk.queue != "lab":
            return
        foreign = self.desks["xray"].pin
        if turn % 10 == 3:
            self.fail("pin-wrong", person, desk, number, self.nobodys_pin())
        if turn % 10 == 5:
            self.fail("pin-of-another-clinic", person, desk, number, foreign)
        if turn == 20_007:
            self.be_locked_out(person, desk, number, foreign)
        if turn == 20_008:
            self.read_an_old_pin(person, desk, number)
        self.clinic.refuses(
            "number-wrong",
            "/api/v1/patient/verify-pin",
            self.typing(person, desk, number + 1, desk.pin),
            status=403,
        )
        self.failures += 1

    def fail(self, code: str, person: Person, desk: Desk, number: int, pin: str) -> None:
        path, given = "/api/v1/patient/verify-pin", self.typing(person, desk, number, pin)
        refused = self.clinic.refuses(code, path, given, status=403)
        assert "xray" not in refused.body.decode()
        self.failures += 1

    def be_locked_out(self, person: Person, desk: Desk, number: int, foreign: str) -> None:
        """By their own link: by id and number nobody is locked."""
        path = f"/v1/visits/{person.link}/finish-stage"
        for turn in range(5):
            code, pin = ("pin-wrong", self.nobodys_pin()) if turn % 2 else ("pin-of-another-clinic", foreign)
            self.clinic.refuses(code, path, {"queue": desk.queue, "pin": pin}, status=403)
            self.failures += 1
        right = self.typing(person, desk, number, desk.pin)
        self.clinic.refuses("visit-locked", "/api/v1/patient/verify-pin", right, status=403)
        unlock = {"patientId": person.id, "action": "unlock"}
        self.clinic.post("/api/v1/admin/edit-patient", unlock, bearer=desk.bearer)

    def read_an_old_pin(self, person: Person, desk: Desk, number: int) -> None:
        """It was changed while they walked to the door: that is nobody's fault."""
        before = desk.pin
        self.old_pins.add(before)
        desk.pin = self.clinic.post("/api/v1/pin/rotate", {"clinic": "lab"}, bearer=desk.bearer)["pin"]
        old = self.typing(person, desk, number, before)
        self.clinic.refuses("pin-rotated", "/api/v1/patient/verify-pin", old, status=403)

    def be_sent_elsewhere(self, person: Person, seen: dict[str, Any]) -> None:
        """A few are sent to another room than the one that was chosen, or need one more or less."""
        turn, clinic, reception = int(person.id), self.clinic, self.desks["lab"].bearer
        other = next(s["clinic"] for s in seen["stages"] if s["state"] == "LOCKED" and s["clinic"] != "der")
        edit: dict[str, object] = {"patientId": person.id}
        if turn == 20_018:
            ticket = clinic.get(f"/v1/visits/{person.visit}/whole", bearer=reception)["ticket"]
            moved = clinic.post(f"/v1/tickets/{ticket}/transfer", {"queue": other}, bearer=reception)
            assert (moved["queue"], moved["visit"]) == (f"clinic:{other}", person.visit)
        elif turn == 20_019:
            edit |= {"action": "transfer", "clinic": "ecg"}
            person.plan.append("ecg")
        elif turn == 20_020:
            edit |= {"action": "skip", "clinic": "psy"}
            person.plan.remove("psy")
        elif turn == 20_021:
            edit |= {"action": "add", "clinic": "ecg"}
            person.plan.append("ecg")
        elif turn == 20_022:
            edit |= {"action": "force-complete", "clinic": seen["clinic"], "why": "mistake"}
        if "action" in edit:
            clinic.post("/api/v1/admin/edit-patient", edit, bearer=reception)

    def must_be_parked(self, person: Person, seen: dict[str, Any]) -> None:
        """They are told why, and when it opens if anybody knows."""
        self.parked.add(f"{person.id} {self.clinic.clock()}")
        assert seen["status"] == "READY_TO_ENTER"
        assert "READY_TO_ENTER" in {stage["state"] for stage in seen["stages"]}
        chosen = self.clinic.get("/api/v1/path/choose", ticket=person.link)
        why = {candidate["left_out"] for candidate in chosen["candidates"]}
        assert (chosen["clinic"], None in why) == (None, False), chosen
        self.why_parked |= why
        late = [one for one in chosen["candidates"] if one["left_out"] == "outside-hours"]
        assert all(one["opens_at"] == "2026-03-02 11:00" for one in late)

    def status(self, person: Person) -> dict[str, Any]:
        found: dict[str, Any] = self.clinic.get("/api/v1/patient/status", ticket=person.link)
        return found

    def typing(self, person: Person, desk: Desk, number: int, pin: str) -> dict[str, Any]:
        return {
            "patientId": person.typed(person.id),
            "clinic": desk.queue.upper(),
            "queueNumber": person.typed(str(number)) if person.odd else number,
            "pin": person.typed(pin),
        }

    def nobodys_pin(self) -> str:
        taken = self.old_pins | {desk.pin for desk in self.desks.values()}
        return next(pin for pin in (f"{number:02}" for number in range(99, -1, -1)) if pin not in taken)

    # Desks

    def sit_down(self, desk: Desk) -> None:
        self.clinic.post(f"/v1/desks/{desk.room}/open", bearer=desk.bearer)
        desk.pin = self.clinic.post(f"/v1/queues/clinic:{desk.queue}/pin", bearer=desk.bearer)["pin"]

    def work_at(self, desk: Desk) -> None:
        """Be done with whoever is here, and call the next."""
        if desk.here is not None and not self.waits_for(desk, desk.here):
            person = self.under_way[desk.here["visitor"]]
            if not person.odd:
                self.clinic.post(f"/v1/tickets/{desk.here['ticket']}/start", bearer=desk.bearer)
            self.leave_room(person, desk, desk.here["number"])
            desk.here = None
        if desk.here is None and not desk.on_break:
            called = self.clinic.post(f"/v1/desks/{desk.room}/call-next", bearer=desk.bearer)["ticket"]
            desk.here = called

    def waits_for(self, desk: Desk, ticket: dict[str, Any]) -> bool:
        """Two do not come when they are called: one is missed by staff, one by the clock. Both come back."""
        person = self.under_way[ticket["visitor"]]
        if person.missed or (int(person.id), desk.queue) not in {(20_011, "lab"), (20_013, "xray")}:
            return False
        if desk.queue == "lab":
            self.clinic.post(f"/v1/tickets/{ticket['ticket']}/miss", bearer=desk.bearer)
            self.clinic.post(f"/v1/tickets/{ticket['ticket']}/rejoin", {"where": "first"}, bearer=desk.bearer)
        elif self.state_of(ticket, desk) == "called":
            return True
        else:
            assert self.state_of(ticket, desk) == "missed"
            self.clinic.post(f"/v1/visits/{person.link}/rejoin")
        person.missed, desk.here = True, None
        return True

    def state_of(self, ticket: dict[str, Any], desk: Desk) -> str:
        return str(self.clinic.get(f"/v1/tickets/{ticket['ticket']}", bearer=desk.bearer)["state"])

    # What befalls the clinic

    def nobody_calls_somebody(self) -> None:
        """They were examined all the same, and know the PIN: that is enough, and counted."""
        person = self.under_way["20016"]
        seen = self.status(person)
        assert (seen["status"], seen["clinic"], seen["ahead"] > 0) == ("WAITING", "lab", True)
        self.leave_room(person, self.desks["lab"], seen["queueNumber"])

    def close_bio(self) -> None:
        self.clinic.post("/v1/queues/clinic:bio/close", bearer=self.clinic.manager)

    def open_bio(self) -> None:
        """Whoever found it closed is let in by the clock."""
        self.clinic.post("/v1/queues/clinic:bio/open", bearer=self.clinic.manager)

    def begin_break(self) -> None:
        """The clock ends it."""
        desk = self.desks["sur"]
        until = self.clinic.clock() + BREAK_MINUTES * MINUTE_MS
        self.clinic.post(f"/v1/desks/{desk.room}/break", {"until": until}, bearer=desk.bearer)
        desk.on_break = True
        self._incidents[30 + BREAK_MINUTES] = self.end_break

    def end_break(self) -> None:
        desk = self.desks["sur"]
        assert self.clinic.get(f"/v1/desks/{desk.room}", bearer=desk.bearer)["desk"]["state"] == "open"
        desk.on_break = False

    def somebody_goes_home(self) -> None:
        """One says so on their phone, one at reception."""
        first, second = (self.under_way.pop(who) for who in ("20048", "20049"))
        self.clinic.post(f"/v1/visits/{first.link}/leave")
        self.clinic.post(f"/v1/visits/{second.visit}/end", bearer=self.desks["lab"].bearer)

    def begin_lab_anew(self) -> None:
        """Everybody who waited there enters again: half by themselves, half with the help of reception."""
        reception = self.desks["lab"].bearer
        self.clinic.post("/v1/queues/clinic:lab/reset", bearer=self.clinic.manager)
        thrown_out = [person for person in self.under_way.values() if self.is_ready_for(person, "lab")]
        assert len(thrown_out) >= 20
        for person in thrown_out:
            if person.odd:
                assert self.clinic.post("/api/v1/path/choose", {"ticket": person.link})["clinic"] == "lab"
            else:
                self.clinic.post(f"/v1/visits/{person.visit}/enter-stage", bearer=reception)
            assert self.status(person)["clinic"] == "lab"

    def is_ready_for(self, person: Person, queue: str) -> bool:
        return {"clinic": queue, "state": "READY_TO_ENTER"}.items() <= {
            name: value
            for stage in self.status(person)["stages"]
            if stage["clinic"] == queue
            for name, value in stage.items()
        }.items()

    def make_room_at_aud(self) -> None:
        """Some have nothing left but the room that is full."""
        waiting = [person for person in self.under_way.values() if self.is_ready_for(person, "aud")]
        assert waiting
        self.clinic.set_up("aud", capacity=100)

    # The end

    def end_with_people_on_their_way(self) -> None:
        """One of each: missed, held, served, called, waiting, and one whom no room takes."""
        clinic, lab = self.clinic, self.desks["lab"]
        late = self.everybody[IN_THE_MORNING:]
        for person in late:
            self.arrive(person)
        clinic.post("/v1/queues/clinic:xray/close", bearer=clinic.manager)
        parked, *others = [
            clinic.get(f"/v1/visits/{person.visit}/whole", bearer=lab.bearer)["ticket"] for person in late
        ]
        for ticket, verbs in zip(
            (parked, *others), ("call finish", "call miss", "hold", "call start", "call"), strict=False
        ):
            for verb in verbs.split():
                clinic.post(f"/v1/tickets/{ticket}/{verb}", bearer=lab.bearer)
        self.must_be_parked(late[0], self.status(late[0]))

        clinic.clock.advance(hours=24)
        clinic.sweep()
        clinic.ring()
        assert {self.status(person)["status"] for person in late} == {"LEFT"}
        self.begin_another_day(late[0])

    def begin_another_day(self, person: Person) -> None:
        """They come again, with yesterday's PIN in mind, and think better of it."""
        lab = self.desks["lab"]
        before = lab.pin
        self.arrive(person)
        assert self.status(person)["queueNumber"] == 1
        self.fail("pin-wrong", person, lab, 1, before)
        self.sit_down(lab)
        self.clinic.post("/api/v1/patient/verify-pin", self.typing(person, lab, 1, lab.pin))
        self.must_be_parked(person, self.status(person))
        self.clinic.post(f"/v1/visits/{person.link}/leave")
