-- Venues, and the numbers they give: each once, by constraint and not by hope.
-- Times are milliseconds since 1970 UTC, days are ISO dates, documents are JSON.
-- Room is left in the pages of rows that change, so that a change stays in its page.

CREATE TABLE installation (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    is_copy integer NOT NULL DEFAULT 0,
    home text -- the database it lives in: in another one it is a copy, and begins new epochs
);
INSERT INTO installation (only_row) VALUES (1);

CREATE TABLE venues (
    venue_id text COLLATE "C" PRIMARY KEY,
    slug text COLLATE "C" NOT NULL UNIQUE,
    document text NOT NULL
);

-- The only row that is locked. Nobody's foreign-key parent.
CREATE TABLE heads (
    venue_id text COLLATE "C" PRIMARY KEY,
    epoch bigint NOT NULL,
    day text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    config_version bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE lines (
    venue_id text COLLATE "C" NOT NULL,
    queue_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    round integer NOT NULL,
    last_number integer NOT NULL,
    used_before integer NOT NULL,
    waiting text NOT NULL, -- counts by priority
    called integer NOT NULL,
    serving integer NOT NULL,
    held integer NOT NULL,
    missed integer NOT NULL,
    finished integer NOT NULL,
    current_number integer,
    calls integer NOT NULL,
    waits_ms bigint NOT NULL,
    services_ms bigint NOT NULL,
    PRIMARY KEY (venue_id, queue_id, day, round)
) WITH (fillfactor = 70);

CREATE TABLE visits (
    venue_id text COLLATE "C" NOT NULL,
    visit_id text COLLATE "C" NOT NULL,
    secret_hash text COLLATE "C" NOT NULL,
    visitor text NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'finished', 'left')),
    started_at bigint NOT NULL,
    finished_at bigint,
    left_at bigint,
    PRIMARY KEY (venue_id, visit_id)
);

CREATE TABLE tickets (
    venue_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    queue_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    round integer NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    label text NOT NULL,
    priority integer NOT NULL,
    sequence bigint NOT NULL,
    state text NOT NULL CHECK (
        state IN ('waiting', 'called', 'serving', 'held', 'missed', 'finished', 'left', 'expired')
    ),
    visitor text NOT NULL,
    open_key text COLLATE "C",
    visit_id text COLLATE "C" NOT NULL,
    issued_at bigint NOT NULL,
    version bigint NOT NULL,
    desk_id text,
    recalls integer NOT NULL,
    called_at bigint,
    recalled_at bigint,
    started_at bigint,
    finished_at bigint,
    missed_at bigint,
    rejoined_at bigint,
    held_at bigint,
    resumed_at bigint,
    left_at bigint,
    expired_at bigint,
    from_ticket_id text,
    previous text,
    CHECK ((open_key IS NULL) = (state IN ('finished', 'left', 'expired')))
) WITH (fillfactor = 85);
-- The order matters: while the table is empty all indexes cost the same, and the planner takes the newest
-- one that fits. Each statement's own index is therefore newer than the others that it could use.
CREATE UNIQUE INDEX tickets_each_number_once ON tickets (venue_id, queue_id, day, round, number);
ALTER TABLE tickets ADD PRIMARY KEY (venue_id, ticket_id);
-- Said in a way that only `tickets_ended` says it: no other statement may take this index for its own and read
-- a whole line, as they would in a table that was never analysed.
CREATE INDEX tickets_open ON tickets (venue_id, queue_id, day, round) WHERE coalesce(open_key, '') <> '';
CREATE INDEX tickets_waiting ON tickets (venue_id, queue_id, day, round, priority DESC, sequence)
WHERE state = 'waiting';
CREATE UNIQUE INDEX tickets_one_open_per_visitor ON tickets (venue_id, open_key) WHERE open_key IS NOT NULL;

CREATE TABLE events (
    venue_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    queue_id text COLLATE "C",
    ticket_id text COLLATE "C",
    actor text,
    correlation_id text,
    reason text,
    data text NOT NULL,
    PRIMARY KEY (venue_id, version)
);
