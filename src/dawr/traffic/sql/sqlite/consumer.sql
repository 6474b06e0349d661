-- The traffic process of each host.

-- name: save_heartbeat
INSERT INTO traffic_consumer (host, pid, version, began_at, beat_at, spool_bytes, unreadable, shipped_at, key_day, key_check, unspooled, unwritable)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (host) DO UPDATE SET
    pid = excluded.pid,
    version = excluded.version,
    began_at = excluded.began_at,
    beat_at = excluded.beat_at,
    spool_bytes = excluded.spool_bytes,
    unreadable = excluded.unreadable,
    shipped_at = excluded.shipped_at,
    key_day = excluded.key_day,
    key_check = excluded.key_check,
    unspooled = excluded.unspooled,
    unwritable = excluded.unwritable;

-- name: forget_hosts
-- Those that have been silent for days are gone for good.
DELETE FROM traffic_consumer WHERE beat_at < ?1;

-- name: forget_host
DELETE FROM traffic_consumer WHERE host = ?1;

-- name: commit_to_disk
-- The file is synced instead.
SELECT 1;
