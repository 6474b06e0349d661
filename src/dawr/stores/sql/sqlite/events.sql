-- Events: one row per change, numbered without holes.

-- name: events_after
SELECT
    venue_id, version, kind, at, queue_id, ticket_id, actor, correlation_id, reason, data
FROM events
WHERE venue_id = ?1 AND version > ?2
ORDER BY version
LIMIT ?3;

-- name: add_events
INSERT INTO events (
    venue_id, version, kind, at, queue_id, ticket_id, actor, correlation_id, reason, data
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
);
