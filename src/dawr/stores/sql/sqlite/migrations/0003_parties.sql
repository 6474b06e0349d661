-- Parties, and the way from a visit to its ticket.
-- A waiting party has a name, a size and perhaps an area; a visit names the ticket that it has come to.

ALTER TABLE tickets ADD COLUMN name TEXT;
ALTER TABLE tickets ADD COLUMN party_size INTEGER NOT NULL DEFAULT 1 CHECK (party_size > 0);
ALTER TABLE tickets ADD COLUMN area TEXT;
ALTER TABLE visits ADD COLUMN ticket_id TEXT;

-- The staff's list is read in the order of calling, page by page.
DROP INDEX tickets_open;
CREATE INDEX tickets_open ON tickets (venue_id, queue_id, day, round, priority DESC, sequence)
WHERE coalesce(open_key, '') <> '';
