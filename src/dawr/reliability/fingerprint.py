"""The same request, recognised whatever order its fields came in.

What JSON tells apart is told apart: 1 from "1" and from true, null from a missing field, one order
of a list from another. Numbers are as they were written, so 1 is not 1.0: whoever means one number
decodes it as one type. Text is compared by its characters, which are not normalised.
"""

from hashlib import sha256
from math import isfinite
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode


def fingerprint(*parts: Any) -> str:  # noqa: ANN401 - anything JSON can say
    """SHA-256 of the parts as canonical JSON: keys sorted at every depth.

    `ValueError` for what is no JSON: NaN, the infinities, half of a surrogate pair, a field whose name is no
    text; and for what is nested too deep to be read.
    """
    try:
        encoded = _encode(parts)
        is_json = b"null" not in encoded or _is_json(parts)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"This is no JSON: {error}") from error
    if not is_json:
        raise ValueError("NaN and the infinities are no JSON: they would all look like null")
    return sha256(encoded).hexdigest()


def _is_json(part: Any) -> bool:  # noqa: ANN401 - anything JSON can say
    """Whether no number in it would be written as null. A struct is not looked into: it was decoded from JSON."""
    if isinstance(part, float):
        return isfinite(part)
    if isinstance(part, dict):
        return all(map(_is_json, part.values()))
    if isinstance(part, list | tuple | set | frozenset):
        return all(map(_is_json, part))
    return True
