-- Heads: the one row of a venue that is locked.

-- name: lock_heads
-- In id order, so that two batches over the same venues cannot wait for each other in a circle.
-- Nothing else is read here: this statement's snapshot is older than the lock.
SELECT
    h.venue_id, h.epoch, h.day, h.version, h.config_version,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM heads AS h
WHERE h.venue_id = ANY ($1::text[])
ORDER BY h.venue_id
FOR UPDATE;

-- name: read_heads
SELECT
    h.venue_id, h.epoch, h.day, h.version, h.config_version,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM heads AS h
WHERE h.venue_id = ANY ($1::text[]);

-- name: save_heads
UPDATE heads AS h SET epoch = c.epoch, day = c.day, version = c.version, config_version = c.config_version
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])
    AS c (venue_id, epoch, day, version, config_version)
WHERE h.venue_id = c.venue_id;

-- name: add_heads
INSERT INTO heads (venue_id, epoch, day, version, config_version)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[]);
