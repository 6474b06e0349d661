-- Staff: an account's place at one venue.

-- name: staff_of_venue
SELECT venue_id, account_id, username, role, added_at, disabled_at
FROM staff
WHERE venue_id = ?1;

-- name: staff_of_account
SELECT venue_id, account_id, username, role, added_at, disabled_at
FROM staff
WHERE account_id = ?1;

-- name: save_staff
INSERT INTO staff (venue_id, account_id, username, role, added_at, disabled_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (venue_id, account_id) DO UPDATE SET
    role = excluded.role,
    disabled_at = excluded.disabled_at;

-- name: first_active_owner
SELECT 1 FROM staff WHERE role = 'owner' AND disabled_at IS NULL LIMIT 1;
