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

-- name: check_doubles
-- Numbers that were given more than once in their line: only possible where the index is gone that keeps them single.
SELECT v.slug, t.queue_id, t.day, t.round, t.number, count(*)
FROM tickets AS t
JOIN venues AS v ON v.venue_id = t.venue_id
GROUP BY v.slug, t.queue_id, t.day, t.round, t.number
HAVING count(*) > 1
ORDER BY v.slug, t.queue_id, t.day, t.round, t.number
LIMIT 20;

-- name: check_heads
-- Venues that can change nothing: they have no row to lock.
SELECT v.slug FROM venues AS v
WHERE NOT EXISTS (SELECT 1 FROM heads AS h WHERE h.venue_id = v.venue_id)
ORDER BY v.slug;

-- name: check_strays
-- Tickets whose line does not know them.
SELECT t.venue_id, t.queue_id, t.day, t.round, count(*)
FROM tickets AS t
WHERE NOT EXISTS (
    SELECT 1 FROM lines AS l
    WHERE l.venue_id = t.venue_id AND l.queue_id = t.queue_id AND l.day = t.day AND l.round = t.round
)
GROUP BY t.venue_id, t.queue_id, t.day, t.round
ORDER BY t.venue_id, t.queue_id, t.day, t.round
LIMIT 20;

-- name: index_names
SELECT name FROM sqlite_schema WHERE type = 'index';

-- name: all_leases
-- The clock is that of the machine which the file is on: whoever asks has it.
SELECT name, holder, fence, until_at, NULL FROM leases ORDER BY name;

-- name: server_facts
-- There is no server, and what makes it durable is said by Dawr itself when it opens the file.
SELECT NULL WHERE FALSE;

-- name: deadlocks
-- One writer waits for nobody.
SELECT NULL WHERE FALSE;

-- name: lock_waits
SELECT NULL WHERE FALSE;

-- name: idle_transactions
SELECT NULL WHERE FALSE;
