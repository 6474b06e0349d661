-- Tokens: what programs, kiosks and displays show instead of a password.

-- name: tokens_of_venue
SELECT venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at
FROM tokens
WHERE venue_id = ?1;

-- name: token_by_id
SELECT venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at
FROM tokens
WHERE venue_id = ?1 AND token_id = ?2;

-- name: save_tokens
INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (venue_id, token_id) DO UPDATE SET
    revoked_at = excluded.revoked_at;
