-- The latest calls of a venue's day, for whoever looks at all its queues at once. A number that was not called yet is
-- not in it, so taking one costs nothing more; and no other statement asks for tickets with a call.

CREATE INDEX tickets_called ON tickets (venue_id, day, max(called_at, coalesce(recalled_at, called_at)) DESC)
WHERE called_at IS NOT NULL AND started_at IS NOT called_at;
