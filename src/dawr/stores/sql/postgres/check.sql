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
    AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(v.stages::jsonb) AS e WHERE e.value ->> 'state' = 'ready')
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
SELECT s.slug, v.visit_id, e.value ->> 'queue'
FROM visits AS v
JOIN venues AS s ON s.venue_id = v.venue_id
CROSS JOIN LATERAL jsonb_array_elements(v.stages::jsonb) AS e
LEFT JOIN tickets AS t ON t.venue_id = v.venue_id AND t.ticket_id = e.value ->> 'ticket_id'
WHERE v.state = 'open' AND v.stages IS NOT NULL AND e.value ->> 'state' = 'in_queue' AND t.open_key IS NULL
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
-- One that could not be built to its end is as good as none.
SELECT c.relname::text
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = current_schema()::regnamespace AND i.indisvalid
UNION ALL
SELECT conname::text FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND contype = 'c';

-- name: all_leases
SELECT name, holder, fence, until_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM leases
ORDER BY name;

-- name: server_facts
SELECT
    current_setting('server_version_num')::int,
    current_setting('server_version'),
    current_setting('fsync'),
    current_setting('full_page_writes'),
    current_setting('synchronous_commit'),
    current_setting('default_transaction_isolation'),
    current_setting('max_connections')::int;

-- name: deadlocks
-- How many the server had to end in this database, and since when it counts.
SELECT deadlocks, (extract(epoch FROM stats_reset) * 1000)::bigint
FROM pg_stat_database
WHERE datname = current_database();

-- name: lock_waits
-- Who waits for whom, for how long by now, and in which transaction the other has it. All of it from locks, which
-- every role may see.
SELECT
    w.pid,
    w.application_name,
    coalesce(extract(epoch FROM clock_timestamp() - min(l.waitstart)) * 1000, 0)::bigint,
    b.application_name,
    coalesce(b.state, 'of role ' || b.usename, 'unknown'),
    b.pid,
    coalesce((SELECT min(o.virtualtransaction) FROM pg_locks AS o WHERE o.pid = b.pid), '')
FROM pg_locks AS l
JOIN pg_stat_activity AS w ON w.pid = l.pid
CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS k (pid)
JOIN pg_stat_activity AS b ON b.pid = k.pid
WHERE NOT l.granted AND w.datname = current_database()
GROUP BY w.pid, w.application_name, b.pid, b.application_name, b.state, b.usename
ORDER BY w.pid, b.pid;

-- name: head_holders
-- Who has locked heads to change them, or says so, and does not wait for anybody.
SELECT DISTINCT
    a.application_name,
    coalesce(a.state, 'of role ' || a.usename, 'unknown'),
    l.pid,
    l.virtualtransaction
FROM pg_locks AS l
JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.relation = 'heads'::regclass AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.granted AND l.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock') AND l.pid <> pg_backend_pid()
    AND NOT EXISTS (SELECT 1 FROM pg_locks AS o WHERE o.pid = l.pid AND NOT o.granted)
ORDER BY l.pid;

-- name: hidden_sessions
-- How many sessions here do not let this role see what they do, and whose they are.
SELECT current_user::text, string_agg(DISTINCT usename::text, ', '), count(*)
FROM pg_stat_activity
WHERE datname = current_database() AND usesysid IS NOT NULL
    AND NOT pg_has_role(usesysid, 'USAGE') AND NOT pg_has_role('pg_read_all_stats', 'USAGE')
HAVING count(*) > 0;

-- name: idle_transactions
-- Who has a transaction open and does nothing in it, and for how long by now.
SELECT pid, application_name, (extract(epoch FROM clock_timestamp() - state_change) * 1000)::bigint
FROM pg_stat_activity
WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()
ORDER BY pid;
