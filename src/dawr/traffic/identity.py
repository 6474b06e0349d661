"""The id that a request is counted under: when it was, and a hash of whose it was, what it asked for, and which it was.

The hash in the id has 8 digits, so that two requests of one millisecond may share an id; the whole hash is kept
beside it and tells them apart.
"""

import re
from hashlib import sha256

ID = re.compile(r"\d{13}-[0-9a-f]{8}", re.ASCII)
DIGITS = 13
SHOWN = 8


def whole_hash(visitor: str, path: str, request_id: str) -> str:
    """Of a visitor's whole hash, the path as it was asked for, and the request's own id."""
    return sha256(f"{visitor}:{path}:{request_id}".encode(errors="surrogateescape")).hexdigest()


def id_of(timestamp: int, hashed: str) -> str:
    return f"{timestamp:013}-{hashed[:SHOWN]}"


def generate(timestamp: int, visitor: str, path: str, request_id: str) -> str:
    """The same for the same request, and another for another time, visitor, path or request id."""
    return id_of(timestamp, whole_hash(visitor, path, request_id))


def is_valid(text: object) -> bool:
    return isinstance(text, str) and ID.fullmatch(text) is not None


def extract_timestamp(text: object) -> int | None:
    """Milliseconds since 1970 UTC; None if this is no id."""
    return int(text[:DIGITS]) if isinstance(text, str) and is_valid(text) else None
