-- How many visitors there were, from the smallest of their hashes.

-- name: visitors_of_hours
-- Of several hours of one day together: how many hashes there are up to ?4, and the largest of these.
WITH RECURSIVE starts (start) AS (
    SELECT ?2 WHERE ?2 < ?3
    UNION ALL
    SELECT start + 3600000 FROM starts WHERE start + 3600000 < ?3
)
SELECT ?1, ?2, count(*), max(visitor)
FROM (
    SELECT v.visitor
    FROM starts CROSS JOIN traffic_visitors AS v ON v.span = 3600000 AND v.start = starts.start AND v.path = ?1
    GROUP BY v.visitor
    ORDER BY v.visitor
    LIMIT ?4
);

-- name: visitors_by_start
-- The same of each hour, or of each day, by itself.
WITH RECURSIVE starts (start) AS (
    SELECT ?2 WHERE ?2 < ?3
    UNION ALL
    SELECT start + ?5 FROM starts WHERE start + ?5 < ?3
)
SELECT
    ?1,
    starts.start,
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM traffic_visitors AS v
            WHERE v.span = ?5 AND v.start = starts.start AND v.path = ?1
            LIMIT ?4
        )
    ),
    (
        SELECT visitor FROM traffic_visitors AS v
        WHERE v.span = ?5 AND v.start = starts.start AND v.path = ?1
        ORDER BY visitor
        LIMIT 1 OFFSET ?4 - 1
    )
FROM starts;

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
