-- Where every request of an hour went.

-- name: add_to_ledger
INSERT INTO traffic_ledger (hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (hour) DO UPDATE SET
    answered = traffic_ledger.answered + excluded.answered,
    spooled = traffic_ledger.spooled + excluded.spooled,
    queued = traffic_ledger.queued + excluded.queued,
    stored = traffic_ledger.stored + excluded.stored,
    detailed = traffic_ledger.detailed + excluded.detailed,
    duplicates = traffic_ledger.duplicates + excluded.duplicates,
    dead = traffic_ledger.dead + excluded.dead,
    damaged = traffic_ledger.damaged + excluded.damaged,
    lost = traffic_ledger.lost + excluded.lost,
    counted_only = traffic_ledger.counted_only + excluded.counted_only,
    over_limit = traffic_ledger.over_limit + excluded.over_limit,
    no_space = traffic_ledger.no_space + excluded.no_space;

-- name: detailed_in_hour
SELECT hour, detailed FROM traffic_ledger WHERE hour = ?1;
