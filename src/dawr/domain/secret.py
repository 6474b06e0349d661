"""Secrets: told once, kept as a hash.

They are random and long, so that a plain hash cannot be turned back; a password is neither,
and has a hash of another kind.
"""

from hashlib import sha256
from hmac import compare_digest


def hash_of(secret: str) -> str:
    return sha256(secret.encode(errors="replace")).hexdigest()


def fits(secret: str, stored_hash: str) -> bool:
    """Compared in constant time, so that nobody can feel their way to the right one."""
    return compare_digest(hash_of(secret), stored_hash)
