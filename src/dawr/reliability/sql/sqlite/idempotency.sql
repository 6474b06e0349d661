-- Answers to requests that may be retried.

-- name: answers_by_key
SELECT scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at
FROM idempotency
WHERE scope = ?1 AND principal = ?2 AND key = ?3;

-- name: keep_answers
-- A row that is still here under the same key has expired, or it would have been replayed.
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
