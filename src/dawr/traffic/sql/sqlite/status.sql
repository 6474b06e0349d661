-- How the statistics fare. Nothing here looks at more than 10,001 messages, or at any detail.

-- name: traffic_backlog
-- How many wait, and since when the first of them is due.
SELECT count(*), min(due_at) FROM (SELECT due_at FROM traffic_queue ORDER BY seq LIMIT ?1);

-- name: traffic_just_queued
-- Of the latest, those of hours since ?1 that are due since ?2 or later.
SELECT count(*) FROM (SELECT hour, due_at FROM traffic_queue ORDER BY seq DESC LIMIT ?3) WHERE hour >= ?1 AND due_at > ?2;

-- name: traffic_dead_by_kind
SELECT kind, count(*) FROM (SELECT kind FROM traffic_dead ORDER BY seq DESC LIMIT ?1) GROUP BY kind;

-- name: traffic_heartbeats
SELECT host, pid, version, began_at, beat_at, spool_bytes, key_day, key_check, shipped_at, unreadable, unspooled, unwritable
FROM traffic_consumer
ORDER BY host;

-- name: traffic_snapshot_at
SELECT at FROM traffic_snapshots WHERE name = ?1;

-- name: traffic_settled_since
-- Answers that an hour has too many of may have their lines in the hour before, as in `dawr traffic verify`.
SELECT
    coalesce(sum(ledger.queued), 0),
    coalesce(sum(ledger.stored + ledger.duplicates + ledger.dead), 0),
    coalesce(sum(ledger.lost + max(ledger.answered - ledger.spooled - ledger.lost - max(coalesce(before.spooled + before.lost - before.answered, 0), 0), 0)), 0)
FROM traffic_ledger AS ledger
LEFT JOIN traffic_ledger AS before ON before.hour = ledger.hour - 3600000
WHERE ledger.hour >= ?1;

-- name: traffic_minutes_between
SELECT coalesce(sum(requests), 0), coalesce(sum(errors), 0), coalesce(max(requests), 0) FROM traffic_minutes WHERE minute >= ?1 AND minute < ?2;

-- name: traffic_open_alerts
SELECT name, level, sentence, value, began_at FROM traffic_alerts WHERE ended_at IS NULL ORDER BY began_at, name;
