-- Every table's own count of the same requests, by hour or by day.

-- name: verify_ledger
SELECT hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space
FROM traffic_ledger
WHERE hour >= $1 AND hour < $2;

-- name: verify_waiting
SELECT hour, count(*) FROM traffic_queue WHERE hour >= $1 AND hour < $2 GROUP BY hour;

-- name: verify_dead
SELECT hour, count(*) FILTER (WHERE kind = 'poison'), count(*) FILTER (WHERE kind = 'damaged')
FROM traffic_dead
WHERE hour >= $1 AND hour < $2
GROUP BY hour;

-- name: verify_hours
SELECT start, sum(requests)::bigint, sum(errors)::bigint, sum(refused)::bigint, sum(sum_us)::bigint, max(max_us), sum(streams)::bigint
FROM traffic_hours
WHERE span = $1 AND start >= $2 AND start < $3
GROUP BY start;

-- name: verify_buckets
SELECT start, sum(requests)::bigint FROM traffic_buckets WHERE span = $1 AND start >= $2 AND start < $3 GROUP BY start;

-- name: verify_minutes
SELECT minute - minute % 3600000 AS hour, sum(requests)::bigint, sum(errors)::bigint, sum(refused)::bigint
FROM traffic_minutes
WHERE minute >= $1 AND minute < $2
GROUP BY minute - minute % 3600000;

-- name: verify_details
-- By the times that their ids begin with, which are the key.
SELECT at - at % 3600000 AS hour, count(*) FROM traffic_events WHERE id >= $1 AND id < $2 GROUP BY at - at % 3600000;

-- name: verify_archives
SELECT day, part, file, rows, deleted, sha256, state FROM traffic_archives WHERE day >= $1 AND day < $2 ORDER BY day, part;

-- name: sampled_events
-- Those whose hash begins with less than $3: the same ones every time.
SELECT at, path, method, status, outcome, ms, visitor FROM traffic_events WHERE id >= $1 AND id < $2 AND hash < $3 ORDER BY id, hash LIMIT $4;

-- name: requests_in_hour
SELECT h.start, h.path, h.method, h.class, h.requests
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS wanted (start, path, method, class)
JOIN traffic_hours AS h ON h.span = 3600000 AND h.start = wanted.start AND h.path = wanted.path AND h.method = wanted.method AND h.class = wanted.class;

-- name: requests_in_bucket
SELECT b.start, b.path, b.method, b.bucket, b.requests
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS wanted (start, path, method, bucket)
JOIN traffic_buckets AS b ON b.span = 3600000 AND b.start = wanted.start AND b.path = wanted.path AND b.method = wanted.method AND b.bucket = wanted.bucket;

-- name: visitors_in_hour
-- A visitor who is there, or who had to make room for $4 smaller hashes.
SELECT wanted.start, wanted.path, wanted.visitor
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS wanted (start, path, visitor, most)
WHERE EXISTS (SELECT 1 FROM traffic_visitors AS v WHERE v.span = 3600000 AND v.start = wanted.start AND v.path = wanted.path AND v.visitor = wanted.visitor)
    OR (SELECT count(*) FROM (SELECT 1 FROM traffic_visitors AS v WHERE v.span = 3600000 AND v.start = wanted.start AND v.path = wanted.path AND v.visitor < wanted.visitor LIMIT wanted.most) AS smaller) >= wanted.most;
