-- Who let whom be overtaken, summed by day.

-- name: overtakings_by_key
SELECT r.venue_id, r.day, r.sums
FROM unnest($1::text[], $2::text[]) AS k (venue_id, day)
CROSS JOIN LATERAL (
    SELECT * FROM overtakings AS s
    WHERE s.venue_id = k.venue_id AND s.day = k.day
    LIMIT 1
) AS r;

-- name: save_overtakings
INSERT INTO overtakings (venue_id, day, sums)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
ON CONFLICT (venue_id, day) DO UPDATE SET
    sums = excluded.sums;
