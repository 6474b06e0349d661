-- Answers to requests that may be retried.

-- name: answers_by_key
SELECT scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at
FROM idempotency
WHERE scope = ?1 AND principal = ?2 AND key = ?3;

-- name: save_answers
-- A row that is still here under the same key has expired, or nobody finished it: else it would have been replayed.
-- So it is because a scope is either of this or of claims: a claim that is under way would be lost here.
INSERT INTO idempotency
    (scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (scope, principal, key) DO UPDATE SET
    fingerprint = excluded.fingerprint,
    state = excluded.state,
    lease_until = excluded.lease_until,
    fence = excluded.fence,
    status = excluded.status,
    body = excluded.body,
    expires_at = excluded.expires_at;

-- name: purge_answers
DELETE FROM idempotency
WHERE rowid IN (SELECT rowid FROM idempotency WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2);

-- name: find_answer
SELECT scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at
FROM idempotency
WHERE scope = ?1 AND principal = ?2 AND key = ?3;

-- name: claim_answer
-- Of many who claim one key at once, one adds a row.
INSERT INTO idempotency
    (scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at)
VALUES (?1, ?2, ?3, ?4, 'started', ?5, ?6, 0, x'', ?7)
ON CONFLICT (scope, principal, key) DO NOTHING;

-- name: take_over_answer
-- Only as it was seen, and only if nobody has renewed or completed it since: of many, one changes a row.
UPDATE idempotency SET
    fingerprint = ?4,
    state = 'started',
    lease_until = ?5,
    fence = ?6,
    status = 0,
    body = x'',
    expires_at = ?7
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND fence = ?8
    AND (expires_at <= ?9 OR state = 'failed' OR (state = 'started' AND lease_until <= ?9));

-- name: renew_claim
-- What is at work never expires.
UPDATE idempotency SET lease_until = ?5, expires_at = max(expires_at, ?5)
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND fence = ?4 AND state = 'started';

-- name: complete_claim
UPDATE idempotency SET state = 'completed', lease_until = NULL, status = ?5, body = ?6, expires_at = ?7
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND fence = ?4 AND state = 'started';

-- name: fail_claim
UPDATE idempotency SET state = 'failed', lease_until = NULL
WHERE scope = ?1 AND principal = ?2 AND key = ?3 AND fence = ?4 AND state = 'started';
