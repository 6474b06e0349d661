-- Heads: the one row of a venue that is locked.

-- name: lock_heads
-- BEGIN IMMEDIATE holds the whole file already; its clock is this machine's.
SELECT venue_id, epoch, day, version, config_version, NULL FROM heads WHERE venue_id = ?1;

-- name: read_heads
SELECT venue_id, epoch, day, version, config_version, NULL FROM heads WHERE venue_id = ?1;

-- name: save_heads
UPDATE heads SET epoch = ?2, day = ?3, version = ?4, config_version = ?5 WHERE venue_id = ?1;

-- name: add_heads
INSERT INTO heads (venue_id, epoch, day, version, config_version) VALUES (?1, ?2, ?3, ?4, ?5);
