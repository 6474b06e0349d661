"""`dawr token`: made and told once, listed, revoked; with and without a running server."""

import re
from hashlib import sha256

from tests.cli.installations import Installation

BEARER = re.compile(r"dwt_(?P<id>\w{6}-[\w~]{32})\.(?P<secret>[\w-]{22})\n")


def new(installation: Installation, *arguments: str) -> re.Match[str]:
    made = installation.dawr("token", "new", *arguments)
    bearer = BEARER.fullmatch(made.said)
    assert bearer is not None, made
    return bearer


def test_tokens_are_made_listed_and_revoked(installation: Installation) -> None:
    installation.create_venue()

    kiosk = new(installation, "--kind", "kiosk", "--name", "By the door")["id"]
    program = new(installation, "--kind", "api", "--role", "staff", "--name", "Reports")["id"]
    revoked = installation.dawr("token", "revoke", kiosk)

    assert revoked.said == f"Token {kiosk} (By the door) is revoked.\n"
    assert installation.dawr("token", "list").said.splitlines() == [
        f"{kiosk}  kiosk  viewer  By the door  revoked",
        f"{program}  api  staff  Reports",
    ]
    assert installation.rows("SELECT kind, actor FROM events ORDER BY version") == [
        (kind, "command line") for kind in ("token.made", "token.made", "token.revoked")
    ]


def test_the_same_is_done_while_the_server_runs(embedded: Installation) -> None:
    embedded.create_venue()
    with embedded.serve() as server:
        bearer = new(embedded, "--kind", "display", "--name", "TV")
        listed = embedded.dawr("token", "list").said
        revoked = embedded.dawr("token", "revoke", bearer["id"])
        log = server.log.read_text()

    assert listed == f"{bearer['id']}  display  viewer  TV\n"
    assert revoked.exit_code == 0
    assert bearer["secret"] not in log


def test_the_secret_is_kept_as_a_hash_alone(installation: Installation) -> None:
    installation.create_venue()

    bearer = new(installation, "--kind", "kiosk", "--name", "By the door")

    rows = installation.rows("SELECT * FROM tokens") + installation.rows("SELECT * FROM events")
    assert sha256(bearer["secret"].encode()).hexdigest() in repr(rows)
    assert bearer["secret"] not in repr(rows)


CANNOT_BE = [
    (("new", "--kind", "api", "--name", "x"), "Say which role: viewer, staff, manager or owner."),
    (("new", "--kind", "kiosk", "--role", "owner", "--name", "x"), "A kiosk has the role viewer."),
    (("new", "--kind", "kiosk", "--name", " "), "A token's name has 1 to 80 characters"),
    (("new", "--kind", "kiosk", "--name", "x", "--venue", "nowhere"), "There is no venue “nowhere” here."),
    (("list", "--venue", "nowhere"), "There is no venue “nowhere” here."),
    (("revoke", "nowhere-1"), "There is no such token here."),
    (("revoke", "x"), "There is no such token here."),
    (("take-over", "nowhere-1"), "There is no such token here."),
]


def test_what_cannot_be_is_said_in_a_sentence(embedded: Installation) -> None:
    embedded.create_venue()

    done = [embedded.dawr("token", *arguments) for arguments, _ in CANNOT_BE]

    for finished, (_, sentence) in zip(done, CANNOT_BE, strict=True):
        assert (finished.exit_code, finished.complained.startswith(f"Error: {sentence}")) == (1, True), finished
    assert embedded.rows("SELECT count(*) FROM tokens") == [(0,)]


def test_whoever_is_disabled_is_named_with_their_tokens_and_others_take_them_over(installation: Installation) -> None:
    installation.create_venue()
    for name, role in (("amna", "owner"), ("basma", "manager")):
        installation.dawr("staff", "add", name, "--role", role)
    made = installation.dawr("token", "new", "--kind", "api", "--role", "manager", "--name", "Reports").said
    token = made.removeprefix("dwt_").partition(".")[0]
    line = f"{token}  api  manager  Reports"

    said = [
        installation.dawr(*arguments.split()).said
        for arguments in (
            f"token take-over {token} --for Basma",
            "staff role basma staff",
            "staff disable basma",
            "token list",
            "staff enable basma",
            f"token take-over {token} --for amna",
            "staff disable basma --venue clinic",
            f"token take-over {token}",
            "token list",
        )
    ]

    assert said == [
        f"Token {token} (Reports) answers to basma.\n",
        f"basma is staff at clinic.\n{line}  of basma  only staff now\n",
        f"basma is disabled everywhere.\n{line}  of basma  opens nothing\n",
        f"{line}  of basma  opens nothing\n",
        f"basma is enabled everywhere.\n{line}  of basma  only staff now\n",
        f"Token {token} (Reports) answers to amna.\n",
        "basma is disabled at clinic.\n",
        f"Token {token} (Reports) answers to the command line.\n",
        f"{line}\n",
    ]
