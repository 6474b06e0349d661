-- Visits: one person's whole stay.

-- name: add_visits
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
);
