-- What one batch adds: details, aggregates, and the hashes that tell a repeat from another request.

-- name: seen_by_hash
SELECT hash, id, at FROM traffic_seen WHERE hash = ?1;

-- name: events_by_key
SELECT id, hash FROM traffic_events WHERE id = ?1 AND hash = ?2;

-- name: save_seen
-- A request id that is used again after its time is another request.
INSERT INTO traffic_seen (hash, id, at, counted_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (hash) DO UPDATE SET id = excluded.id, at = excluded.at, counted_at = excluded.counted_at;

-- name: purge_seen
-- By when they were counted: what came late may have repeats that come later still.
DELETE FROM traffic_seen
WHERE hash IN (SELECT hash FROM traffic_seen WHERE counted_at < ?1 ORDER BY counted_at LIMIT ?2);

-- name: unsettled_since
-- The oldest moment of which something may still come: from the spools of a host, or from the queue.
SELECT min(moment)
FROM (
    SELECT min(shipped_at) AS moment FROM traffic_consumer
    UNION ALL
    SELECT min(due_at) FROM (SELECT due_at FROM traffic_queue ORDER BY seq LIMIT 1) AS first
) AS moments;

-- name: add_events
INSERT INTO traffic_events (id, hash, at, path, method, status, outcome, ms, visitor, request_id, correlation_id, agent, country) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (id, hash) DO NOTHING;

-- name: count_hours
INSERT INTO traffic_hours (span, start, path, method, class, requests, errors, refused, sum_us, max_us, streams) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (span, start, path, method, class) DO UPDATE SET
    requests = traffic_hours.requests + excluded.requests,
    errors = traffic_hours.errors + excluded.errors,
    refused = traffic_hours.refused + excluded.refused,
    sum_us = traffic_hours.sum_us + excluded.sum_us,
    max_us = max(traffic_hours.max_us, excluded.max_us),
    streams = traffic_hours.streams + excluded.streams;

-- name: count_minutes
INSERT INTO traffic_minutes (minute, requests, errors, refused) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (minute) DO UPDATE SET
    requests = traffic_minutes.requests + excluded.requests,
    errors = traffic_minutes.errors + excluded.errors,
    refused = traffic_minutes.refused + excluded.refused;

-- name: count_buckets
INSERT INTO traffic_buckets (span, start, path, method, bucket, requests) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (span, start, path, method, bucket) DO UPDATE SET requests = traffic_buckets.requests + excluded.requests;

-- name: add_visitors
INSERT INTO traffic_visitors (span, start, path, visitor) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (span, start, path, visitor) DO NOTHING;
