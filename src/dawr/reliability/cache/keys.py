"""Names for what is kept."""

from typing import Any

from dawr.reliability.fingerprint import fingerprint


def key_of(name: str, params: Any) -> str:  # noqa: ANN401 - anything JSON can say
    """Equal parameters give one key, in whatever order they come and however deep they lie."""
    return f"{name}:{fingerprint(params)}"
