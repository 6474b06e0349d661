"""The first hour of somebody with a clinic of their own: form, file, staff, a morning, damage, a move, old clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import Client, DawrServer, must_be_problem
from tests.stories.newcomer import PASSWORD, SLUG, Newcomer, command_in, commands_on, cookie_of, damage


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path, {"DAWR_DATA": tmp_path / "data"})


@pytest.fixture
def opened(newcomer: Newcomer) -> Iterator[DawrServer]:
    """Set up from a file, with a slug of their own, and somebody at the desk."""
    assert newcomer.types("venue", "apply", newcomer.writes_the_venues_file()).exit_code == 0
    added = newcomer.types("staff", "add", "huda", "--role", "owner", "--password-stdin", stdin=PASSWORD)
    assert added.exit_code == 0, added
    with newcomer.serves() as server:
        yield server


def sign_in(client: Client) -> str:
    answer = client.post("/v1/login", {"username": "huda", "password": PASSWORD})
    assert answer.status == 200, answer
    return str(answer.json["session"])


def test_the_form_leads_to_a_clinic_and_its_next_steps(newcomer: Newcomer) -> None:
    with newcomer.serves() as server:
        done = newcomer.fills_in_the_form(server)
        page = newcomer.looks_at(server, done.headers["location"], Cookie=cookie_of(done), Accept="text/html")
        steps = commands_on(page)
        typed = newcomer.types_in_shell(*steps)

        assert (done.status, page.status) == (303, 200)
        assert len(steps) >= 3
        assert typed.exit_code == 0, typed
        assert f'href="/v/{SLUG}"' in page.body.decode()
        assert newcomer.looks_at(server, "/first-run?code=anything").status == 410
        with Client(server.url) as client:  # the clinic door is theirs, though nobody has named its venue
            assert client.enter("laboratory", "Amna").json["yourNumber"] == 1


def test_a_morning_at_a_clinic_of_ones_own(newcomer: Newcomer, opened: DawrServer) -> None:
    assert newcomer.types("staff", "add", "sami", "--role", "staff", "--password-stdin", stdin=PASSWORD).exit_code == 0
    kiosk = newcomer.types("token", "new", "--kind", "kiosk", "--name", "Door").said.split()[-1]
    with Client(opened.url) as client:
        staff = sign_in(client)
        status = client.get(f"/v1/queues/{SLUG}:lab").json
        taken = [
            client.post(f"/v1/queues/{SLUG}:lab/tickets", {"visitor": f"V{number}"}, bearer=kiosk).json
            for number in range(1, 6)
        ]
        called = client.post(f"/v1/desks/{SLUG}:room-101/call-next", {}, bearer=staff).json
        finished = client.post("/api/v1/queue/done", {"clinic": "lab", "user": "V5"}, bearer=staff)
        after = client.get(f"/v1/queues/{SLUG}:lab").json
        link = client.ask(taken[2]["link"], headers={"Accept": "text/html", "Accept-Language": "ar"})

    assert (status["joinable"], status["waiting"]) == (True, 0)
    assert [each["place"]["label"] for each in taken] == ["L001", "L002", "L003", "L004", "L005"]
    assert called["ticket"]["label"] == "L001"
    assert finished.status == 200
    assert (after["current"], after["waiting"]) == (1, 3)  # whoever was finished while waiting was not called
    assert "L003" in link.body.decode()
    assert 'dir="rtl"' in link.body.decode()


def test_a_damaged_file_is_said_to_be_and_the_way_out_leads_out(newcomer: Newcomer, opened: DawrServer) -> None:
    with Client(opened.url) as client:
        before = [client.enter("lab", f"V{number}").json["yourNumber"] for number in range(1, 41)]
    copy = newcomer.home / "copy.sqlite"
    assert newcomer.types("backup", copy).exit_code == 0
    opened.stop()
    damage(newcomer.data / "dawr.sqlite")

    refused = newcomer.types("serve")
    checked = newcomer.types("check")
    way_out = command_in(refused.complained)
    restored = newcomer.types(*[copy if "BACKUP" in word or "FILE" in word else word for word in way_out])

    assert refused.exit_code != 0
    assert checked.exit_code != 0
    assert way_out[0] == "restore"
    assert restored.exit_code == 0, restored
    opened.start()
    with Client(opened.url) as client:
        assert client.enter("lab", "V7").json["yourNumber"] == 7
        assert client.enter("lab", "somebody new").json["yourNumber"] not in before


def test_a_move_to_postgresql_cannot_be_taken_back_while_it_is_used(
    newcomer: Newcomer, opened: DawrServer, postgres_url: str, tmp_path: Path
) -> None:
    with Client(opened.url) as client:
        here = [client.enter("lab", f"V{number}").json["yourNumber"] for number in range(1, 4)]
    opened.stop()
    assert newcomer.types("migrate", "--to", postgres_url).exit_code == 0
    (tmp_path / "there").mkdir()

    with DawrServer(tmp_path / "there", "serve", DAWR_DATABASE_URL=postgres_url) as there:
        with Client(there.url) as client:
            moved = client.enter("lab", "V4").json["yourNumber"]
        used = newcomer.types("migrate", "--back", "--from", postgres_url, "--even-though-numbers-were-given")
    changed = newcomer.types("migrate", "--back", "--from", postgres_url)
    back = newcomer.types("migrate", "--back", "--from", postgres_url, "--even-though-numbers-were-given")

    assert (used.exit_code, changed.exit_code, back.exit_code) == (1, 1, 0)
    assert "--even-though-numbers-were-given" in changed.complained
    opened.start()
    with Client(opened.url) as client:
        anew = client.enter("lab", "somebody new").json
    assert anew["yourNumber"] not in {*here, moved}


def test_a_client_of_the_old_system_goes_on_working(newcomer: Newcomer, opened: DawrServer) -> None:
    with Client(opened.url) as client:
        healthy = client.get("/api/v1/status").json
        entered = client.post(
            "/api/v1/queue/enter", {"clinic": "lab", "user": "Amna", "gender": "female", "isAutoEntry": True}
        ).json
        anybody = client.get("/api/v1/queue/status", clinic="lab", _=1_700_000_000).json
        seen = client.get("/api/v1/queue/status", clinic="lab", bearer=sign_in(client))
        wrong = client.ask("/v1/queues/lab", headers={"Accept-Language": "ar"})

    assert (healthy["success"], healthy["status"], healthy["backend"]) == (True, "healthy", "up")
    assert (entered["yourNumber"], entered["current"]) == (1, None)
    assert "list" not in anybody
    assert [(row["number"], row["user"]) for row in seen.json["list"]] == [(1, "Amna")]
    assert "no-store" in seen.headers["cache-control"]
    must_be_problem(wrong, 404, "unknown-queue")
