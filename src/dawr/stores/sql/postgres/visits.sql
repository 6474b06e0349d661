-- Visits: one person's whole stay.

-- name: save_visits
-- Another visit under an id that is taken is refused: its visitor would be NULL.
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id,
    expired_at, open_key, journey, audience, name, priority, stages, pin_failures, locked_at, previous, why, note
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[],
    $15::int[], $16::text[], $17::text[], $18::bigint[], $19::text[], $20::text[], $21::text[]
)
ON CONFLICT (venue_id, visit_id) DO UPDATE SET
    visitor = CASE WHEN visits.visitor = excluded.visitor AND visits.started_at = excluded.started_at
        THEN excluded.visitor END,
    secret_hash = excluded.secret_hash,
    state = excluded.state,
    finished_at = excluded.finished_at,
    left_at = excluded.left_at,
    ticket_id = excluded.ticket_id,
    expired_at = excluded.expired_at,
    open_key = excluded.open_key,
    journey = excluded.journey,
    audience = excluded.audience,
    name = excluded.name,
    priority = excluded.priority,
    stages = excluded.stages,
    pin_failures = excluded.pin_failures,
    locked_at = excluded.locked_at,
    previous = excluded.previous,
    why = excluded.why,
    note = excluded.note;

-- name: queues_with_history
-- Whether a queue ever gave a number, or was part of somebody's plan: asked when it is to be removed.
SELECT k.venue_id, k.queue_id
FROM unnest($1::text[], $2::text[]) AS k (venue_id, queue_id)
WHERE EXISTS (SELECT 1 FROM tickets AS t WHERE t.venue_id = k.venue_id AND t.queue_id = k.queue_id)
    OR EXISTS (
        SELECT 1 FROM visits AS v
        WHERE v.venue_id = k.venue_id AND strpos(v.stages, '"queue":"' || k.queue_id || '"') > 0
    );

-- name: visits_by_key
SELECT
    v.venue_id, v.visit_id, v.secret_hash, v.visitor, v.state, v.started_at, v.finished_at, v.left_at, v.ticket_id,
    v.expired_at, v.open_key, v.journey, v.audience, v.name, v.priority, v.stages, v.pin_failures, v.locked_at, v.previous, v.why, v.note
FROM unnest($1::text[], $2::text[]) AS k (venue_id, visit_id)
CROSS JOIN LATERAL (
    SELECT * FROM visits AS s
    WHERE s.venue_id = k.venue_id AND s.visit_id = k.visit_id
    LIMIT 1
) AS v;

-- name: visits_by_open_key
-- The one planned visit that a visitor has open.
SELECT
    v.venue_id, v.visit_id, v.secret_hash, v.visitor, v.state, v.started_at, v.finished_at, v.left_at, v.ticket_id,
    v.expired_at, v.open_key, v.journey, v.audience, v.name, v.priority, v.stages, v.pin_failures, v.locked_at, v.previous, v.why, v.note
FROM unnest($1::text[], $2::text[]) AS k (venue_id, open_key)
CROSS JOIN LATERAL (
    SELECT * FROM visits AS s
    WHERE s.venue_id = k.venue_id AND s.open_key = k.open_key
    LIMIT 1
) AS v;
