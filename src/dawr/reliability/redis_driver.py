"""What we use of redis-py, loaded when it is first used: few processes have a Redis, and it takes ten megabytes.

So a name of it is written out where it is used (`redis.RedisError`), and in quotes where it is only a type.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.client import PubSub
    from redis.exceptions import AuthenticationError, NoScriptError, RedisError, TimeoutError  # noqa: A004 - its own
    from redis.maint_notifications import MaintNotificationsConfig

__all__ = [
    "AuthenticationError",
    "MaintNotificationsConfig",
    "NoScriptError",
    "PubSub",
    "Redis",
    "RedisError",
    "TimeoutError",
]

WHERE = {"Redis": "redis.asyncio", "PubSub": "redis.asyncio", "MaintNotificationsConfig": "redis.maint_notifications"}
"""All others are exceptions."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever it is
    if name not in __all__:
        raise AttributeError(name)
    found = globals()[name] = getattr(import_module(WHERE.get(name, "redis.exceptions")), name)
    return found
