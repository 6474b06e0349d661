-- Answers are kept by how long the installation has run, which no jump of a clock uses up. It is counted on from the
-- newest event, so that answers of before are kept as they were. What a clock says is over is believed only if it did
-- not jump against the moment that was believed last.

ALTER TABLE installation ADD COLUMN ran_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE installation ADD COLUMN believed_at INTEGER;

UPDATE installation SET believed_at = (
    SELECT max(e.at)
    FROM heads AS h
    CROSS JOIN events AS e
    WHERE e.venue_id = h.venue_id AND e.version = h.version
);
UPDATE installation SET ran_ms = coalesce(believed_at, 0);
