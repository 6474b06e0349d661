-- What is or was out of its bounds, and what only the rules want to know.

-- name: recent_alerts
-- Those that are open, and those that ended since $1.
SELECT name, began_at, level, sentence, value, told_at, ended_at FROM traffic_alerts WHERE ended_at IS NULL OR ended_at > $1;

-- name: save_alerts
INSERT INTO traffic_alerts AS old (name, began_at, level, sentence, value, told_at, seen_at, ended_at)
SELECT name, began_at, level, sentence, value, told_at, seen_at, ended_at
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::double precision[], $6::bigint[], $7::bigint[], $8::bigint[])
    AS new (name, began_at, level, sentence, value, told_at, seen_at, ended_at)
ON CONFLICT (name, began_at) DO UPDATE SET
    level = excluded.level,
    sentence = excluded.sentence,
    value = excluded.value,
    told_at = excluded.told_at,
    seen_at = excluded.seen_at,
    ended_at = excluded.ended_at;

-- name: end_alerts
UPDATE traffic_alerts AS old SET ended_at = ended.at
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS ended (name, began_at, at)
WHERE old.name = ended.name AND old.began_at = ended.began_at AND old.ended_at IS NULL;

-- name: purge_alerts
DELETE FROM traffic_alerts WHERE ended_at < $1;

-- name: first_traffic_minute
SELECT min(minute) FROM traffic_minutes;

-- name: lost_since
-- What no disk and no memory would take, and what had no place among the details of its hour.
SELECT coalesce(sum(lost), 0)::bigint, coalesce(sum(over_limit), 0)::bigint FROM traffic_ledger WHERE hour >= $1;

-- name: unfinished_archives
-- Files that were written before $1, and whose rows were not deleted.
SELECT count(*) FROM traffic_archives WHERE state = 'written' AND at < $1;

-- name: traffic_bytes
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname ^@ 'traffic_';
