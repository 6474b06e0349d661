-- How many visitors there were, from the smallest of their hashes.

-- name: smallest_visitors
-- Of several hours of one day, or of one day: how many of the ?5 smallest hashes there are, and the largest of them.
WITH RECURSIVE starts (start) AS (
    SELECT ?2 WHERE ?2 < ?3
    UNION ALL
    SELECT start + ?1 FROM starts WHERE start + ?1 < ?3
)
SELECT ?4, ?2, count(*), max(visitor)
FROM (
    SELECT DISTINCT v.visitor
    FROM starts CROSS JOIN traffic_visitors AS v ON v.span = ?1 AND v.start = starts.start AND v.path = ?4
    ORDER BY v.visitor
    LIMIT ?5
);

-- name: groups_with_more_requests
-- Fewer requests than hashes are kept cannot have more visitors.
SELECT start, path FROM traffic_hours WHERE span = ?1 AND start > ?2 GROUP BY start, path HAVING sum(requests) > ?3
UNION ALL
SELECT start, '' FROM traffic_hours WHERE span = ?1 AND start > ?2 GROUP BY start HAVING sum(requests) > ?3;

-- name: trim_visitors
-- All but the ?4 smallest hashes of a group.
DELETE FROM traffic_visitors
WHERE span = ?1 AND start = ?2 AND path = ?3 AND visitor > (
    SELECT visitor FROM traffic_visitors
    WHERE span = ?1 AND start = ?2 AND path = ?3
    ORDER BY visitor
    LIMIT 1 OFFSET ?4 - 1
);
