-- Alarms: what is due, and when.

-- name: alarms_by_key
SELECT venue_id, kind, subject, due_at
FROM alarms
WHERE venue_id = ?1 AND kind = ?2 AND subject = ?3;

-- name: save_alarms
INSERT INTO alarms (venue_id, kind, subject, due_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (venue_id, kind, subject) DO UPDATE SET
    due_at = excluded.due_at;

-- name: due_alarms
-- Over all venues: what is due, the longest overdue first.
SELECT venue_id, kind, subject, due_at FROM alarms WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2;

-- name: purge_alarms
DELETE FROM alarms
WHERE (venue_id, kind, subject) IN (SELECT venue_id, kind, subject FROM alarms WHERE due_at IS NULL LIMIT ?1);

-- name: ring_far_alarms
-- Over all venues: what no timer sets so late was set by a clock that was ahead. Hours may begin weeks from now, and a
-- desk closes when the day ends that it was opened on.
UPDATE alarms SET due_at = ?1 WHERE due_at > ?2 AND kind NOT IN ('hours', 'close');

-- name: bring_alarms_back
-- What is due after a day's end was set by a clock that was ahead, but for hours, which may begin days from now.
-- Desks close when the day ends. The plus keeps the planner from searching all venues by due time.
UPDATE alarms SET due_at = CASE kind WHEN 'close' THEN ?2 ELSE ?3 END
WHERE venue_id = ?1 AND +due_at > ?2 AND kind <> 'hours';

-- name: retry_parked_visits
-- Visits that a closed or full queue did not take try again now. What is due later waits for opening hours, or for the
-- visitor to come back.
UPDATE alarms SET due_at = ?2 WHERE venue_id = ?1 AND kind = 'enter' AND +due_at > ?2 AND +due_at <= ?3;
