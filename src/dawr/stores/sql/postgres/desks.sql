-- Desks: who sits there, and whether they are open.

-- name: desks_of_venue
SELECT r.venue_id, r.desk_id, r.state, r.occupant, r.since, r.until, r.misses
FROM unnest($1::text[]) AS k (venue_id)
CROSS JOIN LATERAL (
    SELECT * FROM desks AS s
    WHERE s.venue_id = k.venue_id
    ORDER BY s.desk_id
) AS r;

-- name: save_desks
INSERT INTO desks (venue_id, desk_id, state, occupant, since, until, misses)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::int[])
ON CONFLICT (venue_id, desk_id) DO UPDATE SET
    state = excluded.state,
    occupant = excluded.occupant,
    since = excluded.since,
    until = excluded.until,
    misses = excluded.misses;
