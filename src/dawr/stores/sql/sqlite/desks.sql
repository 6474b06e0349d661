-- Desks: who sits there, and whether they are open.

-- name: desks_of_venue
SELECT venue_id, desk_id, state, occupant, since, until, misses
FROM desks
WHERE venue_id = ?1;

-- name: save_desks
INSERT INTO desks (venue_id, desk_id, state, occupant, since, until, misses)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (venue_id, desk_id) DO UPDATE SET
    state = excluded.state,
    occupant = excluded.occupant,
    since = excluded.since,
    until = excluded.until,
    misses = excluded.misses;
