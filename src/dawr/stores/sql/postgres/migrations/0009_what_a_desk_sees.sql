-- What whoever works at a desk sees: a note about a visitor, who is held or missed their call, and what was done there
-- last. Each index has those rows only, so that taking a number and calling it cost nothing more.

ALTER TABLE visits ADD COLUMN note text;
CREATE INDEX visits_noted ON visits (venue_id) WHERE note IS NOT NULL AND state = 'open';

CREATE INDEX tickets_aside ON tickets (venue_id, queue_id, day, round, state, version DESC)
WHERE state = 'held' OR state = 'missed';

-- Whoever is held or put back has given the desk back, and names it in what an undo would bring back.
CREATE INDEX tickets_left_desk ON tickets (venue_id, coalesce(desk_id, previous::jsonb ->> 'desk_id'), version DESC)
WHERE coalesce(desk_id, previous::jsonb ->> 'desk_id') IS NOT NULL
    AND state <> 'called' AND state <> 'serving' AND state <> 'expired';
