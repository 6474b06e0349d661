-- Visits: one person's whole stay.

-- name: add_visits
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
);

-- name: visits_by_id
SELECT
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id
FROM visits
WHERE venue_id = ?1 AND visit_id = ?2;
