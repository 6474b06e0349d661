"""The same request, recognised whatever order its fields came in."""

from hashlib import sha256
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode


def fingerprint(*parts: Any) -> str:  # noqa: ANN401 - anything JSON can say
    """SHA-256 of the parts as canonical JSON: keys sorted at every depth."""
    return sha256(_encode(parts)).hexdigest()
