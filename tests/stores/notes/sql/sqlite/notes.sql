-- Notes: what staff wrote down about a ticket.

-- name: notes_by_key
SELECT venue_id, ticket_id, text, changes
FROM notes
WHERE venue_id = ?1 AND ticket_id = ?2;

-- name: save_notes
INSERT INTO notes (venue_id, ticket_id, text, changes)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (venue_id, ticket_id) DO UPDATE SET text = excluded.text, changes = excluded.changes;
