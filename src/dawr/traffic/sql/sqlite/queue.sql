-- The queue between the spools and the consumer, and how far each spool was shipped.

-- name: add_spool
INSERT INTO traffic_spools (spool, position, lines, answers) VALUES (?1, 0, 0, 0)
ON CONFLICT (spool) DO NOTHING;

-- name: lock_spool
-- Inside a transaction: it is the only one that writes.
SELECT position, lines, answers FROM traffic_spools WHERE spool = ?1;

-- name: save_spool
UPDATE traffic_spools SET position = ?2, lines = ?3, answers = ?4 WHERE spool = ?1;

-- name: forget_spool
DELETE FROM traffic_spools WHERE spool = ?1;

-- name: add_to_queue
INSERT INTO traffic_queue (hour, body, tries, due_at, reason) VALUES (?1, ?2, 0, ?3, '');

-- name: add_damaged
INSERT INTO traffic_dead (at, hour, kind, reason, tries, body) VALUES (?1, ?2, 'damaged', 'The line is damaged.', 0, ?3);

-- name: due_messages
-- How many are due, up to a batch, and when the first of them need wait no longer for mates: a retry has waited before.
-- A new message is due also when the clock was set back since it came.
SELECT count(*), min(CASE WHEN tries > 0 THEN due_at WHEN due_at <= ?1 THEN due_at + ?3 ELSE ?1 END)
FROM (
    SELECT tries, due_at FROM traffic_queue WHERE tries = 0 OR due_at <= ?1 ORDER BY seq LIMIT ?2
) AS due;

-- name: take_messages
-- In the order of arrival.
SELECT seq, hour, body, tries FROM traffic_queue
WHERE tries = 0 OR due_at <= ?1
ORDER BY seq
LIMIT ?2;

-- name: remove_messages
DELETE FROM traffic_queue WHERE seq = ?1;

-- name: put_off_messages
UPDATE traffic_queue SET tries = tries + 1, due_at = ?2, reason = ?3 WHERE seq = ?1;

-- name: add_dead
INSERT INTO traffic_dead (at, hour, kind, reason, tries, body) VALUES (?1, ?2, 'poison', ?3, ?4, ?5);
