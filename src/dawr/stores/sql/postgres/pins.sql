-- PINs: the exit code of each queue, today's.

-- name: pins_of_venue
SELECT r.venue_id, r.queue_id, r.day, r.pin, r.made_at, r.rotated, r.failures
FROM unnest($1::text[]) AS k (venue_id)
CROSS JOIN LATERAL (
    SELECT * FROM pins AS s
    WHERE s.venue_id = k.venue_id
    ORDER BY s.queue_id
) AS r;

-- name: save_pins
INSERT INTO pins (venue_id, queue_id, day, pin, made_at, rotated, failures)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
ON CONFLICT (venue_id, queue_id) DO UPDATE SET
    day = excluded.day,
    pin = excluded.pin,
    made_at = excluded.made_at,
    rotated = excluded.rotated,
    failures = excluded.failures;
