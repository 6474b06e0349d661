-- Visits: one person's whole stay.

-- name: add_visits
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::text[]
);

-- name: visits_by_id
SELECT
    v.venue_id, v.visit_id, v.secret_hash, v.visitor, v.state, v.started_at, v.finished_at, v.left_at,
    v.ticket_id
FROM unnest($1::text[], $2::text[]) AS k (venue_id, visit_id)
CROSS JOIN LATERAL (
    SELECT * FROM visits AS s
    WHERE s.venue_id = k.venue_id AND s.visit_id = k.visit_id
    LIMIT 1
) AS v;
