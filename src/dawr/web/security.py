"""What every answer says to a browser: run nothing, frame nothing, guess nothing, tell nobody where you came from."""

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

PAGE_SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
            b"base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"
        ),
    ),
    *SECURITY_HEADERS[1:],
)
"""A page may have our own styles, pictures and scripts, and nothing inline."""

HSTS: tuple[bytes, bytes] = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")
"""Only over an encrypted connection: a year of https for this host and all below it."""
