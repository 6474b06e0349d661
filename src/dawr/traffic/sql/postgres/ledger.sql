-- Where every request of an hour went.

-- name: add_to_ledger
INSERT INTO traffic_ledger AS old (hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost)
SELECT hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost
FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
    $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[]
) AS new (hour, answered, spooled, queued, stored, detailed, duplicates, dead, damaged, lost)
ON CONFLICT (hour) DO UPDATE SET
    answered = old.answered + excluded.answered,
    spooled = old.spooled + excluded.spooled,
    queued = old.queued + excluded.queued,
    stored = old.stored + excluded.stored,
    detailed = old.detailed + excluded.detailed,
    duplicates = old.duplicates + excluded.duplicates,
    dead = old.dead + excluded.dead,
    damaged = old.damaged + excluded.damaged,
    lost = old.lost + excluded.lost;
