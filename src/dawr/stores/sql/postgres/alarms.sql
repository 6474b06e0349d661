-- Alarms: what is due, and when.

-- name: alarms_by_key
SELECT r.venue_id, r.kind, r.subject, r.due_at
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (venue_id, kind, subject)
CROSS JOIN LATERAL (
    SELECT * FROM alarms AS s
    WHERE s.venue_id = k.venue_id AND s.kind = k.kind AND s.subject = k.subject
    LIMIT 1
) AS r;

-- name: save_alarms
INSERT INTO alarms (venue_id, kind, subject, due_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
ON CONFLICT (venue_id, kind, subject) DO UPDATE SET
    due_at = excluded.due_at;

-- name: due_alarms
-- Over all venues: what is due, the longest overdue first.
SELECT venue_id, kind, subject, due_at FROM alarms WHERE due_at <= $1 ORDER BY due_at LIMIT $2;

-- name: purge_alarms
-- What has rung is asked for twice, so that a row which is set again meanwhile stays; the second time in a way that
-- no index answers.
DELETE FROM alarms
WHERE (due_at + 0) IS NULL AND ctid = ANY (ARRAY(SELECT ctid FROM alarms WHERE due_at IS NULL LIMIT $1));

-- name: ring_far_alarms
-- Over all venues: what no timer sets so late was set by a clock that was ahead. Hours may begin weeks from now, and a
-- desk closes when the day ends that it was opened on.
UPDATE alarms SET due_at = $1 WHERE due_at > $2 AND kind NOT IN ('hours', 'close');

-- name: bring_alarms_back
-- What is due after a day's end was set by a clock that was ahead, but for hours, which may begin days from now.
-- Desks close when the day ends. No index answers when it is due: it would read those of other venues.
UPDATE alarms SET due_at = CASE kind WHEN 'close' THEN ($2::bigint[])[1] ELSE ($3::bigint[])[1] END
WHERE venue_id = ($1::text[])[1] AND due_at + 0 > ($2::bigint[])[1] AND kind <> 'hours';

-- name: retry_parked_visits
-- Visits that a closed or full queue did not take try again now. What is due later waits for opening hours, or for the
-- visitor to come back. No index answers when it is due: it would read those of other venues.
UPDATE alarms SET due_at = ($2::bigint[])[1]
WHERE venue_id = ($1::text[])[1] AND kind = 'enter' AND due_at + 0 > ($2::bigint[])[1]
    AND due_at + 0 <= ($3::bigint[])[1];
