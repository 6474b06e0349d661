-- The queue between the spools and the consumer, and how far each spool was shipped.

-- name: add_spool
INSERT INTO traffic_spools (spool, position, lines, answers) VALUES ($1, 0, 0, 0)
ON CONFLICT (spool) DO NOTHING;

-- name: lock_spool
-- A try that was given up may still be committing: what it did is seen after it.
SELECT position, lines, answers FROM traffic_spools WHERE spool = $1 FOR UPDATE;

-- name: save_spool
UPDATE traffic_spools SET position = $2, lines = $3, answers = $4 WHERE spool = $1;

-- name: forget_spool
DELETE FROM traffic_spools WHERE spool = $1;

-- name: add_to_queue
INSERT INTO traffic_queue (hour, body, tries, due_at, reason)
SELECT hour, body, 0, due_at, ''
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS new (hour, body, due_at, place)
ORDER BY place;

-- name: add_damaged
INSERT INTO traffic_dead (at, hour, kind, reason, tries, body)
SELECT at, hour, 'damaged', 'The line is damaged.', 0, body
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS new (at, hour, body);

-- name: due_messages
-- How many are due, up to a batch, and when the first of them need wait no longer for mates: a retry has waited before.
-- A new message is due also when the clock was set back since it came.
SELECT count(*), min(CASE WHEN tries > 0 THEN due_at WHEN due_at <= $1 THEN due_at + $3 ELSE $1 END)
FROM (
    SELECT tries, due_at FROM traffic_queue WHERE tries = 0 OR due_at <= $1 ORDER BY seq LIMIT $2
) AS due;

-- name: take_messages
-- In the order of arrival. A try that was given up may still be committing: what it
-- took is gone after it.
SELECT seq, hour, body, tries FROM traffic_queue
WHERE tries = 0 OR due_at <= $1
ORDER BY seq
LIMIT $2 FOR UPDATE;

-- name: remove_messages
DELETE FROM traffic_queue WHERE seq = ANY ($1::bigint[]);

-- name: put_off_messages
UPDATE traffic_queue AS q SET tries = q.tries + 1, due_at = later.due_at, reason = later.reason
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS later (seq, due_at, reason)
WHERE q.seq = later.seq;

-- name: add_dead
INSERT INTO traffic_dead (at, hour, kind, reason, tries, body)
SELECT at, hour, 'poison', reason, tries, body
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[]) AS new (at, hour, reason, tries, body);
