"""JSON that gives a field twice: which of the two counts differs from reader to reader, so it is refused."""

import json
from collections import Counter

import msgspec

_decode = msgspec.json.Decoder().decode


class RepeatedKey(Exception):
    """An object has a key more than once."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def must_name_each_once(document: bytes) -> None:
    """Of JSON that was read already: an object with as many keys as there are colons has each once, and none inside."""
    decoded = _decode(document)
    if not isinstance(decoded, dict) or len(decoded) != document.count(b":"):
        _look(document.decode())


def _each_once(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise RepeatedKey(key)


_look = json.JSONDecoder(
    object_pairs_hook=_each_once, parse_int=str, parse_float=str, parse_constant=str, strict=False
).decode
