-- Lines: one queue on one service day and round.

-- name: lines_by_key
SELECT
    l.venue_id, l.queue_id, l.day, l.round, l.last_number, l.used_before, l.waiting, l.called,
    l.serving, l.held, l.missed, l.finished, l.current_number, l.calls, l.waits_ms, l.services_ms,
    l.begins_behind
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS k (venue_id, queue_id, day, round)
CROSS JOIN LATERAL (
    SELECT * FROM lines AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
    LIMIT 1
) AS l;

-- name: lines_current
SELECT
    l.venue_id, l.queue_id, l.day, l.round, l.last_number, l.used_before, l.waiting, l.called,
    l.serving, l.held, l.missed, l.finished, l.current_number, l.calls, l.waits_ms, l.services_ms,
    l.begins_behind
FROM unnest($1::text[], $2::text[]) AS k (venue_id, queue_id)
CROSS JOIN LATERAL (
    SELECT * FROM lines AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id
    ORDER BY s.day DESC, s.round DESC
    LIMIT 1
) AS l;

-- name: save_lines
INSERT INTO lines (
    venue_id, queue_id, day, round, last_number, used_before, waiting, called, serving, held,
    missed, finished, current_number, calls, waits_ms, services_ms, begins_behind
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::int[], $7::text[], $8::int[],
    $9::int[], $10::int[], $11::int[], $12::int[], $13::int[], $14::int[], $15::bigint[],
    $16::bigint[], $17::int[]
)
ON CONFLICT (venue_id, queue_id, day, round) DO UPDATE SET
    last_number = excluded.last_number,
    used_before = excluded.used_before,
    waiting = excluded.waiting,
    called = excluded.called,
    serving = excluded.serving,
    held = excluded.held,
    missed = excluded.missed,
    finished = excluded.finished,
    current_number = excluded.current_number,
    calls = excluded.calls,
    waits_ms = excluded.waits_ms,
    services_ms = excluded.services_ms,
    begins_behind = excluded.begins_behind;

-- name: lines_since
-- A queue's lines of a day and of later ones: those that a clock which was wrong has left ahead of today.
SELECT day, round FROM lines WHERE venue_id = $1 AND queue_id = $2 AND day >= $3 ORDER BY day, round;

-- name: redate_lines
-- One, to a round that no line has yet.
UPDATE lines SET day = ($5::text[])[1], round = ($6::int[])[1]
WHERE venue_id = ($1::text[])[1] AND queue_id = ($2::text[])[1] AND day = ($3::text[])[1] AND round = ($4::int[])[1];
