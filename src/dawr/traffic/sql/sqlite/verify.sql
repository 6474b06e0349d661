-- Every table's own count of the same requests, by hour or by day.

-- name: verify_ledger
SELECT hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space
FROM traffic_ledger
WHERE hour >= ?1 AND hour < ?2;

-- name: verify_waiting
SELECT hour, count(*) FROM traffic_queue WHERE hour >= ?1 AND hour < ?2 GROUP BY hour;

-- name: verify_dead
SELECT hour, coalesce(sum(kind = 'poison'), 0), coalesce(sum(kind = 'damaged'), 0)
FROM traffic_dead
WHERE hour >= ?1 AND hour < ?2
GROUP BY hour;

-- name: verify_hours
SELECT start, sum(requests), sum(errors), sum(refused), sum(sum_us), max(max_us), sum(streams)
FROM traffic_hours
WHERE span = ?1 AND start >= ?2 AND start < ?3
GROUP BY start;

-- name: verify_buckets
SELECT start, sum(requests) FROM traffic_buckets WHERE span = ?1 AND start >= ?2 AND start < ?3 GROUP BY start;

-- name: verify_minutes
SELECT minute - minute % 3600000 AS hour, sum(requests), sum(errors), sum(refused)
FROM traffic_minutes
WHERE minute >= ?1 AND minute < ?2
GROUP BY minute - minute % 3600000;

-- name: verify_details
-- By the times that their ids begin with, which are the key.
SELECT at - at % 3600000 AS hour, count(*) FROM traffic_events WHERE id >= ?1 AND id < ?2 GROUP BY at - at % 3600000;

-- name: verify_archives
SELECT day, part, file, rows, deleted, sha256, state FROM traffic_archives WHERE day >= ?1 AND day < ?2 ORDER BY day, part;

-- name: sampled_events
-- Those whose hash begins with less than ?3: the same ones every time.
SELECT at, path, method, status, outcome, ms, visitor FROM traffic_events WHERE id >= ?1 AND id < ?2 AND hash < ?3 ORDER BY id, hash LIMIT ?4;

-- name: requests_in_hour
SELECT start, path, method, class, requests FROM traffic_hours WHERE span = 3600000 AND start = ?1 AND path = ?2 AND method = ?3 AND class = ?4;

-- name: requests_in_bucket
SELECT start, path, method, bucket, requests FROM traffic_buckets WHERE span = 3600000 AND start = ?1 AND path = ?2 AND method = ?3 AND bucket = ?4;

-- name: visitors_in_hour
-- A visitor who is there, or who had to make room for ?4 smaller hashes.
SELECT ?1, ?2, ?3
WHERE EXISTS (SELECT 1 FROM traffic_visitors WHERE span = 3600000 AND start = ?1 AND path = ?2 AND visitor = ?3)
    OR (SELECT count(*) FROM (SELECT 1 FROM traffic_visitors WHERE span = 3600000 AND start = ?1 AND path = ?2 AND visitor < ?3 LIMIT ?4)) >= ?4;
