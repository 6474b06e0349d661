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
-- One that could not be built to its end is as good as none.
SELECT c.relname::text
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = current_schema()::regnamespace AND i.indisvalid;

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
-- Who waits for whom, and for how long by now.
SELECT
    w.pid,
    w.application_name,
    coalesce(extract(epoch FROM clock_timestamp() - (
        SELECT min(l.waitstart) FROM pg_locks AS l WHERE l.pid = w.pid AND NOT l.granted
    )) * 1000, 0)::bigint,
    b.pid,
    b.application_name,
    b.state
FROM pg_stat_activity AS w
CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS k (pid)
JOIN pg_stat_activity AS b ON b.pid = k.pid
WHERE w.datname = current_database() AND w.wait_event_type = 'Lock'
ORDER BY w.pid, b.pid;

-- name: idle_transactions
-- Who has a transaction open and does nothing in it, and for how long by now.
SELECT pid, application_name, (extract(epoch FROM clock_timestamp() - state_change) * 1000)::bigint
FROM pg_stat_activity
WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()
ORDER BY pid;
