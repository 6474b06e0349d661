"""`dawr staff`: who works where, with which role and password. Also while the server runs."""

import sys
from collections.abc import Iterable
from typing import Literal

import click
import msgspec

from dawr.bootstrap import COMMAND_LINE, Dawr
from dawr.cli import one_writer
from dawr.cli.options import data_option, settings_of, venue_option
from dawr.cli.token import line_of
from dawr.domain import Role
from dawr.domain.account import checked_username
from dawr.domain.errors import InvalidValue
from dawr.domain.staff import ROLES
from dawr.operations.people import ChangeRole, DisableStaff, EnableStaff, LookAtStaff
from dawr.operations.tokens import TokenState
from dawr.settings import Settings

role_option = click.option("--role", type=click.Choice(ROLES), required=True, help="What they may do there.")
somewhere_option = click.option("--venue", metavar="SLUG", help="Only at this venue; everywhere by default.")
password_option = click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")


class StaffChange(msgspec.Struct, frozen=True):
    """What `dawr staff` asks for."""

    verb: Literal["add", "role", "disable", "enable", "password", "unlock"]
    username: str
    venue: str | None = None
    role: Role | None = None
    password: str | None = None
    """None: make one, and tell it."""


@click.group("staff")
def command() -> None:
    """Add staff, change their roles and passwords, disable, enable and unlock them."""


@command.command("add")
@data_option
@venue_option
@role_option
@password_option
@click.argument("name")
def add(*, data: str | None, venue: str | None, role: Role, password_stdin: bool, name: str) -> None:
    """Add NAME to a venue. Whoever has an account already keeps their password."""
    settings = settings_of(data=data)
    slug = one_writer.chosen_venue(settings, venue)
    _write(settings, StaffChange("add", name, slug, role, _given_password(from_stdin=password_stdin)))


@command.command("role")
@data_option
@venue_option
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
def change_role(data: str | None, venue: str | None, name: str, role: Role) -> None:
    """Give NAME another ROLE at a venue."""
    settings = settings_of(data=data)
    _write(settings, StaffChange("role", name, one_writer.chosen_venue(settings, venue), role))


@command.command("disable")
@data_option
@somewhere_option
@click.argument("name")
def disable(data: str | None, venue: str | None, name: str) -> None:
    """Shut NAME out, and say which tokens they answer for."""
    _write(settings_of(data=data), StaffChange("disable", name, venue))


@command.command("enable")
@data_option
@somewhere_option
@click.argument("name")
def enable(data: str | None, venue: str | None, name: str) -> None:
    """Let NAME in again."""
    _write(settings_of(data=data), StaffChange("enable", name, venue))


@command.command("password")
@data_option
@password_option
@click.argument("name")
def password(*, data: str | None, password_stdin: bool, name: str) -> None:
    """Give NAME a new password, and end their sessions."""
    given = _given_password(from_stdin=password_stdin)
    _write(settings_of(data=data), StaffChange("password", name, password=given))


@command.command("unlock")
@data_option
@click.argument("name")
def unlock(data: str | None, name: str) -> None:
    """Let NAME try passwords again, at once and from everywhere."""
    _write(settings_of(data=data), StaffChange("unlock", name))


@command.command("list")
@data_option
@venue_option
def list_staff(data: str | None, venue: str | None) -> None:
    """Print who works at a venue: name, role, and whether they are disabled."""
    settings = settings_of(data=data)
    for member in one_writer.look(settings, one_writer.chosen_venue(settings, venue), LookAtStaff()):
        state = "" if member.is_active else "  disabled"
        click.echo(f"{member.username}  {member.role}{state}")


async def change(dawr: Dawr, change: StaffChange) -> str:
    """What a tool asks for, done, and said in a sentence."""
    name = change.username.strip().lower()
    if change.verb == "password":
        return await _set_password(dawr, name, change.password)
    if change.venue is None:
        return await _everywhere(dawr, name, change.verb)
    if change.verb == "add":
        return await _add(dawr, change)
    if change.verb == "disable":
        changed = await one_writer.do(dawr, change.venue, DisableStaff(name, None))
        await dawr.accounts.sign_out_unless_member(name)
        return _with_tokens(f"{name} is disabled at {change.venue}.", changed.tokens)
    if change.verb == "enable":
        return await _enable(dawr, name, change.venue)
    changed = await one_writer.do(dawr, change.venue, ChangeRole(name, _role(change), None))
    return _with_tokens(f"{name} is {changed.member.role} at {change.venue}.", changed.tokens)


async def _enable(dawr: Dawr, name: str, venue: str) -> str:
    changed = await one_writer.do(dawr, venue, EnableStaff(name, None))
    if await dawr.accounts.is_disabled(name):
        shut_out = f"the whole account is disabled and opens nothing until `dawr staff enable {name}`"
        return f"{name} is enabled at {venue}, but {shut_out}."
    return _with_tokens(f"{name} is enabled at {venue}.", changed.tokens)


async def _add(dawr: Dawr, change: StaffChange) -> str:
    name, venue = checked_username(change.username), change.venue or ""
    had_account = await dawr.store.accounts.find(name) is not None
    password = dawr.ids.token() if change.password is None else change.password
    venue_id = await dawr.engine.find_venue(venue)
    adding = await dawr.accounts.add_staff(name, _role(change), password, by=None, known_to={})
    await one_writer.do(dawr, venue_id, adding)
    added = f"{name} is {change.role} at {venue}."
    if had_account:
        return f"{added} The account was there already, and keeps its password."
    return added if change.password is not None else f"{added} The password is {password}"


async def _set_password(dawr: Dawr, name: str, given: str | None) -> str:
    password = dawr.ids.token() if given is None else given
    await dawr.accounts.set_password(name, password)
    told = "." if given is not None else f": it is {password}"
    return f"{name} has a new password{told}"


async def _everywhere(dawr: Dawr, name: str, verb: str) -> str:
    if verb == "unlock":
        await dawr.accounts.unlock(name)
        return f"{name} is unlocked: wrong passwords from before no longer count."
    if verb == "disable":
        tokens = await dawr.accounts.disable(name, origin=COMMAND_LINE)
    elif verb == "enable":
        tokens = await dawr.accounts.enable(name, origin=COMMAND_LINE)
    else:
        raise InvalidValue("venue", "which-venue")
    return _with_tokens(f"{name} is {verb}d everywhere.", tokens)


def _with_tokens(said: str, tokens: Iterable[TokenState]) -> str:
    """And a line for each token that they answer for."""
    return "\n".join((said, *map(line_of, tokens)))


def _role(change: StaffChange) -> Role:
    if change.role is None:
        raise InvalidValue("role", "which-role")
    return change.role


def _write(settings: Settings, asked: StaffChange) -> None:
    click.echo(one_writer.write(settings, "change-staff", asked, lambda dawr: change(dawr, asked)))


def _given_password(*, from_stdin: bool) -> str | None:
    """None: nobody is there to type one."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))
    return None
