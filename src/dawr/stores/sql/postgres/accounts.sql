-- Accounts, their sessions, and the code of the first one. They belong to no venue.

-- name: account_by_username
SELECT account_id, username, password_hash, created_at, disabled_at, unlocked_at FROM accounts WHERE username = $1;

-- name: account_by_id
SELECT account_id, username, password_hash, created_at, disabled_at, unlocked_at FROM accounts WHERE account_id = $1;

-- name: add_account
INSERT INTO accounts (account_id, username, password_hash, created_at, disabled_at, unlocked_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (username) DO NOTHING;

-- name: set_password
UPDATE accounts SET password_hash = $2, unlocked_at = $3 WHERE account_id = $1;

-- name: set_disabled
UPDATE accounts SET disabled_at = $2 WHERE account_id = $1;

-- name: set_unlocked
UPDATE accounts SET unlocked_at = $2 WHERE account_id = $1;

-- name: add_session
-- Only under the password that was shown: one that was changed meanwhile lets nobody in. The account is held
-- until this is stored, so that whoever ends all of its sessions ends this one too.
INSERT INTO sessions (session_hash, account_id, created_at, seen_at, expires_at)
SELECT $1::text, $2::text, $3::bigint, $4::bigint, $5::bigint
FROM accounts
WHERE account_id = $2 AND password_hash = $6 AND disabled_at IS NULL
FOR SHARE;

-- name: signed_in
-- One row for each venue where the account works now, and one without a venue if there is none. A session that was seen
-- more than a day from now was used while a clock was ahead: it would never be idle.
SELECT
    sessions.session_hash, sessions.account_id, sessions.created_at, sessions.seen_at, sessions.expires_at,
    accounts.account_id, accounts.username, accounts.password_hash, accounts.created_at, accounts.disabled_at,
    accounts.unlocked_at,
    staff.venue_id, staff.account_id, staff.username, staff.role, staff.added_at, staff.disabled_at
FROM sessions
JOIN accounts ON accounts.account_id = sessions.account_id AND accounts.disabled_at IS NULL
LEFT JOIN staff ON staff.account_id = sessions.account_id AND staff.disabled_at IS NULL
WHERE sessions.session_hash = $1 AND sessions.expires_at > $2 AND sessions.seen_at > $3
    AND sessions.seen_at < $2 + 86400000;

-- name: touch_session
UPDATE sessions SET seen_at = $2 WHERE session_hash = $1;

-- name: end_session
DELETE FROM sessions WHERE session_hash = $1;

-- name: end_sessions
DELETE FROM sessions WHERE account_id = $1;

-- name: end_sessions_unless_member
-- Those of an account that works nowhere any more: they open nothing.
DELETE FROM sessions
WHERE account_id = $1
    AND NOT EXISTS (SELECT 1 FROM staff WHERE staff.account_id = $1 AND staff.disabled_at IS NULL);

-- name: purge_sessions
DELETE FROM sessions
WHERE session_hash = ANY (ARRAY(
    SELECT session_hash FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2
));

-- name: set_owner_code
UPDATE installation SET owner_code_hash = $1, owner_code_at = $2;

-- name: right_owner_code
SELECT 1 FROM installation WHERE owner_code_hash = $1 AND owner_code_at > $2;

-- name: take_owner_code
UPDATE installation SET owner_code_hash = NULL, owner_code_at = NULL
WHERE owner_code_hash = $1 AND owner_code_at > $2;
