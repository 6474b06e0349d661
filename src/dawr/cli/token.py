"""`dawr token`: bearer tokens for programs, kiosks and displays. Also while the server runs."""

import click
import msgspec

from dawr.bootstrap import COMMAND_LINE, Dawr
from dawr.cli import one_writer
from dawr.cli.options import data_option, settings_of, venue_option
from dawr.domain import Role, TokenId, TokenKind
from dawr.domain.errors import UnknownToken, UnknownVenue
from dawr.domain.staff import ROLES
from dawr.domain.token import venue_of
from dawr.operations.tokens import LookAtTokens, RevokeToken, TakeTokenOver, TokenState
from dawr.settings import Settings


class NewToken(msgspec.Struct, frozen=True, tag="new"):
    venue: str
    kind: TokenKind
    name: str
    role: Role | None = None


class RevokedToken(msgspec.Struct, frozen=True, tag="revoke"):
    token_id: str


class TakenToken(msgspec.Struct, frozen=True, tag="take-over"):
    token_id: str
    username: str | None = None


TokenChange = NewToken | RevokedToken | TakenToken
"""What `dawr token` asks for."""


@click.group("token")
def command() -> None:
    """Make, list, revoke and take over bearer tokens."""


@command.command("new")
@data_option
@venue_option
@click.option("--kind", type=click.Choice(("api", "kiosk", "display")), required=True, help="Who will hold it.")
@click.option("--role", type=click.Choice(ROLES), help="What an API token may; a kiosk or display has its own.")
@click.option("--name", metavar="TEXT", required=True, help="What it is for, or where it stands.")
def new(data: str | None, venue: str | None, kind: TokenKind, role: Role | None, name: str) -> None:
    """Make a token and print it. It is told this once."""
    settings = settings_of(data=data)
    _write(settings, NewToken(one_writer.chosen_venue(settings, venue), kind, name, role))


@command.command("revoke")
@data_option
@click.argument("token_id", metavar="ID")
def revoke(data: str | None, token_id: str) -> None:
    """End the token ID at once."""
    _write(settings_of(data=data), RevokedToken(token_id))


@command.command("take-over")
@data_option
@click.option("--for", "name", metavar="NAME", help="Who answers for it from now on; by default the command line.")
@click.argument("token_id", metavar="ID")
def take_over(data: str | None, name: str | None, token_id: str) -> None:
    """Let somebody else answer for the token ID: it may never more than they may."""
    _write(settings_of(data=data), TakenToken(token_id, name))


@command.command("list")
@data_option
@venue_option
def list_tokens(data: str | None, venue: str | None) -> None:
    """Print a venue's tokens: id, kind, role, name, who answers for it, and what it may if that is less."""
    settings = settings_of(data=data)
    for state in one_writer.look(settings, one_writer.chosen_venue(settings, venue), LookAtTokens()):
        click.echo(line_of(state))


def line_of(state: TokenState) -> str:
    """What a list says of a token. That it is the command line's own is not said."""
    token = state.token
    whose = [] if state.username is None else [f"of {state.username or 'nobody'}"]
    return "  ".join((token.token_id, token.kind, token.role, token.name, *whose, *_less(state)))


def _less(state: TokenState) -> list[str]:
    """What it may, if that is less than its role."""
    if not state.token.is_active:
        return ["revoked"]
    if state.may is None:
        return ["opens nothing"]
    return [] if state.may == state.token.role else [f"only {state.may} now"]


async def change(dawr: Dawr, change: TokenChange) -> str:
    """What a tool asks for, done, and said: a new token is its bearer text alone, ready to be piped."""
    if isinstance(change, NewToken):
        venue_id = await dawr.engine.find_venue(change.venue)
        making, bearer = dawr.accounts.new_token(
            venue_id,
            change.kind,
            change.role,
            change.name,
            made_by=COMMAND_LINE.actor or "",
            account_id=None,
        )
        await one_writer.do(dawr, venue_id, making)
        return bearer
    token_id = TokenId(change.token_id)
    changing = (
        RevokeToken(token_id, None)
        if isinstance(change, RevokedToken)
        else TakeTokenOver(token_id, change.username, None)
    )
    try:
        state = await one_writer.do(dawr, venue_of(token_id), changing)
    except UnknownVenue:
        raise UnknownToken from None
    called = f"Token {token_id} ({state.token.name})"
    if not state.token.is_active:
        return f"{called} is revoked."
    return ": ".join((f"{called} answers to {state.username or 'the command line'}", *_less(state))) + "."


def _write(settings: Settings, asked: TokenChange) -> None:
    click.echo(one_writer.write(settings, "change-token", asked, lambda dawr: change(dawr, asked)))
