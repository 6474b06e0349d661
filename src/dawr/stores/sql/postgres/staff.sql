-- Staff: an account's place at one venue.

-- name: staff_of_venue
SELECT m.venue_id, m.account_id, m.username, m.role, m.added_at, m.disabled_at
FROM unnest($1::text[]) AS k (venue_id)
CROSS JOIN LATERAL (
    SELECT * FROM staff AS s
    WHERE s.venue_id = k.venue_id
    ORDER BY s.account_id
) AS m;

-- name: staff_of_account
SELECT venue_id, account_id, username, role, added_at, disabled_at
FROM staff
WHERE account_id = $1;

-- name: save_staff
INSERT INTO staff (venue_id, account_id, username, role, added_at, disabled_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
ON CONFLICT (venue_id, account_id) DO UPDATE SET
    role = excluded.role,
    disabled_at = excluded.disabled_at;

-- name: first_active_owner
SELECT 1 FROM staff WHERE role = 'owner' AND disabled_at IS NULL LIMIT 1;
