"""Options and forms that these commands share."""

from datetime import UTC, datetime

import click
import msgspec

json_option = click.option("--json", "as_json", is_flag=True, help="Say it as JSON, for scripts.")
letters_argument = click.argument("seqs", metavar="[ID]...", nargs=-1, type=click.IntRange(1, 2**63 - 1))

DAYS = ["%Y-%m-%d"]
TIMES = [*DAYS, "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ"]


def ms_of(time: datetime) -> int:
    """A time without a zone is UTC."""
    return round(time.replace(tzinfo=UTC).timestamp() * 1000)


def time_of(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def as_json(said: object) -> str:
    return msgspec.json.format(msgspec.json.encode(said), indent=2).decode()


def shown(text: str) -> str:
    """On one line, and without what a terminal would take for a command."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
