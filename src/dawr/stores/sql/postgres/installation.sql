-- What is known of the installation itself: its schema, its secret, and whether it is a restored copy.

-- name: create_migrations
CREATE TABLE IF NOT EXISTS migrations (
    owner text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at bigint NOT NULL,
    PRIMARY KEY (owner, number)
);

-- name: applied_migrations
SELECT owner, number, name, checksum FROM migrations ORDER BY owner, number;

-- name: add_migration
INSERT INTO migrations (owner, number, name, checksum, applied_at) VALUES ($1, $2, $3, $4, $5);

-- name: is_copy
-- A dump that was restored finds itself in another database than the one it knows.
-- Locked, so that of two servers that start on it one begins the new epochs.
SELECT (
    is_copy = 1
    OR home IS DISTINCT FROM (
        SELECT d.oid::text || '@' || (SELECT c.system_identifier FROM pg_control_system() AS c)
        FROM pg_database AS d
        WHERE d.datname = current_database()
    )
)::int
FROM installation
FOR UPDATE;

-- name: mark_copy
UPDATE installation SET is_copy = 1;

-- name: settle
UPDATE installation SET is_copy = 0, home = (
    SELECT d.oid::text || '@' || (SELECT c.system_identifier FROM pg_control_system() AS c)
    FROM pg_database AS d
    WHERE d.datname = current_database()
);

-- name: identity
-- Which database this is: the same for all who use it, another in every copy.
SELECT home FROM installation;

-- name: this_database
-- The same as it is now, whatever is stored here.
SELECT d.oid::text || '@' || (SELECT c.system_identifier FROM pg_control_system() AS c)
FROM pg_database AS d
WHERE d.datname = current_database();

-- name: make_secret
-- Of many who bring one at once, one is first.
UPDATE installation SET secret = $1 WHERE secret IS NULL;

-- name: secret
SELECT secret FROM installation;

-- name: time_kept
-- Until it was stored once, a day less than the first answer is kept for: none is given up too early.
SELECT
    CASE WHEN ran_ms > 0 THEN ran_ms ELSE coalesce((SELECT min(expires_at) FROM idempotency) - 86400000, 0) END,
    believed_at
FROM installation;

-- name: keep_time
-- Each process counts for itself from what it found: what is kept is the most that one of them has counted.
UPDATE installation SET ran_ms = greatest(ran_ms, $1::bigint), believed_at = coalesce($2::bigint, believed_at);

-- name: all_heads
SELECT venue_id FROM heads ORDER BY venue_id;

-- name: begin_epoch
UPDATE heads SET epoch = $2 WHERE venue_id = $1;

-- name: store_now
-- The store's own clock, only to find out whether ours can be trusted.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
