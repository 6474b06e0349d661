-- How often a mobile number joined within the last hour is counted from its tickets. The index has theirs only,
-- and nothing that a change of a ticket touches, so that other queues pay nothing for it.
CREATE INDEX tickets_by_mobile_number ON tickets (venue_id, visitor, issued_at) WHERE left(visitor, 1) = '+';
