-- Answers to requests that may be retried.

-- name: answers_by_key
SELECT a.scope, a.principal, a.key, a.fingerprint, a.state, a.lease_until, a.fence, a.status, a.body, a.expires_at
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (scope, principal, key)
CROSS JOIN LATERAL (
    SELECT * FROM idempotency i
    WHERE i.scope = k.scope AND i.principal = k.principal AND i.key = k.key
    LIMIT 1
) AS a;

-- name: keep_answers
-- A row that is still here under the same key has expired, or it would have been replayed.
INSERT INTO idempotency
    (scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at)
SELECT *
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
    $6::bigint[], $7::bigint[], $8::int[], $9::bytea[], $10::bigint[]
)
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
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM idempotency WHERE expires_at < $1 ORDER BY expires_at LIMIT $2
));
