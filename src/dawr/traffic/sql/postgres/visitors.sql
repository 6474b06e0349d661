-- How many visitors there were, from the smallest of their hashes.

-- name: smallest_visitors
-- Of several hours of one day, or of one day: how many of the $5 smallest hashes there are, and the largest of them.
SELECT wanted.path, wanted.since, found.visitors, found.largest
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS wanted (span, since, until, path)
CROSS JOIN LATERAL (
    SELECT count(*) AS visitors, max(visitor) AS largest
    FROM (
        SELECT DISTINCT v.visitor
        FROM generate_series(wanted.since, wanted.until - 1, wanted.span) AS s (start)
        CROSS JOIN LATERAL (
            SELECT visitor FROM traffic_visitors
            WHERE span = wanted.span AND start = s.start AND path = wanted.path
            ORDER BY visitor
            LIMIT ($5::bigint[])[1]
        ) AS v
        ORDER BY v.visitor
        LIMIT ($5::bigint[])[1]
    ) AS smallest
) AS found;

-- name: groups_with_more_requests
-- Fewer requests than hashes are kept cannot have more visitors.
SELECT start, path FROM traffic_hours WHERE span = $1 AND start > $2 GROUP BY start, path HAVING sum(requests) > $3::bigint
UNION ALL
SELECT start, '' FROM traffic_hours WHERE span = $1 AND start > $2 GROUP BY start HAVING sum(requests) > $3::bigint;

-- name: trim_visitors
-- All but the $4 smallest hashes of a group.
DELETE FROM traffic_visitors
WHERE span = $1 AND start = $2 AND path = $3 AND visitor > (
    SELECT visitor FROM traffic_visitors
    WHERE span = $1 AND start = $2 AND path = $3
    ORDER BY visitor
    LIMIT 1 OFFSET $4 - 1
);
