-- PINs: the exit code of each queue, today's.

-- name: pins_of_venue
SELECT venue_id, queue_id, day, pin, made_at, rotated, failures
FROM pins
WHERE venue_id = ?1;

-- name: save_pins
INSERT INTO pins (venue_id, queue_id, day, pin, made_at, rotated, failures)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (venue_id, queue_id) DO UPDATE SET
    day = excluded.day,
    pin = excluded.pin,
    made_at = excluded.made_at,
    rotated = excluded.rotated,
    failures = excluded.failures;
