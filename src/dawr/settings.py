"""Every setting in one frozen table: name, default, range, help.

`DAWR_` and the name in capitals is its environment variable. They are read once, by
the command that starts; a value out of range is a sentence, not a stack trace.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

PREFIX = "DAWR_"


class Settings(msgspec.Struct, frozen=True):
    data: Annotated[
        str, Meta(min_length=1, description="Directory of the embedded database, its lock and its control socket.")
    ] = "data"
    database_url: Annotated[
        str, Meta(description="postgresql://… for the scaled profile; empty is the embedded SQLite file.")
    ] = ""
    redis_url: Annotated[
        str, Meta(description="redis://… of a Redis or Valkey that all processes share; several processes need one.")
    ] = ""
    hosts: Annotated[
        int, Meta(ge=1, le=1000, description="Hosts that serve this installation: limits are shared by so many.")
    ] = 1
    host: Annotated[str, Meta(min_length=1, description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Port to listen on; 0 takes any free one.")] = 8787
    tls_cert: Annotated[
        str, Meta(description="File of the TLS certificate, with its chain (PEM); empty speaks plain HTTP.")
    ] = ""
    tls_key: Annotated[str, Meta(description="File of the certificate's private key (PEM), without a password.")] = ""
    public_url: Annotated[
        str, Meta(description="Where visitors' phones find this server, https://…: QR codes and links begin with it.")
    ] = ""
    hsts_subdomains: Annotated[
        Literal["on", "off"],
        Meta(description="Whether browsers are to use https for every host below this one too, for a year."),
    ] = "off"
    workers: Annotated[int, Meta(ge=1, le=64, description="Processes that serve. The embedded profile has one.")] = 1
    clinic_venue: Annotated[
        str, Meta(description="Slug of the venue that the clinic door `/api/v1` opens to; empty is the only clinic.")
    ] = ""
    lanes: Annotated[
        int,
        Meta(
            ge=1, le=64, description="Batches that may be under way at once on PostgreSQL; a venue stays in its lane."
        ),
    ] = 4
    batch_limit: Annotated[int, Meta(ge=1, le=1000, description="Most commands in one transaction.")] = 256
    most_waiting: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Commands that may wait in a lane before new ones are refused as busy."),
    ] = 10_000
    answers_kept_hours: Annotated[
        int,
        Meta(
            ge=24,
            le=24 * 30,
            description="How long the answer to a request with an Idempotency-Key is kept, in hours that it runs.",
        ),
    ] = 48
    rate_limits: Annotated[
        Literal["on", "off"], Meta(description="Off for load runs only: then nobody is held back.")
    ] = "on"
    limit_clinic_join: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Numbers per minute and address at the clinic door.")
    ] = 60
    limit_join: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Joins per minute and address at the restaurant door, `/v1` and `/v/`."),
    ] = 20
    limit_look: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Other requests per minute and address, of those who have no role there."),
    ] = 600
    limit_visit: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Requests per minute of whoever holds a visitor's link, by the link.")
    ] = 120
    limit_caller: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Requests per minute of one account or API token, where it has a role."),
    ] = 1200
    limit_device: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Requests per minute of one kiosk or display at its venue.")
    ] = 1200
    limit_venue_tokens: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Requests per minute of all tokens and devices of one venue together."),
    ] = 12_000
    limit_retry: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Requests per minute with an Idempotency-Key, past any of these limits."),
    ] = 120
    limit_guess: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Visitors' links per minute and address that open nothing.")
    ] = 600
    limit_mobile: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Joins per hour of one mobile number at one restaurant.")
    ] = 3
    limit_login: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Wrong passwords per 15 minutes, for one account from one address.")
    ] = 5
    limit_login_account: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Wrong passwords per day for one account, from all addresses.")
    ] = 100
    limit_login_address: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Wrong passwords per day from one address, for all accounts.")
    ] = 50
    most_venues_per_account: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Venues that one account may own and still make another.")
    ] = 50
    max_queues_per_venue: Annotated[int, Meta(ge=1, le=5000, description="Queues that a venue may be set up with.")] = (
        200
    )
    max_desks_per_venue: Annotated[int, Meta(ge=1, le=5000, description="Desks that a venue may be set up with.")] = 200
    max_journeys_per_venue: Annotated[
        int, Meta(ge=1, le=5000, description="Journeys that a venue may be set up with.")
    ] = 50
    undo_minutes: Annotated[
        int, Meta(ge=1, le=24 * 60, description="How long staff can undo what happened last to a ticket.")
    ] = 10
    stream_seconds: Annotated[
        int, Meta(ge=10, le=86_400, description="How long an event stream stays open before the client resumes it.")
    ] = 300
    most_streams_per_address: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Event streams of one address; a whole clinic may have but one.")
    ] = 500
    most_visit_streams_per_address: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Event streams of all visitors' links from one address together.")
    ] = 5000
    max_connections_per_address: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Connections that one address may have open, except trusted proxies.")
    ] = 1024
    cors_origins: Annotated[
        str, Meta(description="Sites whose pages may call the API with a bearer token, separated by commas.")
    ] = ""
    trusted_proxies: Annotated[
        str,
        Meta(description="Networks whose X-Forwarded-For and X-Forwarded-Proto are believed, separated by commas."),
    ] = "127.0.0.0/8,::1/128"
    session_hours: Annotated[
        int, Meta(ge=1, le=24 * 90, description="How long somebody stays signed in, whatever they do.")
    ] = 24 * 7
    session_idle_hours: Annotated[
        int, Meta(ge=1, le=24 * 90, description="How long somebody stays signed in without doing anything.")
    ] = 12
    metrics_token: Annotated[
        str, Meta(description="Bearer token that opens `/metrics`; empty keeps it closed on this address.")
    ] = ""
    metrics_port: Annotated[
        int, Meta(ge=0, le=65535, description="Port on which `/metrics` is open to whoever reaches it; 0 is none.")
    ] = 0
    metrics_host: Annotated[str, Meta(min_length=1, description="Address of the metrics port.")] = "127.0.0.1"
    traffic: Annotated[
        Literal["on", "off"], Meta(description="Whether requests are counted in the traffic statistics.")
    ] = "on"
    traffic_queue: Annotated[
        str, Meta(min_length=1, max_length=100, description="Name of the queue between the spools and the statistics.")
    ] = "traffic-events"
    traffic_dead_letters: Annotated[
        str, Meta(min_length=1, max_length=100, description="Name of what is put aside because it cannot be counted.")
    ] = "traffic-events-dlq"
    traffic_batch: Annotated[int, Meta(ge=1, le=100, description="Most events that are counted together.")] = 100
    traffic_batch_seconds: Annotated[
        int, Meta(ge=1, le=60, description="How long an event waits for others to be counted with.")
    ] = 5
    traffic_retries: Annotated[
        int, Meta(ge=0, le=10, description="How often an event that cannot be counted is tried again.")
    ] = 3
    traffic_concurrency: Annotated[
        int, Meta(ge=1, le=1, description="Batches counted at once over all hosts: one, and no other number.")
    ] = 1
    traffic_details_percent: Annotated[
        int, Meta(ge=0, le=100, description="Share of requests kept in detail; all are counted.")
    ] = 100
    traffic_details_per_hour: Annotated[
        int, Meta(ge=0, le=1_000_000_000, description="Most requests of an hour kept in detail; all are counted.")
    ] = 1_000_000
    traffic_free_mb: Annotated[
        int, Meta(ge=0, le=1_000_000_000, description="Free disk space in MB below which no details are kept.")
    ] = 1_000
    traffic_visitors: Annotated[
        Literal["on", "off"], Meta(description="Whether visitors are told apart, by a hash that nobody can undo.")
    ] = "on"
    traffic_agents: Annotated[
        Literal["on", "off"], Meta(description="Whether the family of the browser or program is kept.")
    ] = "on"
    traffic_client_header: Annotated[
        str, Meta(description="Header in which a trusted proxy says whose request it is, before X-Forwarded-For.")
    ] = "cf-connecting-ip"
    traffic_request_id_header: Annotated[
        str, Meta(description="Header in which a trusted proxy says which request it is: a repeat counts once.")
    ] = "cf-ray"
    traffic_country_header: Annotated[
        str, Meta(description="Header in which a trusted proxy says a request's country; empty keeps none.")
    ] = ""
    traffic_log: Annotated[
        Literal["on", "off"], Meta(description="Whether each event is logged on its way, with its id.")
    ] = "off"
    traffic_details_days: Annotated[
        int, Meta(ge=1, le=60, description="Days that details stay in the database before they are archived.")
    ] = 3
    traffic_archive_days: Annotated[
        int, Meta(ge=0, le=36_500, description="Days that archives are kept; 0 keeps them.")
    ] = 0
    traffic_key: Annotated[
        str, Meta(description="File of the key that addresses are hashed with; empty is `traffic/key` in the data.")
    ] = ""
    log_format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="How logs look; `auto` is readable on a terminal, and JSON elsewhere."),
    ] = "auto"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least level that is logged.")
    ] = "info"


def as_environment(settings: Settings) -> dict[str, str]:
    """For a process that is to have the same settings."""
    return {PREFIX + name.upper(): str(value) for name, value in msgspec.structs.asdict(settings).items()}


class SettingUnfit(Exception):
    """A setting cannot be used; the sentence says which and why."""


def from_environment(environment: Mapping[str, str], **given: str | int | None) -> Settings:
    """The settings of the environment, overruled by what was given on the command line."""
    values: dict[str, str | int] = {
        name: environment[PREFIX + name.upper()].strip()
        for name in Settings.__struct_fields__
        if PREFIX + name.upper() in environment
    }
    values.update({name: value for name, value in given.items() if value is not None})
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        sentence, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`")
        raise SettingUnfit(
            f"{PREFIX}{name.upper()} ({name}={values.get(name)!r}) cannot be used: {sentence}."
        ) from error


def unknown(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings and are none, probably a slip of the pen, each with a sentence about it."""
    known = {PREFIX + name.upper() for name in Settings.__struct_fields__}
    return {
        name: f"{name} is set, but is no setting of this version{_nearest(name)}"
        for name in sorted(environment.keys() - known)
        if name.startswith(PREFIX) and not name.startswith("DAWR_TEST_")
    }


def _nearest(name: str) -> str:
    names = [known.upper() for known in Settings.__struct_fields__]
    near = get_close_matches(name.removeprefix(PREFIX).upper(), names, n=1)
    return f": do you mean {PREFIX}{near[0]}?" if near else "."
