-- A stay of several stages: visits with a plan, exit PINs, desks that are open or not, and what is due.
-- The table of visits is made again, because SQLite cannot change the condition on their state.

ALTER TABLE visits RENAME TO visits_before;
CREATE TABLE visits (
    venue_id TEXT NOT NULL,
    visit_id TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    visitor TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'open' OR state = 'finished' OR state = 'left' OR state = 'expired'),
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    left_at INTEGER,
    ticket_id TEXT,
    expired_at INTEGER,
    open_key TEXT, -- of an open visit that has a plan: its visitor
    journey TEXT,
    audience TEXT,
    name TEXT,
    priority INTEGER NOT NULL DEFAULT 0,
    stages TEXT,
    pin_failures TEXT,
    locked_at INTEGER,
    previous TEXT,
    why TEXT,
    PRIMARY KEY (venue_id, visit_id)
) STRICT, WITHOUT ROWID;
INSERT INTO visits (venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id)
SELECT venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id FROM visits_before;
DROP TABLE visits_before;
CREATE UNIQUE INDEX visits_one_open_plan_per_visitor ON visits (venue_id, open_key) WHERE open_key IS NOT NULL;

ALTER TABLE tickets ADD COLUMN stage INTEGER;
ALTER TABLE tickets ADD COLUMN prioritized_at INTEGER;
ALTER TABLE tickets ADD COLUMN extended_at INTEGER;
CREATE INDEX tickets_at_desk ON tickets (venue_id, desk_id) WHERE state = 'called' OR state = 'serving';

-- The exit PIN of each queue. One of another day than today's opens nothing.
CREATE TABLE pins (
    venue_id TEXT NOT NULL,
    queue_id TEXT NOT NULL,
    day TEXT NOT NULL,
    pin TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    rotated TEXT NOT NULL, -- what it was before, and until when
    failures TEXT NOT NULL, -- when somebody failed here
    PRIMARY KEY (venue_id, queue_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE desks (
    venue_id TEXT NOT NULL,
    desk_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'open' OR state = 'break' OR state = 'closed'),
    occupant TEXT,
    since INTEGER NOT NULL,
    until INTEGER,
    misses INTEGER NOT NULL,
    PRIMARY KEY (venue_id, desk_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE alarms (
    venue_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    due_at INTEGER, -- NULL once it has rung
    PRIMARY KEY (venue_id, kind, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX alarms_by_due_time ON alarms (due_at);

-- How often somebody on the staff let others be overtaken on a day, for which reasons, and how many.
CREATE TABLE overtakings (
    venue_id TEXT NOT NULL,
    day TEXT NOT NULL,
    sums TEXT NOT NULL,
    PRIMARY KEY (venue_id, day)
) STRICT, WITHOUT ROWID;
