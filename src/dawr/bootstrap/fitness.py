"""Settings that do not fit together, refused in a sentence before anything begins."""

import os
import re

from dawr.reliability.client_address import networks
from dawr.settings import Settings, SettingUnfit

ORIGIN = re.compile(r"https?://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
LAST_PORT = 65_535


def refuse_what_cannot_be(settings: Settings) -> None:
    """Combinations that would be unsafe or would not do what they say."""
    if settings.database_url and not settings.database_url.startswith(("postgresql://", "postgres://")):
        raise SettingUnfit("DAWR_DATABASE_URL must begin with postgresql://; leave it empty for the embedded database.")
    if settings.redis_url and not settings.redis_url.startswith(("redis://", "rediss://", "unix://")):
        raise SettingUnfit("DAWR_REDIS_URL must begin with redis://, rediss:// or unix://.")
    try:
        networks(settings.trusted_proxies)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_TRUSTED_PROXIES cannot be used: {error}.") from error
    if settings.public_url and not _is_origin(settings.public_url):
        raise SettingUnfit(
            "DAWR_PUBLIC_URL must be the address that phones open, like https://queue.example.org: http or https, a "
            "host, a port if it needs one, and nothing behind."
        )
    if settings.workers > 1 and not settings.database_url:
        raise SettingUnfit(
            f"The embedded database has one writer, so {settings.workers} workers cannot share it. "
            "Use --workers 1, or PostgreSQL with DAWR_DATABASE_URL."
        )


def refuse_to_serve_without(settings: Settings) -> None:
    """What serving needs besides: tools do without it, and `dawr check` says what is missing."""
    processes = settings.workers * settings.hosts
    if settings.database_url and processes > 1 and not settings.redis_url:
        raise SettingUnfit(
            f"{processes} processes (DAWR_WORKERS on each of DAWR_HOSTS) need a Redis or Valkey, to share limits and "
            "to tell each other of changes. Set DAWR_REDIS_URL, or serve with one worker on one host."
        )
    if settings.redis_url and not settings.database_url:
        raise SettingUnfit(
            "DAWR_REDIS_URL is for several processes on PostgreSQL, and the embedded database has one process. "
            "Leave it empty, or set DAWR_DATABASE_URL."
        )


def _is_origin(url: str) -> bool:
    found = ORIGIN.fullmatch(url)
    return found is not None and 0 < int(found["port"] or LAST_PORT) <= LAST_PORT


def environment() -> dict[str, str]:
    return dict(os.environ)
