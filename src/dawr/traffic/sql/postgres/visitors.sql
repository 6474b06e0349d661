-- How many visitors there were, from the smallest of their hashes.

-- name: visitors_of_hours
-- Of several hours of one day together: how many hashes there are, and the $4th smallest if there are so many.
SELECT wanted.path, wanted.since, found.visitors, found.largest
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS wanted (path, since, until)
CROSS JOIN LATERAL (
    WITH known AS MATERIALIZED (
        SELECT v.visitor
        FROM generate_series(wanted.since, wanted.until - 1, 3600000) AS s (start)
        CROSS JOIN LATERAL (
            SELECT visitor FROM traffic_visitors
            WHERE span = 3600000 AND start = s.start AND path = wanted.path
            ORDER BY visitor
            LIMIT ($4::bigint[])[1]
        ) AS v
        GROUP BY v.visitor
    )
    SELECT count(*) AS visitors, CASE WHEN count(*) >= ($4::bigint[])[1] THEN (
        SELECT visitor FROM known ORDER BY visitor LIMIT 1 OFFSET ($4::bigint[])[1] - 1
    ) END AS largest
    FROM known
) AS found;

-- name: visitors_by_start
-- The same of each hour, or of each day, by itself.
SELECT wanted.path, s.start, found.visitors, (
    SELECT visitor FROM traffic_visitors
    WHERE span = wanted.span AND start = s.start AND path = wanted.path
    ORDER BY visitor
    LIMIT 1 OFFSET ($4::bigint[])[1] - 1
)
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $5::bigint[]) AS wanted (path, since, until, span)
CROSS JOIN LATERAL generate_series(wanted.since, wanted.until - 1, wanted.span) AS s (start)
CROSS JOIN LATERAL (
    SELECT count(*) AS visitors
    FROM (
        SELECT 1 FROM traffic_visitors
        WHERE span = wanted.span AND start = s.start AND path = wanted.path
        LIMIT ($4::bigint[])[1]
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
