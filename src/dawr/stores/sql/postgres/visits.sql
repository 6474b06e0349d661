-- Visits: one person's whole stay.

-- name: save_visits
-- Another visit under an id that is taken is refused: its visitor would be NULL.
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::text[]
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
    v.venue_id, v.visit_id, v.secret_hash, v.visitor, v.state, v.started_at, v.finished_at, v.left_at,
    v.ticket_id
FROM unnest($1::text[], $2::text[]) AS k (venue_id, visit_id)
CROSS JOIN LATERAL (
    SELECT * FROM visits AS s
    WHERE s.venue_id = k.venue_id AND s.visit_id = k.visit_id
    LIMIT 1
) AS v;
