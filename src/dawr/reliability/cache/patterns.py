r"""Patterns as Redis knows them: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before what is meant as it stands.

Byte by byte, as there; a class that is not closed ends with the pattern. Of a range that begins or ends beyond ASCII,
Redis means one thing on one processor and another on others.
"""

import re


def matching(pattern: str) -> re.Pattern[bytes]:
    given, parts, at = pattern.encode(), [], 0
    while at < len(given):
        sign = given[at : at + 1]
        at += 1
        if sign == b"*":
            parts.append(b".*")
        elif sign == b"?":
            parts.append(b".")
        elif sign == b"[":
            part, at = _class(given, at)
            parts.append(part)
        else:
            if sign == b"\\" and at < len(given):
                sign = given[at : at + 1]
                at += 1
            parts.append(re.escape(sign))
    return re.compile(b"".join(parts), re.DOTALL)


def _class(given: bytes, at: int) -> tuple[bytes, int]:
    """One of several bytes, and where the pattern goes on."""
    is_not = given[at : at + 1] == b"^"
    at += is_not
    members: set[int] = set()
    while at < len(given) and given[at : at + 1] != b"]":
        if given[at : at + 1] == b"\\" and at + 1 < len(given):
            members.add(given[at + 1])
            at += 2
        elif given[at + 1 : at + 2] == b"-" and at + 2 < len(given):
            first, last = sorted((given[at], given[at + 2]))
            members.update(range(first, last + 1))
            at += 3
        else:
            members.add(given[at])
            at += 1
    if is_not:
        members = set(range(256)) - members
    nothing = b"(?!)"
    return b"[" + b"".join(b"\\x%02x" % member for member in sorted(members)) + b"]" if members else nothing, at + 1
