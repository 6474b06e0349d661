-- A retried request finds the answer that its first attempt committed.
CREATE TABLE idempotency (
    scope text COLLATE "C" NOT NULL,
    principal text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    state text NOT NULL CHECK (state IN ('started', 'completed', 'failed')),
    lease_until bigint,
    fence bigint NOT NULL,
    status integer NOT NULL,
    body bytea NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (scope, principal, key)
);

CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
