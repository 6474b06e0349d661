-- A retried request finds the answer that its first attempt committed.
CREATE TABLE idempotency (
    scope TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'started' OR state = 'completed' OR state = 'failed'),
    lease_until INTEGER,
    fence INTEGER NOT NULL,
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope, principal, key)
) STRICT;

CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
