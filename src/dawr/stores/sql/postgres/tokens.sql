-- Tokens: what programs, kiosks and displays show instead of a password.

-- name: tokens_of_venue
SELECT t.venue_id, t.token_id, t.secret_hash, t.kind, t.role, t.name, t.made_by, t.made_at, t.revoked_at
FROM unnest($1::text[]) AS k (venue_id)
CROSS JOIN LATERAL (
    SELECT * FROM tokens AS s
    WHERE s.venue_id = k.venue_id
    ORDER BY s.token_id
) AS t;

-- name: token_by_id
SELECT venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at
FROM tokens
WHERE venue_id = $1 AND token_id = $2;

-- name: save_tokens
INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::bigint[], $9::bigint[]
)
ON CONFLICT (venue_id, token_id) DO UPDATE SET
    revoked_at = excluded.revoked_at;
