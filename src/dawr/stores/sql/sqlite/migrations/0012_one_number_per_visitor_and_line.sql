-- A visitor has one open ticket in a queue, whether they took a number there or a journey led them there. Tickets of
-- journeys had keys of their own. Where somebody has both, both stay until they end.

UPDATE tickets SET open_key = queue_id || ':' || visitor
WHERE open_key = queue_id || '/' || visitor
    AND NOT EXISTS (
        SELECT 1 FROM tickets AS o
        WHERE o.venue_id = tickets.venue_id AND o.open_key = tickets.queue_id || ':' || tickets.visitor
    );

-- A visitor who was finished today is told so, and staff find a visit that has ended. The index has no open tickets, so
-- that taking a number and calling it cost nothing more.
CREATE INDEX tickets_ended ON tickets (venue_id, visitor, day, version DESC) WHERE open_key IS NULL;
