-- What is read for people. A range of time is three windows: hours up to the first midnight, whole UTC days, and hours
-- from the last midnight on. Its four bounds come in this order.

-- name: counts_by_path
WITH windows (span, since, until) AS (VALUES (3600000, ?1, ?2), (86400000, ?2, ?3), (3600000, ?3, ?4))
SELECT path, sum(requests), sum(errors), sum(refused), sum(sum_us), max(max_us), sum(streams)
FROM windows CROSS JOIN traffic_hours AS h ON h.span = windows.span AND h.start >= since AND h.start < until
GROUP BY path;

-- name: buckets_together
-- The histogram of all paths.
WITH windows (span, since, until) AS (VALUES (3600000, ?1, ?2), (86400000, ?2, ?3), (3600000, ?3, ?4))
SELECT bucket, sum(requests)
FROM windows CROSS JOIN traffic_buckets AS b ON b.span = windows.span AND b.start >= since AND b.start < until
GROUP BY bucket;

-- name: buckets_of_path
-- The histogram of one path, and of one method if one is given.
WITH RECURSIVE windows (span, start, until) AS (VALUES (3600000, ?3, ?4), (86400000, ?4, ?5), (3600000, ?5, ?6)),
starts (span, start, until) AS (
    SELECT span, start, until FROM windows WHERE start < until
    UNION ALL
    SELECT span, start + span, until FROM starts WHERE start + span < until
)
SELECT ?1, bucket, sum(requests)
FROM starts CROSS JOIN traffic_buckets AS b ON b.span = starts.span AND b.start = starts.start AND b.path = ?1
WHERE ?2 IN ('', b.method)
GROUP BY bucket;

-- name: counts_by_start
SELECT start, sum(requests), sum(errors), sum(refused), sum(sum_us), max(max_us), sum(streams)
FROM traffic_hours
WHERE span = ?1 AND start >= ?2 AND start < ?3
GROUP BY start;

-- name: counts_of_path_by_start
WITH RECURSIVE starts (start) AS (
    SELECT ?2 WHERE ?2 < ?3
    UNION ALL
    SELECT start + ?1 FROM starts WHERE start + ?1 < ?3
)
SELECT h.start, method, class, requests, errors, refused, sum_us, max_us, streams
FROM starts CROSS JOIN traffic_hours AS h ON h.span = ?1 AND h.start = starts.start AND h.path = ?4;

-- name: buckets_by_start
SELECT start, bucket, sum(requests)
FROM traffic_buckets
WHERE span = ?1 AND start >= ?2 AND start < ?3
GROUP BY start, bucket;

-- name: buckets_of_path_by_start
WITH RECURSIVE starts (start) AS (
    SELECT ?2 WHERE ?2 < ?3
    UNION ALL
    SELECT start + ?1 FROM starts WHERE start + ?1 < ?3
)
SELECT b.start, bucket, sum(requests)
FROM starts CROSS JOIN traffic_buckets AS b ON b.span = ?1 AND b.start = starts.start AND b.path = ?4
GROUP BY b.start, bucket;

-- name: minutes_between
SELECT minute, requests, errors, refused FROM traffic_minutes WHERE minute >= ?1 AND minute < ?2 ORDER BY minute;

-- name: minutes_together
SELECT coalesce(sum(requests), 0), coalesce(sum(errors), 0), coalesce(sum(refused), 0)
FROM traffic_minutes
WHERE minute >= ?1 AND minute < ?2;

-- name: busiest_minute
SELECT minute, requests
FROM traffic_minutes
WHERE minute >= ?1 AND minute < ?2
ORDER BY requests DESC, minute
LIMIT 1;

-- name: agents_of_path
-- Of its latest requests that still have details: an id begins with its time.
SELECT agent, count(*)
FROM (
    SELECT agent, method FROM traffic_events WHERE path = ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4
)
WHERE ?5 IN ('', method)
GROUP BY agent
ORDER BY count(*) DESC, agent;

-- name: latest_of_path
SELECT id, at, method, status, outcome, ms, agent, country, request_id, correlation_id
FROM (SELECT * FROM traffic_events WHERE path = ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4)
WHERE ?5 IN ('', method)
ORDER BY id DESC
LIMIT ?6;

-- name: alerts_since
SELECT name, level, sentence, value, began_at, told_at, seen_at, ended_at
FROM traffic_alerts
WHERE ended_at IS NULL OR ended_at >= ?1
ORDER BY ended_at IS NOT NULL, began_at DESC, name;
