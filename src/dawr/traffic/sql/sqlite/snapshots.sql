-- What was computed once for everybody who asks.

-- name: traffic_snapshot
SELECT at, body FROM traffic_snapshots WHERE name = ?1;

-- name: save_traffic_snapshot
-- The newer one stays. One from the future was saved by a clock that was wrong.
INSERT INTO traffic_snapshots (name, at, body) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET at = excluded.at, body = excluded.body
WHERE traffic_snapshots.at < excluded.at OR traffic_snapshots.at > excluded.at + ?4;
