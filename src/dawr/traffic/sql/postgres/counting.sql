-- What one batch adds: details, aggregates, and the hashes that tell a repeat from another request.

-- name: seen_by_hash
SELECT s.hash, s.id, s.at
FROM unnest($1::text[]) AS wanted (hash)
CROSS JOIN LATERAL (SELECT hash, id, at FROM traffic_seen WHERE hash = wanted.hash LIMIT 1) AS s;

-- name: events_by_key
SELECT e.id, e.hash
FROM unnest($1::text[], $2::text[]) AS wanted (id, hash)
CROSS JOIN LATERAL (SELECT id, hash FROM traffic_events WHERE id = wanted.id AND hash = wanted.hash LIMIT 1) AS e;

-- name: save_seen
-- A request id that is used again after its time is another request.
INSERT INTO traffic_seen AS old (hash, id, at, counted_at)
SELECT hash, id, at, counted_at
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS new (hash, id, at, counted_at)
ON CONFLICT (hash) DO UPDATE SET id = excluded.id, at = excluded.at, counted_at = excluded.counted_at;

-- name: purge_seen
-- By when they were counted: what came late may have repeats that come later still.
DELETE FROM traffic_seen
WHERE hash IN (SELECT hash FROM traffic_seen WHERE counted_at < $1 ORDER BY counted_at LIMIT $2);

-- name: unsettled_since
-- The oldest moment of which something may still come: from the spools of a host, or from the queue.
SELECT min(moment)
FROM (
    SELECT min(shipped_at) AS moment FROM traffic_consumer
    UNION ALL
    SELECT min(due_at) FROM (SELECT due_at FROM traffic_queue ORDER BY seq LIMIT 1) AS first
) AS moments;

-- name: add_events
INSERT INTO traffic_events AS old (id, hash, at, path, method, status, outcome, ms, visitor, request_id, correlation_id, agent, country)
SELECT id, hash, at, path, method, status, outcome, ms, visitor, request_id, correlation_id, agent, country FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::double precision[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[]) AS new (id, hash, at, path, method, status, outcome, ms, visitor, request_id, correlation_id, agent, country)
ON CONFLICT (id, hash) DO NOTHING;

-- name: count_hours
INSERT INTO traffic_hours AS old (span, start, path, method, class, requests, errors, refused, sum_us, max_us, streams)
SELECT span, start, path, method, class, requests, errors, refused, sum_us, max_us, streams FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[]) AS new (span, start, path, method, class, requests, errors, refused, sum_us, max_us, streams)
ON CONFLICT (span, start, path, method, class) DO UPDATE SET
    requests = old.requests + excluded.requests,
    errors = old.errors + excluded.errors,
    refused = old.refused + excluded.refused,
    sum_us = old.sum_us + excluded.sum_us,
    max_us = greatest(old.max_us, excluded.max_us),
    streams = old.streams + excluded.streams;

-- name: count_minutes
INSERT INTO traffic_minutes AS old (minute, requests, errors, refused)
SELECT minute, requests, errors, refused FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS new (minute, requests, errors, refused)
ON CONFLICT (minute) DO UPDATE SET
    requests = old.requests + excluded.requests,
    errors = old.errors + excluded.errors,
    refused = old.refused + excluded.refused;

-- name: count_buckets
INSERT INTO traffic_buckets AS old (span, start, path, method, bucket, requests)
SELECT span, start, path, method, bucket, requests FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) AS new (span, start, path, method, bucket, requests)
ON CONFLICT (span, start, path, method, bucket) DO UPDATE SET requests = old.requests + excluded.requests;

-- name: add_visitors
INSERT INTO traffic_visitors AS old (span, start, path, visitor)
SELECT span, start, path, visitor FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS new (span, start, path, visitor)
ON CONFLICT (span, start, path, visitor) DO NOTHING;
