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
-- Lines whose numbers are not exactly the first to the last one given. Most begin at 1.
SELECT
    v.slug, l.queue_id, l.day, l.round, l.last_number - l.begins_behind, count(t.number),
    coalesce(max(t.number), l.begins_behind)
FROM lines AS l
JOIN venues AS v ON v.venue_id = l.venue_id
LEFT JOIN tickets AS t
    ON t.venue_id = l.venue_id AND t.queue_id = l.queue_id AND t.day = l.day AND t.round = l.round
GROUP BY v.slug, l.queue_id, l.day, l.round, l.last_number, l.begins_behind
HAVING
    count(t.number) <> l.last_number - l.begins_behind
    OR coalesce(max(t.number), l.begins_behind) <> l.last_number
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

-- name: check_waiting
-- Lines whose counts by priority, written as Dawr writes them, are not those of the tickets that wait. Where tickets
-- are missing, `check_lines` says so.
SELECT v.slug, l.queue_id, l.day, l.round, l.waiting, coalesce(c.counted, '[0,0,0,0]')
FROM lines AS l
JOIN venues AS v ON v.venue_id = l.venue_id
LEFT JOIN (
    SELECT
        t.venue_id, t.queue_id, t.day, t.round, count(*) AS tickets,
        '[' || count(*) FILTER (WHERE t.state = 'waiting' AND t.priority = 0)
        || ',' || count(*) FILTER (WHERE t.state = 'waiting' AND t.priority = 1)
        || ',' || count(*) FILTER (WHERE t.state = 'waiting' AND t.priority = 2)
        || ',' || count(*) FILTER (WHERE t.state = 'waiting' AND t.priority = 3) || ']' AS counted
    FROM tickets AS t
    GROUP BY t.venue_id, t.queue_id, t.day, t.round
) AS c ON c.venue_id = l.venue_id AND c.queue_id = l.queue_id AND c.day = l.day AND c.round = l.round
WHERE coalesce(c.tickets, 0) = l.last_number - l.begins_behind AND l.waiting <> coalesce(c.counted, '[0,0,0,0]')
ORDER BY v.slug, l.queue_id, l.day, l.round
LIMIT 20;

-- name: check_stranded
-- Open visits with a plan whose visitor stands nowhere and waits for nothing: no ticket is open, and no stage is ready.
SELECT s.slug, v.visit_id
FROM visits AS v
JOIN venues AS s ON s.venue_id = v.venue_id
LEFT JOIN (
    SELECT t.venue_id, t.visit_id FROM tickets AS t
    WHERE t.open_key IS NOT NULL
    GROUP BY t.venue_id, t.visit_id
) AS c ON c.venue_id = v.venue_id AND c.visit_id = v.visit_id
WHERE v.state = 'open' AND v.stages IS NOT NULL AND c.visit_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM json_each(v.stages) AS e WHERE json_extract(e.value, '$.state') = 'ready')
ORDER BY s.slug, v.visit_id
LIMIT 20;

-- name: check_torn
-- Visits with a plan whose visitor stands in several queues at once.
SELECT s.slug, v.visit_id, c.tickets
FROM (
    SELECT t.venue_id, t.visit_id, count(*) AS tickets FROM tickets AS t
    WHERE t.open_key IS NOT NULL
    GROUP BY t.venue_id, t.visit_id
    HAVING count(*) > 1
) AS c
JOIN visits AS v ON v.venue_id = c.venue_id AND v.visit_id = c.visit_id
JOIN venues AS s ON s.venue_id = v.venue_id
WHERE v.stages IS NOT NULL
ORDER BY s.slug, v.visit_id
LIMIT 20;

-- name: check_stages
-- Open visits with a stage that is said to be in its queue, and is not: its ticket has ended, or there is none.
SELECT s.slug, v.visit_id, json_extract(e.value, '$.queue')
FROM visits AS v
JOIN venues AS s ON s.venue_id = v.venue_id
CROSS JOIN json_each(v.stages) AS e
LEFT JOIN tickets AS t ON t.venue_id = v.venue_id AND t.ticket_id = json_extract(e.value, '$.ticket_id')
WHERE v.state = 'open' AND v.stages IS NOT NULL AND json_extract(e.value, '$.state') = 'in_queue' AND t.open_key IS NULL
ORDER BY s.slug, v.visit_id
LIMIT 20;

-- name: check_left_over
-- Open tickets of visits with a plan that have ended.
SELECT s.slug, v.visit_id, v.state, t.label, t.queue_id
FROM tickets AS t
JOIN visits AS v ON v.venue_id = t.venue_id AND v.visit_id = t.visit_id
JOIN venues AS s ON s.venue_id = v.venue_id
WHERE t.open_key IS NOT NULL AND v.stages IS NOT NULL AND v.state <> 'open'
ORDER BY s.slug, v.visit_id, t.queue_id
LIMIT 20;

-- name: check_ownerless
-- Heads of nobody.
SELECT h.venue_id FROM heads AS h
WHERE NOT EXISTS (SELECT 1 FROM venues AS v WHERE v.venue_id = h.venue_id)
ORDER BY h.venue_id
LIMIT 20;

-- name: check_documents
SELECT venue_id, slug, document FROM venues ORDER BY slug;

-- name: index_names
-- Keys and what is unique by the names that PostgreSQL gives them.
SELECT name FROM sqlite_schema WHERE type = 'index'
UNION ALL
SELECT DISTINCT t.name || '_pkey'
FROM sqlite_schema AS t
JOIN pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND c.pk > 0
UNION ALL
SELECT t.name || '_' || group_concat(c.name, '_' ORDER BY c.seqno) || '_key'
FROM sqlite_schema AS t
JOIN pragma_index_list(t.name) AS i
JOIN pragma_index_info(i.name) AS c
WHERE t.type = 'table' AND i.origin = 'u'
GROUP BY t.name, i.name;

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

-- name: head_holders
SELECT NULL WHERE FALSE;

-- name: hidden_sessions
SELECT NULL WHERE FALSE;
