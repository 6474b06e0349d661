-- Dead letters: messages that could not be counted, and lines that came back damaged.

-- name: list_dead
SELECT seq, at, hour, kind, reason, tries, body FROM traffic_dead WHERE seq > $1 ORDER BY seq LIMIT $2;

-- name: find_dead
SELECT seq, at, hour, kind, reason, tries, body FROM traffic_dead WHERE seq = ANY ($1::bigint[]);

-- name: last_dead
SELECT max(seq) FROM traffic_dead;

-- name: dead_between
SELECT seq, kind FROM traffic_dead WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3;

-- name: take_dead
-- Whoever gets the row has it alone.
DELETE FROM traffic_dead WHERE seq = ANY ($1::bigint[]) RETURNING seq, hour, body;
