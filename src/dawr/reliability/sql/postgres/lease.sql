-- Leases: of many who would do a work, the one who may.

-- name: find_lease
-- With the database's own clock, which all who share it have in common.
SELECT holder, fence, until_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM leases
WHERE name = $1;

-- name: add_lease
-- Nobody's yet.
INSERT INTO leases (name, holder, fence, until_at) VALUES ($1, '', 0, 0)
ON CONFLICT (name) DO NOTHING;

-- name: take_lease
-- Only as it was seen: of all who saw it free, one changes a row. It waits for whoever writes under the old fence.
UPDATE leases SET holder = $2, fence = fence + 1, until_at = $3
WHERE name = $1 AND fence = $4 AND until_at = $5;

-- name: renew_lease
UPDATE leases SET until_at = $3
WHERE name = $1 AND fence = $2;

-- name: release_lease
UPDATE leases SET holder = '', until_at = 0
WHERE name = $1 AND fence = $2;

-- name: hold_fences
-- Inside the transaction that writes under them: until it ends, nobody takes these leases over.
SELECT name, fence
FROM leases
WHERE name = ANY ($1::text[])
ORDER BY name
FOR SHARE;

-- name: hold_fence
-- The same for one, in the transaction of whoever uses the kit.
SELECT fence
FROM leases
WHERE name = $1
FOR SHARE;
