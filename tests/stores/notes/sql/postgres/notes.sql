-- Notes: what staff wrote down about a ticket.

-- name: notes_by_key
SELECT n.venue_id, n.ticket_id, n.text, n.changes
FROM unnest($1::text[], $2::text[]) AS k (venue_id, ticket_id)
CROSS JOIN LATERAL (
    SELECT * FROM notes AS s
    WHERE s.venue_id = k.venue_id AND s.ticket_id = k.ticket_id
    LIMIT 1
) AS n;

-- name: save_notes
INSERT INTO notes (venue_id, ticket_id, text, changes)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
ON CONFLICT (venue_id, ticket_id) DO UPDATE SET text = excluded.text, changes = excluded.changes;
