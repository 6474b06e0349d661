-- Visits: one person's whole stay.

-- name: save_visits
-- Another visit under an id that is taken is refused: its visitor would be NULL.
INSERT INTO visits (
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id,
    expired_at, open_key, journey, audience, name, priority, stages, pin_failures, locked_at, previous, why, note
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21
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
SELECT ?1, ?2
WHERE EXISTS (SELECT 1 FROM tickets WHERE venue_id = ?1 AND queue_id = ?2)
    OR EXISTS (SELECT 1 FROM visits WHERE venue_id = ?1 AND instr(stages, '"queue":"' || ?2 || '"') > 0);

-- name: visits_by_key
SELECT
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id,
    expired_at, open_key, journey, audience, name, priority, stages, pin_failures, locked_at, previous, why, note
FROM visits
WHERE venue_id = ?1 AND visit_id = ?2;

-- name: visits_by_open_key
-- The one planned visit that a visitor has open.
SELECT
    venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id,
    expired_at, open_key, journey, audience, name, priority, stages, pin_failures, locked_at, previous, why, note
FROM visits
WHERE venue_id = ?1 AND open_key = ?2;
