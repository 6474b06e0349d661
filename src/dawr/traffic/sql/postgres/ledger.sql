-- Where every request of an hour went.

-- name: add_to_ledger
INSERT INTO traffic_ledger AS old (hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space)
SELECT hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space
FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
    $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
    $11::bigint[], $12::bigint[], $13::bigint[]
) AS new (hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost, counted_only, over_limit, no_space)
ON CONFLICT (hour) DO UPDATE SET
    answered = old.answered + excluded.answered,
    spooled = old.spooled + excluded.spooled,
    queued = old.queued + excluded.queued,
    stored = old.stored + excluded.stored,
    detailed = old.detailed + excluded.detailed,
    duplicates = old.duplicates + excluded.duplicates,
    dead = old.dead + excluded.dead,
    damaged = old.damaged + excluded.damaged,
    lost = old.lost + excluded.lost,
    counted_only = old.counted_only + excluded.counted_only,
    over_limit = old.over_limit + excluded.over_limit,
    no_space = old.no_space + excluded.no_space;

-- name: detailed_in_hour
SELECT l.hour, l.detailed
FROM unnest($1::bigint[]) AS wanted (hour)
CROSS JOIN LATERAL (SELECT hour, detailed FROM traffic_ledger WHERE hour = wanted.hour LIMIT 1) AS l;
