-- Lines: one queue on one service day and round.

-- name: lines_by_key
SELECT
    venue_id, queue_id, day, round, last_number, used_before, waiting, called, serving, held,
    missed, finished, current_number, calls, waits_ms, services_ms, begins_behind
FROM lines
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4;

-- name: lines_current
SELECT
    venue_id, queue_id, day, round, last_number, used_before, waiting, called, serving, held,
    missed, finished, current_number, calls, waits_ms, services_ms, begins_behind
FROM lines
WHERE venue_id = ?1 AND queue_id = ?2
ORDER BY day DESC, round DESC
LIMIT 1;

-- name: save_lines
INSERT INTO lines (
    venue_id, queue_id, day, round, last_number, used_before, waiting, called, serving, held,
    missed, finished, current_number, calls, waits_ms, services_ms, begins_behind
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17
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
SELECT day, round FROM lines WHERE venue_id = ?1 AND queue_id = ?2 AND day >= ?3 ORDER BY day, round;

-- name: redate_lines
-- One, to a round that no line has yet.
UPDATE lines SET day = ?5, round = ?6 WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4;
