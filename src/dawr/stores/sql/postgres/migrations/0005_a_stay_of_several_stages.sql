-- A stay of several stages: visits with a plan, exit PINs, desks that are open or not, and what is due.

ALTER TABLE visits DROP CONSTRAINT visits_state_check;
ALTER TABLE visits ADD CONSTRAINT visits_state_check CHECK (state IN ('open', 'finished', 'left', 'expired'));
ALTER TABLE visits ADD COLUMN expired_at bigint;
ALTER TABLE visits ADD COLUMN open_key text COLLATE "C"; -- of an open visit that has a plan: its visitor
ALTER TABLE visits ADD COLUMN journey text;
ALTER TABLE visits ADD COLUMN audience text;
ALTER TABLE visits ADD COLUMN name text;
ALTER TABLE visits ADD COLUMN priority integer NOT NULL DEFAULT 0;
ALTER TABLE visits ADD COLUMN stages text;
ALTER TABLE visits ADD COLUMN pin_failures text;
ALTER TABLE visits ADD COLUMN locked_at bigint;
ALTER TABLE visits ADD COLUMN previous text;
ALTER TABLE visits ADD COLUMN why text;
CREATE UNIQUE INDEX visits_one_open_plan_per_visitor ON visits (venue_id, open_key) WHERE open_key IS NOT NULL;

ALTER TABLE tickets ADD COLUMN stage integer;
ALTER TABLE tickets ADD COLUMN prioritized_at bigint;
ALTER TABLE tickets ADD COLUMN extended_at bigint;
CREATE INDEX tickets_at_desk ON tickets (venue_id, desk_id) WHERE state = 'called' OR state = 'serving';

-- The exit PIN of each queue. One of another day than today's opens nothing.
CREATE TABLE pins (
    venue_id text COLLATE "C" NOT NULL,
    queue_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    pin text NOT NULL,
    made_at bigint NOT NULL,
    rotated text NOT NULL, -- what it was before, and until when
    failures text NOT NULL, -- when somebody failed here
    PRIMARY KEY (venue_id, queue_id)
);

CREATE TABLE desks (
    venue_id text COLLATE "C" NOT NULL,
    desk_id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'break', 'closed')),
    occupant text,
    since bigint NOT NULL,
    until bigint,
    misses integer NOT NULL,
    PRIMARY KEY (venue_id, desk_id)
);

CREATE TABLE alarms (
    venue_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    due_at bigint, -- NULL once it has rung
    PRIMARY KEY (venue_id, kind, subject)
);
CREATE INDEX alarms_by_due_time ON alarms (due_at);

-- How often somebody on the staff let others be overtaken on a day, for which reasons, and how many.
CREATE TABLE overtakings (
    venue_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    sums text NOT NULL,
    PRIMARY KEY (venue_id, day)
);
