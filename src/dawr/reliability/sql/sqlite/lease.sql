-- Leases: of many who would do a work, the one who may.

-- name: find_lease
-- The clock is that of the machine which the file is on: whoever asks has it.
SELECT holder, fence, until_at, NULL
FROM leases
WHERE name = ?1;

-- name: add_lease
-- Nobody's yet.
INSERT INTO leases (name, holder, fence, until_at) VALUES (?1, '', 0, 0)
ON CONFLICT (name) DO NOTHING;

-- name: take_lease
-- Only as it was seen: of all who saw it free, one changes a row.
UPDATE leases SET holder = ?2, fence = fence + 1, until_at = ?3
WHERE name = ?1 AND fence = ?4 AND until_at = ?5;

-- name: renew_lease
UPDATE leases SET until_at = ?3
WHERE name = ?1 AND fence = ?2;

-- name: release_lease
UPDATE leases SET holder = '', until_at = 0
WHERE name = ?1 AND fence = ?2;

-- name: hold_fences
-- Inside the transaction that writes under them: it is the only one that writes.
SELECT name, fence
FROM leases
WHERE name = ?1;

-- name: hold_fence
-- The same for one, in the transaction of whoever uses the kit.
SELECT fence
FROM leases
WHERE name = ?1;
