-- What is known of the installation itself: its schema, its secret, and whether it is a restored copy.

-- name: create_migrations
CREATE TABLE IF NOT EXISTS migrations (
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    PRIMARY KEY (owner, number)
) STRICT;

-- name: applied_migrations
SELECT owner, number, name, checksum FROM migrations ORDER BY owner, number;

-- name: add_migration
INSERT INTO migrations (owner, number, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: is_copy
-- A backup carries a mark, whoever copied the file and however.
SELECT is_copy FROM installation;

-- name: mark_copy
UPDATE installation SET is_copy = 1;

-- name: settle
UPDATE installation SET is_copy = 0;

-- name: identity
-- One process has the file, so there is nobody to be told apart from.
SELECT 'embedded';

-- name: this_database
SELECT 'embedded';

-- name: make_secret
-- Of many who bring one at once, one is first.
UPDATE installation SET secret = ?1 WHERE secret IS NULL;

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
UPDATE installation SET ran_ms = max(ran_ms, ?1), believed_at = coalesce(?2, believed_at);

-- name: all_heads
SELECT venue_id FROM heads ORDER BY venue_id;

-- name: begin_epoch
UPDATE heads SET epoch = ?2 WHERE venue_id = ?1;

-- name: store_now
-- The store's own clock, only to find out whether ours can be trusted.
SELECT NULL;
