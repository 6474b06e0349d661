"""Scripts that a Redis or Valkey runs: each from a `.lua` file, sent once, then named by its digest."""

from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any, Self

import msgspec

from dawr.reliability import redis_driver as redis


class Script(msgspec.Struct, frozen=True):
    text: str
    sha: str

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(text, sha1(text.encode(), usedforsecurity=False).hexdigest())

    @classmethod
    def beside(cls, module: str, name: str) -> Self:
        """The file `name.lua` in the folder of a module, which is given by its `__file__`."""
        return cls.of(Path(module).with_name(f"{name}.lua").read_text(encoding="utf-8"))

    async def run(self, client: "redis.Redis", keys: Sequence[str], *arguments: str | bytes | int) -> Any:  # noqa: ANN401
        """A server that does not know it, because it is new or came back empty, is sent the whole of it."""
        try:
            return await client.evalsha(self.sha, len(keys), *keys, *arguments)
        except redis.NoScriptError:
            return await client.eval(self.text, len(keys), *keys, *arguments)
