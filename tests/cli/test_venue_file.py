"""A venue's file: begun by `dawr venue new`, in TOML or JSON, with hours as people write them."""

import json
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.installations import Installation
from tests.running import Client, dawr, must_be_problem, venue_document

WEEK = [["08:00-12:00", "13:00-16:00"], ["08:00-16:00"], [], [], [], [], ["00:00-24:00"]]
IN_MINUTES = [[[480, 720], [780, 960]], [[480, 960]], [], [], [], [], [[0, 1440]]]


def with_hours(week: object, exceptions: object = None) -> str:
    return venue_document({"id": "lab", "hours": {"week": week, "exceptions": exceptions or {}}})


def hours_of(installation: Installation) -> dict[str, Any]:
    shown = installation.dawr("venue", "show", "clinic")
    found: dict[str, Any] = json.loads(shown.said)["queues"][0]["hours"]
    return found


@pytest.mark.parametrize("kind", ["clinic", "restaurant", "office"])
def test_a_new_file_can_be_applied_as_it_is_and_takes_people_at_once(
    embedded: Installation, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "mine.toml"

    made = embedded.dawr("venue", "new", "--kind", kind, file)
    applied = embedded.dawr("venue", "apply", file)

    venue = tomllib.loads(file.read_text())
    assert (made.exit_code, applied.exit_code) == (0, 0)
    assert f"dawr venue apply {file}" in made.said
    assert venue["kind"] == kind
    assert file.read_text().count("\n#") > 5
    slug, queue = venue["slug"], venue["queues"][0]["id"]
    with embedded.serve() as server, Client(server.url) as client:
        joined = client.post(f"/v1/queues/{slug}:{queue}/tickets", {"visitor": "Amna"})
        assert (joined.status, joined.json["place"]["number"]) == (201, 1)


def test_a_file_that_gives_something_twice_is_refused(embedded: Installation) -> None:
    twice = venue_document({"id": "lab"}).replace('"id": "lab"', '"id": "lab", "id": "xray"')

    applied = embedded.dawr("venue", "apply", "-", stdin=twice)

    assert applied.exit_code == 1
    assert "Id: this is given more than once" in applied.complained


@pytest.mark.parametrize("kind", ["clinic", "restaurant", "office"])
def test_what_the_comments_of_a_new_file_propose_can_be_applied_too(
    embedded: Installation, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "mine.toml"
    embedded.dawr("venue", "new", "--kind", kind, file)
    proposed = [line.removeprefix("# ") for line in file.read_text().splitlines()]
    prose = ("A ", "An ", "Every ", "Apply ", "The ", "When ", "Which ", "Where ")

    applied = embedded.dawr(
        "venue", "apply", "-", stdin="\n".join(line for line in proposed if not line.startswith(prose))
    )

    assert (applied.exit_code, applied.complained) == (0, "")
    slug = tomllib.loads(file.read_text())["slug"]
    shown = json.loads(embedded.dawr("venue", "show", slug).said)
    assert shown["queues"][-1]["capacity"] is not None
    assert shown["queues"][-1]["hours"]["exceptions"] == {"2027-01-01": []}
    assert {shown[name] for name in ("language", "digits", "hue", "display")} == {"en", "arabic", 260, "staff"}


def test_a_new_file_is_named_after_its_kind_and_its_zone_is_this_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    made = dawr("venue", "new", "--kind", "restaurant", TZ="Asia/Qatar")

    assert made.exit_code == 0
    assert tomllib.loads((tmp_path / "restaurant.toml").read_text())["zone"] == "Asia/Qatar"


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("my work")

    again = dawr("venue", "new", file)

    assert (again.exit_code, again.said) == (1, "")
    assert again.complained == f"Error: {file} is there already, and stays as it is: choose another name.\n"
    assert file.read_text() == "my work"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "mine.toml"

    done = dawr("venue", "new", file)

    assert (done.exit_code, done.complained) == (1, f"Error: {file} cannot be written: No such file or directory.\n")


def test_hours_are_shown_as_people_read_them_and_applied_again_change_nothing(installation: Installation) -> None:
    installation.dawr("venue", "apply", "-", stdin=with_hours(WEEK, {"2026-12-18": [], "2026-12-19": ["9:30 – 10:00"]}))

    shown = installation.dawr("venue", "show", "clinic").said
    again = installation.dawr("venue", "apply", "-", stdin=shown)

    assert hours_of(installation) == {"week": WEEK, "exceptions": {"2026-12-18": [], "2026-12-19": ["09:30-10:00"]}}
    assert (again.exit_code, installation.dawr("venue", "show", "clinic").said) == (0, shown)
    assert installation.rows("SELECT kind FROM events") == []


def test_minutes_go_on_working_and_mean_the_same(embedded: Installation) -> None:
    embedded.dawr("venue", "apply", "-", stdin=with_hours(IN_MINUTES))

    in_words = embedded.dawr("venue", "apply", "-", stdin=with_hours(WEEK))

    assert in_words.exit_code == 0
    assert hours_of(embedded)["week"] == WEEK
    assert embedded.rows("SELECT kind FROM events") == []
    assert embedded.rows("SELECT json_extract(document, '$.queues[0].hours.week[1][0]') FROM venues") == [
        ("[480,960]",)
    ]


REFUSED = {
    "no minutes": (["8-4"], "“8-4” is no span of opening hours: write it like 08:00-16:00."),
    "nothing": ([""], "“” is no span of opening hours"),
    "a minute too many": (["08:00-16:60"], "“08:00-16:60” is no span of opening hours"),
    "two spans in one": (["08:00-12:00, 13:00-16:00"], "is no span of opening hours"),
    "the end first": (["16:00-08:00"], "Opening hours 16:00-08:00 do not begin and end, in this order, within one day"),
    "no time at all": (["08:00-08:00"], "Opening hours 08:00-08:00 do not begin and end"),
    "after midnight": (["22:00-26:00"], "Opening hours 22:00-26:00 do not begin and end"),
    "from the end of the day": (["24:00-24:00"], "Opening hours 24:00-24:00 do not begin and end"),
    "overlapping": (["12:00-16:00", "08:00-12:01"], "Opening hours 08:00-12:01 and 12:00-16:00 overlap"),
    "minutes that overlap": ([[0, 60], [30, 90]], "Opening hours 00:00-01:00 and 00:30-01:30 overlap"),
    "huge": (["0" * 100_000], "is no span of opening hours"),
    "a number": ([8], "Queues[0]: hours: week[0][0]"),
    "three minutes": ([[1, 2, 3]], "Queues[0]: hours: week[0][0]"),
}


@pytest.mark.parametrize(("day", "sentence"), REFUSED.values(), ids=REFUSED)
def test_hours_that_cannot_be_are_refused_with_an_example(embedded: Installation, day: object, sentence: str) -> None:
    done = embedded.dawr("venue", "apply", "-", stdin=with_hours([day, [], [], [], [], [], []]))

    assert done.exit_code == 1
    assert sentence in done.complained
    assert len(done.complained) < 300


def test_the_api_takes_and_shows_the_same_document(embedded: Installation) -> None:
    embedded.create_venue()
    embedded.dawr("staff", "add", "noor", "--role", "owner", "--password-stdin", stdin="a long walk\n")
    with embedded.serve() as server, Client(server.url) as client:
        session = client.post("/v1/login", {"username": "noor", "password": "a long walk"}).json["session"]
        document = json.loads(with_hours(WEEK))
        at = "/v1/venues/clinic/set-up"

        changed = client.post(at, document, method="PUT", bearer=session)
        seen = client.get(at, bearer=session)
        document["queues"][0]["hours"]["week"][0] = ["8-4"]
        refused = client.post(at, document, method="PUT", bearer=session)

    assert (changed.status, changed.json["queues"][0]["hours"]["week"]) == (200, WEEK)
    assert seen.json["queues"][0]["hours"]["week"] == WEEK
    must_be_problem(refused, 422, "invalid-value")
    assert {name: refused.json[name] for name in ("field", "rule", "span")} == {
        "field": "hours",
        "rule": "span-form",
        "span": "8-4",
    }


NO_TOML = {
    "half a line": (b"slug = ", "it cannot be read: "),
    "no text": (b"\xff\xfe", "it cannot be read: "),
    "a key twice": (b'slug = "a"\nslug = "b"', "it cannot be read: "),
    "another type": (b"slug = 2026-01-01", "line 1: Slug: send a text."),
    "a table first": (b'[nmae]\nen = "A"', "line 1: Nmae: this is not known here."),
    "a list of tables first": (b'[[queues]]\nid = "a"\nname = 1', ""),
    "an unknown field": (
        b'slug = "a"\nzone = "UTC"\ncolour = 1\n[name]\nen = "A"',
        "line 3: Colour: this is not known here.",
    ),
    "a number that is too long": (b"day_start = " + b"9" * 5000, "a number in it has too many digits."),
    "JSON with a number that is too long": (b'{"day_start": ' + b"9" * 5000 + b"}", ""),
    "lists in lists": (b"queues = " + b"[" * 100_000 + b"]" * 100_000, "it is nested more deeply than any venue."),
    "tables in tables": (b"name = " + b"{a=" * 100_000 + b"1" + b"}" * 100_000, "it is nested more deeply than"),
    "JSON lists in lists": (b'{"queues":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested more deeply than"),
    "JSON objects in objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "it is nested more deeply than any venue."),
}


@pytest.mark.parametrize(("document", "sentence"), NO_TOML.values(), ids=NO_TOML)
def test_a_file_that_is_no_venue_is_refused(embedded: Installation, document: bytes, sentence: str) -> None:
    file = embedded.directory / "venue.toml"
    file.write_bytes(document)

    done = embedded.dawr("venue", "apply", file)

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: {file} does not describe a venue: {sentence}")


TOML = """\
slug = "clinic"
zone = "Asia/Qatar"
name.en = "A clinic"

[[queues]]
id = "lab"
name = { en = "Laboratory" }
{first}

[[queues]]
id = "xray"  # the second
{second}

[queues.name]
en = "X-ray"

[queues.hours]
week = [
  ["08:00-12:00"],
  ["{monday}"], [], [], [], [], [],
]

[[desks]]
id = "desk-1"
name = { en = "Desk" }
queues = ["{served}"]
"""
RIGHT = {"first": "", "second": "capacity = 3", "monday": "08:00-16:00", "served": "lab"}


def toml(**wrong: str) -> str:
    text = TOML
    for name, value in (RIGHT | wrong).items():
        text = text.replace(f"{{{name}}}", value)
    return text


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (
            {"second": "capasity = 3"},
            "line 12: Queues[1]: capasity: this is not known here. Leave it out. The nearest known field is capacity.",
        ),
        ({"second": "xyzzy = 3"}, "line 12: Queues[1]: xyzzy: this is not known here. Leave it out.\n"),
        ({"second": 'capacity = "many"'}, "line 12: Queues[1]: capacity: send a number."),
        ({"second": "capacity = " + "9" * 100}, "line 12: Capacity of queue xray: choose 0 to 100000."),
        ({"second": "capacity = -3"}, "line 12: Capacity of queue xray: choose 0 to 100000."),
        ({"first": "[[queues]]"}, "line 8: Queues[1]: id: this is needed."),
        ({"first": 'hours.weak = ["08:00-16:00"]'}, "line 8: Queues[0]: hours: weak: this is not known here."),
        ({"monday": "8-4"}, "line 20: “8-4” is no span of opening hours"),
        ({"monday": "16:00-08:00"}, "line 20: Opening hours 16:00-08:00 do not begin and end"),
        ({"served": "dental"}, "line 23: "),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line_and_the_nearest_field(
    embedded: Installation, wrong: dict[str, str], complaint: str
) -> None:
    assert embedded.dawr("venue", "apply", "-", stdin=toml()).exit_code == 0

    done = embedded.dawr("venue", "apply", "-", stdin=toml(**wrong))

    assert done.exit_code == 1
    assert f"<stdin> does not describe a venue: {complaint}" in done.complained


NOTED = '''\
slug = "noted"  # it's """ no string
zone = "Asia/Qatar"
name.en = """
[[queues]]
id = "no queue" """

[[queues]]
id = "lab"
name = { en = \'\'\'[[queues]]\'\'\' }
floor = \'\'\'
[[queues]]
\'\'\'

[[queues]]
id = "xray"
capacity = "many"
'''


def test_lines_within_a_string_are_no_tables(embedded: Installation) -> None:
    done = embedded.dawr("venue", "apply", "-", stdin=NOTED)

    assert "<stdin> does not describe a venue: line 16: Queues[1]: capacity: send a number." in done.complained


@pytest.mark.parametrize("is_served", [False, True])
def test_a_bad_code_in_a_new_venue_is_named_with_its_file_and_line(embedded: Installation, *, is_served: bool) -> None:
    embedded.create_venue()
    file = embedded.directory / "new.toml"
    cases = {
        toml().replace('id = "xray"', 'id = "Bad Id"'): (11, "“Bad Id” is no queue code"),
        toml(first='aliases = ["Bad Alias"]'): (8, "“Bad Alias” is no queue code"),
        toml().replace('id = "desk-1"', f'id = "{"D" * 40}"'): (24, f"“{'D' * 32}” is no desk code"),
        toml(first="".join(f'[[queues]]\nid = "q{n}"\nname.en = "Q"\n' for n in range(200))): (
            5,
            "Queues: at most 200",
        ),
    }

    with ExitStack() as stack:
        if is_served:
            stack.enter_context(embedded.serve())
        for document, (line, complaint) in cases.items():
            file.write_text(document.replace('slug = "clinic"', 'slug = "new"'))
            done = embedded.dawr("venue", "apply", file)

            assert done.exit_code == 1
            assert done.complained.startswith(f"Error: {file} does not describe a venue: line {line}: {complaint}")


def test_what_is_wrong_in_json_is_named_with_its_line_too(embedded: Installation) -> None:
    embedded.dawr("venue", "apply", "-", stdin=toml())
    shown = embedded.dawr("venue", "show", "clinic").said
    lines = shown.splitlines()
    line = next(number for number, said in enumerate(lines, 1) if '"capacity": 3' in said)

    for wrong in ('"capacity": "many"', '"capacity": -3', '"capasity": 3'):
        done = embedded.dawr("venue", "apply", "-", stdin=shown.replace('"capacity": 3', wrong))

        assert f"<stdin> does not describe a venue: line {line}: " in done.complained


LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "ur", "zh")
TOO_MANY = "Error: <stdin> does not describe a venue: line 1: Queues: at most 200 are allowed, and these are {count}.\n"


def test_a_file_with_too_many_queues_is_refused_with_the_limit(installation: Installation) -> None:
    installation.create_venue()

    done = installation.dawr("venue", "apply", "-", stdin=venue_document(*({"id": f"q{n}"} for n in range(201))))

    assert (done.exit_code, done.complained) == (1, TOO_MANY.format(count=201))
    assert len(json.loads(installation.dawr("venue", "show", "clinic").said)["queues"]) == 1


def test_a_setting_allows_more_and_a_venue_that_has_more_stays_as_it_is(embedded: Installation) -> None:
    queues = [{"id": f"q{number}"} for number in range(205)]

    made = embedded.dawr("venue", "apply", "-", stdin=venue_document(*queues), DAWR_MAX_QUEUES_PER_VENUE="205")
    with embedded.serve() as server, Client(server.url) as client:
        changed = embedded.dawr("venue", "apply", "-", stdin=venue_document({**queues[0], "prefix": "Z"}, *queues[1:]))
        grown = embedded.dawr("venue", "apply", "-", stdin=venue_document(*queues, {"id": "one-more"}))
        entered = client.enter("q0", "Amna")

    assert (made.exit_code, changed.exit_code) == (0, 0), (made, changed)
    assert (grown.exit_code, grown.complained) == (1, TOO_MANY.format(count=206))
    assert (entered.status, entered.json["display_number"]) == (200, "Z001")


def test_a_running_server_says_what_is_wrong_with_a_very_large_file(embedded: Installation) -> None:
    embedded.create_venue()
    many = venue_document(*({"id": f"queue-with-a-long-code-{number}"} for number in range(20_000)))
    long = venue_document(
        *({"id": f"q{number}", "name": dict.fromkeys(LANGUAGES, "n" * 128)} for number in range(20_000))
    )

    with embedded.serve():
        too_many = embedded.dawr("venue", "apply", "-", stdin=many)
        too_long = embedded.dawr("venue", "apply", "-", stdin=long)

    assert len(many) > 1024 * 1024
    assert (too_many.exit_code, too_many.complained) == (1, TOO_MANY.format(count="20000"))
    assert (too_long.exit_code, too_long.complained) == (
        1,
        "Error: This is larger than the 16 MiB that a running server reads.\n",
    )
