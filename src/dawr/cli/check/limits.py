"""Limits: whether they are on, and who counts them."""

from collections.abc import Mapping

from dawr import bootstrap
from dawr.cli.check.findings import Report
from dawr.reliability import redis_driver as redis
from dawr.settings import Settings, SettingUnfit
from dawr.stores import reasons

SECONDS = 2
OLDEST = 7
MOST_SKEW_MS = 2000
NEARLY_FULL = 0.9


async def look_at_limits(settings: Settings, report: Report) -> None:
    if settings.rate_limits == "off":
        report.warn(
            "Limits are off (DAWR_RATE_LIMITS=off): nobody is held back. Remove it when the load run is over.",
            about="limits",
        )
    try:
        bootstrap.refuse_to_serve_without(settings)
    except SettingUnfit as unfit:
        report.wrong(str(unfit), about="limits")
        return
    if settings.redis_url:
        await _look_at_shared(settings.redis_url, report)
    elif settings.rate_limits == "on":
        report.fine("Limits are counted by the one process that serves.", about="limits")


async def _look_at_shared(url: str, report: Report) -> None:
    """One question by itself: what matters is whether it can be reached now."""
    try:
        client = redis.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, retry=None)
    except ValueError:  # its words may repeat a part of the password
        report.wrong("DAWR_REDIS_URL cannot be used: write redis://host:port/number.", about="limits")
        return
    try:
        asked_at = bootstrap.system.now()
        seconds, microseconds = await client.time()
        answered_at = bootstrap.system.now()
        info = await client.info()
    except (redis.RedisError, OSError, TimeoutError) as error:
        report.wrong(
            f"Redis or Valkey cannot be reached ({_why(error)}): until it is back each process "
            "counts limits by itself, and changes of other processes are seen up to 5 seconds late. Start it, or "
            "correct DAWR_REDIS_URL.",
            about="limits",
        )
        return
    finally:
        await client.aclose()
    look_at_shared_clock(int(seconds) * 1000 + int(microseconds) // 1000, asked_at, answered_at, report)
    look_at_shared_info(info, report)


def _why(error: Exception) -> str:
    """What the system said, below what the driver makes of it."""
    cause = error.__cause__ or error.__context__
    if isinstance(error, TimeoutError | redis.TimeoutError):
        return "no answer in time"
    if isinstance(cause, OSError) and not isinstance(error, redis.AuthenticationError):
        return reasons.of_system(cause)
    return str(error).rstrip(".") or type(error).__name__


def look_at_shared_clock(shared_now: int, asked_at: int, answered_at: int, report: Report) -> None:
    apart = max(asked_at - shared_now, shared_now - answered_at)
    if apart > MOST_SKEW_MS:
        report.warn(
            f"The clock of Redis or Valkey and this one are {apart / 1000:.0f} s apart. Limits hold, because only its "
            "own clock counts for them; set both right all the same.",
            about="limits",
        )


def look_at_shared_info(info: Mapping[str, object], report: Report) -> None:
    """What it says of itself. Valkey also says which Redis it behaves like."""
    version = str(info.get("redis_version", "0"))
    name = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {version}"
    if int(version.partition(".")[0]) < OLDEST:
        report.wrong(f"{name} is too old: Dawr needs Redis 7 or newer, or Valkey.", about="limits")
    if info.get("role") == "slave":
        report.wrong(f"{name} is a replica and takes no writes: set DAWR_REDIS_URL to its primary.", about="limits")
    if info.get("maxmemory") and info.get("maxmemory_policy") != "noeviction":
        report.warn(
            f"{name} may forget limits when its memory is full (maxmemory-policy {info.get('maxmemory_policy')}): "
            "set it to noeviction, or give it more memory.",
            about="limits",
        )
    _look_at_memory(info, name, report)
    if report.is_fine_about("limits"):
        report.fine(f"{name} answers, and all processes count limits there together.", about="limits")


def _look_at_memory(info: Mapping[str, object], name: str, report: Report) -> None:
    """One that may forget is always nearly full, and that was said already."""
    used, most = int(str(info.get("used_memory", 0))), int(str(info.get("maxmemory", 0)))
    if not most or info.get("maxmemory_policy") != "noeviction" or used < most * NEARLY_FULL:
        return
    amount = f"{used // 1024:,} of {most // 1024:,} kB"
    if used >= most:
        report.wrong(
            f"{name} is full ({amount}), so it takes no writes, and each process counts limits by itself. "
            "Raise its maxmemory.",
            about="limits",
        )
    else:
        report.warn(f"{name} is nearly full ({amount}): raise its maxmemory.", about="limits")
