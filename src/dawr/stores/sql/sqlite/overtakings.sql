-- Who let whom be overtaken, summed by day.

-- name: overtakings_by_key
SELECT venue_id, day, sums
FROM overtakings
WHERE venue_id = ?1 AND day = ?2;

-- name: save_overtakings
INSERT INTO overtakings (venue_id, day, sums)
VALUES (?1, ?2, ?3)
ON CONFLICT (venue_id, day) DO UPDATE SET
    sums = excluded.sums;
