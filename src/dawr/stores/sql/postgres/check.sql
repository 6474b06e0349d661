-- What `dawr check` looks at: every row, when nobody is in a hurry.

-- name: check_events
-- Each venue's version, how many events it has, and the last one.
SELECT v.slug, h.version, count(e.version), coalesce(max(e.version), 0)
FROM heads AS h
JOIN venues AS v ON v.venue_id = h.venue_id
LEFT JOIN events AS e ON e.venue_id = h.venue_id
GROUP BY v.slug, h.version
ORDER BY v.slug;

-- name: check_lines
-- Lines whose numbers are not exactly 1 to the last one given.
SELECT v.slug, l.queue_id, l.day, l.round, l.last_number, count(t.number), coalesce(max(t.number), 0)
FROM lines AS l
JOIN venues AS v ON v.venue_id = l.venue_id
LEFT JOIN tickets AS t
    ON t.venue_id = l.venue_id AND t.queue_id = l.queue_id AND t.day = l.day AND t.round = l.round
GROUP BY v.slug, l.queue_id, l.day, l.round, l.last_number
HAVING count(t.number) <> l.last_number OR coalesce(max(t.number), 0) <> l.last_number
ORDER BY v.slug, l.queue_id, l.day, l.round;
