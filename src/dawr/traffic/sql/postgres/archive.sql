-- Details that leave the table for files, and what nobody keeps any longer.

-- name: first_event_between
SELECT id FROM traffic_events WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1;

-- name: next_events
SELECT id, hash, at, path, method, status, outcome, ms, visitor, request_id, correlation_id, agent, country
FROM traffic_events
WHERE (id, hash) > ($1, $2) AND id < $3
ORDER BY id, hash
LIMIT $4;

-- name: next_hours
SELECT span, start, path, method, class, requests, errors, refused, sum_us, max_us, streams
FROM traffic_hours
WHERE (span, start, path, method, class) > ($1, $2, $3, $4, $5)
ORDER BY span, start, path, method, class
LIMIT $6;

-- name: next_minutes
SELECT minute, requests, errors, refused FROM traffic_minutes WHERE minute > $1 ORDER BY minute LIMIT $2;

-- name: next_ledger
SELECT hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space
FROM traffic_ledger
WHERE hour > $1
ORDER BY hour
LIMIT $2;

-- name: archives
SELECT day, part, file, rows, deleted, checksum, sha256, state FROM traffic_archives ORDER BY day, part;

-- name: archives_of_day
SELECT day, part, file, rows, deleted, checksum, sha256, state FROM traffic_archives WHERE day = $1 ORDER BY part;

-- name: add_archive
-- Whoever comes second does not get it.
INSERT INTO traffic_archives (day, part, file, rows, deleted, checksum, sha256, state, at)
VALUES ($1, $2, $3, $4, 0, $5, $6, 'written', $7)
ON CONFLICT (day, part) DO NOTHING;

-- name: forget_archive
DELETE FROM traffic_archives WHERE day = $1 AND part = $2 AND sha256 = $3 AND state = 'written' AND deleted = 0;

-- name: delete_archived_events
DELETE FROM traffic_events AS e
USING unnest($1::text[], $2::text[]) AS archived (id, hash)
WHERE e.id = archived.id AND e.hash = archived.hash
RETURNING e.id;

-- name: count_deleted
UPDATE traffic_archives SET deleted = deleted + $4::bigint WHERE day = $1 AND part = $2 AND sha256 = $3 AND state = 'written';

-- name: empty_archive
UPDATE traffic_archives SET state = 'emptied' WHERE day = $1 AND part = $2 AND sha256 = $3 AND state = 'written';

-- name: expire_archive
-- Its rows were deleted long ago, and now the file is.
UPDATE traffic_archives SET state = 'expired', file = '' WHERE day = $1 AND part = $2 AND sha256 = $3;

-- name: delete_expired_events
DELETE FROM traffic_events
WHERE (id, hash) IN (SELECT id, hash FROM traffic_events WHERE id >= $1 AND id < $2 ORDER BY id, hash LIMIT $3);

-- name: count_expired
INSERT INTO traffic_archives (day, part, file, rows, deleted, checksum, sha256, state, at)
VALUES ($1, $2, '', $3::bigint, $3::bigint, '', '', 'expired', $4)
ON CONFLICT (day, part) DO UPDATE SET
    rows = traffic_archives.rows + excluded.rows,
    deleted = traffic_archives.deleted + excluded.deleted;

-- name: purge_hours
DELETE FROM traffic_hours
WHERE (span, start, path, method, class) IN (
    SELECT span, start, path, method, class
    FROM traffic_hours
    WHERE span = $1 AND start < $2
    ORDER BY span, start, path, method, class
    LIMIT $3
);

-- name: purge_buckets
DELETE FROM traffic_buckets
WHERE (span, start, path, method, bucket) IN (
    SELECT span, start, path, method, bucket
    FROM traffic_buckets
    WHERE span = $1 AND start < $2
    ORDER BY span, start, path, method, bucket
    LIMIT $3
);

-- name: purge_visitors
DELETE FROM traffic_visitors
WHERE (span, start, path, visitor) IN (
    SELECT span, start, path, visitor
    FROM traffic_visitors
    WHERE span = $1 AND start < $2
    ORDER BY span, start, path, visitor
    LIMIT $3
);

-- name: purge_minutes
DELETE FROM traffic_minutes WHERE minute IN (SELECT minute FROM traffic_minutes WHERE minute < $1 ORDER BY minute LIMIT $2);

-- name: purge_ledger
DELETE FROM traffic_ledger WHERE hour IN (SELECT hour FROM traffic_ledger WHERE hour < $1 ORDER BY hour LIMIT $2);

-- name: purge_archives
-- Only of days of which nothing is left, neither a file nor a row.
DELETE FROM traffic_archives
WHERE (day, part) IN (
    SELECT day, part FROM traffic_archives WHERE day < $1 AND state = 'expired' ORDER BY day, part LIMIT $2
);
