-- Events: one row per change, numbered without holes.

-- name: events_after
SELECT
    e.venue_id, e.version, e.kind, e.at, e.queue_id, e.ticket_id, e.actor, e.correlation_id,
    e.reason, e.data
FROM unnest($1::text[], $2::bigint[], $3::int[]) AS k (venue_id, version, step)
CROSS JOIN LATERAL (
    SELECT * FROM events AS s
    WHERE s.venue_id = k.venue_id AND s.version > k.version
    ORDER BY s.version
    LIMIT k.step
) AS e;

-- name: add_events
INSERT INTO events (
    venue_id, version, kind, at, queue_id, ticket_id, actor, correlation_id, reason, data
)
SELECT * FROM unnest(
    $1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[]
);
