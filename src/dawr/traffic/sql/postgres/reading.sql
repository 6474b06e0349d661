-- What is read for people. A range of time is three windows: hours up to the first midnight, whole UTC days, and hours
-- from the last midnight on. Its four bounds come in this order.
-- OFFSET 0 and LIMIT keep a window or a start the outer loop, so that the inner one is a look into the primary key.

-- name: counts_by_path
SELECT path, sum(requests)::bigint, sum(errors)::bigint, sum(refused)::bigint, sum(sum_us)::bigint, max(max_us), sum(streams)::bigint
FROM (
    VALUES (3600000::bigint, $1::bigint, $2::bigint), (86400000, $2, $3::bigint), (3600000, $3, $4::bigint)
) AS w (span, since, until)
CROSS JOIN LATERAL (
    SELECT * FROM traffic_hours WHERE span = w.span AND start >= w.since AND start < w.until OFFSET 0
) AS h
GROUP BY path;

-- name: buckets_together
-- The histogram of all paths.
SELECT bucket, sum(requests)::bigint
FROM (
    VALUES (3600000::bigint, $1::bigint, $2::bigint), (86400000, $2, $3::bigint), (3600000, $3, $4::bigint)
) AS w (span, since, until)
CROSS JOIN LATERAL (
    SELECT bucket, requests FROM traffic_buckets WHERE span = w.span AND start >= w.since AND start < w.until OFFSET 0
) AS b
GROUP BY bucket;

-- name: buckets_of_path
-- The histogram of one path, and of one method if one is given.
SELECT wanted.path, b.bucket, sum(b.requests)::bigint
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS wanted (path, method, start, whole, rest, until)
CROSS JOIN LATERAL (
    VALUES (3600000::bigint, wanted.start, wanted.whole),
        (86400000, wanted.whole, wanted.rest),
        (3600000, wanted.rest, wanted.until)
) AS w (span, since, until)
CROSS JOIN LATERAL generate_series(w.since, w.until - 1, w.span) AS s (start)
CROSS JOIN LATERAL (
    SELECT bucket, requests FROM traffic_buckets
    WHERE span = w.span AND start = s.start AND path = wanted.path AND wanted.method IN ('', method)
    OFFSET 0
) AS b
GROUP BY wanted.path, b.bucket;

-- name: counts_by_start
SELECT start, sum(requests)::bigint, sum(errors)::bigint, sum(refused)::bigint, sum(sum_us)::bigint, max(max_us), sum(streams)::bigint
FROM traffic_hours
WHERE span = $1 AND start >= $2 AND start < $3
GROUP BY start;

-- name: counts_of_path_by_start
SELECT s.start, method, class, requests, errors, refused, sum_us, max_us, streams
FROM generate_series($2::bigint, $3::bigint - 1, $1::bigint) AS s (start)
CROSS JOIN LATERAL (
    SELECT * FROM traffic_hours WHERE span = $1 AND start = s.start AND path = $4 OFFSET 0
) AS h;

-- name: buckets_by_start
SELECT s.start, b.bucket, b.requests
FROM generate_series($2::bigint, $3::bigint - 1, $1::bigint) AS s (start)
CROSS JOIN LATERAL (
    SELECT bucket, sum(requests)::bigint AS requests
    FROM traffic_buckets
    WHERE span = $1 AND start = s.start
    GROUP BY bucket
) AS b;

-- name: buckets_of_path_by_start
SELECT s.start, b.bucket, b.requests
FROM generate_series($2::bigint, $3::bigint - 1, $1::bigint) AS s (start)
CROSS JOIN LATERAL (
    SELECT bucket, sum(requests)::bigint AS requests
    FROM traffic_buckets
    WHERE span = $1 AND start = s.start AND path = $4
    GROUP BY bucket
) AS b;

-- name: minutes_between
SELECT minute, requests, errors, refused FROM traffic_minutes WHERE minute >= $1 AND minute < $2 ORDER BY minute;

-- name: minutes_together
SELECT coalesce(sum(requests), 0)::bigint, coalesce(sum(errors), 0)::bigint, coalesce(sum(refused), 0)::bigint
FROM traffic_minutes
WHERE minute >= $1 AND minute < $2;

-- name: busiest_minute
SELECT minute, requests
FROM traffic_minutes
WHERE minute >= $1 AND minute < $2
ORDER BY requests DESC, minute
LIMIT 1;

-- name: agents_of_path
-- Of its latest requests that still have details: an id begins with its time.
SELECT agent, count(*)
FROM (
    SELECT agent, method FROM traffic_events WHERE path = $1 AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4
) AS latest
WHERE $5::text IN ('', method)
GROUP BY agent
ORDER BY count(*) DESC, agent;

-- name: latest_of_path
SELECT id, at, method, status, outcome, ms, agent, country, request_id, correlation_id
FROM (
    SELECT * FROM traffic_events WHERE path = $1 AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4
) AS latest
WHERE $5::text IN ('', method)
ORDER BY id DESC
LIMIT $6;

-- name: alerts_since
SELECT name, level, sentence, value, began_at, told_at, seen_at, ended_at
FROM traffic_alerts
WHERE ended_at IS NULL OR ended_at >= $1
ORDER BY ended_at IS NOT NULL, began_at DESC, name;
