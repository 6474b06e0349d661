-- Tokens: what programs, kiosks and displays show instead of a password.

-- name: tokens_of_venue
SELECT venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at, account_id
FROM tokens
WHERE venue_id = ?1;

-- name: token_by_id
-- Behind it, what whoever answers for it may there now; nothing, if they are disabled there or everywhere.
SELECT
    tokens.venue_id, tokens.token_id, tokens.secret_hash, tokens.kind, tokens.role, tokens.name, tokens.made_by,
    tokens.made_at, tokens.revoked_at, tokens.account_id,
    staff.role
FROM tokens
LEFT JOIN accounts ON accounts.account_id = tokens.account_id AND accounts.disabled_at IS NULL
LEFT JOIN staff
    ON staff.venue_id = tokens.venue_id AND staff.account_id = accounts.account_id AND staff.disabled_at IS NULL
WHERE tokens.venue_id = ?1 AND tokens.token_id = ?2;

-- name: save_tokens
INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at, account_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (venue_id, token_id) DO UPDATE SET
    revoked_at = excluded.revoked_at,
    account_id = excluded.account_id;
