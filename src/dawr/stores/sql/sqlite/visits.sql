-- Visits: one person's whole stay.

-- name: save_visits
-- Another visit under an id that is taken is refused: its visitor would be NULL.
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
)
ON CONFLICT (venue_id, visit_id) DO UPDATE SET
    visitor = CASE WHEN visits.visitor = excluded.visitor AND visits.started_at = excluded.started_at
        THEN excluded.visitor END,
    secret_hash = excluded.secret_hash,
    state = excluded.state,
    finished_at = excluded.finished_at,
    left_at = excluded.left_at,
    ticket_id = excluded.ticket_id;

-- name: visits_by_key
SELECT
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id
FROM visits
WHERE venue_id = ?1 AND visit_id = ?2;
