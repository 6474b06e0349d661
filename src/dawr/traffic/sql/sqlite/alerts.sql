-- What is or was out of its bounds, and what only the rules want to know.

-- name: recent_alerts
-- Those that are open, and those that ended since ?1.
SELECT name, began_at, level, sentence, value, told_at, ended_at FROM traffic_alerts WHERE ended_at IS NULL OR ended_at > ?1;

-- name: save_alerts
INSERT INTO traffic_alerts (name, began_at, level, sentence, value, told_at, seen_at, ended_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (name, began_at) DO UPDATE SET
    level = excluded.level,
    sentence = excluded.sentence,
    value = excluded.value,
    told_at = excluded.told_at,
    seen_at = excluded.seen_at,
    ended_at = excluded.ended_at;

-- name: end_alerts
UPDATE traffic_alerts SET ended_at = ?3 WHERE name = ?1 AND began_at = ?2 AND ended_at IS NULL;

-- name: purge_alerts
DELETE FROM traffic_alerts WHERE ended_at < ?1;

-- name: first_traffic_minute
SELECT min(minute) FROM traffic_minutes;

-- name: lost_since
-- What no disk and no memory would take, and what had no place among the details of its hour.
SELECT coalesce(sum(lost), 0), coalesce(sum(over_limit), 0) FROM traffic_ledger WHERE hour >= ?1;

-- name: unfinished_archives
-- Files that were written before ?1, and whose rows were not deleted.
SELECT count(*) FROM traffic_archives WHERE state = 'written' AND at < ?1;

-- name: traffic_bytes
SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size();
