r"""Patterns as Redis knows them: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before what is meant as it stands.

Byte by byte, as there; a class that is not closed ends with the pattern. Of a range that begins or ends beyond ASCII,
Redis means one thing on one processor and another on others.
"""

import re

WILD = {b"*": b".*", b"?": b"."}
SIGN = re.compile(rb"[*?]|\[(?P<is_not>\^?)(?P<members>(?:\\.|[^]]-.|[^]])*)]?|\\?(?P<itself>.)", re.DOTALL)
MEMBER = re.compile(rb"\\(.)|(.)-(.)|(.)", re.DOTALL)


def matching(pattern: str) -> re.Pattern[bytes]:
    return re.compile(SIGN.sub(_expression, pattern.encode()), re.DOTALL)


def _expression(sign: re.Match[bytes]) -> bytes:
    if sign[0] in WILD:
        return WILD[sign[0]]
    return _class(sign["is_not"], sign["members"]) if sign["itself"] is None else re.escape(sign["itself"])


def _class(is_not: bytes, members: bytes) -> bytes:
    """One of several bytes, or one of all others."""
    ranges = b""
    for escaped, first, last, alone in MEMBER.findall(members):
        low, high = sorted((first or escaped or alone, last or escaped or alone))
        ranges += re.escape(low) + b"-" + re.escape(high)
    if not ranges:
        return b"." if is_not else b"(?!)"
    return b"[" + is_not + ranges + b"]"
